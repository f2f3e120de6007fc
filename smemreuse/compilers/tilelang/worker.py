"""Puts one process of a run under a session, once it has imported TileLang."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from tilelang.jit import JITKernel
from tilelang.utils.language import get_prim_func_name

from smemreuse.compilers.active import activated
from smemreuse.compilers.observers import observing
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.records import Recorder, Settings
from smemreuse.compilers.tilelang.hooks import install
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
    engine = sys.modules["tilelang.engine.lower"]  # a function of that name hides the module
    watched: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (JITKernel, "_compile_and_create_adapter", _noting_source),
        (JITKernel, "_create_adapter_from_artifact", _noting_failure),
        (engine, "_lower_with_context_impl", _noting_failure),
    )
    with ExitStack() as stack:
        if settings.lower_only:
            stack.enter_context(lowering_only(observer.recorder, settings.arch))
        for owner, name, wrapper in watched:
            wrapped = wrapper(getattr(owner, name), observer.recorder)
            stack.enter_context(patch.object(owner, name, wrapped))
        stack.enter_context(observing(observer))
        stack.enter_context(activated(session))
        yield


def _noting_source(stock: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """A kernel that comes out of the cache later on was seen, if it was compiled by this run."""

    @wraps(stock)
    def compiled(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.note("compiling", source=source_of(self, func))
        return stock(self, func, *args, **kwargs)

    return compiled


def _noting_failure(stock: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Of a method of a `JITKernel`, or a function of a PrimFunc."""

    @wraps(stock)
    def called(first: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return stock(first, *args, **kwargs)
        except LoweredOnlyError:
            raise
        except Exception as error:
            func = first.prim_func if isinstance(first, JITKernel) else first
            name = get_prim_func_name(func, type(func).__name__)
            recorder.note("failed", name=name, why=error_line(error))
            raise

    return called
