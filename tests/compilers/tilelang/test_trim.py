"""`merge(trim=True)`: what goes from real lowerings, with their plans."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang
from tilelang import tvm

import smemreuse.tilelang
from fixtures.kernels import FIXTURES

pytestmark = pytest.mark.tilelang


def lowered(name: str, arch: str, *, trim: bool) -> tuple[str, smemreuse.tilelang.Session]:
    fixture: Any = FIXTURES[name]
    func = fixture.make(**fixture.configs["small"])
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with smemreuse.tilelang.merge(objective="bytes", mend=True, trim=trim) as session, target:
        artifact = tilelang.lower(func, target=target)
    return str(artifact.kernel_source), session


@pytest.mark.parametrize(
    ("name", "arch"),
    [("flash_attention", "sm_90a"), ("gemm", "sm_80"), ("batched_gemm", "sm_90a")],
)
def test_only_barriers_and_fences_go_and_the_plans_hold(name: str, arch: str) -> None:
    usual, _ = lowered(name, arch, trim=False)
    less, session = lowered(name, arch, trim=True)
    (trimming,) = session.trimmings
    assert trimming.why == ""
    gone = len(usual.splitlines()) - len(less.splitlines())
    assert gone == len(trimming.removals)
    assert all(line in usual.splitlines() for line in less.splitlines())
    assert all(str(plan.verdict.verdict) == "sound" for plan in session.plans)
    (kernel,) = session.kernels
    assert kernel.lint is not None
    assert kernel.lint().clean


def test_a_barrier_stays_that_a_plan_needs() -> None:
    """The tile of C lies where the stages were: the kernel itself would not need that barrier."""
    _, session = lowered("batched_gemm", "sm_90a", trim=True)
    (plan,) = session.plans
    assert any(plan.plan.sharing_pairs())
    (trimming,) = session.trimmings
    assert trimming.tried > len(trimming.removals)
