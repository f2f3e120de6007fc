"""Launches one real kernel under several merges and compares their bits, in a process of its own.

Called with what `scripts/collect_kernels.py` wrote of a function. Nothing is known of what the
kernel computes: its arguments are filled by their types and shapes, and what counts is whether a
merge changes any bit of what is in them afterwards.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.apart import doing
from scripts.harness import (
    AGGRESSIVE,
    BYTES,
    SIDE_BY_SIDE,
    SPEED,
    TILELANG,
    Merge,
    fresh_generator,
    same_bits,
)
from scripts.results import first_line

LAUNCHES = 40
SECONDS_TO_LAUNCH = 8
"""No further round is begun after so long."""
DEVICE = "cuda"
MERGES = (SIDE_BY_SIDE, TILELANG, AGGRESSIVE, BYTES, SPEED)
ASCENDING = ("seqlen", "offset", "start", "indptr", "cu_")
"""Parts of names of integer arguments whose values have to ascend."""


@dataclass
class Variant:
    """A kernel under a merge; `changed` has the arguments that differ, for each launch."""

    merge: str
    kernel: Any = None
    block_bytes: int | None = None
    compile_error: str | None = None
    launch_error: str | None = None
    changed: list[set[str]] = field(default_factory=list)

    def as_data(self, unsteady: set[str]) -> dict[str, Any]:
        """Without the arguments in which the kernel to compare with differs from itself."""
        changed = [names - unsteady for names in self.changed]
        return {
            "merge": self.merge,
            "block_bytes": self.block_bytes,
            "compile_error": self.compile_error,
            "launch_error": self.launch_error,
            "launches": len(changed),
            "differing_launches": sum(map(bool, changed)),
            "differing": sorted(set().union(*changed)),
        }


@dataclass(frozen=True)
class Argument:
    """A tensor of the kernel; `most` is the first value that integers do not take."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    most: int

    def made(self, generator: Any) -> Any:
        """Random numbers; integers ascend where the name asks for it, and are in range."""
        import torch

        options = {"generator": generator, "device": DEVICE}
        if self.dtype is torch.bool:
            return torch.rand(self.shape, **options) < 0.5
        if self.dtype.is_floating_point:
            return (torch.randn(self.shape, **options) * 0.5).to(self.dtype)
        if self.dtype in (torch.int8, torch.uint8):
            whole = torch.randint(0, 256, self.shape, dtype=torch.uint8, **options)
            return whole.view(self.dtype)
        if any(part in self.name.lower() for part in ASCENDING) and len(self.shape) == 1:
            return torch.linspace(0, self.most, self.shape[0], device=DEVICE).to(self.dtype)
        return torch.randint(0, self.most, self.shape, dtype=self.dtype, **options)


def arguments(func: Any) -> list[Argument]:
    """All in the order of the call. Raises `ValueError` for shapes that are no numbers."""
    from tilelang.engine.param import KernelParam

    buffers = [func.buffer_map[each] for each in func.params if each in func.buffer_map]
    if len(buffers) < len(func.params):
        raise ValueError("takes arguments that are no tensors")
    params = [KernelParam.from_buffer(each) for each in buffers]
    if any(not isinstance(size, int) for each in params for size in each.shape):
        raise ValueError("has shapes that are no numbers")
    sizes = [size for each in params for size in each.shape if size > 1]
    most = min(sizes, default=2)
    return [
        Argument(buffer.name, tuple(each.shape), each.torch_dtype(), most)
        for buffer, each in zip(buffers, params, strict=True)
    ]


def compiled(function: Any, merge: Merge) -> Variant:
    """What goes wrong is written down."""
    import tilelang

    from smemreuse.targets.blocks import block_memory
    from smemreuse.tilelang import read_module

    variant = Variant(merge.name)
    target = {"kind": "cuda", "arch": function.arch}
    options = {**function.configs, **merge.pass_configs}
    try:
        with merge.active():
            variant.kernel = tilelang.compile(function.func, target=target, pass_configs=options)
        totals = [
            block_memory(kernel, []).total or 0
            for kernel in read_module(variant.kernel.artifact.device_mod)
        ]
        variant.block_bytes = max(totals)
    except Exception as error:
        variant.compile_error = first_line(error)
    return variant


def compare(variants: Sequence[Variant], given: Sequence[Argument]) -> dict[str, Any]:
    """Launches all on fresh inputs, and notes what differs from the unmerged kernel.

    That one is launched twice; where it does not fit TileLang's default takes its place.
    """
    generator = fresh_generator(DEVICE)
    base, begin = variants[0], time.monotonic()
    written: set[str] = set()
    finite = True
    for _ in range(LAUNCHES):
        if time.monotonic() - begin > SECONDS_TO_LAUNCH:
            break
        args = [one.made(generator) for one in given]
        first = launched(base, args)
        if first is None and base is variants[0]:
            base = variants[1]
            first = launched(base, args)
        if first is None:
            break
        written |= differing(given, args, first)
        finite = finite and all(
            bool(one.float().isfinite().all()) for one in first if one.dtype.is_floating_point
        )
        for variant in variants:
            found = launched(variant, args)
            if found is not None:
                variant.changed.append(differing(given, first, found))
    unsteady = set().union(*base.changed)
    return {
        "compared_with": base.merge,
        "written": sorted(written),
        "unsteady": sorted(unsteady),
        "finite": finite,
        "variants": [one.as_data(unsteady) for one in variants],
    }


def launched(variant: Variant, args: Sequence[Any]) -> list[Any] | None:
    """The arguments after a launch on copies of them; None where it does not launch."""
    import torch

    if variant.kernel is None or variant.launch_error:
        return None
    own = [arg.clone() for arg in args]
    doing(f"launching {variant.merge}")
    try:
        variant.kernel(*own)
        torch.cuda.synchronize()
    except Exception as error:
        variant.launch_error = first_line(error)
        return None
    return own


def differing(given: Sequence[Argument], one: Sequence[Any], other: Sequence[Any]) -> set[str]:
    """The names of the arguments that have other bits."""
    pairs = zip(given, one, other, strict=True)
    return {about.name for about, left, right in pairs if not same_bits(left, right)}


def bytes_of(given: Sequence[Argument]) -> int:
    """Of all arguments together."""
    return sum(math.prod(one.shape) * one.dtype.itemsize for one in given)


def work(file: str) -> Generator[dict[str, Any], str, dict[str, Any]]:
    """What is known when all is compiled, and then when all has been launched."""
    import torch

    from scripts.applied.measure import Function

    path = Path(file)
    doing("reading")
    function = Function(path)
    given = arguments(function.func)
    variants = []
    for merge in MERGES:
        doing(f"compiling {merge.name}")
        variants.append(compiled(function, merge))
    found = {"name": path.stem, "arch": path.parent.name, "bytes": bytes_of(given)}
    if torch.cuda.is_available():
        torch.zeros(1, device=DEVICE)
    yield {**found, "variants": [one.as_data(set()) for one in variants]}
    return {**found, **compare(variants, given)}
