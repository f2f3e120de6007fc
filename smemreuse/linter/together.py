"""Operations that threads execute together, where a part of them does (rule 12).

PTX leaves undefined what an `.aligned` instruction does that not all threads of its warp come to,
of its warpgroup for wgmma; and what a shuffle or a vote does that not all lanes come to which its
mask names. A reduction through memory reads what threads have not written that do not come.
No trace is needed for that, but the threads that come to a statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from smemreuse.checker.separation.reach import Reaches
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Block, Buffer, Stmt, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.butterflies import butterfly_hazards, has_butterfly
from smemreuse.linter.comers import Comers, comers, missing_of
from smemreuse.linter.followers import goes_on_with
from smemreuse.results.hazards import Act, Hazard, HazardKind
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Together
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.pointers import Pointers
from smemreuse.semantics.table import calls_of, effect_of

_NAMES = {Together.WARP: "warp", Together.WARPGROUP: "warpgroup"}

Found = tuple[Stmt, frozenset[Buffer], Hazard]


def together(stmt: Stmt) -> Together | None:
    """Who must execute a statement together: the most that one of its operations asks for."""
    found = [effect.together for call in calls_of(stmt) if (effect := effect_of(call)).together]
    return max(found, key=lambda one: one.value, default=None)


def any_together(body: Block) -> bool:
    """Whether a kernel has such an operation."""
    return any(
        together(stmt) is not None or any(map(_names_lanes, calls_of(stmt))) or has_butterfly(stmt)
        for stmt in walk_statements(body)
    )


def _names_lanes(call: Call) -> bool:
    return effect_of(call).lanes is not None


def divided(
    body: Block,
    reaches: Reaches,
    axes: Mapping[str, int],
    sizes: Mapping[Buffer, int],
    pointers: Pointers,
) -> Iterator[Found]:
    """The hazards of such operations, each with its statement and the buffer that it is of.

    Certain where no data decide that threads come there, and which.
    """
    groups = {group for stmt in walk_statements(body) if (group := together(stmt)) is not None}
    tree = StatementTree(body)
    for group in sorted(groups | {Together.WARP}, key=lambda one: one.value):
        for came in comers(body, reaches, group):
            if together(came.stmt) is group:
                yield from _of_group(came, group, len(reaches.everyone), tree)
            if group is Together.WARP:
                yield from _of_lanes(came, len(reaches.everyone), tree)
                yield from butterfly_hazards(came, axes, sizes, pointers)


def _of_group(came: Comers, group: Together, count: int, tree: StatementTree) -> Iterator[Found]:
    missing = missing_of(came.threads.ids, group, count)
    if not (len(missing) or came.parted):
        return
    certain = came.certain
    if all(effect_of(call).converges for call in calls_of(came.stmt) if effect_of(call).together):
        certain = certain and _go_on(came.stmt, tree)
    yield came.stmt, frozenset(), _hazard(came.stmt, _NAMES[group], missing, certain=certain)


def _of_lanes(came: Comers, count: int, tree: StatementTree) -> Iterator[Found]:
    """Of shuffles and votes, whose mask is known: the lanes that it names and that do not come."""
    for call in calls_of(came.stmt):
        mask = _mask(call, came.threads)
        if mask is None:
            continue
        ids = came.threads.ids
        named = (mask >> np.arange(32)) & 1 == 1
        every = (32 * np.unique(ids // 32)[:, None] + np.arange(32)[named]).reshape(-1)
        missing = np.setdiff1d(every[every < count], ids)
        if len(missing) or (came.parted and np.count_nonzero(named) > 1):
            certain = came.certain and _go_on(came.stmt, tree)
            name = "warp that its mask names"
            yield came.stmt, frozenset(), _hazard(came.stmt, name, missing, certain=certain)


def _mask(call: Call, threads: Threads) -> int | None:
    """The lanes that a shuffle names, a bit each, if they are the same for all who come."""
    at = effect_of(call).lanes
    if at is None or at >= len(call.args):
        return None
    value = evaluate(call.args[at], threads)
    if isinstance(value, np.ndarray) and len(value) and (value == value[0]).all():
        value = int(value[0])
    return value % 2**32 if isinstance(value, int) else None


def _go_on(stmt: Stmt, tree: StatementTree) -> bool:
    """Whether those who are not at a statement have anything left to do. Lanes wait for each other
    in a shuffle, and for none that has ended."""
    return any(True for _ in goes_on_with(stmt, tree))


def _hazard(stmt: Stmt, name: str, missing: np.ndarray, *, certain: bool) -> Hazard:
    """That of a statement which threads of a part of a group come to; who does not, if known."""
    site = Site.of(stmt)
    who = words.missing(missing)
    return Hazard(
        HazardKind.BARRIER_DIVERGENCE,
        certain,
        site,
        (),
        f"{who} not execute {site} with the others of their {name}, and it needs all of them",
        mends.execute_together(name, site),
        agents=(words.threads(missing),) if len(missing) else (),
        acts=(Act("never come to it", words.runs(missing)),) if len(missing) else (),
        mechanism=mechanisms.TOGETHER,
    )
