"""Ranks the configurations of a TileLang kernel without compiling any.

Each is made and lowered as far as it takes to know what its blocks need. Configurations that differ
in nothing but the order in which their blocks run (`T.use_swizzle`) are lowered once.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Any

from tilelang import tvm

from smemreuse.advisor.grid import SWIZZLE, Grid, panels_of
from smemreuse.advisor.model import estimate
from smemreuse.advisor.validated import label_for
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.tilelang.configs import checked_configs
from smemreuse.compilers.tilelang.estimate import LoweringRequest, resolve_place
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.parsing import parsed_once
from smemreuse.compilers.tilelang.sizing import SizedKernel, sized_kernels
from smemreuse.compilers.tilelang.visitor import TIR, tirx
from smemreuse.errors import BackendError, PlanError
from smemreuse.ir.kernel import element_bits
from smemreuse.pipeline.options import checked_options
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
from smemreuse.targets.architectures import architecture
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
    nor a tuple, `PlanError` for an unknown option, card or family, or a card of another
    architecture than it is lowered for.
    """
    options = AdviceOptions(target, arch, card, family, top, objective, pass_configs or {}, jobs)
    return advise_on((factory, args, kwargs), configs, options)


@dataclass(frozen=True)
class AdviceOptions:
    """Those of `advise`."""

    target: Any = None
    arch: str | None = None
    card: Card | str | None = None
    family: str | None = None
    top: int = 8
    objective: str = "speed"
    pass_configs: Mapping[str, Any] = field(default_factory=dict)
    jobs: int | None = None


def advise_on(
    call: tuple[Any, tuple[Any, ...], Mapping[str, Any]],
    configs: Iterable[Config],
    given: AdviceOptions,
) -> Ranking:
    """As `advise`, of a factory and its arguments, some of which may have the names of options."""
    factory, args, kwargs = call
    every = checked_configs(configs)
    place = resolve_place(factory, given.target, given.arch)
    known = card_for(place.arch.name, given.card)
    if architecture(known.arch).name != place.arch.name:
        raise PlanError(f"the {known.name} is {known.arch}; it is lowered for {place.arch.name}")
    if given.top < 0:
        raise BackendError(
            f"top is the number of configurations to list, 0 or more, not {given.top}"
        )
    label = label_for(known, given.family)
    options = checked_options("dataflow", "best", given.objective)
    request = LoweringRequest(factory, place, options, args, kwargs, given.pass_configs)
    found = [*zip(every, _outcomes(_Space(request, known), every, given.jobs), strict=True)]
    return Ranking(
        ranked=order(
            [
                Ranked(config, one.kernels, one.by_reuse, one.by_us)
                for config, one in found
                if not one.error and one.fits
            ]
        ),
        too_large=tuple(
            TooLarge(config, one.bytes, one.limit)
            for config, one in found
            if not one.error and not one.fits
        ),
        failed=tuple(Failed(config, one.error) for config, one in found if one.error),
        top=given.top,
        card=known.name,
        label=label,
    )


@dataclass(frozen=True)
class _ConfigOutcome:
    """What became of one configuration; `error` is empty where it was lowered. `bytes` are those of
    what does not fit, and `limit` how many there may be."""

    kernels: tuple[KernelEstimate, ...] = ()
    bytes: int = 0
    limit: int = 0
    fits: bool = False
    by_reuse: bool = False
    by_us: bool = False
    error: str = ""


@dataclass(frozen=True)
class _Space:
    """What all configurations have in common."""

    request: LoweringRequest
    card: Card

    def made(self, config: Config) -> Any:
        """The function of a configuration."""
        return self.request.with_config(config).prim_func()

    def outcome(self, func: Any, lowered: dict[Any, list[SizedKernel] | str]) -> _ConfigOutcome:
        """What becomes of a function; `lowered` has those that were lowered before it."""
        plain, panels = without_panels(func)
        kernels = self._known(plain, lowered)
        if panels and len(kernels) > 1 and not isinstance(kernels, str):
            kernels, panels = self._known(func, lowered), {}  # each kernel says which are its own
        if isinstance(kernels, str):
            return _ConfigOutcome(error=kernels)
        arch, tensors = self.request.place.arch, tensor_bytes(func)
        large = [one.excess(arch) for one in kernels if not one.fits(arch)]
        if large:
            taken, limit = max(large, key=lambda one: one[0] / one[1])
            return _ConfigOutcome(bytes=taken, limit=limit)
        estimates = []
        for one in kernels:
            grid = replace(Grid.of(one.kernel.body), **panels)
            estimates.append(estimate(one.kernel, self.card, one.bytes, tensors, grid=grid))
        return _ConfigOutcome(
            tuple(estimates),
            fits=True,
            by_reuse=any(one.fits_by_reuse(arch) for one in kernels),
            by_us=any(one.fits_by_us(arch) for one in kernels),
        )

    def _known(
        self, func: Any, lowered: dict[Any, list[SizedKernel] | str]
    ) -> list[SizedKernel] | str:
        key = _Structure(func)
        if key not in lowered:
            lowered[key] = self._sized(func)
        return lowered[key]

    def _sized(self, func: Any) -> list[SizedKernel] | str:
        try:
            return sized_kernels(func, self.request)
        except Exception as error:  # TileLang raises of all kinds; each is kept with its words
            return error_line(error)


