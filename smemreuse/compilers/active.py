"""Which session a compilation takes: that of its thread, or of the thread that started it.

A session is in force where it was entered: in that thread or asynchronous task, and in what these
start inside of it (`inherited_by_threads`). The session of a run is in force for the whole process,
where there is no other.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class _Frame:
    """A session, or None for the compiler's own pass, from where it is entered to where it is left.

    Copies of a context keep the frames that it had; `is_open` tells all of them that one was left,
    in whatever order and by whatever thread.
    """

    def __init__(self, session: Any) -> None:
        self.session = session  # a `MergeSession` of the compiler that is hooked
        self.is_open = True


Frames = tuple[_Frame, ...]

_frames: ContextVar[Frames] = ContextVar("smemreuse sessions", default=())
_of_process: list[Any] = []


def current_session() -> Any:
    """The session in force for this thread's compilation, or None for the compiler's own pass."""
    for frame in reversed(_frames.get()):
        if frame.is_open:
            return frame.session
    return _of_process[-1] if _of_process else None


@contextmanager
def confined(session: Any) -> Iterator[Any]:
    """Puts `session` in force for this thread, and for those that it starts."""
    frame, frames = _Frame(session), _frames  # no global is needed to leave it, at exit either
    frames.set((*_open_ones(), frame))
    try:
        yield session
    finally:
        frame.is_open = False
        frames.set(tuple(one for one in frames.get() if one.is_open))


@contextmanager
def pinned_session() -> Iterator[Any]:
    """Holds the session still while a kernel is looked up, compiled and stored.

    Another thread may leave the `with merge(...)` that this one has inherited in between; the cache
    key and the lowering of one kernel must come from the same session all the same.
    """
    with confined(current_session()) as session:
        yield session


@contextmanager
def activated(session: Any) -> Iterator[Any]:
    """Puts `session` in force for the whole process, wherever no other one is."""
    sessions = _of_process
    sessions.append(session)
    try:
        yield session
    finally:
        sessions.remove(session)


def _open_ones() -> Frames:
    return tuple(frame for frame in _frames.get() if frame.is_open)


# Threads ----------------------------------------------------------------------------------------

_lock = threading.Lock()
_is_inherited = False


def inherited_by_threads() -> None:
    """From now on threads inherit the sessions of the thread that starts them, and what a pool
    does those of the thread that asks for it. Later calls do nothing.

    TileLang compiles in pools of its own, users do in theirs. No other context variable is passed
    on, which might change what others' threads do.
    """
    global _is_inherited
    with _lock:
        if not _is_inherited:
            threading.Thread.start = _starting(threading.Thread.start)  # type: ignore[method-assign]
            submit = _submitting(ThreadPoolExecutor.submit)
            ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
            _is_inherited = True


def _starting(stock: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(stock)
    def start(self: threading.Thread) -> None:
        frames = _open_ones()
        if frames:
            self.run = functools.partial(_within, frames, self.run)  # type: ignore[method-assign]
        stock(self)

    return start


def _submitting(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def submit(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        # Without a session, too: the thread of a pool may have been started under another's.
        return stock(self, functools.partial(_within, _open_ones(), fn), *args, **kwargs)

    return submit


def _within(frames: Frames, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A call in another thread, under sessions of the one that asked for it."""
    before = _frames.get()
    _frames.set(frames)
    try:
        return call(*args, **kwargs)
    finally:
        _frames.set(before)
