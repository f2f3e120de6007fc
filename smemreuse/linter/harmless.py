"""Which hazards are harmless, since what is read there decides nothing (`discarded`).

That is asked for all thread blocks at once, and where it is not seen so, for each kind by itself:
what is not written in one may be written in another one, and each may discard another value of a
choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Stmt
from smemreuse.linter.collected import Key
from smemreuse.linter.doubtful import DoubtfulReads, Sources
from smemreuse.results.hazards import HazardKind

MAX_KINDS = 16
"""Kinds of thread blocks that are looked at by themselves."""

IsDiscarded = Callable[[Sources], bool]


def harmless(
    keys: Iterable[Key], doubtful: Sequence[DoubtfulReads], is_discarded: IsDiscarded
) -> set[Key]:
    """Those of some hazards that are harmless."""
    known: dict[tuple[HazardKind, Stmt | None, Buffer], bool] = {}
    found = set()
    for key in keys:
        kind, stmt, buffers = key
        if len(buffers) != 1:
            continue  # an mbarrier is no contents
        (buffer,) = buffers
        about = kind, stmt if kind is HazardKind.RACE else None, buffer
        if about not in known:
            sources = _sources(kind, stmt, buffer, doubtful)
            known[about] = bool(sources) and _are_discarded(sources, is_discarded)
        if known[about]:
            found.add(key)
    return found


def _sources(
    kind: HazardKind, stmt: Stmt, buffer: Buffer, doubtful: Sequence[DoubtfulReads]
) -> list[Sources]:
    """Where the values of a hazard come from, for each kind of thread blocks that has it; none if
    that is not known."""
    if kind is HazardKind.UNINITIALISED_READ:
        return [
            Sources({buffer: one.unwritten[buffer]}, blocks=one.blocks)
            for one in doubtful
            if buffer in one.unwritten
        ]
    if kind is not HazardKind.RACE or buffer.scope not in SHARED_SCOPES:
        return []
    races = [
        (one.racing[stmt, buffer], one.blocks) for one in doubtful if (stmt, buffer) in one.racing
    ]
    if not all(race.is_known for race, _ in races):
        return []
    return [Sources(reads={(stmt, buffer): race.threads}, blocks=blocks) for race, blocks in races]


def _are_discarded(sources: Sequence[Sources], is_discarded: IsDiscarded) -> bool:
    if is_discarded(reduce(Sources.joined, sources, Sources())):
        return True
    if len(sources) > MAX_KINDS or not all(one.blocks for one in sources):
        return False
    return all(map(is_discarded, sources))
