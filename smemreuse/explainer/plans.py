"""The plans that people ask for, with the checker's verdict on each."""

from __future__ import annotations

from smemreuse.ir.kernel import DYNAMIC_SCOPE, Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.objectives import SpeedObjective
from smemreuse.pipeline.planning import (
    Chosen,
    checked_options,
    compare_policies,
    plan_kernel,
    planned,
)
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Judged
from smemreuse.targets.architectures import Architecture
from smemreuse.versions.merges import merge_of


def judged_plan(
    kernel: Kernel,
    scope: str,
    policy: str = "dataflow",
    *,
    objective: str = "bytes",
    arch: Architecture | None = None,
) -> Judged:
    """One policy's plan, and the verdict on it; raises what `plan_kernel` raises."""
    plan = plan_kernel(kernel, scope, policy=policy, objective=objective, arch=arch)
    return plan, judge(kernel, plan)


def judged_plans(
    kernel: Kernel, scope: str, packer: str, objective: str, arch: Architecture | None = None
) -> dict[str, Judged]:
    """The plan of each policy, by its name, and the verdict on it."""
    found = compare_policies(kernel, scope, packer, objective, arch)
    return {policy: (each.plan, each.candidate.verdict) for policy, each in found.items()}


def hoped_for(
    kernel: Kernel, scope: str, packer: str, objective: str, arch: Architecture | None = None
) -> Judged | None:
    """The smallest plan that would be smaller than the applied one, and is not proved."""
    options = checked_options("dataflow", packer, objective)
    return hoped_of(planned(kernel, scope, options, arch))


def wanted_hope(
    kernel: Kernel, hoped: Judged | None, chosen: Plan, arch: Architecture | None
) -> Judged | None:
    """A smaller plan that is not proved, where the objective of the chosen one would take it, were
    it proved, as far as that is known: `speed` wants more than fewer bytes."""
    if hoped is None or chosen.objective != "speed":
        return hoped
    own = merge_of(kernel).plan(kernel, chosen.scope)
    return hoped if SpeedObjective(kernel, own, arch).gains(hoped[0], chosen) else None


def hoped_of(chosen: Chosen) -> Judged | None:
    """The smaller unproved plan that is known for a plan, with its verdict."""
    hoped = chosen.hoped
    return None if hoped is None else (hoped.plan, hoped.verdict)


def default_merge(kernel: Kernel, scope: str) -> tuple[str, Plan] | None:
    """What the default merge of a kernel's compiler makes, with its name for people. None where
    that does not compile the kernel, and for static shared memory, which no default merges."""
    merge = merge_of(kernel)
    plan = merge.plan(kernel, scope)
    if scope != DYNAMIC_SCOPE or plan.provenance.failures:
        return None
    return f"{merge.compiler}'s default", plan


def default_layout(kernel: Kernel, scope: str) -> Plan | None:
    """What a kernel's compiler makes of a scope by default: as `default_merge`, and static shared
    memory as it is. None where it does not compile the kernel."""
    found = default_merge(kernel, scope)
    if found is not None:
        return found[1]
    return None if scope == DYNAMIC_SCOPE else side_by_side(kernel, scope)


def compiler_of(kernel: Kernel) -> str:
    """The compiler of a kernel, by its name for people."""
    return merge_of(kernel).compiler


def judged_default(kernel: Kernel, scope: str) -> Judged | None:
    """What the default merge of a kernel's compiler makes, as `default_merge` has it, judged."""
    found = default_merge(kernel, scope)
    return None if found is None else (found[1], judge(kernel, found[1]))


def side_by_side(kernel: Kernel, scope: str) -> Plan:
    """The plan that shares nothing, of the buffers that are used."""
    return plan_kernel(kernel, scope, policy="outer", objective="none")
