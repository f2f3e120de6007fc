"""Puts smemreuse into TileLang: its merge pass, and every cache that could mix up two plans.

The hooks are set once and stay; with no session in force in a thread each does what TileLang does.
That way a compilation that another thread has begun is never torn between two passes.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import threading
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import tilelang
import tvm_ffi
from tilelang.autotuner.tuner import AutoTuneImpl, AutoTuner
from tilelang.cache.kernel_cache import KernelCache
from tilelang.jit import JITImpl, JITKernel
from tilelang.language.eager import builder

from smemreuse.compilers.active import current_session, inherited_by_threads, pinned_session
from smemreuse.compilers.tilelang.binaries import registers_of
from smemreuse.compilers.tilelang.elaborated import noting_calls, noting_functions
from smemreuse.compilers.tilelang.installed import engine, missing, module
from smemreuse.compilers.tilelang.parsing import remembering
from smemreuse.compilers.tilelang.passes_once import LONG, run_once
from smemreuse.compilers.tilelang.visitor import VERSION
from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.versions import TILELANG, VERSIONS

LAST_SYNCHRONIZED_SCOPE = DYNAMIC_SCOPE
NOT_KNOWN = (
    f"smemreuse does not know {VERSION.name}: what it applies is proved after that version's own "
    f"passes, and what it predicts is as in {VERSIONS[TILELANG].name}"
)
COMPILE = "tilelang_callback_cuda_compile"

_installed = False
_lock = threading.Lock()


def install() -> None:
    """Sets the hooks; later calls do nothing. Raises `BackendError` on an unknown TileLang."""
    global _installed
    with _lock:
        if _installed:
            return
        passes = attrgetter(VERSION.names.passes)(tilelang)
        _require(passes, "MergeSharedMemoryAllocations", "ThreadSync")
        _require(KernelCache, "_get_base_key", "cached")
        _require(AutoTuner, "generate_cache_key", "run")
        _require(JITKernel, "from_database")
        _require(builder, "mutate")
        for name in LONG:
            if hasattr(passes, name):
                setattr(passes, name, run_once(name, getattr(passes, name)))
        passes.MergeSharedMemoryAllocations = _merge_pass(passes.MergeSharedMemoryAllocations)
        passes.ThreadSync = _thread_sync(passes.ThreadSync)
        KernelCache._get_base_key = staticmethod(_data_key(KernelCache._get_base_key))
        KernelCache.cached = _pinned(KernelCache.cached)
        JITKernel.from_database = classmethod(_noting_reload(JITKernel.from_database.__func__))
        AutoTuner.generate_cache_key = _tuner_key(AutoTuner.generate_cache_key)
        compiled = _noting_registers(tvm_ffi.get_global_func(COMPILE))
        tvm_ffi.register_global_func(COMPILE, compiled, override=True)
        if hasattr(JITImpl, "_frontend_cache_key_data"):  # of one version alone
            JITImpl._frontend_cache_key_data = _data_key(JITImpl._frontend_cache_key_data)
        if hasattr(JITImpl, "get_tir"):
            JITImpl.get_tir = noting_calls(JITImpl.get_tir)
        if hasattr(engine, "PreLowerSemanticCheck"):
            engine.PreLowerSemanticCheck = noting_functions(engine.PreLowerSemanticCheck)
        builder.mutate = remembering(builder.mutate)
        JITImpl._kernel_cache = _PerSession("_kernel_cache", dict)
        call_forms = getattr(module("jit"), "_CallFormCache", None)
        if call_forms is not None:
            JITImpl._call_form_cache = _PerSession("_call_form_cache", call_forms)
        JITImpl._tuner_cache = _PerSession("_tuner_cache", dict)
        AutoTuneImpl._tuner_cache = _PerSession("_tuner_cache", dict)
        for jit in (JITImpl, AutoTuneImpl):
            jit.__call__ = _pinned(jit.__call__)
        inherited_by_threads()
        if not VERSION.is_known:
            warnings.warn_explicit(NOT_KNOWN, RuntimeWarning, "smemreuse", 0)
        _installed = True


def _require(owner: Any, *names: str) -> None:
    for name in names:
        if not hasattr(owner, name):
            raise missing(f"{owner.__name__}.{name}")


def _merge_pass(stock: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(stock)

    @functools.wraps(stock)
    def merge(*args: Any, **kwargs: Any) -> Any:
        original, session = stock(*args, **kwargs), current_session()
        if session is None:
            return original
        given = signature.bind(*args, **kwargs).arguments
        planned = session.lowering_pass(
            original,
            disable_reuse=given.get("disable_reuse", False),
            aggressive=given.get("enable_aggressive_merge", False),
        )

        def run(mod: Any) -> Any:
            if not _is_cuda(mod):
                return original(mod)
            merged = planned(mod)
            session.after_merge()
            return merged

        return run

    return merge


def _thread_sync(stock: Callable[..., Any]) -> Callable[..., Any]:
    """The last pass that inserts barriers; what it returns is what the plans must hold on."""

    @functools.wraps(stock)
    def thread_sync(storage_scope: str, *args: Any, **kwargs: Any) -> Any:
        original, session = stock(storage_scope, *args, **kwargs), current_session()
        if session is None or storage_scope != LAST_SYNCHRONIZED_SCOPE:
            return original

        def run(mod: Any) -> Any:
            if not _is_cuda(mod):
                return original(mod)
            return session.confirm(session.synchronized(mod, original))

        return run

    return thread_sync


def _noting_registers(stock: Callable[..., Any]) -> Callable[..., Any]:
    """What makes a binary of CUDA C++; the session learns what registers its kernels have.

    Whatever it is given and returns is handed on: programs register callbacks of their own, with
    fewer parameters, and may return PTX as text.
    """

    def compiled(*given: Any) -> Any:
        binary, session = stock(*given), current_session()
        if session is not None:
            is_binary = isinstance(binary, (bytes, bytearray))
            session.note_registers(registers_of(bytes(binary)) if is_binary else {})
        return binary

    return compiled


def _is_cuda(mod: Any) -> bool:
    """Whether the module's device functions are for CUDA; others keep TileLang's own pass."""
    targets = [func.attrs.get("target") for func in mod.functions.values() if func.attrs]
    return any(target is not None and target.kind.name == "cuda" for target in targets)


def _data_key(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The data from which a cache makes its key, with the token of the session in force."""

    @functools.wraps(original)
    def data_key(*args: Any) -> dict[str, Any]:
        session = current_session()
        key = dict(original(*args))
        if session is not None:
            key["smemreuse"] = session.cache_token
        return key

    return data_key