_inherited: tuple[_Space, Sequence[Config]] | None = None
"""What a forked process inherits: a factory need not be picklable."""


def _outcomes(space: _Space, configs: Sequence[Config], jobs: int | None) -> list[_ConfigOutcome]:
    install()
    if jobs is not None and jobs < 1:
        raise BackendError(f"at least one process lowers, not {jobs}")
    jobs = jobs or len(os.sched_getaffinity(0))
    batches = _batches(len(configs), jobs)
    with parsed_once():  # in each process that is forked inside, too
        if jobs == 1 or len(configs) <= FEW or not _may_fork():
            batched = track(batches, "lowering")
            return [one for batch in batched for one in _work(space, configs, batch)]
        return _forked(space, configs, batches, min(jobs, len(batches)))


def _may_fork() -> bool:
    """A process of a pool may have none of its own; and what a thread forks beside others may wait
    for a lock that one of them had."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and not multiprocessing.current_process().daemon


def _forked(
    space: _Space, configs: Sequence[Config], batches: Sequence[range], jobs: int
) -> list[_ConfigOutcome]:
    """What `jobs` processes find. None of them outlives an error or an interrupt."""
    others = set(multiprocessing.active_children())
    fork = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(jobs, fork, _inherit, (space, configs))
    try:
        waiting = [pool.submit(_inherited_work, batch) for batch in batches]
        return [one for batch in track(waiting, "lowering") for one in _result(batch)]
    except BrokenProcessPool as error:
        raise BackendError(
            "a process that lowers has ended; with jobs=1 what it says is seen"
        ) from error
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _result(batch: Future[list[_ConfigOutcome]]) -> list[_ConfigOutcome]:
    """What a process found. An interrupt that another thread of ours was given does not wake
    who waits without a timeout."""
    while not batch.done():
        wait([batch], timeout=0.5)
    return batch.result()


def _inherit(space: _Space, configs: Sequence[Config]) -> None:
    global _inherited
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    _inherited = space, configs


def _inherited_work(batch: range) -> list[_ConfigOutcome]:
    assert _inherited is not None
    return _work(*_inherited, batch)


def _batches(count: int, jobs: int) -> list[range]:
    """Neighbours together: they are the likeliest to be alike."""
    size = max(1, min(32, -(-count // (4 * jobs))))
    return [range(at, min(at + size, count)) for at in range(0, count, size)]


def _work(space: _Space, configs: Sequence[Config], batch: range) -> list[_ConfigOutcome]:
    lowered: dict[Any, list[SizedKernel] | str] = {}
    found = []
    for at in batch:
        try:
            found.append(space.outcome(space.made(configs[at]), lowered))
        except Exception as error:  # a factory raises what it likes; kept with its words
            found.append(_ConfigOutcome(error=error_line(error)))
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


def without_panels(func: Any) -> tuple[Any, dict[str, Any]]:
    """A function whose blocks run in their plain order, and the panels that they had.

    They say to code generation which block is which, and nothing else. A function with several, or
    of a width that is not constant, is left as it is.
    """
    found: list[dict[str, Any]] = []

    def plain(stmt: Any) -> Any:
        if stmt.attr_key != SWIZZLE:
            return None
        name, width = stmt.value.args
        constant = isinstance(width, tirx.IntImm)
        found.append(panels_of(str(name.value), int(width)) if constant else {})
        return stmt.body

    body = tirx.stmt_functor.ir_transform(func.body, None, plain, [f"{TIR}.AttrStmt"])
    if len(found) != 1 or not found[0]:
        return func, {}
    return func.with_body(body), found[0]


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
        if isinstance(extent, tirx.IntImm):
            yield int(extent)
