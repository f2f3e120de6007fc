"""Which merge belongs to a kernel, and which to a policy and packer of the command line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.baselines import (
    BASELINES,
    apache_tvm_0_27,
    baseline_for,
    baseline_of,
    tilelang_0_1_15,
)
from smemreuse.compilers.dialects import APACHE_TVM, LEGACY, TILELANG
from smemreuse.errors import PlanError
from smemreuse.facts import facts_of
from smemreuse.ir.dialect import UNSTATED, Dialect
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import plan_kernel
from tests.pipeline.kernels import DYN, apache, dumped


@pytest.mark.parametrize(
    ("dialect", "baseline"),
    [
        (TILELANG, tilelang_0_1_15.DEFAULT),
        (APACHE_TVM, apache_tvm_0_27.DEFAULT),
        (LEGACY, tilelang_0_1_15.DEFAULT),
        (UNSTATED, tilelang_0_1_15.DEFAULT),
    ],
    ids=lambda one: one.name,
)
def test_each_dialect_has_its_merge(dialect: Dialect, baseline: object) -> None:
    assert baseline_of(Kernel("k", (), dialect=dialect)) is baseline


def test_an_unknown_merge_is_an_error() -> None:
    unknown = replace(TILELANG, baseline="tilelang-9")
    with pytest.raises(PlanError, match="nothing is known of the merge 'tilelang-9'"):
        baseline_of(Kernel("k", (), dialect=unknown))


def test_policies_and_packers_that_stand_for_a_merge() -> None:
    assert baseline_for("outer", "tilelang") is tilelang_0_1_15.DEFAULT
    assert baseline_for("inner", "tilelang") is tilelang_0_1_15.AGGRESSIVE
    assert baseline_for("outer", "tvm") is apache_tvm_0_27.DEFAULT
    for policy, packer in (("outer", "best"), ("inner", "tvm"), ("dataflow", "tilelang")):
        assert baseline_for(policy, packer) is None


@pytest.mark.parametrize("key", BASELINES)
def test_a_plan_is_that_of_the_command_line_s_options(key: str) -> None:
    baseline = BASELINES[key]
    for kernel in (dumped("mixed_dtypes.sm_80"), apache("batched_gemm")):
        plan = baseline.plan(kernel, DYN)
        assert plan == plan_kernel(
            kernel, DYN, policy=baseline.policy, packer=baseline.packer, objective="bytes"
        )
        assert baseline.plan(kernel, DYN) is plan
        found = baseline.liveness(kernel, DYN)
        assert dict(found.live) == plan.live
        assert list(found.buffers) == list(kernel.allocations(DYN))
        assert baseline.failures(kernel, DYN) == plan.provenance.failures == ()


def test_tilelang_without_reuse_lays_buffers_side_by_side() -> None:
    kernel = dumped("batched_gemm.sm_80")
    for merge in (tilelang_0_1_15.DEFAULT, tilelang_0_1_15.AGGRESSIVE):
        plan = merge.without_reuse().plan(kernel, DYN)
        assert (plan.objective, plan.sharing_pairs()) == ("none", [])
        assert merge.plan(kernel, DYN).objective == "bytes"
    assert facts_of(kernel).computed["_stock_plan"] == 4


def test_apache_s_events_are_played_through_in_its_own_order() -> None:
    kernel = apache("leaf_in_place")
    found = apache_tvm_0_27.DEFAULT.liveness(kernel, DYN)
    assert found.events is not None
    begun = [buffer for buffer, begins in found.events if begins]
    assert sorted(one.name for one in begun) == sorted(one.name for one in found.live)
    assert tilelang_0_1_15.DEFAULT.liveness(dumped("gemm.sm_80"), DYN).events is None
