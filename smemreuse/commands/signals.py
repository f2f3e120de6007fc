"""SIGTERM as an interrupt, while a user's program runs in this process."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """The handler of SIGTERM: once it interrupts, and a second signal ends the process."""

    came = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.came = True
        raise KeyboardInterrupt


@contextmanager
def interrupted_by_sigterm() -> Iterator[Interrupt]:
    """Makes SIGTERM an interrupt, so that a summary follows where a time limit ends a program.

    It does nothing where SIGTERM has another handler. Forked processes do not inherit it: they are
    to end at once, and not after the call that they are in.
    """
    handler = Interrupt()
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield handler
        return
    _mind_forks()
    signal.signal(signal.SIGTERM, handler)
    try:
        yield handler
    finally:
        if signal.getsignal(signal.SIGTERM) is handler:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@functools.cache  # such hooks cannot be taken back
def _mind_forks() -> None:
    """Gives forked processes the default action of SIGTERM; a signal is held back until then."""
    if not hasattr(os, "register_at_fork"):  # nor is there a fork
        return
    held = threading.local()

    def before() -> None:
        held.mask = None
        if isinstance(signal.getsignal(signal.SIGTERM), Interrupt):
            held.mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    def in_parent() -> None:
        if held.mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, held.mask)

    def in_child() -> None:
        if held.mask is not None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, held.mask)

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
