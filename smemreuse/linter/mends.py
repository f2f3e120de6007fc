"""How hazards are mended: a sentence, and what a rewrite would have to put in where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smemreuse.ir.source import place_words
from smemreuse.linter import words
from smemreuse.linter.fence_places import FencePlace
from smemreuse.results.hazards import Mend, Remedy
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Engine
from smemreuse.targets.architectures import WARP

WAITS = {
    Engine.CP_ASYNC: "commit the copies as a group and wait for it",
    Engine.TMA_LOAD: "wait for the phase of the mbarrier that the load reports to",
    Engine.TMA_STORE: "commit the stores as a group and wait until they have read",
    Engine.WGMMA: "wait for the warpgroup's multiplications",
    Engine.TCGEN05: "wait for the mbarrier that the multiplications arrive at",
}

PROXY_FENCE = "issue a proxy fence (fence.proxy.async)"


def _at(site: Site) -> str:
    source = place_words(None, site.source)
    # Who has the line of the script looks there.
    statement = site.brief if site.source is not None and site.brief else site.statement
    return (f"line {site.line}" if site.line else f"`{statement}`") + source


def _in_parentheses(site: Site) -> str:
    return place_words(site.line, site.source) if site.line else f" ({_at(site)})"


def _span(ids: np.ndarray) -> tuple[int, int] | None:
    return (int(ids.min()), int(ids.max()) + 1) if len(ids) else None


def _warps_of(ids: np.ndarray) -> str:
    """Who meets at a barrier, which takes whole warps: said where threads between are left out."""
    after_gaps = ids[1:][np.diff(ids) != 1]
    whole = "the warps of " if (after_gaps % WARP).any() else ""
    return f"{whole}{words.threads(ids)}"


def _is_in_later_round(one: Site, two: Site) -> bool:
    """Whether `two` is in a later iteration than `one` of the outermost loop in which they differ,
    and not in another arm, which runs at the same time."""
    rounds = dict(one.loops)
    both = [(rounds[name], number) for name, number in two.loops if name in rounds]
    return next((first < second for first, second in both if first != second), False)


def barrier(one: Site, two: Site, ids: np.ndarray) -> Mend:
    """Two accesses that nothing orders."""
    where = f"between {_at(one)} and {_at(two)}"
    if one.line == two.line and one.statement == two.statement:
        where = f"between two iterations of {_at(two)}"
    elif one.line and two.line and one.line > two.line:
        reached = "the next iteration reaches " if _is_in_later_round(one, two) else ""
        where = f"after {_at(one)}, before {reached}{_at(two)}"
    sentence = f"let {_warps_of(ids)} meet at a barrier {where}."
    return Mend(Remedy.BARRIER, sentence, one, two, _span(ids))


def wait(engine: Engine, name: str, one: Site, two: Site) -> Mend:
    """An access that is in flight."""
    how = WAITS.get(engine, "wait for it")
    sentence = f"{how} before {name} is accessed at {_at(two)}."
    return Mend(Remedy.WAIT, sentence, one, two, engine=engine.value)


def wait_at_the_end(engine: Engine, name: str, site: Site) -> Mend:
    """An access that is in flight when the kernel is over."""
    waits = WAITS.get(engine, "wait for it")
    of_what = f" at {_at(site)}" if engine is Engine.TMA_LOAD else f" {name}, after {_at(site)}"
    sentence = f"on every way to the kernel's end, {waits}{of_what}."
    return Mend(Remedy.WAIT, sentence, after=site, engine=engine.value)


def fence(one: Site, two: Site, ids: np.ndarray, place: FencePlace, *, own: bool) -> Mend:
    """Two proxies. `own`: those who access it last are among the `ids` that did first."""
    is_copied = one.stmt is not None and words.engine_of(one.stmt) is Engine.CP_ASYNC
    who, handover = words.threads(ids), place.handover
    if handover is not None and handover.with_copies and is_copied:
        # A fence of theirs would come before the copies are done, and the arrival with them.
        sentence = (
            f"let {who} wait for the copies of {_at(one)}, {PROXY_FENCE} and only then arrive at "
            f"{handover.mbarrier}, for which {_at(handover.wait)} waits; {_at(handover.arrival)} "
            "arrives with the copies."
        )
        return Mend(Remedy.FENCE, sentence, one, two, _span(ids))
    waited = "" if place.wait is None else f" at {_at(place.wait)}"
    done = f"after they have waited{waited} for the copies of" if is_copied else "after"
    before = _before(two, place, own=own)
    comma = "" if before.startswith("and") else ","
    sentence = f"let {who} {PROXY_FENCE} {done} {_at(one)}{comma} {before}."
    until = place.barrier or (handover and handover.arrival)
    return Mend(
        Remedy.FENCE, sentence, one, two, _span(ids), until=None if is_copied else until or None
    )


def _before(two: Site, place: FencePlace, *, own: bool) -> str:
    """Before what a fence has to come so that the access `two` is after it."""
    handover = place.handover
    if place.barrier is not None:
        return f"before the barrier at {_at(place.barrier)}"
    if handover is not None and not handover.with_copies:
        when = " in the next iteration" if handover.in_next_round else ""
        return (
            f"before they arrive{when} at {handover.mbarrier}{_in_parentheses(handover.arrival)}, "
            f"for which {_at(handover.wait)} waits"
        )
    if place.follows and own:
        # Directly after the wait, so that no fence comes between: then the reader's own will do.
        return (
            f"and before {_at(two)}: after the barrier that the compiler will insert directly "
            "after that wait"
        )
    return f"before the barrier or mbarrier that orders {_at(two)} after it"


def fence_initialization(one: Site, two: Site, ids: np.ndarray) -> Mend:
    """An mbarrier that TMA uses."""
    sentence = (
        f"let {words.threads(ids)} execute fence.mbarrier_init, or a proxy fence, after "
        f"{_at(one)}, before the barrier that orders {_at(two)} after it."
    )
    return Mend(Remedy.FENCE, sentence, one, two, _span(ids))


def initialise(name: str, span: tuple[int, int], site: Site) -> Mend:
    """Bytes that nothing has written."""
    which = f"bytes {span[0]:,} to {span[1]:,} of {name}"
    return Mend(Remedy.WRITE, f"write {which} before {_at(site)} reads them.", before=site)


def one_writer(name: str, site: Site, *, by_data: bool = False) -> Mend:
    """Threads that write different values to one byte; `by_data`: data decide which elements."""
    how = ", for example by an atomic that hands out the places" * by_data
    sentence = f"let one thread alone write each element of {name} at {_at(site)}{how}."
    return Mend(Remedy.CODE, sentence, before=site)


def stay_inside(name: str, size: int, site: Site) -> Mend:
    """An index beyond the buffer."""
    sentence = f"keep the index at {_at(site)} below the {size:,} bytes of {name}, or enlarge it."
    return Mend(Remedy.CODE, sentence, before=site)


def converge(site: Site) -> Mend:
    """A barrier in a branch."""
    sentence = f"move the barrier at {_at(site)} out of the branch, to where all threads reach it."
    return Mend(Remedy.CODE, sentence, before=site)


def recognizable_branch(one: Site, two: Site) -> Mend:
    """A barrier of all threads that the compiler puts into a branch of some."""
    sentence = (
        f"let the branch around {_at(two)} compare threadIdx.x itself with a constant, so that the "
        f"compiler sees which threads take it, or put a barrier of those after {_at(one)}."
    )
    return Mend(Remedy.CODE, sentence, after=one, before=two)


def signal_before(ending: Site, barrier: Site) -> Mend:
    """What some threads wait for behind a barrier to which they would have to come."""
    sentence = f"do what is waited for, at {_at(ending)}, before the barrier at {_at(barrier)}."
    return Mend(Remedy.CODE, sentence, after=barrier, before=ending)


def execute_together(name: str, site: Site) -> Mend:
    """An operation of all threads of a warp or warpgroup in a branch of some."""
    sentence = f"let all threads of the {name} reach {_at(site)}, or none of them."
    return Mend(Remedy.CODE, sentence, before=site)


def reduce_over_those_who_come(site: Site) -> Mend:
    """A reduction over more threads than come to it."""
    sentence = f"let as many threads reach {_at(site)} as it reduces over, or reduce over fewer."
    return Mend(Remedy.CODE, sentence, before=site)


def name_lanes(site: Site) -> Mend:
    """A barrier of a warp whose mask does not name who comes to it."""
    sentence = f"let only the lanes that its mask names reach {_at(site)}, and all of them."
    return Mend(Remedy.CODE, sentence, before=site)


def different_numbers(site: Site, other: Site | None) -> Mend:
    """A named barrier that two groups of threads use at once."""
    both = (
        _at(site) if other is None or _at(other) == _at(site) else f"{_at(other)} and {_at(site)}"
    )
    sentence = (
        f"let the threads at {both} meet at barriers of different numbers, or one group after the "
        "other, with a barrier of all threads in between."
    )
    return Mend(Remedy.CODE, sentence, after=other, before=site)


def one_scope(site: Site, other: Site) -> Mend:
    """Barriers of two storage scopes, which the compiler numbers each from the same number on."""
    sentence = (
        f"allocate what is accessed at {_at(other)} and {_at(site)} in one storage scope, as "
        '`scope="shared.dyn"`: the compiler numbers the barriers of each scope anew.'
    )
    return Mend(Remedy.CODE, sentence, after=other, before=site)


def wait_for_each_arrival(site: Site) -> Mend:
    """A barrier of two halves that are not done in turns."""
    sentence = f"let each thread arrive and wait in turns, once each, around {_at(site)}."
    return Mend(Remedy.CODE, sentence, before=site)


def come_in_one_order(site: Site) -> Mend:
    """A barrier that some come to only after others have passed it."""
    sentence = (
        f"let all threads reach {_at(site)} and their other barriers in one order, "
        "and let none do before it what others do after it."
    )
    return Mend(Remedy.CODE, sentence, before=site)


def complete(name: str, parity: int, lacking: int, site: Site) -> Mend:
    """An mbarrier that no arrival completes."""
    sentence = (
        f"wait for the other parity ({1 - parity % 2}) of {name} at {_at(site)}, or let the "
        f"{lacking} arrivals that its phase lacks happen before that."
    )
    return Mend(Remedy.CODE, sentence, before=site)


def initialize(name: str, site: Site) -> Mend:
    """An mbarrier that nobody has initialized."""
    sentence = (
        f"let one thread initialize {name} before {_at(site)}, and all threads meet at a barrier "
        "in between."
    )
    return Mend(Remedy.CODE, sentence, before=site)


def take_a_parity(site: Site) -> Mend:
    """A wait for a number that is no parity."""
    return Mend(Remedy.CODE, f"take the number waited for at {_at(site)} modulo 2.", before=site)


def count_for_one_phase(site: Site) -> Mend:
    """A barrier that may count for another phase than it is meant to."""
    sentence = f"wait for the phase before it, and for that alone, before {_at(site)}."
    return Mend(Remedy.CODE, sentence, before=site)


def look_in_time(name: str, waited: str, site: Site, acting: np.ndarray) -> Mend:
    """A wait that may come only after the phase following the awaited one is complete.

    `waited` is the mbarrier as the statement has it, of which `name` is one in one iteration.
    `acting` are the warps among those that wait, without which that phase does not end.
    """
    if len(acting) == 1:
        ids = acting[0] * 32 + np.arange(32)
        sentence = (
            f"let only {words.threads(ids)} wait at {_at(site)}, for {waited}: these are never "
            "late, as no phase of it ends before they have waited for the phase before; other "
            "warps need not wait."
        )
        return Mend(Remedy.NARROW, sentence, before=site, threads=_span(ids))
    sentence = (
        f"let the next phase of {name} need an arrival of each warp that waits at {_at(site)}, "
        "after its wait."
    )
    return Mend(Remedy.CODE, sentence, before=site)


_COUNTED_ONCE = "counted as one finding with this"


def likewise(mend: Mend, sites: Sequence[Site]) -> Mend:
    """The same at further sites, each named once, in the order of their lines."""
    places = list(dict.fromkeys(map(_at, sorted(sites, key=lambda one: one.line or 0))))
    if not places:
        return mend
    named = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) > 1 else places[0]
    return replace(mend, sentence=f"{mend.sentence} Likewise at {named} ({_COUNTED_ONCE}).")
