"""What a function's kernels are and take, from no more of its lowering than that needs.

Barriers are put in after the merge, and most of a lowering's time goes there. What the plans are
that hold with them matters for whether a kernel launches only where it fits by them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from smemreuse.compilers.functions import PlannedFunction
from smemreuse.compilers.observers import SessionLog
from smemreuse.compilers.tilelang.estimate import LoweringRequest, kernels_in, lowered_in
from smemreuse.compilers.tilelang.session import TileLangSession
from smemreuse.errors import PlanError
from smemreuse.ir.kernel import Kernel
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture, threads_of
from smemreuse.targets.blocks import STATIC_LIMIT, BlockMemory, block_memory
from smemreuse.targets.launches import why_no_launch


@dataclass(frozen=True)
class SizedKernel:
    """A kernel as the merge receives it, and what each block takes: merged by smemreuse, by
    TileLang's default, and with nothing shared."""

    kernel: Kernel
    memory: BlockMemory
    before: BlockMemory
    unshared: BlockMemory

    @property
    def bytes(self) -> int:
        """All that a block takes."""
        return self.memory.total or 0

    def fits(self, arch: Architecture) -> bool:
        return self.memory.fits(arch) is True

    def fits_by_reuse(self, arch: Architecture) -> bool:
        """Whether it fits only because buffers share bytes."""
        return self.fits(arch) and not self.unshared.fits(arch)

    def fits_by_us(self, arch: Architecture) -> bool:
        """Whether it fits as smemreuse merges it, and not as TileLang does."""
        return self.fits(arch) and not self.before.fits(arch)

    def excess(self, arch: Architecture) -> tuple[int, int]:
        """The bytes of what does not fit, and how many there may be: those of static arrays have a
        limit of their own."""
        if (self.memory.static or 0) > STATIC_LIMIT:
            return self.memory.static or 0, STATIC_LIMIT
        return self.bytes, arch.per_block


class _SeenEnough(Exception):
    """What is asked for is known."""


Certainty: TypeAlias = Callable[[SizedKernel], bool]
"""Whether what a kernel takes with the plans that are tried first says all that is asked for,
whichever plans hold. It takes the barriers to know that: neither ours nor TileLang's are sure to
before those are in."""


def certain_to_fit(arch: Architecture) -> Certainty:
    """Where it is asked whether a kernel fits: what fits with nothing shared fits; what does not
    with the plans that are tried first does not with those that hold."""
    return lambda one: one.unshared.fits(arch) is True or not one.fits(arch)


class _Sizing(SessionLog):
    """Ends a lowering as soon as it is certain what is asked for."""

    def __init__(self, is_certain: Certainty) -> None:
        super().__init__()
        self.is_certain = is_certain
        self.sized: list[SizedKernel] = []

    def on_merged(self, functions: Sequence[PlannedFunction]) -> None:
        if self.left:
            return
        self.sized = []
        for one in functions:
            kernels = one.function.kernels
            launches = one.proposal.launches if one.proposal else ((),) * len(kernels)
            for kernel, launch in zip(kernels, launches, strict=True):
                plans = [each.plan for each in launch]  # not judged: that is what takes time
                stock = [one.stock.plan(kernel, each.scope) for each in plans]
                self.sized.append(sized(kernel, plans, stock))
        if all(map(self.is_certain, self.sized)):
            raise _SeenEnough


def sized(kernel: Kernel, plans: list[Plan], stock: list[Plan]) -> SizedKernel:
    """A kernel under these plans. Raises `PlanError` for sizes that only the launch knows, and
    for a launch that no GPU takes."""
    ours, theirs, unshared = (block_memory(kernel, which) for which in (plans, stock, []))
    if threads_of(kernel) is None or None in (ours.total, theirs.total, unshared.total):
        raise PlanError(
            f"{kernel.name} has sizes that are known only at launch; give constant ones"
        )
    refusal = why_no_launch(kernel)
    if refusal:
        raise PlanError(f"{kernel.name} cannot be launched: {refusal}")
    return SizedKernel(kernel, ours, theirs, unshared)


def sized_kernels(
    func: Any, request: LoweringRequest, is_certain: Certainty | None = None
) -> list[SizedKernel]:
    """Those that a function launches, in order, lowered until it is certain what is asked for: by
    default whether each fits where it is lowered for.

    Raises what TileLang raises for a function that it cannot lower, `PlanError` for one that cannot
    be planned, `BackendError` where it launches none.
    """
    sizing = _Sizing(is_certain or certain_to_fit(request.place.arch))
    session = TileLangSession.of(request.options, sizing)
    try:
        lowered_in(session, func, request.place.target, request.all_pass_configs)
    except _SeenEnough:
        return sizing.sized
    return [
        sized(
            one.kernel,
            [applied.plan for applied in one.plans],
            [one.stock_plan(applied.plan.scope) for applied in one.plans],
        )
        for one in kernels_in(sizing, func)
    ]
