"""What is said of measured lowerings: who grew, and who lost blocks."""

from __future__ import annotations

from typing import Any

from scripts.applied.pages import applied_table
from scripts.measure_applied import tables


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


def test_a_kernel_that_no_longer_launches_is_counted() -> None:
    table = applied_table([function("f", launch((1000, 1), (300_000, 0)))])
    row = table.splitlines()[2]
    assert row.startswith(
        "| sm_90a | `speed` | 1 | 0.300 MB | 0.001 MB | 0.300 MB | 1 | 1 | 0 | 1 |"
    )


def test_functions_that_are_not_lowered_are_told() -> None:
    failed = {"name": "f", "arch": "sm_80", "not_lowered": "InternalError: no wgmma"}
    *_, told = tables([failed, function("g", launch((1, 1), (1, 1)))])
    assert told == "sm_80/f: InternalError: no wgmma"
