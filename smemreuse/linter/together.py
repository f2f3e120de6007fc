"""Operations that a warp or a warpgroup executes together, where a part of it does (rule 12).

PTX leaves undefined what an `.aligned` instruction does that not all threads of its warp come to,
of its warpgroup for wgmma. No trace is needed for that, but the threads that come to a statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.separation.reach import Reaches
from smemreuse.ir.expr import Call, Expr, Load, Var, children
from smemreuse.ir.kernel import (
    Bind,
    Block,
    For,
    If,
    Stmt,
    Store,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.ir.launch import AXES, launches, tag_of
from smemreuse.linter import mends, words
from smemreuse.results.hazards import Hazard, HazardKind, Site
from smemreuse.semantics.effects import Together
from smemreuse.semantics.evaluate import evaluate
from smemreuse.semantics.table import calls_of, effect_of

_NAMES = {Together.WARP: "warp", Together.WARPGROUP: "warpgroup"}


def together(stmt: Stmt) -> Together | None:
    """Who must execute a statement together: the most that one of its operations asks for."""
    found = [effect.together for call in calls_of(stmt) if (effect := effect_of(call)).together]
    return max(found, key=lambda one: one.value, default=None)


def any_together(body: Block) -> bool:
    """Whether a kernel has such an operation."""
    return any(together(stmt) is not None for stmt in walk_statements(body))


def divided(body: Block, reaches: Reaches) -> Iterator[tuple[Stmt, Hazard]]:
    """The statements of which only a part of a warp or warpgroup executes such an operation.

    Certain where no data decide that threads come there, and which. What data decide without a
    word of the thread's index, or of what is made of it, counts as the same for all of them.
    """
    yield from _Divided(reaches, _OfThread(body)).in_block(body, True, False)


class _OfThread:
    """The variables and locals that are made of the threads' indices."""

    def __init__(self, body: Block):
        self._made: set[object] = {one.var for one in launches(body) if tag_of(one) in AXES}
        before = -1
        while before != (before := len(self._made)):
            for stmt in walk_statements(body):
                self._find(stmt)

    def _find(self, stmt: Stmt) -> None:
        if (isinstance(stmt, Bind) and self.names(stmt.value)) or (
            isinstance(stmt, For) and (self.names(stmt.begin) or self.names(stmt.step))
        ):
            self._made.add(stmt.var)
        elif isinstance(stmt, Store) and stmt.buffer.scope.startswith("local"):
            if any(map(self.names, (stmt.value, *stmt.indices))):
                self._made.add(stmt.buffer.storage)

    def names(self, expr: Expr) -> bool:
        """Whether an expression names any of them. What threads make of their values together, in
        a reduction, is the same for those who take part."""
        if isinstance(expr, Call) and effect_of(expr).exchanges:
            return False
        if isinstance(expr, Load) and expr.buffer.storage in self._made:
            return True
        if isinstance(expr, Var):
            return expr in self._made
        return any(map(self.names, children(expr)))


@dataclass(frozen=True)
class _Divided:
    """The threads at each statement, and what is made of their indices."""

    reaches: Reaches
    of_thread: _OfThread

    def in_block(self, block: Block, sure: bool, parted: bool) -> Iterator[tuple[Stmt, Hazard]]:
        """`sure`: it is executed whatever the data; `parted`: by threads that data choose."""
        for stmt in block:
            threads, group = self.reaches[stmt].threads, together(stmt)
            if group is not None:
                missing = _missing(threads.ids, group, len(self.reaches.everyone))
                if len(missing) or parted:
                    yield stmt, _hazard(stmt, group, missing, certain=sure and not parted)
            deciding = tuple(_deciding(stmt))
            values = [evaluate(one, threads) for one in deciding]
            of_arms = isinstance(stmt, If)  # whose threads are known where the condition is
            known = all(isinstance(one, int) or (of_arms and one is not None) for one in values)
            by_thread = not known and any(map(self.of_thread.names, deciding))
            for inner in nested_blocks(stmt):
                yield from self.in_block(inner, sure and known, parted or by_thread)


def _deciding(stmt: Stmt) -> Iterator[Expr]:
    """What decides whether, and how often, a statement executes those in it."""
    if isinstance(stmt, (If, While)):
        yield stmt.condition
    elif isinstance(stmt, For):
        yield from (stmt.begin, stmt.extent)


def _hazard(stmt: Stmt, group: Together, missing: np.ndarray, *, certain: bool) -> Hazard:
    """That of a statement which threads of a part of a group come to; who does not, if known."""
    site, name = Site.of(stmt), _NAMES[group]
    who = words.missing(missing)
    return Hazard(
        HazardKind.BARRIER_DIVERGENCE,
        certain,
        site,
        (),
        f"{who} not execute {site} with the others of their {name}, all of which it takes",
        mends.execute_together(name, site),
        agents=(words.threads(missing),) if len(missing) else (),
    )


def _missing(ids: np.ndarray, group: Together, count: int) -> np.ndarray:
    """The threads of a block of `count` that are not among `ids`, but others of their group."""
    size = group.value
    groups = np.unique(ids // size)
    every = (size * groups[:, None] + np.arange(size)).reshape(-1)
    missing = np.setdiff1d(every, ids)
    # A warp may have fewer threads; a warpgroup of which some do not exist is none.
    return missing[missing < count] if group is Together.WARP else missing
