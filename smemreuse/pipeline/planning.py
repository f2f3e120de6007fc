"""Kernel in, plan out: what each policy, packer and objective makes of one storage scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Candidate
from smemreuse.pipeline.choice import Attempts, choose
from smemreuse.pipeline.options import (
    OBJECTIVES,
    POLICY_NAMES,
    PlanOptions,
    checked_options,
    policy_names,
)
from smemreuse.pipeline.starts import sequence_of, wanted_plan
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import PolicyName
from smemreuse.results.verdict import UNPROVED
from smemreuse.targets.architectures import Architecture
from smemreuse.versions.merges import merge_of

__all__ = [
    "OBJECTIVES",
    "POLICY_NAMES",
    "Chosen",
    "PlanOptions",
    "checked_options",
    "choose_for",
    "compare_policies",
    "plan_kernel",
    "planned",
    "sequence_of",
]


@dataclass(frozen=True)
class Chosen:
    """The plan to apply to one scope of a dumped kernel, and the candidates refused before it."""

    candidate: Candidate
    refused: tuple[Candidate, ...]

    @property
    def plan(self) -> Plan:
        return self.candidate.plan

    @property
    def hoped(self) -> Candidate | None:
        """The smallest plan that was neither proved nor refuted, if it is smaller than this one."""
        unproved = [one for one in self.refused if one.verdict.verdict is UNPROVED]
        return min(unproved, key=lambda one: one.plan.arena_bytes, default=None)


def choose_for(
    kernel: Kernel,
    scope: str,
    options: PlanOptions,
    arch: Architecture | None = None,
    *,
    unchecked: bool = False,
) -> Chosen:
    """The plan to apply to one scope of a dumped kernel."""
    return facts_of(kernel).ask(chosen_on_dump, scope, options, arch, unchecked)


def chosen_on_dump(
    facts: KernelFacts,
    scope: str,
    options: PlanOptions,
    arch: Architecture | None,
    unchecked: bool,
) -> Chosen:
    """Computes the answer of `choose_for`, which remembers it."""
    kernel = facts.kernel
    attempts = Attempts([kernel], [[scope]], options, merge_of(kernel), arch)
    found = choose(attempts, unchecked=unchecked)
    (chosen,) = found.proposal
    return Chosen(chosen, found.refused[chosen])


def planned(
    kernel: Kernel, scope: str, options: PlanOptions, arch: Architecture | None = None
) -> Chosen:
    """The merged allocation of one kernel and storage scope.

    For policy `dataflow` it is the plan that would be applied. For an attribution rule it is the
    rule's plan, whatever the checker says. `arch` matters to objective `speed`; it is by default
    that of the kernel's target.
    """
    if options.policy == "dataflow":
        return choose_for(kernel, scope, options, arch)
    plan = facts_of(kernel).ask(wanted_plan, scope, options, arch)
    return Chosen(Candidate(kernel, plan), ())


def plan_kernel(
    kernel: Kernel,
    scope: str,
    *,
    policy: str = "dataflow",
    packer: str = "best",
    objective: str = "bytes",
    arch: Architecture | None = None,
    strict: bool = False,
) -> Plan:
    """The plan of `planned`, of options by their names; raises `PlanError` for one that is not
    known."""
    options = checked_options(policy, packer, objective, strict=strict)
    return planned(kernel, scope, options, arch).plan


def compare_policies(
    kernel: Kernel, scope: str, packer: str, objective: str, arch: Architecture | None = None
) -> Mapping[PolicyName, Chosen]:
    """The plan of each policy, by its name.

    Raises `PlanError` for an unknown packer or objective.
    """
    return {
        name: planned(kernel, scope, checked_options(name, packer, objective), arch)
        for name in policy_names()
    }
