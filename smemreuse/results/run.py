"""What a script's compilations shared, what they gained by it, and what was refused and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from smemreuse.ir.kernel import Kernel
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.explanation import ArenaSharing
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Mending
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Judged, Verdict


@dataclass(frozen=True)
class RunPlan:
    """A plan that went into a kernel, its verdict and its sharing.

    `rejected` are the tighter plans that were made before; `stock` is the plan that the compiler
    would have applied instead.
    """

    plan: Plan
    verdict: Verdict
    rejected: tuple[Judged, ...]
    sharing: ArenaSharing
    stock: Plan
    stock_verdict: Verdict


@dataclass(frozen=True)
class RunKernel:
    """One kernel of a run and everything that is reported of it; `plans` has an item for each plan.

    `title` is its name, made distinct where several kernels of the run have it. `lint` is what is
    known of its own hazards, None where that was not asked; `mending` what came of mending it;
    `compiler` whose own merge it is held against; `elaboration` the call that made it.
    """

    title: str
    kernel: Kernel
    footprint: KernelFootprint
    plans: tuple[RunPlan, ...] = ()
    lint: LintReport | None = None
    mending: Mending | None = None
    compiler: str = "TileLang"
    elaboration: Elaboration = field(default_factory=Elaboration)

    @property
    def elaborations(self) -> tuple[Elaboration, ...]:
        """The call that made it, if it is known."""
        return (self.elaboration,) if self.elaboration.is_known else ()
