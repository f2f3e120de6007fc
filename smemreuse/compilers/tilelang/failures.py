"""What fails to be compiled, and whether TileLang fails on it by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import tilelang
from tilelang.jit import JITKernel
from tilelang.utils.language import get_prim_func_name

from smemreuse.compilers.functions import DeviceFunction, MergeRequest
from smemreuse.compilers.observers import SessionObserver, observing
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.tilelang.installed import engine
from smemreuse.errors import LoweredOnlyError

OWN = f"TileLang {tilelang.__version__} itself fails on it, before its merge: {{}}"

_COMPILING = (
    (JITKernel, "_compile_and_create_adapter"),
    *((owner, "lower") for owner in (tilelang, tilelang.engine, engine)),
)
"""Functions of a PrimFunc or a module, or methods of a `JITKernel` of one."""


class Failures(threading.local):
    """Notes what fails to be compiled; what passes through several functions, once.

    `received` counts the functions that the merges of this thread have received. `note` is told
    the name of what failed, why, and whether that was before a merge.
    """

    def __init__(self, received: Callable[[], int], note: Callable[[str, str, bool], None]) -> None:
        self._received = received
        self._note = note
        self._last: BaseException | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Inside, TileLang's failures are noted, and go on as before."""
        with ExitStack() as stack:
            for owner, name in _COMPILING:
                stack.enter_context(patch.object(owner, name, self._noting(getattr(owner, name))))
            yield

    def _noting(self, stock: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stock)
        def called(*args: Any, **kwargs: Any) -> Any:
            before = self._received()
            try:
                return stock(*args, **kwargs)
            except LoweredOnlyError:
                raise
            except Exception as error:
                if error is not self._last:
                    self._last = error
                    given = (*args, *kwargs.values())
                    func = next(one for one in given if not isinstance(one, JITKernel))
                    name = get_prim_func_name(func, type(func).__name__)
                    is_own = self._received() == before
                    why = OWN.format(error_line(error)) if is_own else error_line(error)
                    self._note(name, why, is_own)
                raise

        return called


class _Count(SessionObserver, threading.local):
    """Counts what the merges of a thread receive."""

    def __init__(self) -> None:
        self.received = 0

    def on_received(self, function: DeviceFunction, request: MergeRequest) -> None:
        self.received += 1


@contextmanager
def own_failures() -> Iterator[list[tuple[str, str]]]:
    """The functions that TileLang itself fails on inside, before its merge, and why on each."""
    count, failed = _Count(), list[tuple[str, str]]()

    def note(name: str, why: str, is_own: bool) -> None:
        if is_own:
            failed.append((name, why))

    with observing(count), Failures(lambda: count.received, note).noted():
        yield failed
