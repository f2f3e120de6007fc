"""What a function's kernels are and take, told from no more of its lowering than that needs.

Barriers are put in behind the merge, and most of a lowering's time goes there. What the plans are
that hold with them matters for whether a kernel launches only where it fits by them alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smemreuse.compilers.tilelang.estimate import Place, lowered_in
from smemreuse.compilers.tilelang.session import Session
from smemreuse.errors import BackendError, PlanError
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.options import PlanOptions
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture, threads_of
from smemreuse.targets.blocks import block_memory


@dataclass(frozen=True)
class SizedKernel:
    """A kernel as the merge receives it, and what each block takes: merged by smemreuse, by
    TileLang's default, and with nothing shared. Bytes."""

    kernel: Kernel
    bytes: int
    bytes_before: int
    bytes_apart: int
    threads: int

    def fits(self, arch: Architecture) -> bool:
        return self.bytes <= arch.per_block

    def fits_by_reuse(self, arch: Architecture) -> bool:
        """Whether it fits only because buffers share bytes."""
        return self.fits(arch) and self.bytes_apart > arch.per_block

    def fits_by_us(self, arch: Architecture) -> bool:
        """Whether it fits as smemreuse merges it, and not as TileLang does."""
        return self.fits(arch) and self.bytes_before > arch.per_block


class _SeenEnough(Exception):
    """What is asked for is known."""


@dataclass(repr=False)
class _Sizing(Session):
    """A session that ends a lowering as soon as it is known which kernels fit."""

    arch: Architecture | None = None
    sized: list[SizedKernel] = field(default_factory=list)

    def after_merge(self) -> None:
        if self.left:
            return
        self.sized = []
        for pending in self._lowering.merged.values():
            for kernel, launch in zip(
                pending.function.kernels, pending.wanted.launches, strict=True
            ):
                plans = [one.plan for one in launch]  # not judged: that is what takes time
                stock = [pending.stock.baseline.plan(kernel, one.scope) for one in plans]
                self.sized.append(sized(kernel, plans, stock))
        for function, _ in self._lowering.unmerged.values():
            self.sized += [sized(kernel, [], []) for kernel in function.kernels]
        if all(self._is_certain(one) for one in self.sized):
            raise _SeenEnough

    def _is_certain(self, one: SizedKernel) -> bool:
        """What fits with nothing shared fits with any plan; what does not with the plans that are
        hoped for does not with those that hold. TileLang's own may be refuted, and tells nothing.
        """
        assert self.arch is not None
        return one.bytes_apart <= self.arch.per_block or not one.fits(self.arch)


def sized(kernel: Kernel, plans: list[Plan], stock: list[Plan]) -> SizedKernel:
    """A kernel under these plans. Raises `PlanError` for sizes that only the launch tells."""
    threads = threads_of(kernel)
    totals = [block_memory(kernel, which).total for which in (plans, stock, [])]
    if threads is None or None in totals:
        raise PlanError(f"{kernel.name} has sizes that only its launch tells; give constant ones")
    ours, theirs, apart = (total or 0 for total in totals)
    return SizedKernel(kernel, ours, theirs, apart, threads)


def sized_kernels(
    func: Any, place: Place, options: PlanOptions, pass_configs: Mapping[str, Any]
) -> list[SizedKernel]:
    """Those that a function launches, in order. Raises what TileLang raises for a function that it
    cannot lower, `PlanError` for one that cannot be planned, `BackendError` where it launches none.
    """
    session = _Sizing.of(options)
    session.arch = place.arch
    try:
        lowered_in(session, func, place.target, pass_configs)
    except _SeenEnough:
        return session.sized
    for left in session.left:
        raise PlanError(f"{left.function} is not planned: {left.reason}")
    if not session.kernels:
        raise BackendError(f"{func.attrs['global_symbol']} launches no kernel on a GPU")
    return [
        sized(
            one.kernel,
            [applied.plan for applied in one.plans],
            [one.stock_plan(applied.plan.scope) for applied in one.plans],
        )
        for one in session.kernels
    ]
