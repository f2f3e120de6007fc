"""What is known of the indices that `ThreadSync` compares, wherever a plan puts their buffers.

Ranges are those of the pass: of loops, of the threads that branches let through, and of nothing
else. All plans of one kernel share what is found here.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from smemreuse.ir.expr import Call, Var, constant, same, variables_in, walk
from smemreuse.ir.kernel import Bind, For, If, Stmt, While, expressions_of
from smemreuse.semantics.bounds import Interval
from smemreuse.semantics.evaluate import is_arithmetic
from smemreuse.versions.thread_sync.access_entries import AccessEntry, Made
from smemreuse.versions.thread_sync.differences import Indexed, differences, reach_of
from smemreuse.versions.thread_sync.once import once
from smemreuse.versions.thread_sync.path_conditions import PathConditions

_PURE = frozenset({"tl_shuffle_elect", "call_pure_extern", "call_pure_intrin"})
"""Operations of which the pass takes the same call to have one answer."""


class AccessRanges:
    """Of the accesses of one kernel; `indices` are those of the threads, each with its extent."""

    def __init__(self, paths: PathConditions, indices: Mapping[Var, int]):
        self._paths = paths
        self._indices = indices
        self._reached: dict[Made, Interval | None] = {}
        self._differences: dict[tuple[Made, Made, For | None], Set[Interval] | None] = {}

    def differences(self, one: Made, two: Made, loop: For | None) -> Set[Interval] | None:
        """By how many bytes the one's elements begin after the other's, with `loop` in its next
        round, if both buffers began at one byte; None if that is not known."""
        key = (one, two, loop)
        if key not in self._differences:
            self._differences[key] = self._find_differences(one, two, loop)
        return self._differences[key]

    def _find_differences(self, one: Made, two: Made, loop: For | None) -> Set[Interval] | None:
        (stmt, first), (other, second) = one, two
        assert first.index is not None
        assert second.index is not None
        shared = {each.var for each in self._paths.loops(stmt)}
        shared &= {each.var for each in self._paths.loops(other)}
        if first.is_write and second.is_write:
            shared |= self._indices.keys()  # the pass compares two writes of one thread
        return differences(
            Indexed(first.index, first.width, self._ranges(stmt)),
            Indexed(second.index, second.width, self._ranges(other)),
            shared,
            None if loop is None else loop.var,
        )

    def have_one_index(self, one: Made, two: Made, loop: For | None) -> bool:
        """Whether both have the same index, whichever the thread, under the same conditions."""
        first, second = one[1], two[1]
        assert first.index is not None
        assert second.index is not None
        if first.buffer is not second.buffer or first.width != second.width:
            return False
        if (first.lanes, first.stride) != (second.lanes, second.stride):
            return False
        if loop is not None and loop.var in variables_in(second.index):
            return False
        if not same(first.index, second.index) or self._scopes(one) != self._scopes(two):
            return False
        return not self._asks(one[0])

    def _asks(self, stmt: Stmt) -> bool:
        """Whether the scopes around a statement ask an operation. The pass takes each answer for
        another one, and does not know that of a scope to be the same for all that is in there."""
        return any(map(self._is_answer, (stmt, *(one.stmt for one in self._paths.frames[stmt]))))

    @once
    def _is_answer(self, scope: Stmt) -> bool:
        """Whether what holds in a scope, or what a variable is bound to, is such an answer."""
        return isinstance(scope, (Bind, If, For, While)) and any(
            isinstance(node, Call) and not (is_arithmetic(node) or node.op in _PURE)
            for expr in expressions_of(scope)
            for node in walk(expr)
        )

    def _scopes(self, made: Made) -> object:
        """All that the pass knows to hold at an access."""
        stmt, entry = made
        within = (stmt,) if isinstance(stmt, (If, While)) else ()
        return self._paths.frames[stmt], within, entry.guards

    def reach(self, made: Made) -> Interval | None:
        """The first and the last element that an access may reach, from its buffer's begin."""
        if made not in self._reached:
            self._reached[made] = self._find_reach(*made)
        return self._reached[made]

    def _find_reach(self, stmt: Stmt, entry: AccessEntry) -> Interval | None:
        ranges = self._ranges(stmt)
        begin = None if entry.index is None else reach_of(entry.index, ranges)
        extent = reach_of(entry.extent, ranges)
        if begin is None or extent is None:
            return None
        if entry.by_pointer:
            return begin[0], begin[1] + extent[1] - 1
        least, most = span(entry)
        return begin[0] + least // entry.width, begin[1] + most // entry.width

    def lie_apart(self, one: Made, two: Made, loop: For | None, begins: tuple[int, int]) -> bool:
        """Whether elements surely begin at different bytes; of pointers whether the elements that
        the one reaches come before the other's, each counted in its own width. Their buffers begin
        at the bytes `begins`; the two are accesses of one kind, of which the index is known."""
        if not one[1].by_pointer:
            return self._differ(one, two, loop, begins[0] - begins[1])
        mine, theirs = self.reach(one), self.reach(two)
        if mine is None or theirs is None:
            return False
        shift = begins[0] // one[1].width - begins[1] // two[1].width
        return mine[1] + shift < theirs[0] or theirs[1] < mine[0] + shift

    def _differ(self, one: Made, two: Made, loop: For | None, shift: int) -> bool:
        """Whether elements surely begin at different bytes; `shift` is by how many the one's buffer
        begins after the other's."""
        found = self.differences(one, two, loop)
        before, after = span(one[1]), span(two[1])
        return found is not None and all(
            low + shift + before[0] - after[1] > 0 or high + shift + before[1] - after[0] < 0
            for low, high in found
        )

    @once
    def _ranges(self, stmt: Stmt) -> Mapping[Var, Interval]:
        """Those of the loops around a statement, and of the indices of the threads there."""
        ranges = {var: (0, extent - 1) for var, extent in self._indices.items()}
        reaching = self._paths.in_branches(stmt, self._indices.keys())
        along = [var for var, extent in self._indices.items() if extent > 1]
        if len(along) == 1 and reaching is not None and len(reaching):
            ranges[along[0]] = (int(reaching.min()), int(reaching.max()))
        for loop in self._paths.loops(stmt):
            begin, extent = constant(loop.begin), constant(loop.extent)
            if begin is not None and extent is not None and extent > 0:
                ranges[loop.var] = (begin, begin + extent - 1)
        return ranges


def span(entry: AccessEntry) -> Interval:
    """By how many bytes the lanes of an access begin after its first element."""
    last = (entry.lanes - 1) * entry.stride * entry.width
    return min(last, 0), max(last, 0)
