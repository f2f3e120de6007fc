"""Which threads of a witness to make late, where, and for how long.

A witness names the threads, the statement and the round in which somebody is not waited for. Made
late there, these threads let the hazard happen. Which side is made late follows from the kind:

- race, missing wait, missing fence: the earlier access, which the later one does not wait for. Of a
  write after a read that is the reader. With two proxies the last to come releases the other one at
  once, while its own accesses are still under way. A plain read that a TMA load overtakes must be
  late between its issue and its end, where no statement is: so the threads also queue accesses of
  one bank before it, behind which it has to wait, and other warps do so when they have arrived;
- what an engine does, as TMA stores, wgmma and cp.async do: it is given other work first;
- missed phase: one of the warps that wait, before its wait, for longer than a launch takes;
- barrier divergence: those who come to the barrier, behind it, since others may pass without them;
- uninitialised read and out of bounds: nobody. All shared memory is filled with a pattern first;
- barrier deadlock: nobody. It needs no help.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Block, For, Stmt
from smemreuse.ir.tree import StatementTree
from smemreuse.reproduce.cuda import BULK, COPIES, CROWD, DELAY, PRODUCTS, QUEUE
from smemreuse.results.hazards import Hazard, HazardKind, Site
from smemreuse.semantics.table import evaluated_effect

SHORT, LONG, FOR_EVER = 20_000, 1_000_000, 4_000_000
"""Clock cycles: longer than memory takes, than a round of a loop, and than a launch."""

STORES = 64
"""Stores to one bank by all lanes: each takes the shared memory of an SM for 32 cycles."""

ENGINES = {
    "TMA store": (BULK, 64, "store 16 KiB by TMA"),
    "wgmma": (PRODUCTS, 256, "multiply zeros"),
    "cp.async": (COPIES, 64, "copy 16 bytes from DRAM by cp.async"),
}
"""What keeps the engine of an earlier access busy: the function, how often, and in words."""

OVERTAKEN = "TMA load write after read"
"""The mechanism in which a copy may overtake a plain read."""

ZEROS, PATTERN = 0x00000000, 0xFFFFFFFF
"""What shared memory is filled with: zero, and what is no number in any float type."""

_WARP = 32
_ALL = (0, 1024)
_LATE_ROUND = 2
"""The third round: by then a kernel is in its steady state."""


Rounds = tuple[tuple[str, int], ...]
"""Loops by their names, and which round of each."""


@dataclass(frozen=True)
class Delay:
    """Threads `first` to `end` (half-open) call the device function `what` on one side of a
    statement, in one round of the `loops` around it; in every round where these are empty. `count`
    are cycles or accesses, as the function has it."""

    stmt: Stmt
    after: bool
    first: int
    end: int
    count: int
    loops: Rounds = ()
    what: str = DELAY


@dataclass(frozen=True)
class Attempt:
    """One way to make a hazard show: these delays, and shared memory filled with a pattern."""

    words: str
    delays: tuple[Delay, ...] = ()
    fill: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it changes nothing: the hazard is to show by itself."""
        return not self.delays and self.fill is None


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
    site = hazard.other or hazard.site
    if hazard.kind in (HazardKind.RACE, HazardKind.MISSING_FENCE, HazardKind.MISSING_WAIT):
        found += _of_the_engine(hazard, site)
    if hazard.kind is HazardKind.MISSING_FENCE and hazard.mechanism == OVERTAKEN:
        found[1:1] = behind_stores(hazard, body)
    return tuple(found)


def _plain(_hazard: Hazard) -> Iterator[Attempt]:
    yield Attempt("nothing is delayed")


def _filled(_hazard: Hazard) -> Iterator[Attempt]:
    yield Attempt(f"shared memory is filled with {PATTERN:#x} first", fill=PATTERN)


def _in_flight(hazard: Hazard) -> Iterator[Attempt]:
    yield from _plain(hazard)
    yield from _of_the_earlier(hazard)


def _of_the_earlier(hazard: Hazard) -> Iterator[Attempt]:
    """One warp of the earlier access is late to it; then for longer, in every round, and all."""
    site = hazard.other or hazard.site
    threads = _threads(hazard, 0)
    warp = threads if threads == _ALL else _warp_of(threads[1] - 1)
    for cycles in (SHORT, LONG):
        yield _late(warp, site, cycles)
    if site.loops:
        yield _late(warp, Site(site.statement, site.line, (), site.stmt), SHORT)
    if threads[0] < warp[0]:
        yield _late(threads, site, SHORT)


