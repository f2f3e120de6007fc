"""The stream of proposals for a function: the wanted plans, then what is tried in their place.

It is lazy. What is wanted comes first; of the others a plan is made only where one that is made
already might not be the next, for which a bound on what each can cost at best is enough.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.liveness import peak_live
from smemreuse.baselines import Baseline, baseline_for, baseline_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.objectives import resident_blocks
from smemreuse.pipeline.planning import PlanOptions, may_keep, plan_with, sequence_of
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin, PolicyName
from smemreuse.targets.architectures import Architecture

Cost = tuple[float, float]
"""What comes earlier is less: fewer bytes, or more resident blocks."""

CHEAPEST: Cost = (float("-inf"), float("-inf"))


def propose(
    kernels: Sequence[Kernel],
    scopes: Sequence[Sequence[str]],
    options: PlanOptions,
    stock: Baseline,
    arch: Architecture | None = None,
) -> Iterator[Proposal]:
    """A plan for each scope of each kernel: the wanted ones, then those of the other `attempts`.

    Those come with the most blocks on an SM first, or for objective `bytes` with the fewest bytes,
    so that no kernel loses to a rejected plan more than can be helped. What was proposed before on
    the same terms is not proposed again, except that the last comes in any case.
    """
    first, *others = attempts(options, stock)
    source = _Source(kernels, scopes, arch, by_bytes=options.objective == "bytes")
    wanted = source.proposal(first)
    yield wanted
    before = [_terms(wanted)]
    for number, proposal in enumerate(source.cheapest_first(others, wanted.plans), 1):
        terms = _terms(proposal)
        if terms not in before or number == len(others):
            before.append(terms)
            yield proposal


def attempts(options: PlanOptions, stock: Baseline) -> Iterator[PlanOptions]:
    """Options to try: the wanted ones, more cautious ones, those of the smallest arenas, the
    compiler's own layout; the last shares nothing and always holds."""
    if options.objective != "none":
        for aim in dict.fromkeys((options.objective, "bytes")):
            for policy in dict.fromkeys((options.policy, "dataflow", "outer")):
                wanted = replace(options, policy=policy, objective=aim)
                yield wanted
                if policy == "dataflow" and not options.cautious:
                    yield replace(wanted, cautious=True)
        yield PlanOptions(stock.policy, stock.packer, "bytes")
    yield replace(options, objective="none")


def proposed_plan(
    kernel: Kernel, scope: str, options: PlanOptions, arch: Architecture | None = None
) -> Plan:
    """The plan of one attempt; the compiler's own is kept where mbarriers may be to blame."""
    plan, own = plan_with(kernel, scope, options, arch), baseline_of(kernel)
    made = (plan.policy, plan.packer, plan.objective)
    is_own = made == (own.policy, own.packer, own.objective)
    if is_own and may_keep(kernel) and plan.sharing_pairs():
        return plan.with_provenance(origin=Origin.KEPT_FROM_COMPILER)
    return plan


@dataclass(frozen=True)
class _Source:
    """Makes proposals for the kernels of one function."""

    kernels: Sequence[Kernel]
    scopes: Sequence[Sequence[str]]
    arch: Architecture | None
    by_bytes: bool

    def proposal(self, options: PlanOptions) -> Proposal:
        pairs = zip(self.kernels, self.scopes, strict=True)
        return Proposal(
            tuple(
                tuple(
                    Candidate(kernel, proposed_plan(kernel, scope, options, self.arch))
                    for scope in wanted
                )
                for kernel, wanted in pairs
            )
        )

    def cheapest_first(
        self, others: Sequence[PlanOptions], wanted: Sequence[Sequence[Plan]]
    ) -> Iterator[Proposal]:
        """The proposals in order of cost; of the same cost, in order of the options."""
        bounds = [self._least_cost(options, wanted) for options in others]
        to_come = [*accumulate(reversed(bounds), min)][::-1]  # of this one and all behind it
        made: list[tuple[Cost, int, Proposal]] = []
        for number, options in enumerate(others):
            while made and made[0][0] <= to_come[number]:
                yield heapq.heappop(made)[-1]
            proposal = self.proposal(options)
            heapq.heappush(made, (self._cost(proposal.plans), number, proposal))
        while made:
            yield heapq.heappop(made)[-1]

    def _cost(self, plans: Sequence[Sequence[Plan]]) -> Cost:
        if self.by_bytes:
            return 0, sum(plan.arena_bytes for launch in plans for plan in launch)
        pairs = zip(self.kernels, plans, strict=True)
        blocks = [resident_blocks(kernel, launch, self.arch) or 0 for kernel, launch in pairs]
        return -min(blocks), -sum(blocks)

    def _least_cost(self, options: PlanOptions, wanted: Sequence[Sequence[Plan]]) -> Cost:
        """No proposal of these options costs less; the plans of another tell what is beside it."""
        stock = baseline_for(options.policy, options.packer)
        if stock is not None and stock.only_whole:
            return CHEAPEST  # it may lay live buffers over each other
        pairs = zip(self.kernels, wanted, strict=True)
        return self._cost(
            [[_at_best(kernel, plan, options) for plan in launch] for kernel, launch in pairs]
        )


def _at_best(kernel: Kernel, plan: Plan, options: PlanOptions) -> Plan:
    """A plan with the bytes that one of these options takes at least."""
    least = _least_bytes(kernel, plan.scope, options)
    return replace(plan, arena_bytes=least, alignments=alignments(kernel, plan.scope))


def _least_bytes(kernel: Kernel, scope: str, options: PlanOptions) -> int:
    """The peak of the narrowest live ranges that a plan of these options may have."""
    narrowest: PolicyName = "outer" if options.policy == "outer" else "inner"
    live = sequence_of(kernel, scope, narrowest)[1]
    sizes: Mapping[Buffer, int] = {buffer: buffer.size or 0 for buffer in live}
    if options.objective == "none":
        return sum(sizes.values())
    return peak_live(live.values(), sizes)


def _terms(proposal: Proposal) -> list[tuple[Mapping[Buffer, int], bool]]:
    """Layouts, and whether they may be applied unproved."""
    return [(one.plan.offsets, one.provenance.is_kept) for one in proposal]
