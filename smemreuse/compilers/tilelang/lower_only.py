"""Stops each compilation after lowering: neither a GPU nor nvcc is needed.

A kernel can still be asked for its source, which is generated, and for its parameters. What needs
its results, a call, a profiler or a tuner's measurement, raises `LoweredOnlyError`. Nothing is made
up in their place: a program goes as far as it gets without results.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import tilelang.cuda.target
from tilelang import tvm
from tilelang.autotuner.tuner import AutoTuner
from tilelang.backend.target import _TARGET_DETECTORS, register_target_detector
from tilelang.jit import JITKernel
from tilelang.jit.adapter.base import BaseKernelAdapter

from smemreuse.compilers.records import Recorder
from smemreuse.errors import LoweredOnlyError

DEFAULT_ARCH = "sm_90a"
"""What is lowered for where nothing else says it and there is no GPU to ask."""


@contextmanager
def lowering_only(recorder: Recorder, arch: str | None) -> Iterator[None]:
    """Inside, nothing is compiled; `arch` is by default that of the GPU, if there is one."""
    engine = sys.modules["tilelang.engine.lower"]  # a function of that name hides the module
    detected = tilelang.cuda.target._detect_torch_cuda_arch

    def architecture() -> str:
        return arch or detected() or DEFAULT_ARCH

    def adapter(
        kernel: Any, func: Any, out_idx: Any, artifact: Any, *_more: Any
    ) -> BaseKernelAdapter:
        return _LoweredAdapter(recorder, func, out_idx, artifact)

    def profiler(kernel: Any, *_args: Any, **_options: Any) -> _NoProfiler:
        return _NoProfiler(kernel.adapter)

    with ExitStack() as stack:
        stack.enter_context(
            patch.object(tilelang.cuda.target, "_detect_torch_cuda_arch", architecture)
        )
        for owner, name, substitute in (
            (engine, "device_codegen", engine.device_codegen_without_compile),
            (engine, "host_codegen", _no_host_code),
            (JITKernel, "_create_adapter_from_artifact", adapter),
            (JITKernel, "get_profiler", profiler),
            (AutoTuner, "_benchmark_target", _not_measured),
            (AutoTuner, "run", _run_of(AutoTuner.run)),
        ):
            stack.enter_context(patch.object(owner, name, substitute))
        # After TileLang's own, which find what there is.
        stack.enter_context(patch.dict(_TARGET_DETECTORS))
        register_target_detector(
            "smemreuse", lambda: tvm.target.Target({"kind": "cuda", "arch": architecture()})
        )
        yield


class _LoweredAdapter(BaseKernelAdapter):  # type: ignore[misc]
    """What a kernel has in the place of its binary."""

    def __init__(self, recorder: Recorder, func: Any, out_idx: Any, artifact: Any):
        self.recorder = recorder
        self.name = str(func.attrs["global_symbol"])
        self.artifact = artifact
        super().__init__(artifact.device_mod, artifact.params, out_idx)

    def _convert_torch_func(self) -> Any:
        return self.stop

    def stop(self, *_args: Any, **_kwargs: Any) -> Any:
        """Raises `LoweredOnlyError`, in the place of a launch."""
        self.recorder.note("stopped", name=self.name)
        raise LoweredOnlyError(f"{self.name} is only lowered, and cannot run")

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        return str(self.artifact.kernel_source)

    def get_host_source(self) -> str:
        return str(self.artifact.host_mod)


class _NoProfiler:
    """Whatever it is asked to do needs a launch."""

    def __init__(self, adapter: _LoweredAdapter):
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._adapter.stop


def _no_host_code(host_mod: Any, _context: Any) -> _Unbuilt:
    return _Unbuilt(host_mod)


class _Unbuilt:
    """A host module that no code is generated for."""

    def __init__(self, mod: Any):
        self._mod = mod

    def import_module(self, _device: Any) -> None: ...

    def __str__(self) -> str:
        return str(self._mod)


def _not_measured(self: Any, jit_kernel: Any, *_args: Any, **_options: Any) -> Any:
    """One configuration of a tuner, which is lowered by now."""
    self.smemreuse_lowered = getattr(self, "smemreuse_lowered", jit_kernel)
    raise LoweredOnlyError("a configuration is only lowered, and cannot be measured")


def _run_of(stock: Any) -> Any:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        """As the tuner's; all configurations are lowered, and no best of them is made up."""
        try:
            return stock(self, *args, **kwargs)
        except RuntimeError:
            if hasattr(self, "smemreuse_lowered"):
                self.smemreuse_lowered.adapter.stop()
            raise

    return run
