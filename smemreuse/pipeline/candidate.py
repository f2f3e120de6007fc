"""A plan that might be applied, with its verdict and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from smemreuse.ir.kernel import Kernel, Stmt
from smemreuse.pipeline.judging import Effort, barriers_with, judge
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import ObjectiveName, Origin, Provenance
from smemreuse.results.verdict import UNPROVED, Verdict

Judge = Callable[[Kernel, Plan], Verdict]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A plan for one kernel and storage scope, with a verdict that is computed on first use."""

    kernel: Kernel
    plan: Plan
    judge: Judge = judge

    @property
    def scope(self) -> str:
        return self.plan.scope

    @property
    def provenance(self) -> Provenance:
        return self.plan.provenance

    @cached_property
    def verdict(self) -> Verdict:
        return self.judge(self.kernel, self.plan)

    def checked(self, effort: Effort) -> Candidate:
        """The same plan, judged with less effort, since it is judged again where it is applied."""
        return Candidate(self.kernel, self.plan, partial(judge, effort=effort))

    @property
    def passes(self) -> bool:
        """Whether it is proved, or a bounded check found nothing but that there is more."""
        unfinished = self.verdict.stopped_early and len(self.verdict.findings) == 1
        return self.verdict.sound or (unfinished and not self.is_doubted)

    @property
    def is_doubted(self) -> bool:
        """Whether a bounded check left open of some pairs (`open_pairs`) if they are wrong."""
        found = self.verdict
        return found.stopped_early and not found.violations and bool(found.open_pairs)

    @cached_property
    def barriers(self) -> frozenset[Stmt]:
        """The statements before which the plan brings a barrier; none where a later pass does."""
        return barriers_with(self.kernel, self.plan.offsets)

    def with_verdict(self, verdict: Verdict) -> Candidate:
        """The same plan, judged on other IR than the kernel as it was read."""
        return Candidate(self.kernel, self.plan, lambda _kernel, _plan: verdict)

    def made_for(self, objective: ObjectiveName) -> Candidate:
        """The same plan, said to be made for an objective."""
        plan = self.plan.with_provenance(objective=objective)
        return Candidate(self.kernel, plan, self.judge)

    @property
    def acceptable(self) -> bool:
        """Whether the plan may be applied.

        It may if it is proved, keeps the compiler's own sharing, or shares nothing, which is the
        kernel as it was. It may not if it is the plan of a pass that fails on the kernel: that may
        lack a used buffer.
        """
        if self.provenance.failures:
            return False
        if self.verdict.verdict is UNPROVED:
            return self.provenance.is_kept or not self.plan.sharing_pairs()
        return self.verdict.sound

    @property
    def settled(self) -> Plan:
        """The plan as it is reported once it is applied: one that was to be kept may be proved."""
        if self.provenance.is_kept and self.verdict.sound:
            return self.plan.with_provenance(origin=Origin.COMPILER_PROVED)
        return self.plan


@dataclass(frozen=True, eq=False)
class Proposal:
    """A candidate for each storage scope of each kernel of one function.

    They are applied together or not at all, because a function is rewritten and checked as a whole.
    """

    launches: tuple[tuple[Candidate, ...], ...]

    def __iter__(self) -> Iterator[Candidate]:
        """All of them, kernel by kernel."""
        return (candidate for launch in self.launches for candidate in launch)

    @property
    def plans(self) -> list[list[Plan]]:
        """The plans of each kernel."""
        return [[candidate.plan for candidate in launch] for launch in self.launches]

    @property
    def acceptable(self) -> bool:
        return all(candidate.acceptable for candidate in self)

    def with_verdicts(self, verdicts: Sequence[Verdict]) -> Proposal:
        """The same plans with their verdicts, one for each in order, on other IR."""
        pairs = zip(self, verdicts, strict=True)
        judged = iter([candidate.with_verdict(verdict) for candidate, verdict in pairs])
        return Proposal(tuple(tuple(next(judged) for _ in launch) for launch in self.launches))

    def only(self, worthwhile: Callable[[Plan], bool]) -> Proposal:
        """Without the plans that are not worth an arena."""
        return Proposal(
            tuple(tuple(one for one in launch if worthwhile(one.plan)) for launch in self.launches)
        )
