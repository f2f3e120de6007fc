"""Accesses of engines, kept in flight: they are given other work first.

What an engine writes late is lost on nobody if it lands after the bytes were read again. So where a
thread writes them meanwhile, the block then waits for a while, as it may at any place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemreuse.reproduce.cuda import BULK, COPIES, PRODUCTS
from smemreuse.reproduce.delays import (
    ALL,
    SHORT,
    Attempt,
    Delay,
    earlier_of,
    every_round,
    named,
    statement_of,
    threads_of,
    waiting,
    who,
)
from smemreuse.results.hazards import Hazard
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.table import evaluated_effect

ENGINES = {
    Engine.TMA_STORE: (BULK, 64, "store 16 KiB by TMA"),
    Engine.WGMMA: (PRODUCTS, 256, "multiply zeros"),
    Engine.CP_ASYNC: (COPIES, 64, "copy 16 bytes from DRAM by cp.async"),
}
"""What keeps the engine of an earlier access busy: the function, how often, and in words."""

_LANDING = (Engine.CP_ASYNC, Engine.TMA_LOAD)
"""Engines that write shared memory."""


def attempts(hazard: Hazard) -> Iterator[Attempt]:
    """The engine of the earlier access has other work first, in every round, then in that of the
    witness alone: in others it would hold up what is to come while it is busy. What overwrites its
    bytes is not read before the engine has written, too."""
    site = earlier_of(hazard)
    effect = evaluated_effect(statement_of(site))
    if effect is None:
        return
    busy = [*_busy(hazard, site, effect)]
    yield from busy
    if _is_overwritten_by_threads(hazard, effect):
        held = Delay(statement_of(hazard.site), True, *ALL, SHORT, hazard.site.loops)
        words = f"{waiting(ALL, SHORT, after=True)} {named(hazard.site)}"
        yield Attempt(words, (held,))
        for one in busy:
            yield replace(one, words=f"{one.words}, and {words}", delays=(*one.delays, held))


def _busy(hazard: Hazard, site: Site, effect: Effect) -> Iterator[Attempt]:
    if effect.engine not in ENGINES:
        return
    what, count, words = ENGINES[effect.engine]
    threads = threads_of(hazard, 0) if what == BULK else ALL
    for where in dict.fromkeys((every_round(site), site)):
        delay = Delay(statement_of(site), False, *threads, count, where.loops, what)
        yield Attempt(f"{who(threads)} {words} {count} times before {named(where)}", (delay,))


def _is_overwritten_by_threads(hazard: Hazard, effect: Effect) -> bool:
    """Whether an engine writes at the earlier statement, and threads store at the later one."""
    if effect.engine not in _LANDING or hazard.other is None:
        return False
    later = evaluated_effect(statement_of(hazard.site))
    return later is None and len(hazard.acts) > 1 and hazard.acts[-1].deed.startswith("writes")
