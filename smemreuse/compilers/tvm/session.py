"""The pass that takes the place of TVM's `MergeSharedMemoryAllocations`, and what it planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm

from smemreuse.analysis.barriers import barriers_needed
from smemreuse.compilers.tvm.rewrite import apply_plans, has_volatile_buffers
from smemreuse.compilers.tvm.visitor import TvmVisitor
from smemreuse.ir.kernel import SHARED_SCOPES, Kernel, Stmt
from smemreuse.pipeline.fallback import LeftToStock, left_to_stock, require_sizes
from smemreuse.pipeline.judging import judge_with_barriers
from smemreuse.pipeline.planning import (
    acceptable,
    checked_options,
    proposals,
    settled,
    stock_options,
)
from smemreuse.results.sequence import Plan
from smemreuse.results.verdict import Verdict


@dataclass(frozen=True)
class AppliedPlan:
    """A plan that went into a kernel, and what the checker said of the IR with its barriers.

    `barriers` is how many were inserted for it. `rejected` are the tighter plans that were made
    before and not applied, with their verdicts.
    """

    kernel: Kernel
    plan: Plan
    verdict: Verdict
    barriers: int
    rejected: tuple[tuple[Plan, Verdict], ...] = ()


@dataclass
class Session:
    """How shared memory is planned, and the plans applied so far.

    `left` are the functions that TVM's own pass has merged instead: those with volatile buffers,
    and, with a warning, those on which ours failed.
    """

    policy: str = "dataflow"
    packer: str = "best"
    objective: str = "occupancy"
    unchecked: bool = False
    plans: list[AppliedPlan] = field(default_factory=list)
    left: list[LeftToStock] = field(default_factory=list)

    def lowering_pass(self) -> Any:
        """The pass, for a place behind `ThreadSync` and before `SplitHostDevice`."""

        def transform(mod: Any, ctx: Any) -> Any:
            for var, func in list(mod.functions.items()):
                if not isinstance(func, tvm.tirx.PrimFunc):
                    continue
                merged = self._merged_or_left(str(var.name_hint), func)
                if isinstance(merged, LeftToStock):
                    self.left.append(merged)
                    merged = _stock_pass()(tvm.IRModule({var: func}))[var]
                if merged is not func:
                    mod.update_func(var, merged)
            return mod

        return tvm.transform.module_pass(
            transform, opt_level=0, name="smemreuse.MergeSharedMemoryAllocations"
        )

    def _merged_or_left(self, name: str, func: Any) -> Any:
        """The function merged, or `LeftToStock`.

        A view into the arena does not carry `volatile` on, which TVM puts into each access.
        """
        if has_volatile_buffers(func):
            return LeftToStock(name, "it has volatile buffers")
        try:
            return self._merge(name, func)
        except Exception as error:  # whatever it is, TVM compiles the kernel without us
            return left_to_stock(name, error)

    def _merge(self, name: str, func: Any) -> Any:
        """The function under the tightest plans that hold on the merged IR (rule 6)."""
        visitor = TvmVisitor()
        kernels = visitor.kernels(name, func)
        wanted = [_scopes(kernel) for kernel in kernels]
        if not any(wanted):
            return func
        require_sizes(kernels, wanted)
        rejected: dict[tuple[int, str], list[tuple[Plan, Verdict]]] = {}
        options = checked_options(self.policy, self.packer, self.objective)
        for proposed in proposals(kernels, wanted, options, stock_options(kernels[0])):
            plans = [[plan for plan in launch if _is_worthwhile(plan)] for launch in proposed]
            barriers = [_barriers(*pair) for pair in zip(kernels, plans, strict=True)]
            merged = apply_plans(func, visitor, plans, set().union(*barriers))
            as_merged = TvmVisitor(visitor.allocated).kernels(name, merged)
            verdicts = judge_with_barriers(as_merged, plans)
            launches = [number for number, launch in enumerate(plans) for _ in launch]
            flat = [plan for launch in plans for plan in launch]
            if self.unchecked or all(map(acceptable, flat, verdicts)):
                break
            for number, plan, verdict in zip(launches, flat, verdicts, strict=True):
                rejected.setdefault((number, plan.scope), []).append((plan, verdict))
        for number, plan, verdict in zip(launches, flat, verdicts, strict=True):
            earlier = tuple(rejected.get((number, plan.scope), ()))
            added = len(barriers[number])
            applied = settled(plan, verdict)
            self.plans.append(AppliedPlan(kernels[number], applied, verdict, added, earlier))
        return merged if flat else func


def _is_worthwhile(plan: Plan) -> bool:
    """Static buffers that share nothing are better off as arrays of their own.

    Dynamic ones are merged in any case: a kernel can have only one.
    """
    return plan.scope != "shared" or bool(plan.sharing_pairs())


def _stock_pass() -> Any:
    """TVM's own, also where its name leads to a session."""
    return tvm.get_global_func("s_tir.transform.MergeSharedMemoryAllocations")()


def _scopes(kernel: Kernel) -> list[str]:
    """The scopes that are merged in a kernel: a single buffer needs no arena."""
    return [scope for scope in SHARED_SCOPES if len(kernel.allocations(scope)) > 1]


def _barriers(kernel: Kernel, plans: Sequence[Plan]) -> set[Stmt]:
    needed = (barriers_needed(kernel, plan.offsets) for plan in plans)
    return set().union(*needed)
