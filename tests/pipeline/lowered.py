"""Kernels as a session leaves them, read from dumps."""

from __future__ import annotations

from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.versions import TILELANG, VERSIONS
from smemreuse.versions.merges import configured
from tests.conftest import DUMPS

STOCK = configured(VERSIONS[TILELANG])


def lowered(kernel: Kernel, objective: str = "speed") -> LoweredKernel:
    """A kernel as a session leaves it."""
    plans = []
    for scope in kernel.shared_scopes():
        plan = plan_kernel(kernel, scope, objective=objective)
        plans.append(AppliedPlan(kernel, plan, judge(kernel, plan)))
    return LoweredKernel(kernel, STOCK, tuple(plans))


def of_dump(name: str, objective: str = "speed") -> LoweredKernel:
    """The kernel of a dump, or the one with the most buffers."""
    kernels = read_dump(str(DUMPS / f"{name}.tir")).kernels
    return lowered(max(kernels, key=lambda one: len(one.allocations())), objective)
