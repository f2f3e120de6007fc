"""Program points: where statements are on a linear sequence, those without an entry included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smemreuse.ir.kernel import Block, Stmt, nested_blocks
from smemreuse.results.sequence import StmtEntry


@dataclass(frozen=True)
class ProgramPoints:
    """For each statement, the number of linear entries before its begin, and before its end.

    An entry at position `p` lasts from `p` to `p + 1`. A statement without an entry, such as a
    barrier, begins and ends between two entries.
    """

    begin: Mapping[Stmt, int]
    end: Mapping[Stmt, int]


def program_points(body: Block, entries: Sequence[StmtEntry]) -> ProgramPoints:
    """The program points of all statements of a kernel's body on its linear sequence."""
    first = {
        entry.stmt: position
        for position, entry in enumerate(entries)
        if entry.scope_pair_offset >= 0
    }
    begin: dict[Stmt, int] = {}
    end: dict[Stmt, int] = {}

    def visit(block: Block, counter: int) -> int:
        for stmt in block:
            begin[stmt] = first.get(stmt, counter)
            counter = begin[stmt] + (stmt in first)
            for nested in nested_blocks(stmt):
                counter = visit(nested, counter)
            if stmt in first and entries[first[stmt]].scope_pair_offset > 0:
                counter += 1  # the entry at a scope's end
            end[stmt] = counter
        return counter

    visit(body, 0)
    return ProgramPoints(begin, end)
