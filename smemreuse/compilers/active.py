"""Which session is in force, for the whole process and for one thread's compilation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_active: list[Any] = []
_lock = threading.Lock()


class _Thread(threading.local):
    """What this thread's compilation has settled on, if it is in the middle of one."""

    is_pinned = False
    session: Any = None  # a `MergeSession` of the compiler that is hooked


_thread = _Thread()


def current_session() -> Any:
    """The session in force for this thread's compilation, or None for the compiler's own pass."""
    if _thread.is_pinned:
        return _thread.session
    with _lock:
        return _active[-1] if _active else None


@contextmanager
def pinned_session() -> Iterator[Any]:
    """Holds the session still while a kernel is looked up, compiled and stored.

    Another thread may enter or leave a `with merge(...)` in between; the cache key and the lowering
    of one kernel must come from the same session all the same.
    """
    with confined(current_session()) as session:
        yield session


@contextmanager
def confined(session: Any) -> Iterator[Any]:
    """Puts `session` in force for this thread alone, whatever is in force for the others."""
    before = (_thread.is_pinned, _thread.session)
    _thread.is_pinned, _thread.session = True, session
    try:
        yield session
    finally:
        _thread.is_pinned, _thread.session = before


@contextmanager
def activated(session: Any) -> Iterator[Any]:
    """Puts `session` in force for the whole process, worker threads included."""
    with _lock:
        _active.append(session)
    try:
        yield session
    finally:
        with _lock:
            _active.remove(session)
