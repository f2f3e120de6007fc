"""The plans that people ask for, judged."""

from __future__ import annotations

from smemreuse.explainer.plans import judged_plans, side_by_side
from smemreuse.results.verdict import SOUND, UNSOUND
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
