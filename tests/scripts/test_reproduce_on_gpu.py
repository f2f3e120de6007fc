"""The driver that makes findings show on a GPU: what is a fault, and which variants there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scripts.reproduce_on_gpu import FOLDER, PROGRAMS, _variants, faults_of
from smemreuse.results.reproduction import AS_IT_IS, DELAYED, MENDED, MENDED_DELAYED
from tests.reproduce.test_standalone import VARIANTS, made

RIGHT: dict[str, Any] = {"launches": 20, "differing": 0, "unsteady": 0, "hangs": False, "error": ""}


def found(**outcomes: dict[str, Any]) -> dict[str, Any]:
    return {"findings": [{"kernel": "kernel", "finding": "0" * 8, "outcomes": outcomes}]}


def test_a_fixed_kernel_must_be_right_and_no_other() -> None:
    wrong = {**RIGHT, "differing": 1}
    assert not faults_of(found(**{AS_IT_IS: wrong, DELAYED: wrong, MENDED: RIGHT}))
    for bad in (wrong, {**RIGHT, "hangs": True}, {**RIGHT, "error": "no memory"}):
        assert len(faults_of(found(**{MENDED: RIGHT, MENDED_DELAYED: bad}))) == 1
    assert faults_of({"error": "ended with 1"}) == ["ended with 1"]


def test_every_variant_of_a_file_is_rehearsed(tmp_path: Path) -> None:
    path = tmp_path / "finding.py"
    path.write_text(made().text("What is wrong."))
    assert _variants(path) == [*VARIANTS]


def test_every_program_is_there() -> None:
    assert all((FOLDER / arguments[0]).is_file() for _, arguments in PROGRAMS.values())
