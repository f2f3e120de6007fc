"""Puts one process of a run under a session, once it has imported TileLang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any
from unittest.mock import patch

import tilelang
from tilelang.jit import JITKernel
from tilelang.utils.language import get_prim_func_name

from smemreuse.compilers.active import activated
from smemreuse.compilers.observers import observing
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.records import Recorder, Settings
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.installed import engine
from smemreuse.compilers.tilelang.lower_only import lowering_only
from smemreuse.compilers.tilelang.recording import RunRecorder, source_of
from smemreuse.compilers.tilelang.run_session import AuditSession, RunSession
from smemreuse.errors import LoweredOnlyError
from smemreuse.pipeline.options import checked_options


@contextmanager
def recorded(settings: Settings) -> Iterator[None]:
    """Notes what is compiled inside, by any thread of this process or what is forked from it.

    Raises `BackendError` for a TileLang that smemreuse is not written for.
    """
    install()
    options = checked_options(
        "dataflow" if settings.audits_only else settings.policy,
        *(settings.packer, settings.objective),
        strict=settings.strict,
    )
    session = (AuditSession if settings.audits_only else RunSession).of(options)
    session.mend, session.lower_only = settings.mend, settings.lower_only
    observer = RunRecorder(settings)
    failures = _Failures(observer)
    watched: list[tuple[Any, str, Callable[..., Any]]] = [
        (JITKernel, "_compile_and_create_adapter", partial(_noting_source, observer.recorder)),
        (JITKernel, "_compile_and_create_adapter", failures.noted),
        *((owner, "lower", failures.noted) for owner in _LOWERING),
    ]
    with ExitStack() as stack:
        if settings.lower_only:
            stack.enter_context(lowering_only(observer.recorder, settings.arch))
        for owner, name, wrapper in watched:
            stack.enter_context(patch.object(owner, name, wrapper(getattr(owner, name))))
        stack.enter_context(observing(observer))
        stack.enter_context(activated(session))
        yield


OWN = f"TileLang {tilelang.__version__} itself fails on it, before its merge: {{}}"

_LOWERING = (tilelang, tilelang.engine, engine)
"""Where the function `lower` is looked up."""


def _noting_source(recorder: Recorder, stock: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that comes out of the cache later on was seen, if it was compiled by this run."""

    @wraps(stock)
    def compiled(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.note("compiling", source=source_of(self, func))
        return stock(self, func, *args, **kwargs)

    return compiled


class _Failures(threading.local):
    """Notes what fails to be compiled; what passes through several functions, once."""

    def __init__(self, observer: RunRecorder) -> None:
        self._observer = observer
        self._last: BaseException | None = None

    def noted(self, stock: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a PrimFunc or a module, or a method of a `JITKernel` of one."""

        @wraps(stock)
        def called(*args: Any, **kwargs: Any) -> Any:
            before = self._observer.received
            try:
                return stock(*args, **kwargs)
            except LoweredOnlyError:
                raise
            except Exception as error:
                if error is not self._last:
                    self._last = error
                    func = next(
                        one for one in (*args, *kwargs.values()) if not isinstance(one, JITKernel)
                    )
                    name = get_prim_func_name(func, type(func).__name__)
                    is_merged = self._observer.received > before
                    why = error_line(error) if is_merged else OWN.format(error_line(error))
                    self._observer.recorder.note("failed", name=name, why=why)
                raise

        return called
