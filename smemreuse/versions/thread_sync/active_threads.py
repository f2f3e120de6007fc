"""The threads that are active somewhere, as `ThreadSync` has it, and what must hold there of values
that are not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.ir.expr import Call, Expr, Load, Var, walk
from smemreuse.ir.kernel import Buffer, For, Stmt
from smemreuse.semantics.evaluate import Threads, is_arithmetic
from smemreuse.semantics.table import varies_by_thread
from smemreuse.versions.thread_sync.prover_values import prover_value
from smemreuse.versions.thread_sync.unknowns import may_hold_or_not

Symbols = frozenset[Var | Buffer | str]
"""What a value depends on that is not known; of the answers of operations their names."""


@dataclass(frozen=True)
class Frame:
    """A scope around a statement, or a variable bound before it.

    `holds` tells in which arm of a branch it is.
    """

    stmt: Stmt
    holds: bool = True


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition on unknown values, which depends on `symbols`; `is_range`: a loop's range."""

    frame: Frame | None
    symbols: Symbols
    is_range: bool = False


@dataclass(frozen=True, eq=False)
class ActiveThreads:
    """The threads that reach a statement, once for each round of the loops that are `free`.

    `conditions` are those on unknown values that have to hold as well; `bound` the variables that
    are bound to such values.
    """

    threads: Threads
    free: frozenset[For] = frozenset()
    conditions: tuple[Condition, ...] = ()
    bound: Mapping[Var, Expr] = field(default_factory=dict)


def held(
    active: ActiveThreads,
    condition: Expr,
    holds: bool,
    frame: Frame | None,
    *,
    is_stated: bool = False,
) -> ActiveThreads | None:
    """The threads for which a condition holds, or does not; None where those are not known, or it
    may never hold. What `is_stated` in the kernel is taken to hold."""
    if isinstance(condition, Call) and condition.op == "not":
        return held(active, condition.args[0], not holds, frame, is_stated=is_stated)
    if isinstance(condition, Call) and condition.op == ("and" if holds else "or"):
        found: ActiveThreads | None = active
        for part in condition.args:
            if found is not None:
                found = held(found, part, holds, frame, is_stated=is_stated)
        return found
    threads = active.threads
    value = prover_value(condition, threads)
    if value is None:
        symbols = symbols_of(condition, active)
        if symbols is None:
            return None
        if not (is_stated or may_hold_or_not(condition, threads, active.bound)):
            return None
        return replace(active, conditions=(*active.conditions, Condition(frame, symbols)))
    mask = np.broadcast_to(np.equal(value, 0) != holds, threads.ids.shape)
    return active if mask.all() else restricted(active, threads.where(mask))


def symbols_of(expr: Expr, active: ActiveThreads) -> Symbols | None:
    """What an expression depends on that is not known; None if threads may differ in it."""
    threads, found = active.threads, set[Var | Buffer | str]()
    rounds = {loop.var for loop in active.free}
    for node in walk(expr):
        if isinstance(node, Var):
            value = threads.values.get(node)
            if isinstance(value, np.ndarray) and node not in rounds:
                return None
            if value is None:
                found.add(node)
            if value is None and node in active.bound:
                behind = symbols_of(active.bound[node], active)
                if behind is None:
                    return None
                found |= behind
        elif isinstance(node, Load):
            found.add(node.buffer.storage)
        elif isinstance(node, Call) and varies_by_thread(node):
            return None
        elif isinstance(node, Call) and not is_arithmetic(node):
            found.add(node.op)
    return frozenset(found)


def known_to_hold(active: ActiveThreads, condition: Expr) -> ActiveThreads:
    """The threads for which a condition is not known to be false."""
    if isinstance(condition, Call) and condition.op == "and":
        for part in condition.args:
            active = known_to_hold(active, part)
        return active
    value = prover_value(condition, active.threads)
    if value is None:
        return active
    mask = np.broadcast_to(np.not_equal(value, 0), active.threads.ids.shape)
    return restricted(active, active.threads.where(mask))


def restricted(active: ActiveThreads, threads: Threads) -> ActiveThreads:
    return replace(active, threads=threads)


def none_of(threads: Threads) -> Threads:
    return threads.where(np.zeros(threads.count, dtype=bool))
