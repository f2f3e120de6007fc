"""The plan that options ask for by name, whatever the checker says of it."""

from __future__ import annotations

from smemreuse.facts import KernelFacts
from smemreuse.pipeline.objectives import reckoned, rooms, with_least_sharing
from smemreuse.pipeline.options import PlanOptions
from smemreuse.pipeline.starts import attributed_plan, side_by_side
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture
from smemreuse.versions.merges import merge_for


def wanted_plan(
    facts: KernelFacts, scope: str, options: PlanOptions, arch: Architecture | None
) -> Plan:
    """The plan of an attribution rule, or the one that shares nothing.

    A policy and a packer that together stand for a compiler's own merge get that merge's live
    ranges, and where nothing else may be made of those its plan, with all its faults; the
    provenance tells them.
    """
    policy, packer, objective = options.policy, options.packer, options.objective
    stock = merge_for(facts.kernel, policy, packer)
    if stock is not None and stock.only_whole and objective != "none":
        return stock.plan(facts.kernel, scope).with_provenance(objective=objective)
    if objective == "none" and policy == "dataflow":
        return facts.ask(side_by_side, scope, packer)
    plan = facts.ask(attributed_plan, scope, policy, packer, objective != "none")
    if objective == "speed":
        for room in rooms(facts.kernel, plan, arch)[:1]:
            plan = with_least_sharing(facts.kernel, plan, room)
        plan = reckoned(facts.kernel, plan, arch)
    return plan.with_provenance(objective=objective)
