"""What a session lowered: its kernels, the plans in them, and the shared memory of each block.

Knows no TVM: what is reported of a compilation is made of this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from smemreuse.model.architectures import Architecture, target_architecture, threads_of
from smemreuse.model.kernel import Kernel
from smemreuse.model.sequence import Plan
from smemreuse.model.verdict import Verdict
from smemreuse.planning import PlanOptions, plan_kernel

STATIC_LIMIT = 48 * 1024
"""Bytes of statically allocated shared memory that a block can have; beyond, ptxas refuses."""

DYNAMIC_SCOPE = "shared.dyn"


@dataclass(frozen=True)
class AppliedPlan:
    """A plan that went into a kernel, and what the checker said of it on the synchronized IR.

    `rejected` are the tighter plans that were made before and not applied, with their verdicts.
    """

    kernel: Kernel
    plan: Plan
    verdict: Verdict
    rejected: tuple[tuple[Plan, Verdict], ...] = ()


@dataclass(frozen=True)
class KernelFootprint:
    """The shared memory of each block of one kernel, in bytes.

    `bytes_before` is what the compiler's own merge asks for and `bytes_after` what smemreuse's
    does; both hold everything of a block, `static_bytes` among it: buffers and barriers that are
    allocated statically. `limit` is the most that a block may have on `arch`, opting in. Blocks
    per SM are as many as shared memory and threads allow; registers may allow fewer, and 0 does
    not launch. What is None is not known: bytes of a symbolic size, blocks of a symbolic number of
    `threads`, anything of an architecture that the kernel's target does not name.
    """

    name: str
    arch: str | None
    threads: int | None
    bytes_before: int | None
    bytes_after: int | None
    static_bytes: int | None
    blocks_before: int | None
    blocks_after: int | None
    limit: int | None

    @property
    def fits(self) -> bool | None:
        """Whether a block of the kernel, merged by smemreuse, has room; None if not known."""
        if self.bytes_after is None or self.static_bytes is None or self.limit is None:
            return None
        return self.bytes_after <= self.limit and self.static_bytes <= STATIC_LIMIT


@dataclass(frozen=True)
class LoweredKernel:
    """A kernel as it was before the merge, and its plans: one for each scope that was merged.

    A scope with a single buffer needs no arena and has no plan. `stock` are the options of
    `plan_kernel` that give the plan of the compiler's own merge.
    """

    kernel: Kernel
    stock: PlanOptions
    plans: tuple[AppliedPlan, ...] = ()

    def stock_plan(self, scope: str) -> Plan:
        """The plan that the compiler's own merge would have made."""
        return plan_kernel(self.kernel, scope, **self.stock)

    def footprint(self, arch: Architecture | None = None) -> KernelFootprint:
        """On `arch`, by default what the kernel's target says."""
        arch = arch or target_architecture(self.kernel)
        threads = threads_of(self.kernel)
        scopes = [applied.plan.scope for applied in self.plans]
        before = _taken(self.kernel, map(self.stock_plan, scopes))
        after = _taken(self.kernel, [applied.plan for applied in self.plans])

        def blocks(taken: int | None) -> int | None:
            if arch is None or threads is None or taken is None:
                return None
            return arch.resident_blocks(taken, threads)

        return KernelFootprint(
            name=self.kernel.name,
            arch=arch.name if arch else None,
            threads=threads,
            bytes_before=before.total,
            bytes_after=after.total,
            static_bytes=after.static,
            blocks_before=blocks(before.total),
            blocks_after=blocks(after.total),
            limit=arch.per_block if arch else None,
        )


@dataclass(frozen=True)
class _Taken:
    """Bytes of a block; None where a size is symbolic."""

    dynamic: int | None
    static: int | None

    @property
    def total(self) -> int | None:
        if self.dynamic is None or self.static is None:
            return None
        return self.dynamic + self.static


def _taken(kernel: Kernel, plans: Iterable[Plan]) -> _Taken:
    """What a kernel's blocks take: the arenas of its plans, and whatever lies beside them."""
    arenas = {plan.scope: plan for plan in plans}
    dynamic: list[int | None] = []
    static: list[int | None] = []
    for scope, plan in arenas.items():
        taken = plan.arena_rounded if plan.arena_expr is None else None
        (dynamic if scope == DYNAMIC_SCOPE else static).append(taken)
    for buffer in kernel.allocations():
        if buffer.scope.startswith("shared") and buffer.scope not in arenas:
            (dynamic if buffer.scope == DYNAMIC_SCOPE else static).append(buffer.size)
    return _Taken(_sum(dynamic), _sum(static))


def _sum(sizes: Iterable[int | None]) -> int | None:
    known = [*sizes]
    return None if None in known else sum(size or 0 for size in known)
