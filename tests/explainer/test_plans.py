"""The plans that people ask for, judged."""

from __future__ import annotations

import pytest

from smemreuse.explainer.plans import judged_plans, side_by_side, wanted_hope
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict
from smemreuse.targets.architectures import ARCHITECTURES
from tests.conftest import DUMPS
from tests.dumps import kernels_of

SCOPE = "shared.dyn"


def test_a_plan_of_each_policy_with_its_verdict() -> None:
    (kernel,) = kernels_of(DUMPS / "while_table.sm_80.tir")
    judged = judged_plans(kernel, SCOPE, "best", "bytes")
    assert {name: plan.policy for name, (plan, _) in judged.items()} == {
        name: name for name in ("outer", "inner", "dataflow")
    }
    verdicts = {name: verdict.verdict for name, (_, verdict) in judged.items()}
    assert (verdicts["inner"], verdicts["dataflow"]) == (UNSOUND, SOUND)


def test_side_by_side_nothing_is_shared() -> None:
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_80.tir")
    plan = side_by_side(kernel, SCOPE)
    assert plan.sharing_pairs() == []
    assert plan.arena_bytes == plan.total_bytes == 65_536


@pytest.mark.parametrize(
    ("arch", "objective", "is_wanted"),
    [
        ("sm_120", "speed", True),  # for a block
        ("sm_80", "speed", False),  # L1 alone is not worth a barrier in each round of the loop
        ("sm_80", "bytes", True),
    ],
)
def test_a_smaller_plan_is_hoped_for_where_the_objective_would_have_it(
    arch: str, objective: str, is_wanted: bool
) -> None:
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_80.tir")
    unproved = Verdict(UNPROVED, uncovered=("who knows",))
    hoped = (plan_kernel(kernel, SCOPE), unproved)
    chosen = side_by_side(kernel, SCOPE).with_provenance(objective=objective)
    found = wanted_hope(kernel, hoped, chosen, ARCHITECTURES[arch])
    assert found == (hoped if is_wanted else None)
    assert wanted_hope(kernel, None, chosen, ARCHITECTURES[arch]) is None
