"""Hazards of many kernels by their cause, on one page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.report.hazard_counts import known_line
from smemreuse.report.hazard_groups import grouped_lines
from smemreuse.report.hazards import Linted
from smemreuse.results.accepted import Accepted
from smemreuse.results.evidence import seen_words
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.hazard_groups import shape_of
from smemreuse.results.hazards import (
    Given,
    Hazard,
    HazardKind,
    HazardOrigin,
    LintReport,
    Mend,
    Remedy,
    doubt_words,
)
from smemreuse.results.sites import Site

RACE = Hazard(
    HazardKind.RACE,
    True,
    Site("As_1[tx] = 1", 9),
    ("As",),
    "they race",
    Mend(Remedy.BARRIER, "put in a barrier."),
    other=Site("ptx_cp_async(As_1[0], X[0], 16)", 7),
)
LATE = replace(
    RACE,
    kind=HazardKind.MISSED_PHASE,
    origin=HazardOrigin.COMPILER,
    site=Site("mbarrier_wait_parity(mbarrier[0], 0)", 3),
    buffers=("mbarrier",),
    other=None,
)


def linted(file: str, *hazards: Hazard, unknown: tuple[str, ...] = (), kernel: str = "k") -> Linted:
    return Linted(file, LintReport(kernel, True, hazards, unknown))


DEFAULT = Gate()


def told(*found: Linted, gate: Gate = DEFAULT) -> list[str]:
    return [line.plain for line in grouped_lines(found, gate)]


@pytest.mark.parametrize(
    ("hazard", "shape"),
    [
        (RACE, "at a store after `ptx_cp_async`"),
        (LATE, "at `mbarrier_wait_parity`"),
        (replace(RACE, site=Site("if As_1[0] > f(x)"), other=None), "at a branch"),
        (replace(RACE, site=Site("for_each(As)"), other=None), "at `for_each`"),
    ],
)
def test_a_shape_has_no_names_and_no_numbers(hazard: Hazard, shape: str) -> None:
    assert shape_of(hazard) == shape


def test_one_cause_is_told_once_with_its_count_and_all_its_kernels() -> None:
    other = replace(RACE, site=Site("Bs_1[tx + 4] = 2", 19), buffers=("Bs",))
    lines = told(
        linted("d/x/mm_1.tir", RACE, other),
        linted("d/x/mm_2.tir", RACE),
        linted("d/y/mla.tir", RACE),
        linted("d/y/clean.tir"),
    )
    heading, seen, cause, mend = lines[:4]
    sure = "certain by PTX, the author's, exit code 1"
    assert heading == f"race ({sure}): 4 in 3 kernels. {HazardKind.RACE.sentence}."
    assert seen == f"  {seen_words(RACE)}"
    assert cause == "  4 at a store after `ptx_cp_async`, of As, Bs: x/ mm_{1,2}; y/ mla"
    assert mend.startswith("    fix, in the first [")
    assert mend.endswith("]: put in a barrier.")
    assert len(lines) == 5


def test_with_which_barriers_is_told_where_it_is_not_one_for_all() -> None:
    present = linted("b.tir", RACE)
    present = replace(present, report=replace(present.report, barriers_follow=False))
    assert told(linted("a.tir", RACE), present, linted("c.tir", RACE))[:2] == [
        "2 kernels linted with the barriers and fences that the compiler will insert",
        "1 kernel linted with the barriers that the dump has",
    ]


def test_what_fails_comes_first_and_the_rest_is_a_line_for_each_kind() -> None:
    possible = replace(RACE, certain=False)
    lines = told(linted("a.tir", LATE, possible, RACE), linted("b.tir", LATE))
    kinds = [line for line in lines if " (" in line and not line.startswith(" ")]
    sure = "certain by PTX, the author's, exit code 1"
    assert kinds == [
        f"race ({sure}): 1 in 1 kernel. {HazardKind.RACE.sentence}.",
        "missed-phase (certain by PTX, the compiler's): 2 in 2 kernels, of mbarrier: a, b",
        "race (possible, the author's): 1 in 1 kernel, of As: a",
    ]
    assert lines[lines.index(kinds[-1]) + 1] == f"  {doubt_words(HazardKind.RACE)}"
    assert lines.count(f"  {doubt_words(HazardKind.RACE)}") == 1
    gate = Gate(fail_on=FailOn.COMPILER)
    both = [line for line in told(linted("a.tir", LATE, RACE), gate=gate) if "exit code 1" in line]
    assert len(both) == 2


def test_many_kernels_of_what_does_not_fail_are_counted() -> None:
    found = [linted(f"kernel{place}.tir", LATE) for place in range(11)]
    (line,) = [one for one in told(*found) if one.startswith("missed-phase")]
    assert line.endswith("kernel7; and 3 more")
    listed = told(*found, gate=Gate(fail_on=FailOn.COMPILER))
    assert any("kernel10" in one for one in listed)


def test_what_is_accepted_or_known_is_no_finding() -> None:
    accepted = replace(RACE, accepted=Accepted("seen", "smemreuse.toml"))
    assert told(linted("a.tir", accepted)) == []
    known = replace(linted("a.tir", RACE), silenced=frozenset((0,)))
    assert told(known) == []
    text = "0 new; 1 kernel with certain hazards in the baseline"
    assert known_line([known, linted("b.tir")]).plain == text
    text = "1 new; 0 kernels with certain hazards in the baseline"
    assert known_line([linted("b.tir", RACE)]).plain == text


def test_what_is_not_followed_is_told_by_its_reason() -> None:
    reasons = ("`f` (line 3) is not followed",), ("`f` (line 8) is not followed",)
    lines = told(*(linted(f"a_{at}.tir", unknown=one) for at, one in enumerate(reasons)))
    assert "not followed: 2 kernels" in lines
    assert "  2 `f` is not followed: a_{0,1}" in lines


def test_a_function_that_is_to_be_declared_is_told_once() -> None:
    mend = replace(RACE.mend, undeclared="mylib_load")
    one = replace(RACE, certain=False, mend=mend)
    lines = told(linted("a_1.tir", one, one), linted("a_2.tir", one, RACE))
    (line,) = [each for each in lines if "declare it" in each]
    assert line == (
        "`mylib_load` is not known: declare it in smemreuse.toml; 3 of these in 2 kernels: a_{1,2}"
    )


def test_kernels_of_one_file_are_told_apart() -> None:
    first, second = (linted("d/a.tir", RACE, kernel=name) for name in "kl")
    assert any(line.endswith(", of As: a:k, a:l") for line in told(first, second))


def test_hazards_that_need_a_long_loop_stand_apart_and_name_it() -> None:
    def long(hazard: Hazard, *loops: str) -> Hazard:
        return replace(hazard, if_long=loops)

    lines = told(
        linted("a.tir", RACE, long(RACE, "k"), long(LATE, "i", "j")),
        linted("b.tir", long(RACE, "k"), long(RACE, "m")),
    )
    headings = [line.partition("): ")[0] for line in lines if "): " in line]
    assert headings == [
        "race (certain by PTX, the author's, exit code 1",
        "race (certain by PTX if the loop over k or m is long enough, the author's, exit code 1",
        "missed-phase (certain by PTX if the loop over i and j is long enough, the compiler's",
    ]


def test_hazards_of_some_inputs_stand_apart_and_name_them() -> None:
    inputs = (Given("mask", 0, is_array=True), Given("n", 256))
    lines = told(linted("a.tir", RACE, replace(RACE, if_given=inputs)))
    headings = [line.partition("): ")[0] for line in lines if "): " in line]
    assert headings == [
        "race (certain by PTX, the author's, exit code 1",
        "race (certain by PTX if every element of mask is 0 and n is 256, the author's, exit code "
        "1",
    ]
