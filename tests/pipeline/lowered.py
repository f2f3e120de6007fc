"""Kernels as a session leaves them, read from dumps."""

from __future__ import annotations

from functools import cache

from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.versions import TILELANG, VERSIONS
from smemreuse.versions.merges import configured
from tests.conftest import DUMPS
from tests.dumps import kernels_of

STOCK = configured(VERSIONS[TILELANG])


def lowered(kernel: Kernel, objective: str = "speed") -> LoweredKernel:
    """A kernel as a session leaves it."""
    plans = []
    for scope in kernel.shared_scopes():
        plan = plan_kernel(kernel, scope, objective=objective)
        plans.append(AppliedPlan(kernel, plan, judge(kernel, plan)))
    return LoweredKernel(kernel, STOCK, tuple(plans))


@cache
def of_dump(name: str, objective: str = "speed") -> LoweredKernel:
    """The kernel of a dump, or the one with the most buffers."""
    return lowered(
        max(kernels_of(DUMPS / f"{name}.tir"), key=lambda one: len(one.allocations())), objective
    )