def _of_the_waiting(hazard: Hazard) -> Iterator[Attempt]:
    """The last warp that waits is late once, in a steady round and in that of the witness."""
    threads = _threads(hazard, 0)
    site, warp = hazard.site, threads if threads == _ALL else _warp_of(threads[1] - 1)
    steady = tuple((name, _LATE_ROUND) for name, _ in site.loops[-1:])
    rounds = dict.fromkeys((site.loops[:-1] + steady, site.loops))
    for loops in rounds:
        yield _late(warp, Site(site.statement, site.line, loops, site.stmt), FOR_EVER)


def _behind_the_barrier(hazard: Hazard) -> Iterator[Attempt]:
    yield from _plain(hazard)
    for cycles in (SHORT, LONG):
        yield _late(_ALL, hazard.site, cycles, after=True)


def _of_the_engine(hazard: Hazard, site: Site) -> Iterator[Attempt]:
    """The engine of the earlier access has other work to do first."""
    engine = hazard.mechanism.partition(" after ")[2].rpartition(" ")[0]
    if engine not in ENGINES or site.stmt is None:
        return
    what, count, words = ENGINES[engine]
    threads = _threads(hazard, 0) if what == BULK else _ALL
    words = f"{_who(threads)} {words} {count} times before `{site.brief or site.statement}`"
    yield Attempt(words, (Delay(site.stmt, False, *threads, count, (), what),))


def behind_stores(hazard: Hazard, body: Block, stores: int = STORES) -> Iterator[Attempt]:
    """The last read before an arrival is behind stores to one bank; then the other warps, too,
    store there as soon as they have arrived, and the last warp reads while they do."""
    threads, site, tree = _threads(hazard, 0), hazard.other or hazard.site, StatementTree(body)
    assert site.stmt is not None, "lint was asked for statements"
    first, last = _ends_of_loops(site, tree)
    brief = f"`{site.brief or site.statement}`"
    what = f"store to one bank of shared memory {stores} times before the last of {brief}"
    queued = Delay(site.stmt, False, *threads, stores, last, QUEUE)
    yield Attempt(f"{_who(threads)} {what}", (queued,))
    arrival = next((one for one in tree.after(site.stmt) if _arrives(one)), None)
    warp = _warp_of(threads[1] - 1)
    if arrival is None or threads[0] >= warp[0]:
        return
    others = threads[0], warp[0]
    delays = (
        Delay(arrival, True, *others, SHORT, (), CROWD),
        Delay(site.stmt, False, *warp, SHORT // 4, first),
        queued,
    )
    crowd = f"{_who(others)} store there for {SHORT:,} cycles when they have arrived"
    late = f"threads {warp[0]}-{warp[1] - 1} read {SHORT // 4:,} cycles late"
    yield Attempt(f"{_who(threads)} {what}, {crowd}, and {late}", delays)


def _arrives(stmt: Stmt) -> bool:
    effect = evaluated_effect(stmt)
    return effect is not None and effect.arrives


def _ends_of_loops(site: Site, tree: StatementTree) -> tuple[Rounds, Rounds]:
    """The first and the last round of the loops around a statement in which a witness names no
    round, as those over the elements of a thread."""
    assert site.stmt is not None, "lint was asked for statements"
    named = {name for name, _ in site.loops}
    first, last = dict[str, int](), dict[str, int]()
    for loop in tree.loops(site.stmt):
        if not isinstance(loop, For) or loop.var.name in named:
            continue
        begin, rounds = constant(loop.begin), constant(loop.extent)
        if begin is not None and rounds is not None:
            first[loop.var.name], last[loop.var.name] = begin, begin + rounds - 1
    return tuple(first.items()), tuple(last.items())


def _who(threads: tuple[int, int]) -> str:
    return "all threads that come" if threads == _ALL else f"threads {threads[0]}-{threads[1] - 1}"


def _late(threads: tuple[int, int], site: Site, cycles: int, *, after: bool = False) -> Attempt:
    """These threads are late at a site, in its round."""
    assert site.stmt is not None, "lint was asked for statements"
    first, end = threads
    side = "after" if after else "before"
    when = "".join(f", {name} = {value}" for name, value in site.loops)
    words = f"{_who(threads)} wait {cycles:,} cycles {side} `{site.brief or site.statement}`{when}"
    return Attempt(words, (Delay(site.stmt, after, first, end, cycles, site.loops),))


def _threads(hazard: Hazard, at: int) -> tuple[int, int]:
    """The threads from the first to the last that an agent of a hazard has; all if not known."""
    if at >= len(hazard.acts) or not hazard.acts[at].threads:
        return _ALL
    runs = hazard.acts[at].threads
    return runs[0][0], runs[-1][1]


def _warp_of(thread: int) -> tuple[int, int]:
    first = thread // _WARP * _WARP
    return first, first + _WARP
