"""Puts one process of a run under a session, once it has imported TileLang."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from tilelang.jit import JITKernel

from smemreuse.compilers.active import activated
from smemreuse.compilers.observers import observing
from smemreuse.compilers.records import Recorder, Settings
from smemreuse.compilers.tilelang.failures import Failures
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.lower_only import lowering_only
from smemreuse.compilers.tilelang.recording import RunRecorder, source_of
from smemreuse.compilers.tilelang.run_session import AuditSession, RunSession
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

    def note(name: str, why: str, is_own: bool) -> None:
        observer.recorder.note("failed", name=name, why=why)

    with ExitStack() as stack:
        if settings.lower_only:
            stack.enter_context(lowering_only(observer.recorder, settings.arch))
        # Around what stands there now, which is not TileLang's own where kernels are lowered only.
        compiling = _noting_source(observer.recorder, JITKernel._compile_and_create_adapter)
        stack.enter_context(patch.object(JITKernel, "_compile_and_create_adapter", compiling))
        stack.enter_context(Failures(lambda: observer.received, note).noted())
        stack.enter_context(observing(observer))
        stack.enter_context(activated(session))
        yield


def _noting_source(recorder: Recorder, stock: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that comes out of the cache later on was seen, if it was compiled by this run."""

    @wraps(stock)
    def compiled(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.note("compiling", source=source_of(self, func))
        return stock(self, func, *args, **kwargs)

    return compiled
