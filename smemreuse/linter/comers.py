"""Who comes to a statement, and whether data decide it: without a trace, by the branches around.

What data decide without a word of the thread's index, or of what is made of it, counts as the same
for all threads of a group: a warp, or a warpgroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.separation.reach import Reaches
from smemreuse.ir.expr import Call, Expr, Load, Var, children
from smemreuse.ir.kernel import Bind, Block, For, If, Stmt, Store, While, nested_blocks
from smemreuse.ir.launch import thread_indices
from smemreuse.semantics.effects import Together
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.table import effect_of


@dataclass(frozen=True)
class Comers:
    """The threads that come to a statement: `sure`, whatever the data are; `parted`, if data choose
    some of them by their index."""

    stmt: Stmt
    threads: Threads
    sure: bool
    parted: bool

    @property
    def certain(self) -> bool:
        """Whether these threads surely come, and no others."""
        return self.sure and not self.parted


def comers(body: Block, reaches: Reaches, group: Together) -> Iterator[Comers]:
    """Those of every statement of a kernel, in program order."""
    yield from _Comers(reaches, _DiffersInGroup(body, reaches, group)).in_block(body, True, False)


def missing_of(ids: np.ndarray, group: Together, count: int) -> np.ndarray:
    """The threads of a block of `count` that are not among `ids`, but others of their group."""
    size = group.value
    groups = np.unique(ids // size)
    every = (size * groups[:, None] + np.arange(size)).reshape(-1)
    missing = np.setdiff1d(every, ids)
    # A warp may have fewer threads; a warpgroup of which some do not exist is none.
    return missing[missing < count] if group is Together.WARP else missing


class _DiffersInGroup:
    """The variables and locals that may differ between threads of one group: those made of what
    does, and those that a part of a group sets."""

    def __init__(self, body: Block, reaches: Reaches, group: Together):
        self._reaches, self._group = reaches, group
        self._made: set[object] = {*thread_indices(body)}
        before = -1
        while before != (before := len(self._made)):
            self._find(body, False)

    def _find(self, block: Block, parted: bool) -> None:
        for stmt in block:
            threads = self._reaches[stmt].threads
            if (isinstance(stmt, Bind) and self(stmt.value, threads)) or (
                isinstance(stmt, For) and (self(stmt.begin, threads) or self(stmt.step, threads))
            ):
                self._made.add(stmt.var)
            elif isinstance(stmt, Store) and stmt.buffer.scope.startswith("local"):
                if parted or self._is_part(threads) or self._of_any(stmt, threads):
                    self._made.add(stmt.buffer.storage)
            inside = parted or self.parts(stmt, threads)
            for inner in nested_blocks(stmt):
                self._find(inner, inside)

    def _is_part(self, threads: Threads) -> bool:
        everyone = len(self._reaches.everyone)
        return len(missing_of(threads.ids, self._group, everyone)) > 0

    def _of_any(self, stmt: Store, threads: Threads) -> bool:
        return any(self(one, threads) for one in (stmt.value, *stmt.indices))

    def parts(self, stmt: Stmt, threads: Threads) -> bool:
        """Whether data decide by thread who comes to what is in a statement."""
        deciding = tuple(_deciding(stmt))
        return not knows(stmt, threads) and any(self(one, threads) for one in deciding)

    def __call__(self, expr: Expr, threads: Threads) -> bool:
        """Whether threads of a group may see different values of an expression. What they make of
        their values together, in a reduction, is the same for those who take part."""
        value = evaluate(expr, threads)
        if value is not None:
            return isinstance(value, np.ndarray) and self._differs(value, threads.ids)
        if isinstance(expr, Call) and effect_of(expr).exchanges:
            return False
        if isinstance(expr, Load) and expr.buffer.storage in self._made:
            return True
        if isinstance(expr, Var):
            return expr in self._made
        return any(self(one, threads) for one in children(expr))

    def _differs(self, value: np.ndarray, ids: np.ndarray) -> bool:
        groups = ids // self._group.value
        order = np.argsort(groups, kind="stable")
        groups, value = groups[order], value[order]
        return bool(((groups[1:] == groups[:-1]) & (value[1:] != value[:-1])).any())


@dataclass(frozen=True)
class _Comers:
    """The threads at each statement, and what differs among them."""

    reaches: Reaches
    differs: _DiffersInGroup

    def in_block(self, block: Block, sure: bool, parted: bool) -> Iterator[Comers]:
        """`sure`: it is executed whatever the data; `parted`: by threads that data choose."""
        for stmt in block:
            threads = self.reaches[stmt].threads
            yield Comers(stmt, threads, sure, parted)
            known = knows(stmt, threads)
            by_thread = parted or self.differs.parts(stmt, threads)
            for inner in nested_blocks(stmt):
                yield from self.in_block(inner, sure and known, by_thread)


def knows(stmt: Stmt, threads: Threads) -> bool:
    """Whether it is known who of some threads execute what is in a statement."""
    values = [evaluate(one, threads) for one in _deciding(stmt)]
    of_arms = isinstance(stmt, If)  # whose threads are known where the condition is
    return all(isinstance(one, int) or (of_arms and one is not None) for one in values)


def _deciding(stmt: Stmt) -> Iterator[Expr]:
    """What decides whether, and how often, a statement executes those in it."""
    if isinstance(stmt, (If, While)):
        yield stmt.condition
    elif isinstance(stmt, For):
        yield from (stmt.begin, stmt.extent)
