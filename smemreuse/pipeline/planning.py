"""Kernel in, plan out: what each policy, packer and objective makes of one storage scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, get_args

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.baselines import baseline_for, baseline_of
from smemreuse.errors import PlanError
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.objectives import resident_blocks, with_least_sharing
from smemreuse.policies.attribution import POLICIES
from smemreuse.policies.dataflow import dataflow
from smemreuse.policies.packing import Liveness, packed
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import (
    ObjectiveName,
    Origin,
    PackerName,
    PolicyName,
    Provenance,
)
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.results.verdict import SOUND, UNPROVED
from smemreuse.semantics.table import waits_for_phase
from smemreuse.targets.architectures import Architecture

POLICY_NAMES: tuple[PolicyName, ...] = get_args(PolicyName)
"""Attribution rules, and the proved combination of them, which is the default."""

PACKER_NAMES: tuple[PackerName, ...] = get_args(PackerName)
OBJECTIVES: tuple[ObjectiveName, ...] = get_args(ObjectiveName)

N = TypeVar("N", bound=str)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan is made with; `cautious` does without what only the checker's trace proves."""

    policy: PolicyName
    packer: PackerName
    objective: ObjectiveName
    cautious: bool = False


def checked_options(
    policy: str, packer: str, objective: str, *, cautious: bool = False
) -> PlanOptions:
    """Options by their names; raises `PlanError` for one that is not known."""
    return PlanOptions(
        _known("policy", policy, POLICY_NAMES),
        _known("packer", packer, PACKER_NAMES),
        _known("objective", objective, OBJECTIVES),
        cautious,
    )


def plan_kernel(
    kernel: Kernel,
    scope: str,
    *,
    policy: str = "dataflow",
    packer: str = "best",
    objective: str = "bytes",
    arch: Architecture | None = None,
    cautious: bool = False,
) -> Plan:
    """As `plan_with`, of options by their names; raises `PlanError` for one that is not known."""
    options = checked_options(policy, packer, objective, cautious=cautious)
    return plan_with(kernel, scope, options, arch)


def plan_with(
    kernel: Kernel, scope: str, options: PlanOptions, arch: Architecture | None = None
) -> Plan:
    """Plans the merged allocation of one kernel and storage scope.

    A policy and a packer that together stand for a compiler's own merge get that merge's live
    ranges, and where nothing else may be made of those its plan, with all its faults; the
    provenance tells them. `arch` is what objective `occupancy` is for; by default what the kernel's
    target says.
    """
    return facts_of(kernel).ask(planned, scope, options, arch)


def planned(
    facts: KernelFacts, scope: str, options: PlanOptions, arch: Architecture | None
) -> Plan:
    """As `plan_with`, made anew."""
    stock = baseline_for(options.policy, options.packer)
    if stock is not None and stock.only_whole and options.objective != "none":
        made = stock.plan(facts.kernel, scope)
        return made.with_provenance(objective=options.objective)
    maker = _Maker(facts, scope, options, arch)
    plan = maker.proved() if options.policy == "dataflow" else maker.attributed(options.policy)
    if options.objective == "occupancy" and not plan.provenance.is_kept:
        return with_least_sharing(facts.kernel, plan, arch)
    return plan


