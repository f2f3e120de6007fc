"""Which merge belongs to a kernel, and which to a policy and packer of the command line."""

from __future__ import annotations

import pytest

from smemreuse.facts import facts_of
from smemreuse.ir.kernel import UNSTATED, Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.versions import APACHE_TVM, LEGACY, TILELANG, VERSIONS
from smemreuse.versions.merges import Merge, configured, merge_for, merge_of
from tests.pipeline.kernels import DYN, apache, dumped

DEFAULT = configured(VERSIONS[TILELANG])
AGGRESSIVE = configured(VERSIONS[TILELANG], aggressive=True)
APACHE = configured(VERSIONS[APACHE_TVM])


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (TILELANG, "TileLang 0.1.15"),
        ("tilelang-0.1.9", "TileLang 0.1.9"),
        (APACHE_TVM, "Apache TVM 0.27"),
        (LEGACY, "TileLang 0.1.15"),
        (UNSTATED, "TileLang 0.1.15"),
    ],
)
def test_each_version_has_its_merge(version: str, name: str) -> None:
    merge = merge_of(Kernel("k", (), version=version))
    assert (merge.name, merge) == (name, configured(VERSIONS[version]))
    assert AGGRESSIVE.name == "TileLang 0.1.15, aggressive"


@pytest.mark.parametrize("version", VERSIONS)
def test_policies_and_packers_that_stand_for_a_merge(version: str) -> None:
    kernel = Kernel("k", (), version=version)
    own = VERSIONS[version] if VERSIONS[version].merge.family == "tilelang" else VERSIONS[TILELANG]
    assert merge_for(kernel, "outer", "tilelang") is configured(own)
    assert merge_for(kernel, "inner", "tilelang") is configured(own, aggressive=True)
    assert merge_for(kernel, "outer", "tvm") is APACHE
    for policy, packer in (("outer", "best"), ("inner", "tvm"), ("dataflow", "tilelang")):
        assert merge_for(kernel, policy, packer) is None


@pytest.mark.parametrize("merge", [DEFAULT, APACHE], ids=lambda one: one.name)
def test_a_plan_is_that_of_the_command_line_s_options(merge: Merge) -> None:
    for kernel in (dumped("mixed_dtypes.sm_80"), apache("batched_gemm")):
        plan = merge.plan(kernel, DYN)
        assert plan == plan_kernel(
            kernel, DYN, policy=merge.policy, packer=merge.packer, objective="bytes"
        )
        assert merge.plan(kernel, DYN) is plan
        found = merge.liveness(kernel, DYN)
        assert dict(found.live) == plan.live
        assert list(found.buffers) == list(kernel.allocations(DYN))
        assert merge.failures(kernel, DYN) == plan.provenance.failures == ()


def test_tilelang_without_reuse_lays_buffers_side_by_side() -> None:
    kernel = dumped("batched_gemm.sm_80")
    for aggressive in (False, True):
        merge = configured(VERSIONS[TILELANG], aggressive=aggressive)
        disabled = configured(VERSIONS[TILELANG], aggressive=aggressive, disable_reuse=True)
        plan = disabled.plan(kernel, DYN)
        assert (plan.objective, plan.sharing_pairs()) == ("none", [])
        assert merge.plan(kernel, DYN).objective == "bytes"
    assert facts_of(kernel).computed["_stock_plan"] == 4


def test_apache_s_events_are_played_through_in_its_own_order() -> None:
    kernel = apache("leaf_in_place")
    found = APACHE.liveness(kernel, DYN)
    assert found.events is not None
    begun = [buffer for buffer, begins in found.events if begins]
    assert sorted(one.name for one in begun) == sorted(one.name for one in found.live)
    assert DEFAULT.liveness(dumped("gemm.sm_80"), DYN).events is None
