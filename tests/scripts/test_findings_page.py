"""The tables of docs/findings."""

from __future__ import annotations

from typing import Any

from scripts.findings_page import (
    AGAIN,
    costs_table,
    overtaken_table,
    sanitized_table,
    shown_counts,
    shown_table,
)
from smemreuse.results.reproduction import AS_IT_IS, DELAYED, MENDED, MENDED_DELAYED

RIGHT: dict[str, Any] = {"launches": 20, "differing": 0, "unsteady": 0, "hangs": False, "error": ""}
WRONG, HANGS = {**RIGHT, "differing": 7}, {**RIGHT, "launches": 0, "hangs": True}


def found(shown: str, **outcomes: dict[str, Any]) -> dict[str, Any]:
    about = {"kind": "race", "mechanism": "read after write", "reference": MENDED}
    return {**about, "shown": shown, "outcomes": outcomes}


def study(*findings: dict[str, Any]) -> dict[str, Any]:
    programs = [{"program": "late", "findings": [*findings]}, {"program": "died", "error": "no"}]
    return {"device": "NVIDIA H200", "date": "2026-11-27", "programs": programs}


def test_findings_are_counted_and_fixes_that_are_wrong() -> None:
    good = found("shown", **{AS_IT_IS: RIGHT, DELAYED: WRONG, MENDED: RIGHT})
    bad = found("not shown", **{AS_IT_IS: RIGHT, MENDED: RIGHT, MENDED_DELAYED: HANGS})
    unsteady = found("not comparable", **{MENDED: {**RIGHT, "unsteady": 3}, MENDED_DELAYED: WRONG})
    told = shown_counts([study(good, bad), study(unsteady)])
    assert told.startswith("Of 3 certain findings 1 were shown (33 %), on an H200, 2026-11-27:")
    assert "1 shown, 1 not shown, 1 not comparable" in told
    assert "Of 1 in which those of one program, kind and mechanism count once, 1 were" in told
    assert "Of 3 that were fixed, 1 were wrong with the fix." in told
    assert told.endswith("Not run to the end: died, died.\n")


def test_what_shows_as_one_of_several_alone_is_told() -> None:
    several = found("one of several shows", **{AS_IT_IS: WRONG})
    told = shown_counts([study(several, several)])
    assert "once, 1 were shown (100 %), 0 of them apart from others of their kernel." in told


def test_a_line_tells_what_each_variant_did() -> None:
    table = shown_table([study(found("shown", **{AS_IT_IS: RIGHT, DELAYED: HANGS, MENDED: RIGHT}))])
    (line,) = [one for one in table.splitlines() if "late" in one]
    assert "race: read after write" in line
    cells = [one.strip() for one in line.strip("| ").split("|")]
    assert cells[2:] == ["shown", "0 of 20", "hangs", "0 of 20"]


def test_a_tool_tells_errors_or_why_it_tells_none() -> None:
    about = {"finding": "mla-1", "variant": AS_IT_IS, "error": ""}
    runs = [
        {**about, "tool": "racecheck", "errors": 12, "why": "", "hangs": False},
        {**about, "tool": "synccheck", "errors": 0, "why": "", "hangs": False},
        {**about, "tool": "memcheck", "errors": None, "why": "not done in 80 s", "hangs": False},
        {**about, "tool": "initcheck", "errors": 0, "why": "", "hangs": True},
    ]
    table = sanitized_table({"runs": runs})
    (line,) = [one for one in table.splitlines() if "mla-1" in one]
    assert "| 12 |" in line
    assert "not done in 80 s" in line
    assert "| hangs |" in line


def test_a_line_has_the_launches_in_which_a_read_was_overtaken() -> None:
    row = {"kernel": "scan_kernel", "buffers": ["Xs"], "differing": {"0": 0, "4 alone": 20}}
    (line,) = [one for one in overtaken_table({"rows": [row]}).splitlines() if "Xs" in one]
    cells = [one.strip() for one in line.strip("|").split("|")]
    assert cells == ["scan", "Xs", "0", "20", "", "", "", "", ""]


def test_what_fixes_cost_is_told_of_each_kernel_and_of_all() -> None:
    over = {MENDED: {"median": 1.25}, AGAIN: {"median": 1.01}}
    timed = {"program": "scan", "findings": [{}, {}], "ms": {AS_IT_IS: 0.5}, "over": over}
    all_of_them = {name: {"geometric_mean": 1.1, "worst": 1.25} for name in (MENDED, AGAIN)}
    died = {"program": "state", "error": "ended with 1"}
    told = costs_table({"kernels": 1, **all_of_them, "rows": [timed, died]})
    assert "Of 1 kernels the fixed ones take 1.100 of the time (geometric mean), 1.250" in told
    assert "| scan | 2 | 0.5000 | 1.250 | 1.010 |" in told
    assert "Not timed: state (ended with 1)." in told
