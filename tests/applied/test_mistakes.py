"""The tables of refuted merges."""

from __future__ import annotations

from typing import Any

from scripts.applied.mistakes import audit_table, refuted_table
from scripts.applied.summary import refuted

REFUTED = {
    "verdict": "unsound",
    "why": "rule 6, a and b: `x | y` is not ordered",
    "rule": 6,
    "buffers": ["a", "b"],
    "witness": "`x | y` is not ordered",
}
TVM = {"kernels": [{"kernel": "cross", **REFUTED}, {"kernel": "main", "verdict": "sound"}]}


def function(name: str, aggressive: dict[str, Any], arch: str = "sm_90a") -> dict[str, Any]:
    launch = {"kernel": "main_kernel", "default": {"verdict": [{"verdict": "sound"}]}}
    return {"name": name, "arch": arch, "launches": [{**launch, "aggressive": aggressive}]}


FUNCTIONS = [
    function("mla-example_decode__main__1", {"verdict": [REFUTED]}),
    function("mla-example_decode__main__2", {"verdict": [REFUTED]}),
    function("gemm-example_gemm__main__1", {"verdict": [{"verdict": "unproved", "why": "?"}]}),
    function("gemm-example_gemm__main__1", {"verdict": []}, "sm_80"),
    {"name": "not_lowered", "arch": "sm_80", "not_lowered": "no"},
]


def test_plans_are_counted_by_their_verdicts() -> None:
    assert audit_table(FUNCTIONS, TVM).splitlines()[2:] == [
        "| TileLang | sm_80 | default | 1 | 1 | 0 | 0 |",
        "| TileLang | sm_80 | aggressive | 0 | 0 | 0 | 0 |",
        "| TileLang | sm_90a | default | 3 | 3 | 0 | 0 |",
        "| TileLang | sm_90a | aggressive | 3 | 0 | 2 | 1 |",
        "| Apache TVM | any | default | 2 | 1 | 1 | 0 |",
    ]


def launched(**cells: Any) -> dict[str, Any]:
    variant = {"merge": "TileLang aggressive", "compile_error": None, "launch_error": None}
    run = {"name": "mla-example_decode__main__2", "arch": "sm_90a"}
    return {"functions": [{**run, "variants": [{**variant, **cells}]}]}


def test_functions_that_differ_in_size_alone_are_one_row() -> None:
    rows = refuted_table(FUNCTIONS, TVM, launched(launches=40, differing_launches=39)).splitlines()
    told = "6 | `a` and `b` | `x \\| y` is not ordered"
    assert rows[2:] == [
        f"| `decode, main`, 2 sizes | sm_90a | aggressive | {told} | **39 of 40** |",
        f"| `cross` | any | Apache TVM | {told} |  |",
    ]


def test_a_launch_that_shows_nothing_is_told_too() -> None:
    table = refuted_table(FUNCTIONS, None, launched(launches=40, differing_launches=0))
    assert table.splitlines()[2].endswith("| 0 of 40 |")
    table = refuted_table(FUNCTIONS, None, launched(launches=0, launch_error="too much"))
    assert table.splitlines()[2].endswith("| does not launch: too much |")
    assert refuted_table(FUNCTIONS, None, None).splitlines()[2].endswith("|  |")


def test_refuted_plans_are_found_by_merge() -> None:
    assert [each["name"] for each, _, _ in refuted(FUNCTIONS, "default")] == []
    assert len(list(refuted(FUNCTIONS, "aggressive"))) == 2
