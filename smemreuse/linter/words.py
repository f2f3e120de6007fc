"""Who does something, in words."""

from __future__ import annotations

import numpy as np

from smemreuse.ir.kernel import Stmt
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import calls_of, effect_of
from smemreuse.semantics.undeclared import undeclared_function


def engine_of(stmt: Stmt) -> Engine:
    """The engine that executes the accesses of a statement: that of its first asynchronous
    operation.
    """
    for call in calls_of(stmt):
        engine = effect_of(call).engine
        if engine is not Engine.THREAD:
            return engine
    return Engine.THREAD


def agent(stmt: Stmt, thread: int | None, ids: np.ndarray) -> str:
    """A thread, or the engine, or the function that nobody knows, that some thread has carry out a
    statement."""
    who = threads(ids) if thread is None else f"thread {thread}"
    engine = engine_of(stmt)
    if engine is Engine.THREAD:
        return who
    function = undeclared_function(stmt) if engine is Engine.UNKNOWN_ASYNC else None
    return f"{engine.value if function is None else f'`{function}`'} of {who}"


def does(who: str, verb: str) -> str:
    """Who does what: `thread 3 reads`, `threads 0-63 read`."""
    return f"{who} {verb}{'' if who.startswith('threads') else 's'}"


def missing(ids: np.ndarray) -> str:
    """The threads that do not do something, with the verb: `thread 3 does`.

    Without any, data decide which."""
    who = threads(ids) if len(ids) else "some threads, as data decide,"
    return f"{who} {'does' if len(ids) == 1 else 'do'}"


def threads(ids: np.ndarray) -> str:
    """Threads by their indices in the block: `threads 0-63, 96-127`."""
    found = np.unique(ids)
    if len(found) == 1:
        return f"thread {int(found[0])}"
    cuts = np.flatnonzero(np.diff(found) > 1)
    begins, ends = np.r_[0, cuts + 1], np.r_[cuts, len(found) - 1]
    runs = [
        str(one) if one == two else f"{one}-{two}"
        for one, two in zip(found[begins].tolist(), found[ends].tolist(), strict=True)
    ]
    text = ", ".join(runs[:4]) + (", ..." if len(runs) > 4 else "")
    return f"threads {text}"