@dataclass(frozen=True)
class _Maker:
    """Makes the plans of one kernel and scope, all with one packer and for one objective."""

    facts: KernelFacts
    scope: str
    options: PlanOptions
    arch: Architecture | None

    def attributed(self, policy: PolicyName) -> Plan:
        """The plan of an attribution rule alone."""
        made = self.facts.ask(attributed_plan, self.scope, policy, *self._packing)
        return made.with_provenance(objective=self.options.objective)

    def proved(self) -> Plan:
        """The dataflow plan: as tight as can be proved, and never larger than a proved outer plan.

        Where mbarriers may order what static rules cannot (rules 4 and 5), tighter plans are made,
        inner's among them, and kept if the checker proves them. Where outer's plan is smaller all
        the same, it is taken if the checker proves it, or if it hangs on mbarriers that the checker
        cannot follow.
        """
        kernel = self.facts.kernel
        plan = self._dataflow()
        if self.options.objective == "none":
            return plan
        if not self.options.cautious and uses_mbarriers(kernel):
            plan = self._traced(plan)
        outer = self.attributed("outer")
        if outer.arena_bytes < plan.arena_bytes:
            verdict = judge(kernel, outer).verdict
            if verdict is SOUND:
                plan = _vouched_for(outer, Origin.OUTER_PROVED)
            elif verdict is UNPROVED and may_keep(kernel):
                plan = self._kept(plan)
        return plan

    def _kept(self, plan: Plan) -> Plan:
        """The compiler's own layout, to the byte, if it is smaller than `plan` and not refuted.

        Not some of its pairs: the barriers that the compiler puts in for one shared pair may be
        what orders another.
        """
        kernel = self.facts.kernel
        own = baseline_of(kernel)
        found = plan_with(kernel, self.scope, PlanOptions(own.policy, own.packer, "bytes"))
        if found.arena_bytes < plan.arena_bytes and judge(kernel, found).verdict is UNPROVED:
            kept = _vouched_for(found, Origin.KEPT_FROM_COMPILER)
            return kept.with_provenance(objective=self.options.objective)
        return plan

    def _traced(self, plan: Plan) -> Plan:
        """The tightest plan that the checker's trace of the mbarriers proves, if one beats `plan`.

        Inner's may make the arms meet in every round of a loop around them. That stops the loads of
        the next tile, so for occupancy it is taken only where the kernel would not fit otherwise.
        """
        bounds = [self.attributed(policy).lower_bound_bytes for policy in ("outer", "inner")]
        if plan.arena_bytes > min(bounds):
            plan = self._if_proved(self._dataflow(ordered_by_trace=True), plan)
        fits_not = resident_blocks(self.facts.kernel, [plan], self.arch) == 0
        if self.options.objective == "bytes" or fits_not:
            plan = self._if_proved(self.attributed("inner"), plan)
        return plan

    def _if_proved(self, tighter: Plan, plan: Plan) -> Plan:
        if tighter.arena_bytes < plan.arena_bytes and judge(self.facts.kernel, tighter).sound:
            return _vouched_for(tighter, Origin.TRACED)
        return plan

    def _dataflow(self, *, ordered_by_trace: bool = False) -> Plan:
        made = self.facts.ask(dataflow_plan, self.scope, ordered_by_trace, *self._packing)
        return made.with_provenance(objective=self.options.objective)

    @property
    def _packing(self) -> tuple[PackerName, ObjectiveName]:
        """The packer, and how it is to pack; what comes behind it for occupancy is not its own."""
        reuses = self.options.objective != "none"
        return self.options.packer, "bytes" if reuses else "none"


def attributed_plan(
    facts: KernelFacts,
    scope: str,
    policy: PolicyName,
    packer: PackerName,
    objective: ObjectiveName,
) -> Plan:
    """The plan of an attribution rule, or of a compiler's live ranges where it names those."""
    kernel = facts.kernel
    stock = baseline_for(policy, packer)
    if stock is not None and not stock.only_whole:
        found = stock.liveness(kernel, scope)
    else:
        sequence, live = sequence_of(kernel, scope, policy)
        buffers, align = kernel.allocations(scope), alignments(kernel, scope)
        found = Liveness(scope, buffers, align, live, sequence.entries)
    return packed(found, Provenance(policy, packer, objective))


def dataflow_plan(
    facts: KernelFacts,
    scope: str,
    ordered_by_trace: bool,
    packer: PackerName,
    objective: ObjectiveName,
) -> Plan:
    """The plan of the dataflow policy's ranges and conflicts."""
    kernel = facts.kernel
    found = dataflow(kernel, scope, ordered_by_trace=ordered_by_trace)
    ranges = Liveness(
        scope,
        kernel.allocations(scope),
        alignments(kernel, scope),
        found.live,
        found.sequence.entries,
        [*found.concurrent],
    )
    return packed(ranges, Provenance("dataflow", packer, objective))


def _vouched_for(plan: Plan, origin: Origin) -> Plan:
    """The plan of another rule, taken for that of dataflow."""
    return plan.with_provenance(policy="dataflow", origin=origin)


def may_keep(kernel: Kernel) -> bool:
    """Whether sharing of the compiler's own that nobody proves nor refutes may stay: arms wait for
    each other's mbarriers, and its layouts deserve the benefit of the doubt."""
    return kernel.dialect.keeps_unproved and uses_mbarriers(kernel)


def uses_mbarriers(kernel: Kernel) -> bool:
    """Whether threads of a kernel wait for mbarriers."""
    return facts_of(kernel).ask(mbarriers_are_waited_for)


def mbarriers_are_waited_for(facts: KernelFacts) -> bool:
    return waits_for_phase(facts.kernel.body)


def sequence_of(
    kernel: Kernel, scope: str, policy: str
) -> tuple[Linearization, Mapping[Buffer, LiveRange]]:
    """The linear sequence under a policy given by name, and the live ranges on it.

    The dataflow policy's ranges lie on inner's sequence, wider than inner's where a rule asks.
    """
    name = _known("policy", policy, POLICY_NAMES)
    if name == "dataflow":
        found = dataflow(kernel, scope)
        return found.sequence, found.live
    sequence = linearize(kernel, scope, POLICIES[name])
    return sequence, live_ranges(sequence.entries)


def _known(what: str, name: str, choices: tuple[N, ...]) -> N:
    for choice in choices:
        if choice == name:
            return choice
    raise PlanError(f"unknown {what} {name!r}; choose one of {', '.join(choices)}")
