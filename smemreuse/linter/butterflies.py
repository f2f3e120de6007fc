"""Reductions that exchange values through a workspace: each thread writes an element of it, and
reads those of its partners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.ir.launch import AXES
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.comers import Comers
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Butterfly
from smemreuse.semantics.evaluate import axis_index, evaluate
from smemreuse.semantics.operands import element_bytes
from smemreuse.semantics.pointers import Pointers, address_of
from smemreuse.semantics.table import calls_of, effect_of

Found = tuple[Stmt, frozenset[Buffer], Hazard]


def has_butterfly(stmt: Stmt) -> bool:
    """Whether threads exchange values in a statement that way."""
    return any(effect_of(call).butterfly is not None for call in calls_of(stmt))


def butterfly_hazards(
    came: Comers, axes: Mapping[str, int], sizes: Mapping[Buffer, int], pointers: Pointers
) -> Iterator[Found]:
    """Elements beyond the workspace, of one of the shared buffers with these `sizes` in bytes, and
    partners that do not come."""
    for call in calls_of(came.stmt):
        butterfly = effect_of(call).butterfly
        if butterfly is None or not came.threads.count:
            continue
        index = axis_index(AXES[0], axes, came.threads)
        numbers = np.broadcast_to(0 if index is None else index, came.threads.ids.shape)
        numbers = numbers - butterfly.first
        yield from _beyond(call, butterfly, numbers, came, sizes, pointers)
        yield from _alone(butterfly, numbers, came)


def _beyond(
    call: Call,
    butterfly: Butterfly,
    numbers: np.ndarray,
    came: Comers,
    sizes: Mapping[Buffer, int],
    pointers: Pointers,
) -> Iterator[Found]:
    pointer = call.args[butterfly.workspace]
    place, each = address_of(pointer, pointers), element_bytes(pointer)
    if place is None or each is None or place.buffer not in sizes:
        return
    start = evaluate(place.offset, came.threads)
    if start is None:
        return
    last_copy = (butterfly.copies - 1) * butterfly.stride
    first = start + each * (numbers + min(last_copy, 0))
    last = start + each * (numbers + max(last_copy, 0) + 1) - 1
    beyond = (first < 0) | (last >= sizes[place.buffer])
    if not beyond.any():
        return
    at, name, site = int(np.argmax(beyond)), place.buffer.name, Site.of(came.stmt)
    size = sizes[place.buffer]
    byte = int(first[at]) if first[at] < 0 else int(last[at])
    who = words.threads(came.threads.ids[at : at + 1])
    hazard = Hazard(
        HazardKind.OUT_OF_BOUNDS,
        came.certain,
        site,
        (name,),
        f"{words.does(who, 'write')} byte {byte} of {name}, which has {size:,} bytes, at {site}: "
        "each thread that takes part writes an element",
        mends.stay_inside(name, size, site),
        bytes=(int(first[at]), int(last[at])),
        agents=(who,),
        mechanism=mechanisms.of_access(came.stmt, writes=True),
    )
    yield came.stmt, frozenset((place.buffer,)), hazard


def _alone(butterfly: Butterfly, numbers: np.ndarray, came: Comers) -> Iterator[Found]:
    """Threads whose partners do not come: they read what nobody has written in the exchange."""
    partners = numbers[:, None] ^ np.array(butterfly.distances)
    lacking = ~np.isin(partners, numbers)
    if not lacking.any():
        return
    missing = np.unique(partners[lacking]) + butterfly.first
    alone = words.threads(came.threads.ids[lacking.any(axis=1)])
    site, others = Site.of(came.stmt), words.threads(missing)
    hazard = Hazard(
        HazardKind.BARRIER_DIVERGENCE,
        came.certain,
        site,
        (),
        f"{alone} read at {site} what {others} should have written there, but those do not reach "
        "it",
        mends.reduce_over_those_who_come(site),
        agents=(others, alone),
        mechanism=mechanisms.TOGETHER,
    )
    yield came.stmt, frozenset(), hazard