def _tuner_key(original: Callable[..., str | None]) -> Callable[..., str | None]:
    @functools.wraps(original)
    def generate_cache_key(self: Any, *args: Any, **kwargs: Any) -> str | None:
        key, session = original(self, *args, **kwargs), current_session()
        if key is None or session is None:
            return key
        return hashlib.sha256(f"{key}/{session.cache_token}".encode()).hexdigest()

    return generate_cache_key


def _noting_reload(original: Callable[..., Any]) -> Callable[..., Any]:
    """Both of TileLang's caches on disk, of kernels and of tuned ones, build what they load so."""

    @functools.wraps(original)
    def from_database(cls: Any, *args: Any, **kwargs: Any) -> Any:
        kernel, session = original(cls, *args, **kwargs), current_session()
        if session is not None:
            session.note_reload(kernel)
        return kernel

    return from_database


def _pinned(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        with pinned_session():
            return original(*args, **kwargs)

    return call


class _PerSession:
    """An instance attribute that holds a cache of its own for each session's token.

    Without a session it is the attribute that TileLang set, under its own name.
    """

    def __init__(self, name: str, factory: Callable[[], Any]):
        self._name = name
        self._factory = factory

    def _key(self) -> str:
        session = current_session()
        return self._name if session is None else f"{self._name}@{session.cache_token}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._key(), self._factory())

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._key()] = value
