"""Puts smemreuse into Apache TVM's pipelines.

They look `MergeSharedMemoryAllocations` up in `tvm.s_tir.transform` when they run. A hook there is
set once and stays; without a session in force in the running thread it gives TVM's own pass.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import tvm
from tvm.s_tir.pipeline import default_s_tir_pipeline

from smemreuse.compilers.active import confined, current_session
from smemreuse.compilers.observers import SessionLog
from smemreuse.compilers.tvm.session import TvmSession
from smemreuse.compilers.tvm.visitor import VERSION, tirx
from smemreuse.errors import BackendError

PIPELINE = "smemreuse"
_PASS = "MergeSharedMemoryAllocations"
_lock = threading.Lock()
_installed = False


def install() -> None:
    """Sets the hook; later calls do nothing. Raises `BackendError` on an unknown TVM."""
    global _installed
    with _lock:
        if _installed:
            return
        passes = attrgetter(VERSION.names.passes)(tvm)
        if not hasattr(passes, _PASS):
            raise BackendError(
                f"TVM {tvm.__version__} has no {passes.__name__}.{_PASS}; "
                f"smemreuse is written for {VERSION.name}"
            )
        setattr(passes, _PASS, _dispatching(getattr(passes, _PASS)))
        _installed = True


def _dispatching(stock: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(stock)
    def merge() -> Any:
        original = stock()
        session = current_session()
        if session is None:
            return original
        planned = session.lowering_pass()
        return tvm.transform.module_pass(
            lambda mod, _ctx: planned(mod) if _is_cuda(mod) else original(mod),
            opt_level=0,
            name=planned.info.name,
        )

    return merge


def _is_cuda(mod: Any) -> bool:
    """Whether all functions are for CUDA or its host; others keep TVM's own pass."""
    targets = [func.attrs.get("target") for func in mod.functions.values() if func.attrs]
    kinds = {target.kind.name for target in targets if target is not None}
    return "cuda" in kinds and kinds <= {"cuda", "llvm", "c"}


def pipeline(**options: Any) -> tuple[Any, Callable[[], Any], Callable[[], Any]]:
    """TVM's default S-TIR pipeline with our merge; the options are those of a session."""
    stock, finalize_host, finalize_device = default_s_tir_pipeline()

    def run(mod: Any, _ctx: Any) -> Any:
        # A session around the compilation has the say; it also collects the plans.
        if current_session() is not None:
            return stock(mod)
        install()
        with confined(TvmSession(own_observers=[SessionLog()], **options)):
            return stock(mod)

    merging = tvm.transform.module_pass(run, opt_level=0, name="smemreuse.pipeline")
    return merging, finalize_host, finalize_device


def register() -> None:
    """Makes the pipeline known as `tir_pipeline="smemreuse"`."""
    tirx.register_tir_pipeline(PIPELINE, pipeline)
