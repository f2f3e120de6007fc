"""Why buffers that are not live together do not share bytes in a plan."""

from __future__ import annotations

from smemreuse.explainer.apart import UNNEEDED, kept_apart
from smemreuse.pipeline.planning import plan_kernel
from tests.commands.running import run
from tests.conftest import DUMPS
from tests.dumps import kernels_of

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
ARMS = DUMPS / "divergent_arms.sm_80.tir"
RULE_4 = "other threads may use them at the same time (rule 4)"


def test_what_may_share_and_gains_nothing_by_it() -> None:
    (kernel,) = kernels_of(BATCHED)
    found = kept_apart(kernel, plan_kernel(kernel, "shared.dyn", objective="speed"))
    assert found == {UNNEEDED["speed"]: [("As", "Cs"), ("Bs", "Cs")]}
    assert kept_apart(kernel, plan_kernel(kernel, "shared.dyn", objective="bytes")) == {}


def test_a_rule_is_named_and_live_ranges_that_meet_are_not() -> None:
    (kernel,) = kernels_of(ARMS)
    found = kept_apart(kernel, plan_kernel(kernel, "shared.dyn", objective="bytes"))
    assert found == {RULE_4: [("left", "right")]}


def test_plan_says_it_below_the_table_and_draws_no_map_of_nothing_shared() -> None:
    text = run("plan", ARMS).stdout
    assert f"side by side, though not live at the same time, as {RULE_4}: left with right\n" in text
    assert "a row: " not in text
    assert "\nbarriers: " in text
    assert "a row: " in run("plan", BATCHED, "--objective", "bytes").stdout
