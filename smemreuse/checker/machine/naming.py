"""Who does something, in words: threads, or the engine that they have carry it out."""

from __future__ import annotations

import numpy as np

from smemreuse.ir.kernel import Stmt
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import calls_of, effect_of
from smemreuse.semantics.undeclared import undeclared_function

OR_EARLIER = "; or that is so of an earlier access to these bytes"
"""Where several accesses are remembered as one: any of them may be meant, and the last is named."""


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
    return f"{who} {verb}{'' if who.startswith(('threads', 'other threads')) else 's'}"


def threads(ids: np.ndarray) -> str:
    """Threads by their indices in the block: `threads 0-63, 96-127`."""
    found = runs(ids)
    if len(found) == 1 and found[0][1] - found[0][0] == 1:
        return f"thread {found[0][0]}"
    told = [str(one) if one + 1 == end else f"{one}-{end - 1}" for one, end in found]
    text = ", ".join(told[:4]) + (", ..." if len(told) > 4 else "")
    return f"threads {text}"


def runs(ids: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Threads as runs of indices, half-open."""
    found = np.unique(ids)
    if not len(found):
        return ()
    cuts = np.flatnonzero(np.diff(found) > 1)
    begins, ends = np.r_[0, cuts + 1], np.r_[cuts, len(found) - 1]
    return tuple(zip(found[begins].tolist(), (found[ends] + 1).tolist(), strict=True))
