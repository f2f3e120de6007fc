"""Between what a missing proxy fence belongs: the waits and the barrier that the text shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from smemreuse.ir.kernel import For, Stmt, While
from smemreuse.ir.tree import StatementTree, straight_line
from smemreuse.linter.phase_handovers import PhaseHandover, phase_handover
from smemreuse.linter.words import engine_of
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import evaluated_effect, is_block_barrier


@dataclass(frozen=True)
class FencePlace:
    """What surely comes between two accesses of different proxies; None where the text shows none.

    `wait` is the last wait for copies before the later access, where the earlier one is a copy, and
    `barrier` the last barrier of the block after that. `follows` tells that the compiler inserts a
    barrier directly after the wait. `handover` is the phase of an mbarrier, where no such barrier
    comes between.
    """

    wait: Site | None = None
    barrier: Site | None = None
    follows: bool = False
    handover: PhaseHandover | None = None


def fence_place(
    tree: StatementTree, followed: Collection[Stmt], earlier: Stmt, later: Stmt
) -> FencePlace:
    """The place for a fence between two statements, `followed` are those that barriers follow."""
    passed, handover = [*_passed(tree, earlier, later)], None
    if not any(map(is_block_barrier, passed)):
        handover = phase_handover(tree, earlier, later)
    wait = None
    if engine_of(earlier) is Engine.CP_ASYNC:
        passed = passed if handover is None else [*handover.between]
        wait = next(filter(_waits_for_copies, reversed(passed)), None)
    after = passed[passed.index(wait) + 1 :] if wait is not None else passed
    barrier = next(filter(is_block_barrier, reversed(after)), None)
    return FencePlace(
        None if wait is None else Site.of(wait),
        None if barrier is None else Site.of(barrier),
        wait is not None and any(spot.stmt in followed for spot in tree.path(wait)),
        handover,
    )


def _passed(tree: StatementTree, earlier: Stmt, later: Stmt) -> Iterator[Stmt]:
    """The statements that are executed between the two whatever branches are taken, in order."""
    spots = tree.common(earlier, later)
    if spots is None or spots[0].index == spots[1].index:
        return
    mine, theirs = spots
    if mine.index < theirs.index:
        yield from straight_line(theirs.block[mine.index + 1 : theirs.index])
    elif isinstance(theirs.scope, (For, While)):  # the later one comes in the next round
        yield from straight_line(mine.block[mine.index + 1 :])
        yield from straight_line(theirs.block[: theirs.index])
    else:
        return
    inner = tree.path(later)
    for spot in inner[inner.index(theirs) + 1 :]:
        yield from straight_line(spot.block[: spot.index])


def _waits_for_copies(stmt: Stmt) -> bool:
    effect = evaluated_effect(stmt)
    waits = None if effect is None else effect.waits
    return waits is not None and waits.engine is Engine.CP_ASYNC
