"""Elementwise: operands in, one result out, nothing used twice; so bandwidth, and filling it.

What is chosen is how much each thread has under way: items times the width of a load times the
operands, times the active threads, must be what the latency times the bandwidth asks for (Little).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.targets.cards import Card
from smemreuse.worksheet.elements import size_of
from smemreuse.worksheet.terms import bytes_in_flight
from smemreuse.worksheet.work import TileWork

THREADS = (128, 256, 512, 1024)
ITEMS = (1, 2, 4, 8)
WIDTHS = (4, 8, 16)
"""Bytes of a load: 32, 64 or 128 bits."""

BESIDE = 16
"""Registers of a thread beside the data: pointers, indices, bounds. An assumption."""


def flight_of_a_block(threads: int, items: int, width: int, operands: int) -> int:
    """Bytes that a block has under way: threads x items x bytes of a load x operands."""
    return threads * items * width * operands


@dataclass(frozen=True)
class Elementwise:
    """Elements of the result, and how many operands each is made of."""

    elements: int
    operands: int = 2

    @property
    def multiplies(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return f"elementwise, {self.elements:,} elements of {self.operands} operands"

    @property
    def flops(self) -> float:
        """One for each operand beyond the first, and at least one."""
        return float(self.elements) * max(1, self.operands - 1)

    def moved(self, dtype: str) -> float:
        """Bytes: each operand read once, the result written once."""
        return self.elements * (self.operands + 1) * size_of(dtype)

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        asked = bytes_in_flight(card.dram_latency, card.dram, card.clock) / card.sms
        return (
            f"{asked:,.0f} bytes must be under way in each SM to fill the bandwidth "
            f"({card.dram_latency} cycles x {card.dram / card.clock:,.0f} bytes/cycle)",
        )

    def candidates(self, card: Card, dtype: str) -> Iterator[TileWork]:
        for threads in THREADS:
            for items in ITEMS:
                for width in WIDTHS:
                    yield self.work(card, dtype, threads, items, width)

    def work(self, card: Card, dtype: str, threads: int, items: int, width: int) -> TileWork:
        """The work if each thread loads `items` vectors of `width` bytes of every operand."""
        per_block = threads * items * width / size_of(dtype)
        grid = math.ceil(self.elements / per_block)
        held = items * width * self.operands // 4
        moved = self.moved(dtype)
        return TileWork(
            config={"threads": threads, "items": items, "vector": f"{width} B"},
            shared_bytes=0,
            threads=threads,
            registers=-(-(held + BESIDE) // 8) * 8,
            grid=grid,
            flops=self.flops,
            dram=moved,
            l2=moved,
            rounds=1,
            lanes=self.flops + moved / width,  # the loads and stores are issued, too
        )
