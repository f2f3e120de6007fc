"""Which findings are tried once more, by which program, and how calls are taken together."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.reproduce_again_on_gpu import Unshown, merged, unshown
from scripts.reproduce_on_gpu import PROGRAMS
from scripts.unshown_page import name_of, withdrawn

ABOUT = {"device": "NVIDIA H200", "date": "2026-11-28", "launches": 20}


def row(finding: str, **more: Any) -> dict[str, Any]:
    key = {"study": "h100", "program": "scan", "kernel": "scan_kernel", "finding": finding}
    return {**key, "shown": "not shown", **more}


def call(*rows: dict[str, Any], left: tuple[str, ...] = ()) -> dict[str, Any]:
    return {**ABOUT, "findings": [*rows], "left": [*left]}


def test_what_was_not_shown_is_tried_by_a_program_that_is_there() -> None:
    found = [*unshown()]
    assert found
    assert {one.row["shown"] for one in found} == {"not shown"}
    assert all(one.runs in PROGRAMS for one in found)
    assert not [one for one in found if name_of(one.row) in withdrawn()]
    assert len({one.key for one in found}) == len(found)


def test_words_choose_by_study_program_kernel_and_finding() -> None:
    everything = [*unshown()]
    (one,) = unshown(["5ce920b1"])
    assert one.program == "dequantize_gemm"
    assert [each.key for each in unshown(["field-h100", "h100"])] == [e.key for e in everything]
    assert not [*unshown(["no such name"])]


def test_of_a_kernel_alone_it_is_known_what_must_come_out() -> None:
    both = Unshown("field-h100", "field_barriers", {"kernel": "number_of_both_groups_kernel"})
    assert both.runs == "number_of_both_groups"
    assert PROGRAMS[both.runs].expected
    assert Unshown("h100", "chunk_scan", {"kernel": "chunk_scan_kernel"}).runs == "chunk_scan"


def test_the_last_call_that_was_done_with_a_finding_counts() -> None:
    first = call(row("aaaa"), left=("h100-scan-scan_kernel-bbbb", "h100-scan-scan_kernel-cccc"))
    found = merged([first, call(row("bbbb"), row("aaaa", shown="shown"))])
    assert {one["finding"]: one["shown"] for one in found["findings"]} == {
        "aaaa": "shown",
        "bbbb": "not shown",
    }
    assert found["left"] == ["h100-scan-scan_kernel-cccc"]


def test_calls_on_other_cards_are_not_taken_together() -> None:
    with pytest.raises(ValueError, match="one GPU"):
        merged([call(), {**call(), "device": "NVIDIA H100"}])
