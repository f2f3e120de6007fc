"""Puts one process of a run under a session, once it has imported TileLang."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from tilelang.jit import JITKernel
from tilelang.utils.language import get_prim_func_name

from smemreuse.compilers.records import Recorder, Settings
from smemreuse.compilers.session import DeviceFunction
from smemreuse.compilers.telling import telling_line
from smemreuse.compilers.tilelang.active import activated, current_session
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.lower_only import lowering_only
from smemreuse.compilers.tilelang.session import Session, Wanted
from smemreuse.compilers.tilelang.suite import SuiteSession, source_of
from smemreuse.errors import LoweredOnlyError
from smemreuse.pipeline.fallback import LeftToStock
from smemreuse.pipeline.lowered import LoweredKernel


@contextmanager
def recorded(settings: Settings) -> Iterator[SuiteSession]:
    """Notes what is compiled inside, by any thread of this process or what is forked from it.

    Raises `BackendError` for a TileLang that smemreuse is not written for.
    """
    install()
    session = SuiteSession.under(settings)
    engine = sys.modules["tilelang.engine.lower"]  # a function of that name hides the module
    watched: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (JITKernel, "_compile_and_create_adapter", _noting_source),
        (JITKernel, "_create_adapter_from_artifact", _noting_failure_of_a_kernel),
        (engine, "_lower_with_context_impl", _noting_failure_to_lower),
    )
    others: tuple[tuple[str, Callable[..., Any]], ...] = (
        ("_merged", _also_received),
        ("note_kernels", _also_noted),
        ("leave", _also_left),
    )
    with ExitStack() as stack:
        if settings.lower_only:
            stack.enter_context(lowering_only(session.recorder, settings.arch))
        for owner, name, wrapper in watched:
            wrapped = wrapper(getattr(owner, name), session.recorder)
            stack.enter_context(patch.object(owner, name, wrapped))
        for name, also in others:
            wrapped = also(getattr(Session, name), session)
            stack.enter_context(patch.object(Session, name, wrapped))
        stack.enter_context(activated(session))
        yield session


# Sessions of the program's own, which merge in the place of ours ---------------------------------


def _also_received(stock: Callable[..., Any], ours: SuiteSession) -> Callable[..., Any]:
    @wraps(stock)
    def merged(self: Session, function: DeviceFunction, wanted: Wanted) -> Any:
        if self.compiles and function.kernels:
            ours.receive(function, wanted)
        return stock(self, function, wanted)

    return merged


def _also_noted(stock: Callable[..., Any], ours: SuiteSession) -> Callable[..., Any]:
    @wraps(stock)
    def noted(self: Session, function: str, lowered: Sequence[LoweredKernel]) -> None:
        stock(self, function, lowered)
        if self.compiles:
            ours.note_kernels(function, lowered)

    return noted


def _also_left(stock: Callable[..., Any], ours: SuiteSession) -> Callable[..., Any]:
    @wraps(stock)
    def leave(self: Session, left: LeftToStock) -> None:
        stock(self, left)
        if self.compiles:
            ours.leave(left)

    return leave


# What is compiled, and what fails ----------------------------------------------------------------


def _noting_source(stock: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """A kernel that comes out of the cache later on was seen, if it was compiled by this run."""

    @wraps(stock)
    def compiled(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(current_session(), SuiteSession):
            recorder.note("compiling", source=source_of(self, func))
        return stock(self, func, *args, **kwargs)

    return compiled


def _noting_failure_of_a_kernel(stock: Any, recorder: Recorder) -> Callable[..., Any]:
    @wraps(stock)
    def made(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _noting_failure(recorder, self.prim_func):
            return stock(self, *args, **kwargs)

    return made


def _noting_failure_to_lower(stock: Any, recorder: Recorder) -> Callable[..., Any]:
    @wraps(stock)
    def lowered(func: Any, *args: Any, **kwargs: Any) -> Any:
        with _noting_failure(recorder, func):
            return stock(func, *args, **kwargs)

    return lowered


@contextmanager
def _noting_failure(recorder: Recorder, func: Any) -> Iterator[None]:
    try:
        yield
    except LoweredOnlyError:
        raise
    except Exception as error:
        name = get_prim_func_name(func, type(func).__name__)
        recorder.note("failed", name=name, why=telling_line(error))
        raise
