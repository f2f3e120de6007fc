"""Accesses of two proxies, or of an engine, that are under way when somebody is told they are over.

What comes late must come late between its issue and its end, where no statement is. So threads
queue stores to one bank before it, behind which it has to wait; other warps do so when they have
arrived, or all of them, while an engine reads or writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import For, If, Stmt, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.reproduce.cuda import CROWD, QUEUE
from smemreuse.reproduce.delays import (
    ALL,
    SHORT,
    Attempt,
    Delay,
    Rounds,
    earlier_of,
    every_round,
    last_warp,
    named,
    statement_of,
    threads_of,
    warps_of,
    who,
)
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Engine, Proxy
from smemreuse.semantics.table import evaluated_effect

STORES = 64
"""Stores to one bank by all lanes: each takes the shared memory of an SM for 32 cycles."""

OVERTAKEN = "TMA load write after read"
"""How the mechanisms begin in which a copy may overtake a plain read."""


def attempts(hazard: Hazard, tree: StatementTree) -> Iterator[Attempt]:
    """What fits a hazard of two proxies, or one of an engine that reads or writes by itself."""
    site = earlier_of(hazard)
    effect = evaluated_effect(statement_of(site))
    engine = Engine.THREAD if effect is None else effect.engine
    if hazard.mechanism.startswith(OVERTAKEN) and hazard.kind is HazardKind.MISSING_FENCE:
        yield from behind_stores(hazard, tree)
        yield from _among_stores(hazard, tree)
    elif engine is Engine.THREAD and _by_engine(hazard):
        yield queued(hazard, tree)
    elif engine in (Engine.WGMMA, Engine.CP_ASYNC) and _by_engine(hazard):
        yield from _while_others_store(hazard, tree)
    elif engine is Engine.TMA_STORE:
        yield from _while_it_is_stored(hazard, tree)


def _by_engine(hazard: Hazard) -> bool:
    """Whether the later access is of the async proxy."""
    if hazard.other is None:
        return False
    effect = evaluated_effect(statement_of(hazard.site))
    return effect is not None and effect.proxy is Proxy.ASYNC


def queued(hazard: Hazard, tree: StatementTree, stores: int = STORES) -> Attempt:
    """The last access of each thread comes behind stores to one bank."""
    site, threads = earlier_of(hazard), warps_of(threads_of(hazard, 0))
    _, last = _ends_of_loops(site, tree)
    delay = Delay(statement_of(site), False, *threads, stores, last, QUEUE)
    return Attempt(f"{who(threads)} {_before(site, stores)}", (delay,))


def behind_stores(hazard: Hazard, tree: StatementTree, stores: int = STORES) -> Iterator[Attempt]:
    """The last read before an arrival is behind stores to one bank; then the other warps, too,
    store there as soon as they have arrived, and the last warp reads while they do."""
    alone = queued(hazard, tree, stores)
    yield alone
    for crowd in _among_stores(hazard, tree):
        words = f"{alone.words}, {crowd.words}"
        yield Attempt(words, (*crowd.delays, *alone.delays))


def _among_stores(hazard: Hazard, tree: StatementTree) -> Iterator[Attempt]:
    """The last warp reads while the other ones, which have arrived, store to one bank: its own
    reads have nothing new among them, which nvcc might wait for."""
    threads, site = threads_of(hazard, 0), earlier_of(hazard)
    warp, arrival = last_warp(threads), _arrival(site, tree)
    if arrival is None or threads[0] >= warp[0]:
        return
    others = threads[0], warp[0]
    first, _ = _ends_of_loops(site, tree)
    crowd = f"{who(others)} store to one bank for {SHORT:,} cycles when they have arrived"
    late = f"{who(warp)} read {SHORT // 4:,} cycles late"
    delays = (
        Delay(arrival, True, *others, SHORT, (), CROWD),
        Delay(statement_of(site), False, *warp, SHORT // 4, first),
    )
    yield Attempt(f"{crowd}, and {late}", delays)


def _while_others_store(hazard: Hazard, tree: StatementTree) -> Iterator[Attempt]:
    """All threads of an engine's access store to one bank while it is under way: behind the last
    part of it, and when they have arrived."""
    site, threads = earlier_of(hazard), threads_of(hazard, 0)
    threads = ALL if threads[1] - threads[0] == 1 else threads
    _, last = _ends_of_loops(site, tree)
    stmt = statement_of(site)
    queue = Delay(stmt, True, *threads, STORES, last, QUEUE)
    words, where = f"{who(threads)} store to one bank {STORES} times", named(every_round(site))
    yield Attempt(f"{words} after the last of {where}", (queue,))
    arrival = _arrival(site, tree)
    if arrival is not None:
        crowd = Delay(arrival, True, *threads, SHORT, (), CROWD)
        before = Delay(stmt, False, *threads, STORES, last, QUEUE)
        more = f"before the last of {where}, and for {SHORT:,} cycles when they have arrived"
        yield Attempt(f"{words} {more}", (before, crowd))


def _while_it_is_stored(hazard: Hazard, tree: StatementTree) -> Iterator[Attempt]:
    """The warps that do not issue a TMA store, and go by the branch that does, store to one bank
    while it reads."""
    site, warp = earlier_of(hazard), warps_of(threads_of(hazard, 0))
    branch = [spot.stmt for spot in tree.path(statement_of(site)) if isinstance(spot.stmt, If)]
    if branch and warp != ALL:
        crowd = Delay(branch[-1], False, warp[1], ALL[1], SHORT, (), CROWD)
        words = f"the warps behind thread {warp[1] - 1} store to one bank for {SHORT:,} cycles"
        yield Attempt(f"{words} when one comes to {named(every_round(site))}", (crowd,))


def _before(site: Site, stores: int) -> str:
    where = named(every_round(site))
    return f"store to one bank of shared memory {stores} times before the last of {where}"


def _arrival(site: Site, tree: StatementTree) -> Stmt | None:
    """The next statement behind a site at which threads arrive at an mbarrier."""
    stmt = statement_of(site)
    return next((one for one in tree.after(stmt) if _arrives(one)), None)


def _arrives(stmt: Stmt) -> bool:
    effect = evaluated_effect(stmt)
    return effect is not None and effect.arrives


def _orders(stmt: Stmt) -> bool:
    """Whether threads wait for others, or tell them something."""
    effect = evaluated_effect(stmt)
    return effect is not None and bool(effect.mbarrier or effect.meeting or effect.waits)


def _ends_of_loops(site: Site, tree: StatementTree) -> tuple[Rounds, Rounds]:
    """The first and the last round of the innermost loops around a statement, as those over the
    elements of a thread or the parts of an operand: all up to one in which threads wait for
    others."""
    first, last = dict[str, int](), dict[str, int]()
    for loop in reversed(tree.loops(statement_of(site))):
        if not isinstance(loop, For) or any(map(_orders, walk_statements(loop.body))):
            break
        begin, rounds = constant(loop.begin), constant(loop.extent)
        if begin is not None and rounds is not None:
            first[loop.var.name], last[loop.var.name] = begin, begin + rounds - 1
    return tuple(first.items()), tuple(last.items())
