"""Which threads do what at which statement, so that a hazard shows."""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.ir.kernel import Stmt
from smemreuse.reproduce.cuda import DELAY
from smemreuse.results.hazards import Hazard
from smemreuse.results.sites import Site

SHORT, LONG, FOR_EVER = 20_000, 1_000_000, 4_000_000
"""Clock cycles: longer than memory takes, than a round of a loop, and than a launch."""

ZEROS, PATTERN = 0x00000000, 0xFFFFFFFF
"""What shared memory is filled with: zero, and what is no number in any float type."""

WARP = 32
ALL = (0, 1024)

Threads = tuple[int, int]
"""The first and the end, half-open."""

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


def late(threads: Threads, site: Site, cycles: int, *, after: bool = False) -> Attempt:
    """These threads are late at a site, in its round."""
    delay = Delay(statement_of(site), after, *threads, cycles, site.loops)
    return Attempt(f"{waiting(threads, cycles, after=after)} {named(site)}", (delay,))


def waiting(threads: Threads, cycles: int, *, after: bool) -> str:
    """Who waits for how long, before or after what the words go on with."""
    return f"{who(threads)} wait {cycles:,} cycles {'after' if after else 'before'}"


def named(site: Site) -> str:
    """A site in words, with its round."""
    when = "".join(f", {name} = {value}" for name, value in site.loops)
    return f"`{site.brief or site.statement}`{when}"


def every_round(site: Site) -> Site:
    """The site in whatever round."""
    return Site(site.statement, site.line, (), site.stmt, site.source, site.brief)


def statement_of(site: Site) -> Stmt:
    """The statement of a site that lint was asked to keep."""
    assert site.stmt is not None, "lint was asked for statements"
    return site.stmt


def earlier_of(hazard: Hazard) -> Site:
    """The earlier access, or the only one."""
    return hazard.other or hazard.site


def who(threads: Threads) -> str:
    """Threads in words."""
    return "all threads that come" if threads == ALL else f"threads {threads[0]}-{threads[1] - 1}"


def threads_of(hazard: Hazard, at: int) -> Threads:
    """The threads from the first to the last that an agent of a hazard has; all if not known."""
    if at >= len(hazard.acts) or not hazard.acts[at].threads:
        return ALL
    runs = hazard.acts[at].threads
    return runs[0][0], runs[-1][1]


def warps_of(threads: Threads) -> Threads:
    """The whole warps that some threads are of."""
    first, end = threads
    return first // WARP * WARP, -(-end // WARP) * WARP


def last_warp(threads: Threads) -> Threads:
    """The warp of the last of some threads; all where they are not known."""
    if threads == ALL:
        return ALL
    first = (threads[1] - 1) // WARP * WARP
    return first, first + WARP
