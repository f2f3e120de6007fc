"""The pass that takes the place of TVM's `MergeSharedMemoryAllocations`, and what it planned."""

from __future__ import annotations

from typing import Any

import tvm

from smemreuse.compilers.functions import DeviceFunction, MergeRequest
from smemreuse.compilers.session import MergeSession
from smemreuse.compilers.tvm.rewrite import apply_plans, has_volatile_buffers
from smemreuse.compilers.tvm.visitor import VERSION, TvmVisitor
from smemreuse.ir.kernel import SHARED_SCOPES, Stmt
from smemreuse.pipeline.candidate import Proposal
from smemreuse.pipeline.choice import choose
from smemreuse.pipeline.fallback import LeftToStock
from smemreuse.pipeline.judging import judge_as_it_is
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Verdict
from smemreuse.versions.merges import configured

STOCK = configured(VERSION)


class TvmSession(MergeSession):
    """One merge in force. It leaves functions with volatile buffers to TVM's own pass."""

    def lowering_pass(self) -> Any:
        """The pass, for a place after `ThreadSync` and before `SplitHostDevice`."""

        def rewrite(name: str, var: Any, func: Any) -> Any:
            def stock() -> Any:
                return _stock_pass()(tvm.IRModule({var: func}))[var]

            if has_volatile_buffers(func):
                # A view into the arena does not carry `volatile` on, which TVM puts into each
                # access.
                self.leave(LeftToStock(name, "it has volatile buffers"))
                return stock()
            function = DeviceFunction(name, func, TvmVisitor())
            return self.or_stock(name, lambda: self._merged(function), stock)

        return tvm.transform.module_pass(
            lambda mod, _ctx: self.rewrite_functions(mod, rewrite),
            opt_level=0,
            name="smemreuse.MergeSharedMemoryAllocations",
        )

    def _merged(self, function: DeviceFunction) -> Any:
        """The function under the tightest plans that hold on the merged IR (rule 6)."""
        attempts = self.attempts(function, MergeRequest(STOCK, SHARED_SCOPES, self.options))
        if attempts is None:
            self.note_lowered(function, [LoweredKernel(each, STOCK) for each in function.kernels])
            return function.func
        merged = function.func  # under the proposal that was verified last

        def verify(proposal: Proposal) -> Proposal:
            nonlocal merged
            proposal = proposal.only(_is_worthwhile)
            barriers: frozenset[Stmt] = frozenset().union(*(one.barriers for one in proposal))
            merged = apply_plans(function.func, function.visitor, proposal.plans, barriers)
            return function.judged(proposal, merged)

        choice = choose(attempts, verify, unchecked=self.unchecked)

        def judge_stock(launch: int, scope: str) -> Verdict:
            kernel = function.kernels[launch]  # it gets no more barriers than it has
            return judge_as_it_is(kernel, STOCK.plan(kernel, scope))

        self.keep(function, choice, STOCK, judge_stock)
        return merged if any(choice.proposal.launches) else function.func


def _is_worthwhile(plan: Plan) -> bool:
    """Static buffers that share nothing are better off as arrays of their own.

    Dynamic ones are merged in any case: a kernel can have only one.
    """
    return plan.scope != "shared" or bool(plan.sharing_pairs())


def _stock_pass() -> Any:
    """TVM's own, also where its name leads to a session."""
    return tvm.get_global_func("s_tir.transform.MergeSharedMemoryAllocations")()
