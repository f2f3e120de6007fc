"""Which threads of a witness to make late, where, and for how long.

A witness names the threads, the statement and the round in which somebody is not waited for. Made
late there, these threads let the hazard happen. Which side is made late follows from the kind:

- race, missing wait, missing fence: the earlier access, which the later one does not wait for. Of a
  write after a read that is the reader. With two proxies the last to come releases the other one at
  once, while its own accesses are still under way: they are queued behind others (`queued.py`);
- what an engine does, as TMA stores, wgmma and cp.async do: it is given other work first, and what
  it writes is given time to land before it is read (`in_flight.py`);
- missed phase: one of the warps that wait, before its wait, for longer than a launch takes;
- barrier divergence: those who come to the barrier, behind it, since others may pass without them;
  and one warp before what its group does ahead of the barrier, since others may come for it;
- uninitialised read and out of bounds: nobody. All shared memory is filled with a pattern first, or
  what lies behind the kernel's own, when it is accessed;
- barrier deadlock: nobody. It needs no help.
"""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.ir.kernel import DYNAMIC_SCOPE, Allocate, Block, Stmt, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.reproduce import in_flight, queued
from smemreuse.reproduce.cuda import BEYOND
from smemreuse.reproduce.delays import (
    ALL,
    FOR_EVER,
    LONG,
    PATTERN,
    SHORT,
    Attempt,
    Delay,
    earlier_of,
    every_round,
    last_warp,
    late,
    named,
    statement_of,
    threads_of,
    who,
)
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.sites import Site
from smemreuse.semantics.table import evaluated_effect

_LATE_ROUND = 2
"""The third round: by then a kernel is in its steady state."""


def attempts_of(hazard: Hazard, body: Block = ()) -> tuple[Attempt, ...]:
    """The ways to try, the most telling first. `body` has the statements that the hazard names:
    without it nothing is known of what is around them."""
    makers = {
        HazardKind.RACE: _of_the_earlier,
        HazardKind.MISSING_FENCE: _of_the_earlier,
        HazardKind.MISSING_WAIT: _in_flight,
        HazardKind.MISSED_PHASE: _of_the_waiting,
        HazardKind.BARRIER_DIVERGENCE: _behind_the_barrier,
        HazardKind.BARRIER_DEADLOCK: _plain,
        HazardKind.UNINITIALISED_READ: _filled,
        HazardKind.OUT_OF_BOUNDS: _filled,
    }
    found = [*makers[hazard.kind](hazard)]
    tree = StatementTree(body)
    if hazard.kind is HazardKind.OUT_OF_BOUNDS:
        found.append(_beyond(hazard, body))
    if hazard.kind in (HazardKind.RACE, HazardKind.MISSING_FENCE, HazardKind.MISSING_WAIT):
        found += in_flight.attempts(hazard)
        found[1:1] = queued.attempts(hazard, tree)
    if hazard.kind is HazardKind.BARRIER_DIVERGENCE:
        found += _ahead_of_the_barrier(hazard, tree)
    return tuple({one.words: one for one in found}.values())


def _plain(_hazard: Hazard) -> Iterator[Attempt]:
    yield Attempt("nothing is delayed")


def _filled(_hazard: Hazard) -> Iterator[Attempt]:
    yield Attempt(f"shared memory is filled with {PATTERN:#x} first", fill=PATTERN)


def _beyond(hazard: Hazard, body: Block) -> Attempt:
    """What lies behind the kernel's own shared memory is nobody's, and may become anything after a
    write or before a read."""
    sizes = [
        stmt.buffer.size or 0
        for stmt in walk_statements(body)
        if isinstance(stmt, Allocate) and stmt.buffer.scope == DYNAMIC_SCOPE
    ]
    own = sizes[0] if len(sizes) == 1 else 0
    writes = bool(hazard.acts) and hazard.acts[-1].deed.startswith("writes")
    delay = Delay(statement_of(hazard.site), writes, *ALL, own, (), BEYOND)
    words = f"what lies behind the kernel's shared memory is filled with {PATTERN:#x}"
    side = "after" if writes else "before"
    return Attempt(f"{words} {side} {named(every_round(hazard.site))}", (delay,), PATTERN)


def _in_flight(hazard: Hazard) -> Iterator[Attempt]:
    yield from _plain(hazard)
    yield from _of_the_earlier(hazard)


def _of_the_earlier(hazard: Hazard) -> Iterator[Attempt]:
    """One warp of the earlier access is late to it; then for longer, in every round, and all."""
    site = earlier_of(hazard)
    threads = threads_of(hazard, 0)
    warp = last_warp(threads)
    for cycles in (SHORT, LONG):
        yield late(warp, site, cycles)
    if site.loops:
        yield late(warp, every_round(site), SHORT)
    if threads[0] < warp[0]:
        yield late(threads, site, SHORT)


def _of_the_waiting(hazard: Hazard) -> Iterator[Attempt]:
    """The last warp that waits is late once, in a steady round and in that of the witness."""
    site, warp = hazard.site, last_warp(threads_of(hazard, 0))
    steady = tuple((name, _LATE_ROUND) for name, _ in site.loops[-1:])
    rounds = dict.fromkeys((site.loops[:-1] + steady, site.loops))
    for loops in rounds:
        yield late(warp, Site(site.statement, site.line, loops, site.stmt), FOR_EVER)


def _behind_the_barrier(hazard: Hazard) -> Iterator[Attempt]:
    yield from _plain(hazard)
    for cycles in (SHORT, LONG):
        yield late(ALL, hazard.site, cycles, after=True)


def _ahead_of_the_barrier(hazard: Hazard, tree: StatementTree) -> Iterator[Attempt]:
    """The last warp of a group is late, in every round, to what its group does before it comes to
    the barrier: so others may take its place there."""
    sites = (hazard.other, hazard.site) if hazard.other is not None else (hazard.site,)
    for at, site in enumerate(sites):
        begin = None if site is None else _begin(statement_of(site), tree)
        warp = last_warp(threads_of(hazard, at))
        if begin is None or warp == ALL:
            continue
        delay = Delay(begin, False, *warp, SHORT)
        before = f"before all that leads to {named(every_round(site))}" if site else ""
        yield Attempt(f"{who(warp)} wait {SHORT:,} cycles {before}", (delay,))


def _begin(stmt: Stmt, tree: StatementTree) -> Stmt | None:
    """The first statement of those before a barrier, in its block, that no other barrier comes
    after; None where the tree has it not."""
    path = tree.path(stmt)
    if not path:
        return None
    begin = stmt
    for one in reversed(path[-1].block[: path[-1].index]):
        effect = evaluated_effect(one)
        if effect is not None and effect.meeting is not None:
            break
        begin = one
    return begin
