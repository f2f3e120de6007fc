"""What a session lowered: its kernels, the plans in them, and the shared memory of each block.

Knows no TVM: what is reported of a compilation is made of this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Mending
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Verdict
from smemreuse.targets.architectures import Architecture, target_architecture, threads_of
from smemreuse.targets.blocks import block_memory
from smemreuse.targets.registers import registers_of
from smemreuse.targets.residents import blocks_of
from smemreuse.versions.merges import Merge


@dataclass(frozen=True, repr=False)
class AppliedPlan:
    """A plan that went into a kernel, and the checker's verdict on it on the synchronized IR.

    `rejected` are the tighter plans that were tried before, with their verdicts. `barriers` counts
    those that the merge pass itself inserted for the kernel's plans: 0 where a later pass inserts
    them.
    """

    kernel: Kernel
    plan: Plan
    verdict: Verdict
    rejected: tuple[tuple[Plan, Verdict], ...] = ()
    barriers: int = 0

    def __repr__(self) -> str:
        """One line: the kernel, what was applied, and the verdict on it."""
        plan = f"{self.plan.scope}, {self.plan.arena_text} bytes"
        return f"AppliedPlan({self.kernel.name}: {plan}, {self.verdict.verdict})"


@dataclass(frozen=True, repr=False)
class LoweredKernel:
    """A kernel as it was before the merge, and its plans: one for each scope that was merged.

    A scope with a single buffer needs no arena and has no plan. `stock` is the compiler's own
    merge. `judge_stock` gives the verdict on its plan for a scope, on the IR as the compiler would
    have synchronized it. `lint` gives the hazards of the kernel itself, on the IR that has all its
    barriers; None where no such IR is known. `mending` is what came of fixing it, if that was
    asked for. `registers` of each thread are known once it has been compiled. `elaboration` is the
    call that made it, as far as that is known, and `name_sources` writes into its statements which
    lines of that they come from.
    """

    kernel: Kernel
    stock: Merge
    plans: tuple[AppliedPlan, ...] = ()
    judge_stock: Callable[[str], Verdict] | None = field(default=None, repr=False, compare=False)
    lint: Callable[[], LintReport] | None = field(default=None, repr=False, compare=False)
    mending: Mending | None = None
    registers: int | None = None
    elaboration: Elaboration = field(default_factory=Elaboration, repr=False)
    name_sources: Callable[[], None] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """One line: its name, the bytes of a block before and after, and the verdicts."""
        return f"LoweredKernel({', '.join([self.footprint().summary, *self._verdicts])})"

    @property
    def _verdicts(self) -> list[str]:
        return [each.verdict.verdict.value for each in self.plans]

    def stock_plan(self, scope: str) -> Plan:
        """The plan that the compiler's own merge would have made."""
        return self.stock.plan(self.kernel, scope)

    def stock_verdict(self, scope: str) -> Verdict:
        """The verdict on the compiler's own plan for a scope, computed on first use.

        It needs a synchronization and a check of the whole function. Barriers are assumed where the
        IR that would have them is not known.
        """
        if self.judge_stock is not None:
            return self.judge_stock(scope)
        return judge(self.kernel, self.stock_plan(scope))

    def footprint(self, arch: Architecture | None = None) -> KernelFootprint:
        """The shared memory of a block on `arch`, by default the one of the kernel's target."""
        arch = arch or target_architecture(self.kernel)
        threads = threads_of(self.kernel)
        scopes = [one.plan.scope for one in self.plans]
        stock = [*map(self.stock_plan, scopes)]
        applied = [one.plan for one in self.plans]
        before, after = block_memory(self.kernel, stock), block_memory(self.kernel, applied)
        expected = registers_of(self.kernel)
        compiled = self.registers is not None
        return KernelFootprint(
            name=self.kernel.name,
            arch=arch.name if arch else None,
            threads=threads,
            registers=self.registers,
            bytes_before=before.total,
            bytes_after=after.total,
            static_bytes=after.static,
            blocks_before=self._blocks(stock, arch, by_registers=compiled),
            blocks_after=self._blocks(applied, arch, by_registers=compiled),
            limit=arch.per_block if arch else None,
            fits=after.fits(arch) if arch else None,
            expected_registers=expected.count if expected else None,
            resident_before=self._blocks(stock, arch),
            resident_after=self._blocks(applied, arch),
        )

    def _blocks(
        self, plans: list[Plan], arch: Architecture | None, *, by_registers: bool = True
    ) -> int | None:
        if arch is None:
            return None
        compiled = self.registers
        return blocks_of(self.kernel, plans, arch, compiled=compiled, by_registers=by_registers)
