"""Where a later pass may be content with barriers of the threads in one arm (rule 6).

TileLang's `ThreadSync` goes through the statements of a branch first, and gives what collides there
a barrier of those threads. Whoever comes by with others finds that barrier on the way, and takes it
for one of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Assert,
    Attr,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect, Engine, Group

Accessing = Callable[[Stmt], Iterable[MemoryAccess]]
Doing = Callable[[Stmt], Iterable[Effect]]


def may_meet_inside(branch: Stmt, accessing: Accessing, doing: Doing) -> bool:
    """Whether threads in an arm of a branch may meet there without the others.

    They do if there is a barrier. They may if two statements access shared memory, or one does over
    and over, unless all only read, or each only writes another buffer: what one thread writes after
    the other collides with nothing. `accessing` and `doing` give the accesses and the effects of a
    statement itself.
    """
    read = False
    written: list[object] = []
    for stmt in walk_statements((branch,)):
        if stmt is not branch and any(map(_is_barrier, doing(stmt))):
            return True
        found = () if stmt is branch else tuple(_shared(accessing(stmt)))
        reads = any(one.access is not Access.WRITE for one in found)
        writes = [one.buffer for one in found if one.access is not Access.READ]
        read, written = read or reads, [*written, *writes]
    if not written or _is_one_statement(branch, accessing):
        return False
    return read or len(set(written)) < len(written)


def met_before(
    body: Block, accessing: Accessing, doing: Doing, partners: Mapping[Buffer, Collection[Buffer]]
) -> frozenset[Stmt]:
    """The branches before which a later pass puts a barrier of all who come by.

    It does where what an arm accesses before its first barrier collides with what has been accessed
    before the branch, and since a barrier: what is written there and read here of one buffer, or of
    `partners` that share its bytes, or by an element here and through a pointer there, which it
    does not compare.
    """
    found = _MetBefore(accessing, doing, partners)
    found.block(body)
    return frozenset(found.branches)


_Place = tuple[Buffer, bool]
"""A buffer, and whether it is accessed through a pointer."""

_Since = tuple[frozenset[_Place], frozenset[_Place]]
"""What has been read, and what written, since a barrier, at the least."""

_NOTHING: _Since = (frozenset(), frozenset())


class _MetBefore:
    """Goes through the statements as `ThreadSync` does."""

    def __init__(
        self, accessing: Accessing, doing: Doing, partners: Mapping[Buffer, Collection[Buffer]]
    ):
        self._partners = partners
        self.branches: set[Stmt] = set()
        self._accessing = accessing
        self._doing = doing
        self._known: dict[Stmt, bool] = {}
        self._accessed: dict[Stmt, _Since] = {}

    def block(self, block: Block, since: _Since = _NOTHING) -> _Since:
        for stmt in block:
            since = self._statement(stmt, since)
        return since

    def _statement(self, stmt: Stmt, since: _Since) -> _Since:
        if isinstance(stmt, (Attr, Assert)):
            return self.block(stmt.body, since)
        ends = [self.block(inner) for inner in nested_blocks(stmt)]
        if isinstance(stmt, For) and self._all_of(stmt)[0]:
            self.block(stmt.body, ends[0])  # what one round leaves open the next one meets
        if isinstance(stmt, If) and self._surely_collide(since, self._head(stmt)):
            self.branches.add(stmt)
        if any(map(_is_barrier, self._doing(stmt))):
            return _NOTHING
        if self._meets(stmt):
            return self._tail(stmt, ends) if isinstance(stmt, If) else _NOTHING
        return self._behind(since, self._all_of(stmt))

    def _tail(self, branch: If, ends: Sequence[_Since]) -> _Since:
        """What is accessed in the arms behind all barriers that there may be."""
        then, orelse = ends
        if self._first(branch.orelse)[1]:
            return orelse
        return then[0] | orelse[0], then[1] | orelse[1]

    def _surely_collide(self, since: _Since, now: _Since) -> bool:
        """Whether one of two is written, and they are of one place, or are not compared."""
        (reads, writes), (reads_now, writes_now) = since, now
        return any(
            before != here or one is other or other in self._partners.get(one, ())
            for earlier, later in ((reads, writes_now), (writes, reads_now))
            for one, before in earlier
            for other, here in later
        ) or any(before != here for _, before in writes for _, here in writes_now)

    def _meets(self, stmt: Stmt) -> bool:
        if not isinstance(stmt, (If, For, While)):
            return False
        if stmt not in self._known:
            self._known[stmt] = may_meet_inside(stmt, self._accessing, self._doing)
        return self._known[stmt]

    def _all_of(self, stmt: Stmt) -> _Since:
        if stmt not in self._accessed:
            self._accessed[stmt] = self._all_in(stmt)
        return self._accessed[stmt]

    def _all_in(self, stmt: Stmt) -> _Since:
        found = [
            one for inner in walk_statements((stmt,)) for one in _shared(self._accessing(inner))
        ]
        return (
            frozenset(_place(one) for one in found if one.access is not Access.WRITE),
            frozenset(_place(one) for one in found if one.access is not Access.READ),
        )

    def _behind(self, since: _Since, now: _Since) -> _Since:
        """Where something may collide there may be a barrier before it."""
        if _may_collide(since, now):
            return now
        return since[0] | now[0], since[1] | now[1]

    def _head(self, branch: If) -> _Since:
        """What is accessed in the arms before any barrier that there may be."""
        reads, writes = _NOTHING
        for arm in (branch.then, branch.orelse):
            found, ends = self._first(arm)
            reads, writes = reads | found[0], writes | found[1]
            if ends:
                break
        return reads, writes

    def _first(self, block: Block) -> tuple[_Since, bool]:
        """What is accessed in a block before any barrier, and whether there may be one."""
        since = _NOTHING
        for stmt in block:
            if isinstance(stmt, (Attr, Assert)):
                found, ends = self._first(stmt.body)
            elif any(map(_is_barrier, self._doing(stmt))):
                return since, True
            elif self._meets(stmt):
                found, ends = self._head(stmt) if isinstance(stmt, If) else _NOTHING, True
            else:
                found, ends = self._all_of(stmt), False
            if _may_collide(since, found):
                return since, True
            since = since[0] | found[0], since[1] | found[1]
            if ends:
                return since, True
        return since, False


def _place(access: MemoryAccess) -> _Place:
    return access.buffer, isinstance(access.node, Call)


def _may_collide(since: _Since, now: _Since) -> bool:
    """Whether something is written there or here, wherever the buffers lie."""
    return bool((now[0] and since[1]) or (now[1] and (since[0] or since[1])))


def _is_one_statement(branch: Stmt, accessing: Accessing) -> bool:
    """Whether one statement in a branch accesses shared memory, and does it once."""
    found = False
    for stmt, in_loop in _inside(branch, isinstance(branch, (For, While))):
        if any(_shared(accessing(stmt))):
            if found or in_loop:
                return False
            found = True
    return found


def _inside(branch: Stmt, in_loop: bool) -> Iterator[tuple[Stmt, bool]]:
    """The statements in a branch, each with whether it is a loop or in one."""
    for block in nested_blocks(branch):
        for stmt in block:
            looping = in_loop or isinstance(stmt, (For, While))
            yield stmt, looping
            yield from _inside(stmt, looping)


def _shared(accesses: Iterable[MemoryAccess]) -> Iterable[MemoryAccess]:
    return (one for one in accesses if one.buffer.scope in SHARED_SCOPES)


def _is_barrier(effect: Effect) -> bool:
    """Whether there is a barrier of several warps, or a later pass puts one behind it."""
    if effect.meeting is not None:
        return effect.meeting.group not in (Group.WARP, Group.NOBODY)
    return effect.waits is not None and effect.waits.engine is Engine.CP_ASYNC
