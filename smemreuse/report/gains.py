"""What a plan gains against other layouts of its kernel, in bytes and resident blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smemreuse.report.titles import counted


@dataclass(frozen=True)
class LayoutSize:
    """A layout by its name for people: the bytes of its arena, and the resident blocks on an SM,
    None where they are not known."""

    name: str
    bytes: int
    blocks: int | None


def gain_words(ours: LayoutSize, others: Sequence[LayoutSize]) -> str:
    """How many bytes and blocks a layout has less or more than each of the others; those that are
    alike are told together."""
    names: dict[tuple[int, int | None], list[str]] = {}
    for other in others:
        names.setdefault((other.bytes, other.blocks), []).append(other.name)
    told = (
        f"{_bytes(ours.bytes, size)} {' and '.join(those)} ({size:,}){_blocks(ours, blocks)}"
        for (size, blocks), those in names.items()
    )
    return "; ".join(told)


def _bytes(ours: int, other: int) -> str:
    if ours == other:
        return "as many bytes as"
    return f"{abs(other - ours):,} bytes {'fewer' if ours < other else 'more'} than"


def _blocks(ours: LayoutSize, other: int | None) -> str:
    if ours.blocks is None or other is None:
        return ""
    blocks = counted(ours.blocks, "block")
    change = f"{abs(ours.blocks - other)} {'more' if ours.blocks > other else 'fewer'}"
    return f", {blocks} per SM, {'as many' if ours.blocks == other else change}"
