"""The one place that tries, judges and chooses: the first proposal that may be applied.

A door passes in who judges. On a dump that is each candidate itself. Inside a compiler a function
is rewritten, given its barriers and read again, and what is found there is the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from smemreuse.baselines import baseline_of
from smemreuse.errors import PlanError
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.planning import POLICY_NAMES, PlanOptions, checked_options, plan_with
from smemreuse.pipeline.proposals import propose
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import PolicyName
from smemreuse.results.verdict import Verdict
from smemreuse.targets.architectures import Architecture


class Verifier(Protocol):
    """Says what the checker finds of a proposal where it is applied."""

    def __call__(self, proposal: Proposal) -> Proposal:
        """The same plans with their verdicts; some may be left out that are not worth an arena."""


def on_the_dump(proposal: Proposal) -> Proposal:
    """The verifier of dumps: each candidate is judged on the kernel as it was read."""
    return proposal


@dataclass(frozen=True)
class Choice:
    """The proposal to apply, and those that were made before and may not be applied."""

    proposal: Proposal
    rejected: tuple[Proposal, ...]

    def rejected_for(self, chosen: Candidate) -> tuple[tuple[Plan, Verdict], ...]:
        """What was rejected for a kernel and scope, with the verdicts."""
        return tuple(
            (one.plan, one.verdict)
            for proposal in self.rejected
            for one in proposal
            if one.kernel is chosen.kernel and one.scope == chosen.scope
        )


def choose(
    proposals: Iterable[Proposal], verify: Verifier = on_the_dump, *, unchecked: bool = False
) -> Choice:
    """The first proposal that may be applied; with `unchecked` the very first.

    Raises `PlanError` where none may, which would be a fault of ours: the last shares nothing.
    """
    rejected: list[Proposal] = []
    for proposal in proposals:
        judged = verify(proposal)
        if unchecked or judged.acceptable:
            return Choice(judged, tuple(rejected))
        rejected.append(judged)
    raise PlanError("no plan may be applied, not even one that shares nothing")


def choose_for(
    kernel: Kernel,
    scope: str,
    options: PlanOptions,
    arch: Architecture | None = None,
    *,
    unchecked: bool = False,
) -> tuple[Candidate, tuple[Candidate, ...]]:
    """The plan to apply to one scope of a dumped kernel, and those that may not be applied."""
    proposals = propose([kernel], [[scope]], options, baseline_of(kernel), arch)
    found = choose(proposals, unchecked=unchecked)
    (chosen,) = found.proposal
    return chosen, tuple(one for proposal in found.rejected for one in proposal)


def compare_policies(
    kernel: Kernel, scope: str, packer: str, objective: str, arch: Architecture | None = None
) -> Mapping[PolicyName, Candidate]:
    """The plan of each policy, by its name.

    Raises `PlanError` for an unknown packer or objective.
    """
    each = {name: checked_options(name, packer, objective) for name in POLICY_NAMES}
    return {
        name: Candidate(kernel, plan_with(kernel, scope, options, arch))
        for name, options in each.items()
    }
