"""What the analysis finds: touches, the linear sequence, live ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Expr
from smemreuse.ir.kernel import Buffer, Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """One mention of an allocation's bytes; `expr` is the node that mentions it."""

    buffer: Buffer
    access: Access
    expr: Expr | Stmt


@dataclass(frozen=True, slots=True)
class StmtEntry:
    """An entry of the linear sequence.

    For a scope that begins at position `i`, `seq[i + seq[i].scope_pair_offset]` is its end and the
    end points back: positive at the beginning, negative at the end, 0 for a leaf. A scope's touches
    stand on its end entry, as in TVM's `SharedMemLinearAccessPatternFinder`.
    """

    stmt: Stmt
    scope_pair_offset: int
    touched: tuple[Touch, ...] = ()


@dataclass(frozen=True, slots=True)
class Linearization:
    """The sequence of one kernel and one storage scope, and the scope depth of each allocation."""

    entries: tuple[StmtEntry, ...]
    alloc_level: Mapping[Buffer, int]


@dataclass(frozen=True, slots=True)
class LiveRange:
    """Where a buffer's bytes are taken: sequence positions `begin` to `end`, half-open.

    `begin` is the position of its gen event and `end` is one past that of its kill event.
    """

    buffer: Buffer
    begin: int
    end: int

    @property
    def gen(self) -> int:
        return self.begin

    @property
    def kill(self) -> int:
        return self.end - 1

    def overlaps(self, other: LiveRange) -> bool:
        return self.begin < other.end and other.begin < self.end
