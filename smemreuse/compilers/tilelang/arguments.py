"""What TileLang kernels are launched with: by their parameters, or as a program launched them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from smemreuse.reproduce.arguments import HIGHEST, LaunchArgument

MOST_VALUES = 64
"""Elements of an integer tensor that are kept as they are."""

_ABOUT = 0.1
"""How near mean and deviation have to be to those of the standard normal distribution."""


def arguments_of(params: Sequence[Any]) -> list[LaunchArgument] | None:
    """Arguments of the shapes that parameters have; None where a size or a number is not known."""
    return _all([_of_param(one, {}) for one in params])


def noted_arguments(adapter: Any, args: Sequence[Any]) -> list[LaunchArgument] | None:
    """Arguments like those of a launch; None where they do not say all.

    What the kernel returns is no argument of the launch: it has the shape of its parameter.
    """
    params = list(adapter.params)
    returned = {int(one) % len(params) for one in adapter.result_idx or ()}
    given = [at for at in range(len(params)) if at not in returned]
    if len(given) != len(args):
        return None
    found: list[LaunchArgument | None] = [None] * len(params)
    sizes: dict[str, int] = {}
    for at, value in zip(given, args, strict=True):
        found[at] = _of_value(value)
        if isinstance(value, torch.Tensor):
            pairs = zip(params[at].shape, value.shape, strict=False)
            sizes.update({str(one): int(two) for one, two in pairs if not isinstance(one, int)})
    for at in returned:
        found[at] = _of_param(params[at], sizes)
    return _all(found)


def _all(found: Sequence[LaunchArgument | None]) -> list[LaunchArgument] | None:
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def _of_param(param: Any, sizes: Mapping[str, int]) -> LaunchArgument | None:
    if param.is_scalar():
        return None
    shape = [one if isinstance(one, int) else sizes.get(str(one)) for one in param.shape]
    known = tuple(one for one in shape if one is not None)
    if len(known) < len(shape):
        return None
    try:
        dtype = param.torch_dtype()
    except (AttributeError, ValueError, KeyError, RuntimeError):  # a type that PyTorch has not
        return None
    return _tensor(dtype, known, 0, 1 if dtype is torch.bool else HIGHEST)


def _of_value(value: Any) -> LaunchArgument | None:
    if isinstance(value, (bool, int, float)):
        return LaunchArgument(type(value).__name__, values=(value,), is_number=True)
    if not isinstance(value, torch.Tensor):
        return None
    shape, dtype = tuple(map(int, value.shape)), value.dtype
    if not value.numel():
        return _tensor(dtype, shape, 0, HIGHEST)
    if dtype.is_floating_point:
        return LaunchArgument(_name(dtype), shape, *_distribution(value))
    if value.numel() <= MOST_VALUES:
        values = tuple(value.flatten().tolist())
        return LaunchArgument(_name(dtype), shape, values=values)
    return _tensor(dtype, shape, int(value.min()), int(value.max()))


def _distribution(value: torch.Tensor) -> tuple[float, float] | tuple[None, None]:
    """The mean and the deviation of floats; None where they are about 0 and 1, or all the same."""
    elements = value.detach().double()
    mean, deviation = float(elements.mean()), float(elements.std(correction=0))
    if not (math.isfinite(mean) and math.isfinite(deviation) and deviation > 0):
        return None, None
    mean = mean if abs(mean) > _ABOUT * deviation else 0.0
    if not mean and abs(deviation - 1) < _ABOUT:
        return None, None
    return float(f"{mean:.2g}"), float(f"{deviation:.2g}")


def _tensor(dtype: torch.dtype, shape: tuple[int, ...], low: int, high: int) -> LaunchArgument:
    if dtype.is_floating_point:
        return LaunchArgument(_name(dtype), shape)
    return LaunchArgument(_name(dtype), shape, low, high)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
