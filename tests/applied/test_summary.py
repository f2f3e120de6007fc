"""What is said of measured lowerings: who grew, who lost blocks, and why."""

from __future__ import annotations

from typing import Any

from scripts.applied.pages import applied_table
from scripts.applied.summary import cause, summary, why


def launch(before: tuple[int, int], after: tuple[int, int], **default: Any) -> dict[str, Any]:
    plan = {"scope": "shared.dyn", "arena": after[0], "verdict": "sound", "origin": "policy"}
    ours = {"bytes": after[0], "blocks": after[1], "plans": [plan]}
    return {
        "kernel": "main_kernel",
        "limit": 232448,
        "default": {"bytes": before[0], "blocks": before[1], **default},
        "aggressive": {"bytes": before[0]},
        "side_by_side": {"bytes": max(before[0], after[0])},
        "speed": ours,
        "bytes": ours,
    }


def function(name: str, *launches: dict[str, Any]) -> dict[str, Any]:
    seconds = {"stock": 1.0, "added": {"speed": 0.1, "bytes": 0.2}}
    return {"name": name, "arch": "sm_90a", "launches": list(launches), "seconds": seconds}


def test_a_kernel_that_grows_is_named_with_its_cause() -> None:
    verdict = [{"verdict": "unproved", "why": "rule 6, a and b: `x[3]` is not ordered"}]
    grown = function("grown", launch((1000, 4), (2000, 2), verdict=verdict))
    text = summary([grown, function("same", launch((1000, 4), (1000, 4)))])
    assert "sm_90a/grown: 1,000 -> 2,000 bytes, 4 -> 2 blocks" in text
    assert "1 default unproved: rule 6: `X[..]` is not ordered  (sm_90a/grown)" in text
    assert "sm_90a/same: 1,000" not in text
    assert "time added: median 20.0%, p90 20.0%, worst 20.0%" in text


def test_a_kernel_that_no_longer_launches_is_counted() -> None:
    table = applied_table([function("f", launch((1000, 1), (300_000, 0)))])
    row = table.splitlines()[2]
    assert row.startswith(
        "| sm_90a | `speed` | 1 | 0.300 MB | 0.001 MB | 0.300 MB | 1 | 1 | 0 | 1 |"
    )


def test_causes_of_two_kernels_are_one() -> None:
    assert cause("rule 2, p and q: read at k = 3") == cause("rule 2, r and s: read at k = 14")
    assert cause("rule 2, p and q: read at k = 3") != cause("rule 6, p and q: read at k = 3")


def test_where_nothing_was_rejected_the_plan_is_the_planners_own() -> None:
    one = launch((1000, 1), (2000, 1), verdict=[{"verdict": "sound"}])
    assert why(one, "bytes") == "default proved, nothing rejected"


def test_functions_that_are_not_lowered_are_told() -> None:
    failed = {"name": "f", "arch": "sm_80", "not_lowered": "InternalError: no wgmma"}
    text = summary([failed, function("g", launch((1, 1), (1, 1)))])
    assert "1 TileLang does not lower:" in text
    assert "InternalError: no wgmma" in text
