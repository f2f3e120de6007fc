"""The driver that makes findings show on a GPU: what is a fault, and which variants there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.reproduce_on_gpu import (
    FIELD,
    FOLDER,
    GROUPS,
    PLANS,
    PROGRAMS,
    Program,
    faults_of,
    merged,
    variants_of,
)
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
    assert variants_of(path) == [*VARIANTS]


def test_every_program_is_there() -> None:
    for program in PROGRAMS.values():
        assert (FOLDER / program.arguments[0]).is_file()
        if program.expected:
            assert Path(program.options[1]).is_file()
    assert len(PROGRAMS) == sum(map(len, GROUPS.values()))
    assert {one.options for one in PLANS.values()} == {("--policy", "inner")}


def test_every_expectation_is_used_and_names_what_it_is_of() -> None:
    given = {path.stem for path in (FOLDER / "expected").glob("[a-z]*.py")}
    assert given == {one.expected for one in PROGRAMS.values() if one.expected}
    assert all(one.expected in (*one.arguments, "") for one in PROGRAMS.values())


@pytest.mark.tilelang
def test_every_kernel_of_the_field_has_a_maker() -> None:
    from fixtures.field.kernels import MAKERS

    known = {make.__name__ for make in MAKERS}
    for program in FIELD.values():
        assert {name.partition(".")[0] for name in program.arguments[1:]} <= known


def test_a_program_may_be_of_one_finding() -> None:
    of_one = Program(("examples.py", "kernel"), finding="01234567")
    assert of_one.options == ("--finding", "01234567")


def test_what_was_launched_again_takes_the_place_of_the_first() -> None:
    first = {"date": "2026-11-27", "programs": [{"program": "a", "findings": []}]}
    again: dict[str, Any] = {"program": "a", "findings": [1]}
    late = {"program": "a", "error": "not done in 480 s"}
    other = {"program": "b", "error": "died"}
    runs = [first, {**first, "programs": [again]}, {**first, "programs": [late, other]}]
    assert merged(runs) == {**first, "programs": [again, other]}
    with pytest.raises(ValueError, match="on one day"):
        merged([first, {**first, "date": "2026-11-28"}])
