"""Why pairs of an arena's buffers share or not, on kernels read from dumps."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from smemreuse.explainer.overview import run_overviews
from smemreuse.explainer.run import run_kernel
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.verdict import UNPROVED, UNSOUND, Verdict
from tests.conftest import DUMPS
from tests.dumps import kernels_of
from tests.pipeline.lowered import STOCK, lowered, of_dump


@pytest.mark.parametrize("objective", ["speed", "bytes", "none"])
@pytest.mark.parametrize("name", ["stream_k.sm_90a", "mmha_decode.sm_80", "gemm.sm_80"])
def test_every_pair_is_shared_or_explained(name: str, objective: str) -> None:
    for kernel in kernels_of(DUMPS / f"{name}.tir"):
        each = lowered(kernel, objective)
        for applied, found in zip(each.plans, run_kernel(each).plans, strict=True):
            offsets = {one.name: at for one, at in applied.plan.offsets.items()}
            sizes = {one.name: one.size or 0 for one in applied.plan.offsets}
            overlapping = {
                frozenset((one, two))
                for one, two in combinations(offsets, 2)
                if offsets[one] < offsets[two] + sizes[two]
                and offsets[two] < offsets[one] + sizes[one]
            }
            assert {frozenset(names) for names, _ in found.sharing.shared} == overlapping
            unneeded = [each.pair for each in found.sharing.unneeded]
            apart = [*found.sharing.refused, *unneeded]
            assert len(apart) + len(overlapping) == len([*combinations(offsets, 2)])
            assert not any(one.may_share for one in found.sharing.refused)
            assert all(one.may_share for one in unneeded)
            assert objective != "none" or not overlapping


def test_shared_bytes_are_those_of_the_overlap() -> None:
    (plan,) = run_kernel(of_dump("batched_gemm.sm_80", "bytes")).plans
    shared = dict(plan.sharing.shared)
    assert sum(shared.values()) == 32_768
    assert {name for names in shared for name in names} == {"As", "Bs", "Cs"}
    (refused,) = plan.sharing.refused
    assert refused.names == ("As", "Bs")
    assert refused.reasons
    assert (plan.stock.arena_bytes, plan.stock_verdict.sound) == (65_536, True)


def test_what_saves_most_comes_first() -> None:
    kernel = of_dump("mmha_decode.sm_80", "none")
    sizes = {one.name: one.size or 0 for one in kernel.kernel.allocations("shared.dyn")}
    (plan,) = run_kernel(kernel).plans
    saved = [min(sizes[name] for name in found.names) for found in plan.sharing.refused]
    assert len(set(saved)) > 1
    assert saved == sorted(saved, reverse=True)


ADDS = "that adds a resident block or leaves more to L1"


def whys(kernel: LoweredKernel) -> dict[tuple[str, str], str]:
    """Why pairs that may share do not."""
    return {
        each.pair.names: each.why
        for plan in run_kernel(kernel).plans
        for each in plan.sharing.unneeded
    }


def test_what_could_share_and_does_not_has_a_cause() -> None:
    assert not whys(of_dump("batched_gemm.sm_90a", "bytes"))
    (plain,) = {*whys(of_dump("mmha_decode.sm_80")).values()}
    assert (
        plain == "sharing their bytes gains no resident block, and no L1 that is worth its barriers"
    )


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"policy": "outer"}, "policy outer keeps them apart"),
        ({"policy": "outer", "objective": "bytes"}, "policy outer keeps them apart"),
        ({"packer": "tilelang", "objective": "bytes"}, "packer tilelang found no place"),
        ({"packer": "tilelang"}, f"packer tilelang found no place {ADDS}"),
        ({"objective": "none"}, "nothing is reused: it is switched off"),
    ],
)
def test_the_objective_is_not_blamed_for_other_choices(options: dict[str, str], cause: str) -> None:
    kernel = of_dump("batched_gemm.sm_90a")
    (applied,) = kernel.plans
    offsets = {one: number * 2**20 for number, one in enumerate(applied.plan.offsets)}
    made: Any = {"objective": "speed", **options}
    apart = replace(applied.plan.with_provenance(**made), offsets=offsets)
    each = LoweredKernel(kernel.kernel, STOCK, (replace(applied, plan=apart),))
    assert {*whys(each).values()} == {cause}


def test_after_a_rejection_that_is_the_cause() -> None:
    kernel = of_dump("mmha_decode.sm_80")
    (applied,) = kernel.plans
    rejected = ((applied.plan, Verdict(UNPROVED, uncovered=("?",))),)
    each = LoweredKernel(kernel.kernel, STOCK, (replace(applied, rejected=rejected),))
    assert {*whys(each).values()} == {"the tighter plan was not proved"}


def test_an_unsound_default_has_its_verdict() -> None:
    (plan,) = run_kernel(of_dump("producer_consumer_groups.sm_90a")).plans
    assert plan.stock_verdict.verdict is UNSOUND
    (plan,) = run_kernel(of_dump("gemm.sm_90a")).plans
    assert plan.stock_verdict.sound


@pytest.mark.parametrize("objective", ["speed", "bytes", "none"])
def test_only_what_was_applied_is_for_the_objective(objective: str) -> None:
    kernel = run_kernel(of_dump("mmha_decode.sm_80", objective), "a title")
    assert kernel.title == "a title"
    ((scope, found),) = run_overviews(kernel, "best", objective)
    assert [*found.plans] == ["TileLang's own", "outer", "inner", "dataflow", "applied"]
    smallest = plan_kernel(kernel.kernel, scope, policy="outer")
    assert found.plans["outer"][0].arena_bytes == smallest.arena_bytes
    applied, verdict = found.plans["applied"]
    assert (applied.arena_bytes, verdict) == (
        kernel.plans[0].plan.arena_bytes,
        kernel.plans[0].verdict,
    )
    dataflow, _ = found.plans["dataflow"]
    assert (applied.arena_bytes > dataflow.arena_bytes) == (objective != "bytes")
    assert f"for objective `{objective}`; the others are" in found.remarks["applied"]


def test_a_scope_with_nothing_merged_shows_the_policies_alone() -> None:
    kernel = replace(run_kernel(of_dump("batched_gemm.sm_80")), plans=())
    ((_, found),) = run_overviews(kernel, "best", "bytes")
    assert [*found.plans] == ["outer", "inner", "dataflow"]
