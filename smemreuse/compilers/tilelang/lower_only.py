"""Stops each compilation after lowering: neither a GPU nor nvcc is needed.

A kernel can still be asked for its source, which is generated, and for its parameters. What needs
its results, a call, a profiler or a tuner's measurement, raises `LoweredOnlyError`. Nothing is made
up in their place: a program goes as far as it gets without results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import tilelang
import torch
from tilelang import tvm
from tilelang.autotuner.tuner import AutoTuner
from tilelang.jit import JITKernel
from tilelang.jit.adapter.base import BaseKernelAdapter
from tilelang.transform.pass_config import normalize_pass_configs

from smemreuse.compilers.records import Recorder
from smemreuse.compilers.tilelang.installed import engine, module
from smemreuse.errors import LoweredOnlyError

DEFAULT_ARCH = "sm_90a"
"""What is lowered for where nothing else says it and there is no GPU to ask."""


@contextmanager
def lowering_only(recorder: Recorder, arch: str | None) -> Iterator[None]:
    """Inside, nothing is compiled; `arch` is by default that of the GPU, if there is one."""

    asked: list[_LoweredAdapter] = []

    def profiler(kernel: Any, *_args: Any, **_options: Any) -> _NoProfiler:
        asked.append(kernel.adapter)
        return _NoProfiler(kernel.adapter)

    def benchmark(_tuner: Any, jit_kernel: Any, *_args: Any, **_options: Any) -> Any:
        asked.append(jit_kernel.adapter)
        raise LoweredOnlyError("a configuration is only lowered, and cannot be measured")

    with ExitStack() as stack:
        for owner, name, substitute in (
            (engine, "device_codegen", engine.device_codegen_without_compile),
            (engine, "host_codegen", _no_host_code),
            _without_adapter(recorder),
            (JITKernel, "get_profiler", profiler),
            (AutoTuner, "run", _run_of(AutoTuner.run, asked)),
        ):
            stack.enter_context(patch.object(owner, name, substitute))
        if hasattr(AutoTuner, "_benchmark_target"):
            stack.enter_context(patch.object(AutoTuner, "_benchmark_target", benchmark))
        stack.enter_context(_detecting(arch))
        yield


@contextmanager
def _detecting(arch: str | None) -> Iterator[None]:
    """Inside, TileLang finds a GPU of `arch`, by default the one that there is, or the default."""
    registry, cuda = module("backend.target"), module("cuda.target") or module("utils.target")
    detected: Callable[[], str | None] = getattr(cuda, "_detect_torch_cuda_arch", lambda: None)

    def architecture() -> str:
        return arch or detected() or DEFAULT_ARCH

    with ExitStack() as stack:
        if hasattr(cuda, "_detect_torch_cuda_arch"):
            stack.enter_context(patch.object(cuda, "_detect_torch_cuda_arch", architecture))
        else:
            stack.enter_context(patch.object(cuda, "torch", _TorchWith(architecture())))
        if registry is not None:  # after TileLang's own, which find what there is
            stack.enter_context(patch.dict(registry._TARGET_DETECTORS))
            registry.register_target_detector(
                "smemreuse", lambda: tvm.target.Target({"kind": "cuda", "arch": architecture()})
            )
        else:
            stack.enter_context(patch.object(cuda, "check_cuda_availability", lambda: True))
        yield


class _TorchWith:
    """PyTorch, as a module sees it that asks it for the GPU of this machine."""

    def __init__(self, arch: str):
        major, minor = divmod(int("".join(filter(str.isdigit, arch))), 10)
        self.cuda = SimpleNamespace(
            is_available=lambda: True, get_device_capability=lambda *_device: (major, minor)
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _without_adapter(recorder: Recorder) -> tuple[Any, str, Callable[..., BaseKernelAdapter]]:
    """What takes the place of a method of `JITKernel` that makes what can be called."""

    def adapter(
        kernel: Any, func: Any, out_idx: Any, artifact: Any, *_more: Any
    ) -> BaseKernelAdapter:
        return _LoweredAdapter(recorder, func, out_idx, artifact)

    def compiled(kernel: Any, func: Any, out_idx: Any) -> BaseKernelAdapter:
        config = normalize_pass_configs(kernel.pass_configs)
        with tvm.transform.PassContext(opt_level=3, config=config), kernel.target:
            lowered = tilelang.lower(func, target=kernel.target, target_host=kernel.target_host)
        kernel.artifact = lowered
        return adapter(kernel, func, out_idx, lowered)

    if hasattr(JITKernel, "_create_adapter_from_artifact"):
        return JITKernel, "_create_adapter_from_artifact", adapter
    return JITKernel, "_compile_and_create_adapter", compiled


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


def _no_host_code(host_mod: Any, *_context: Any, **_more: Any) -> _Unbuilt:
    return _Unbuilt(host_mod)


class _Unbuilt:
    """A host module that no code is generated for."""

    def __init__(self, mod: Any):
        self._mod = mod

    def import_module(self, _device: Any) -> None: ...

    def __str__(self) -> str:
        return str(self._mod)


def _run_of(stock: Callable[..., Any], asked: Sequence[_LoweredAdapter]) -> Callable[..., Any]:
    """A tuner's run. `asked` gets each kernel that is to be measured."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        """As the tuner's; all configurations are lowered, and no best of them is made up."""
        before = len(asked)
        try:
            return stock(self, *args, **kwargs)
        except RuntimeError:
            for adapter in asked[before:]:
                adapter.stop()
            raise

    return run
