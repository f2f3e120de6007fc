"""A GPU of which torch knows the shapes alone.

Tensors for the GPU, and all large ones, are `meta` tensors: they have a shape and a type and no
values. Small tensors of integers stay real, for programs make sizes of them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from tilelang.carver.arch.driver import cuda_driver
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_any, tree_map

from scripts.applied.lenient import Anything

SMALL = 1 << 16
TRUE = {torch.allclose, torch.equal, torch.Tensor.allclose, torch.Tensor.equal}


def _meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.device.type != "meta":
        return value.to("meta")
    return value


def _is_cuda(device: Any) -> bool:
    return isinstance(device, int) or "cuda" in str(device)


def _is_real(value: Any) -> bool:
    return not value.dtype.is_floating_point and value.numel() <= SMALL


class FakeCuda(TorchFunctionMode):  # type: ignore[misc]
    """Keeps every tensor off the GPU; what needs values that are not there is made up."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        kwargs.pop("generator", None)
        if tree_any(lambda each: isinstance(each, Anything), (args, kwargs)):
            return Anything()
        if func in TRUE:
            return True
        if func is torch.Tensor.to:
            args = tuple("meta" if _names_cuda(each) else each for each in args)
        if _is_cuda(kwargs.get("device", "")):
            kwargs["device"] = "meta"
            made = self._tried(func, args, kwargs)
            if isinstance(made, torch.Tensor) and _is_real(made):
                with contextlib.suppress(Exception):
                    return func(*args, **{**kwargs, "device": "cpu"})
            return made
        return self._tried(func, args, kwargs)

    def _tried(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = getattr(func, "__name__", "")
        if func is torch.Tensor.grad.__get__:
            return torch.empty_like(args[0])
        if name == "backward":
            with contextlib.suppress(Exception):
                func(*args, **kwargs)
            return None
        if name in ("cuda", "cpu") and args:
            return args[0] if _is_real(args[0]) else _meta(args[0])
        known = _VALUES.get(name)
        if known and args and isinstance(args[0], torch.Tensor) and args[0].device.type == "meta":
            return known(args[0])
        try:
            return func(*args, **kwargs)
        except (RuntimeError, NotImplementedError, ValueError):
            args, kwargs = tree_map(_meta, args), tree_map(_meta, kwargs)
            return func(*args, **kwargs)


def _names_cuda(value: Any) -> bool:
    return isinstance(value, (str, torch.device)) and "cuda" in str(value)


def _one(tensor: Any) -> Any:
    if tensor.dtype is torch.bool:
        return True
    return 1.0 if tensor.dtype.is_floating_point else 1


def _listed(tensor: Any) -> Any:
    if tensor.dim() == 0:
        return _one(tensor)
    return [_listed(tensor[i]) for i in range(min(tensor.shape[0], 4096))]


def _ones(tensor: Any) -> Any:
    import numpy

    return numpy.ones(tuple(tensor.shape))


_VALUES: dict[str, Any] = {
    "item": _one,
    "__bool__": lambda tensor: True,
    "__int__": lambda tensor: 1,
    "__index__": lambda tensor: 1,
    "__float__": lambda tensor: 1.0,
    "tolist": _listed,
    "numpy": _ones,
    "pin_memory": lambda tensor: tensor,
    "data_ptr": lambda tensor: 0,
    "nonzero": lambda tensor: torch.zeros((1, tensor.dim()), dtype=torch.int64),
    "__format__": lambda tensor: "?",
    "__repr__": lambda tensor: "?",
}


class _Generator(Anything):
    def __init__(self, *args: Any, **kwargs: Any):
        pass


class _Event:
    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def record(self, *args: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return 1.0


def _properties(capability: tuple[int, int]) -> Any:
    return SimpleNamespace(
        name="GPU",
        major=capability[0],
        minor=capability[1],
        multi_processor_count=132 if capability[0] == 9 else 108,
        total_memory=80 << 30,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=232448 if capability[0] == 9 else 166912,
        shared_memory_per_multiprocessor=233472 if capability[0] == 9 else 167936,
        L2_cache_size=50 << 20,
        warp_size=32,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        gcnArchName="",
    )


@contextlib.contextmanager
def fake_cuda(capability: tuple[int, int]) -> Iterator[None]:
    """Torch, for a while, as on a machine with one GPU of a compute capability."""
    known = _properties(capability)
    stubs = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda *args: capability,
        "get_device_properties": lambda *args: known,
        "get_device_name": lambda *args: "NVIDIA H100" if capability[0] == 9 else "NVIDIA A100",
        "memory_allocated": lambda *args: 0,
        "max_memory_allocated": lambda *args: 0,
        "Event": _Event,
        "is_initialized": lambda: True,
    }
    for name in [
        "synchronize",
        "manual_seed",
        "manual_seed_all",
        "set_device",
        "empty_cache",
        "init",
        "_lazy_init",
        "reset_peak_memory_stats",
    ]:
        stubs[name] = lambda *args, **kwargs: None
    for name in [
        "Stream",
        "stream",
        "current_stream",
        "default_stream",
        "device",
        "graph",
        "CUDAGraph",
    ]:
        stubs[name] = lambda *args, **kwargs: Anything()
    for name, stub in stubs.items():
        setattr(torch.cuda, name, stub)
    torch.version.cuda = "12.8"
    torch.Generator = _Generator
    cuda_driver.get_cuda_device_properties = lambda *args: known
    torch.testing.assert_close = lambda *args, **kwargs: None
    torch.compile = lambda model=None, **kwargs: model if model is not None else (lambda fn: fn)
    with FakeCuda():
        yield


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """A tensor of a shape and type and, where it is small and of integers, of zeros."""
    if not dtype.is_floating_point and math.prod(shape) <= SMALL:
        return torch.zeros(shape, dtype=dtype)
    return torch.empty(shape, dtype=dtype, device="meta")
