"""Ranks the configurations of a TileLang kernel without compiling any.

Each is made and lowered as far as it takes to know what its blocks need. Configurations that differ
in nothing but the order in which their blocks run (`T.use_swizzle`) are lowered once.
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from tilelang import tvm

from smemreuse.advisor.grid import SWIZZLE, Grid, panels_of
from smemreuse.advisor.model import estimate
from smemreuse.advisor.validated import label_for
from smemreuse.compilers.tilelang.configs import checked_configs
from smemreuse.compilers.tilelang.estimate import (
    Place,
    own_pass_configs,
    prim_func_of,
    resolve_place,
)
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.sizing import SizedKernel, sized_kernels
from smemreuse.ir.kernel import element_bits
from smemreuse.pipeline.options import PlanOptions, checked_options
from smemreuse.progress import track
from smemreuse.results.ranking import (
    Config,
    Failed,
    KernelEstimate,
    Ranked,
    Ranking,
    TooLarge,
    order,
)
from smemreuse.targets.cards import Card, card_for

FEW = 16
"""So many configurations are not worth a second process."""


def advise(
    factory: Any,
    configs: Iterable[Config],
    *args: Any,
    target: Any = None,
    arch: str | None = None,
    card: Card | str | None = None,
    family: str | None = None,
    top: int = 8,
    objective: str = "speed",
    pass_configs: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    **kwargs: Any,
) -> Ranking:
    """The configurations of a kernel, those first that should run fastest; compiles none.

    `factory` and the configurations are as for `fits`, and so is where the GPU comes from. `card`
    says how fast it is: a `Card`, the name of one, or a file that describes one; by default the
    first one of the architecture. `family` names what kind of kernel it is, of those whose order
    was held against measurements: "gemm", "attention", "flash_backward", "decode", "dequantize",
    "chunk_scan", "persistent_gemm"; the answer's label then says how well it did. `jobs`
    processes lower them, by default one for each core.

    What is feasible is exact: whatever cannot be lowered or asks for more shared memory than a
    block may have is in `failed` and `too_large` with the reason, and everything else in `ranked`.
    The result is a sequence of the first `top`, as `tilelang.autotune(configs=...)` takes it.

    Raises `BackendError` where nothing says which GPU or a configuration is neither a dictionary
    nor a tuple, `PlanError` for an unknown option, card or family.
    """
    every = checked_configs(configs)
    place = resolve_place(factory, target, arch)
    known = card_for(place.arch.name, card)
    label = label_for(known, family)
    options = checked_options("dataflow", "best", objective)
    passes = {**own_pass_configs(factory), **(pass_configs or {})}
    space = _Space(factory, args, kwargs, place, known, options, passes)
    found = _outcomes(space, every, jobs)
    ranked = [
        Ranked(config, one.kernels, one.by_reuse, one.by_us)
        for config, one in zip(every, found, strict=True)
        if not one.error and one.fits
    ]
    return Ranking(
        ranked=order(ranked),
        too_large=tuple(
            TooLarge(config, one.bytes, place.arch.per_block)
            for config, one in zip(every, found, strict=True)
            if not one.error and not one.fits
        ),
        failed=tuple(
            Failed(config, one.error) for config, one in zip(every, found, strict=True) if one.error
        ),
        top=top,
        card=known.name,
        label=label,
    )


@dataclass(frozen=True)
class _Outcome:
    """What became of one configuration; `error` is empty where it was lowered."""

    kernels: tuple[KernelEstimate, ...] = ()
    bytes: int = 0
    fits: bool = False
    by_reuse: bool = False
    by_us: bool = False
    error: str = ""


@dataclass(frozen=True)
class _Space:
    """What all configurations have in common."""

    factory: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    place: Place
    card: Card
    options: PlanOptions
    pass_configs: Mapping[str, Any]

    def made(self, config: Config) -> Any:
        """The function of a configuration."""
        positional = config if isinstance(config, tuple) else ()
        named = config if isinstance(config, Mapping) else {}
        with self.place.target:
            return prim_func_of(self.factory, (*self.args, *positional), {**self.kwargs, **named})

    def outcome(self, func: Any, lowered: dict[Any, list[SizedKernel] | str]) -> _Outcome:
        """What becomes of a function; `lowered` has those that were lowered before it."""
        plain, panels = without_panels(func)
        key = _Structure(plain)
        if key not in lowered:
            lowered[key] = self._sized(plain)
        kernels = lowered[key]
        if isinstance(kernels, str):
            return _Outcome(error=kernels)
        arch, tensors = self.place.arch, tensor_bytes(func)
        fits = all(one.fits(arch) for one in kernels)
        estimates = []
        for number, one in enumerate(kernels if fits else ()):
            grid = replace(Grid.of(one.kernel.body), **panels[number % len(panels)])
            estimates.append(estimate(one.kernel, self.card, one.bytes, tensors, grid=grid))
        return _Outcome(
            tuple(estimates),
            max(one.bytes for one in kernels),
            fits,
            any(one.fits_by_reuse(arch) for one in kernels),
            any(one.fits_by_us(arch) for one in kernels),
        )

    def _sized(self, func: Any) -> list[SizedKernel] | str:
        try:
            return sized_kernels(func, self.place, self.options, self.pass_configs)
        except Exception as error:  # TileLang raises of all kinds; each is kept with its words
            return words_of(error)


_space: _Space | None = None
_configs: Sequence[Config] = ()
"""What a forked process inherits: a factory need not be picklable."""


def _outcomes(space: _Space, configs: Sequence[Config], jobs: int | None) -> list[_Outcome]:
    global _space, _configs
    install()
    jobs = jobs or os.cpu_count() or 1
    _space, _configs = space, configs
    batches = _batches(len(configs), jobs)
    if jobs == 1 or len(configs) <= FEW:
        return [one for batch in track(batches, "lowering") for one in _work(batch)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        waiting = [pool.submit(_work, batch) for batch in batches]
        return [one for batch in track(waiting, "lowering") for one in batch.result()]


def _batches(count: int, jobs: int) -> list[range]:
    """Neighbours together: they are the likeliest to be alike."""
    size = max(1, min(32, -(-count // (4 * jobs))))
    return [range(at, min(at + size, count)) for at in range(0, count, size)]


def _work(batch: range) -> list[_Outcome]:
    assert _space is not None
    lowered: dict[Any, list[SizedKernel] | str] = {}
    found = []
    for at in batch:
        try:
            func = _space.made(_configs[at])
        except Exception as error:  # a factory raises what it likes; kept with its words
            found.append(_Outcome(error=words_of(error)))
            continue
        try:
            found.append(_space.outcome(func, lowered))
        except Exception as error:
            found.append(_Outcome(error=words_of(error)))
    return found


class _Structure:
    """A function, equal to any other that TVM finds structurally equal."""

    def __init__(self, func: Any) -> None:
        self._func = func

    def __hash__(self) -> int:
        return int(tvm.ir.structural_hash(self._func))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Structure) and bool(
            tvm.ir.structural_equal(self._func, other._func)
        )


def without_panels(func: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A function whose blocks run in their plain order, and the panels that they had by kernel.

    They tell code generation which block is which, and nothing else.
    """
    found: list[dict[str, Any]] = []

    def plain(stmt: Any) -> Any:
        if stmt.attr_key != SWIZZLE:
            return None
        found.append(panels_of(str(stmt.value.args[0].value), int(stmt.value.args[1])))
        return stmt.body

    body = tvm.tirx.stmt_functor.ir_transform(func.body, None, plain, ["tirx.AttrStmt"])
    return func.with_body(body) if found else func, found or [{}]


def tensor_bytes(func: Any) -> dict[str, int]:
    """The bytes of a function's parameters by name, of those with constant shapes."""
    sizes: dict[str, int] = {}
    for buffer in func.buffer_map.values():
        extents = list(_constants(buffer.shape))
        if len(extents) == len(buffer.shape):
            sizes[buffer.name] = math.prod(extents) * element_bits(str(buffer.dtype)) // 8
    return sizes


def _constants(shape: Any) -> Iterator[int]:
    for extent in shape:
        if isinstance(extent, tvm.tirx.IntImm):
            yield int(extent)


def words_of(error: Exception) -> str:
    """The kind of an error and its first line that says anything."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
