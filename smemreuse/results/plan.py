"""Where buffers lie: the merged allocation of one kernel and storage scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from smemreuse.ir.expr import Const, Expr, format_expr
from smemreuse.ir.kernel import Buffer
from smemreuse.results.provenance import ObjectiveName, PackerName, PolicyName, Provenance
from smemreuse.results.sequence import LiveRange, StmtEntry


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """Where each buffer of one kernel and storage scope lies in the merged allocation.

    `offsets` and `arena_bytes` are bytes; buffers of symbolic size come behind the constant part,
    each at an expression, and `arena_expr` is then the whole size (None when it is `arena_bytes`).
    Buffers that nothing touches have no offset. `concurrent` are pairs that must not share though
    their ranges do not overlap (rule 4). `lower_bound_bytes` is the heaviest set of constant-sized
    buffers of which no two may share, below which no plan under this policy can go: without
    `concurrent` pairs, their peak live. `entries` is the linear sequence whose positions the live
    ranges count.
    """

    scope: str
    provenance: Provenance
    buffers: Sequence[Buffer]
    alignments: Mapping[Buffer, int]
    live: Mapping[Buffer, LiveRange]
    offsets: Mapping[Buffer, int]
    symbolic_offsets: Mapping[Buffer, Expr]
    arena_bytes: int
    arena_expr: Expr | None
    lower_bound_bytes: int
    concurrent: frozenset[frozenset[Buffer]] = frozenset()
    proved: bool = False
    entries: Sequence[StmtEntry] = field(default=(), repr=False, compare=False)

    @property
    def policy(self) -> PolicyName:
        return self.provenance.policy

    @property
    def packer(self) -> PackerName:
        return self.provenance.packer

    @property
    def objective(self) -> ObjectiveName:
        return self.provenance.objective

    def with_provenance(self, **changes: Any) -> Plan:
        """The same plan with other fields of its provenance."""
        return replace(self, provenance=replace(self.provenance, **changes))

    def __repr__(self) -> str:
        """One line: what it was made with, and how many buffers lie in how many bytes."""
        made = f"{self.policy}, {self.packer}, {self.objective}"
        count = len(self.offsets) + len(self.symbolic_offsets)
        return f"Plan({self.scope}: {made}; {count} buffers in {self.arena_text} bytes)"

    @property
    def arena_rounded(self) -> int:
        """The arena as it is allocated: a whole number of 16-byte words."""
        return -(-self.arena_bytes // 16) * 16

    @property
    def arena_text(self) -> str:
        """The whole size for people to read: bytes, or the expression where it is symbolic."""
        return f"{self.arena_bytes:,}" if self.arena_expr is None else format_expr(self.arena_expr)

    def offset_of(self, buffer: Buffer) -> Expr:
        """A buffer's offset in bytes; 0 for one without accesses, which conflicts with none."""
        symbolic = self.symbolic_offsets.get(buffer)
        return Const(self.offsets.get(buffer, 0)) if symbolic is None else symbolic

    def in_order(self) -> list[Buffer]:
        """The buffers in the order of their offsets; those with symbolic offsets come last."""
        constant = [one for one in self.buffers if one not in self.symbolic_offsets]
        constant.sort(key=lambda one: (self.offsets.get(one, 0), one.name))
        return [*constant, *self.symbolic_offsets]

    def shared_bytes(self, one: Buffer, two: Buffer) -> int:
        """How many bytes of the arena two buffers have in common; 0 for symbolic offsets."""
        if one not in self.offsets or two not in self.offsets:
            return 0
        begin = max(self.offsets[one], self.offsets[two])
        end = min(self.offsets[buffer] + (buffer.size or 0) for buffer in (one, two))
        return max(0, end - begin)

    def sharing_pairs(self) -> list[tuple[Buffer, Buffer, int]]:
        """The pairs that share bytes of the arena, in program order, and how many."""
        pairs = combinations((buffer for buffer in self.buffers if buffer in self.live), 2)
        found = ((one, two, self.shared_bytes(one, two)) for one, two in pairs)
        return [(one, two, count) for one, two, count in found if count]

    @property
    def reused_bytes(self) -> int:
        """Bytes of the arena that more than one buffer takes."""
        total = end = 0
        pairs = self.sharing_pairs()
        for begin, count in sorted(
            (max(self.offsets[one], self.offsets[two]), count) for one, two, count in pairs
        ):
            total += max(0, begin + count - max(begin, end))
            end = max(end, begin + count)
        return total

    @property
    def optimal(self) -> bool:
        """Whether this arena is proved smallest for its live ranges and conflicts.

        It meets the lower bound, or an exact search found nothing smaller.
        """
        return self.proved or self.arena_bytes == self.lower_bound_bytes

    @property
    def total_bytes(self) -> int:
        """Bytes that the constant-sized buffers take side by side, without alignment gaps."""
        return sum(buffer.size or 0 for buffer in self.buffers)
