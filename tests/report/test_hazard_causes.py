"""Hazards of one kernel by their cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from smemreuse.ir.source import SourceLine
from smemreuse.report.hazard_causes import cause_lines, has_more
from smemreuse.report.hazards import Linted, hazard_findings, hazard_lines
from smemreuse.report.page.hazards import with_hazards
from smemreuse.results.evidence import seen_words
from smemreuse.results.gate import Gate
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, Mend, Remedy, doubt_of
from smemreuse.results.sites import Site
from tests.results.test_hazard_groups import CERTAIN, COPY, POSSIBLE

THIRD = replace(COPY, site=Site("Cs_1[tx] = 1", 39), other=Site("Bs_1[0]", 31))
OPEN = "it depends on data which way `if i_s_5 <= 4 * D[1]` (line 3) goes"


def linted(*hazards: Hazard) -> Linted:
    return Linted("d.tir", LintReport("k", True, hazards))


def told(*hazards: Hazard, each: bool = False) -> list[str]:
    return [line.plain for line in cause_lines(linted(*hazards).open_hazards, each=each)]


def names(*hazards: Hazard) -> list[str]:
    return [identity.short for _, identity in linted(*hazards).told]


def test_the_first_of_a_cause_is_told_in_full_and_the_others_by_their_places() -> None:
    one, two, three = names(POSSIBLE, COPY, THIRD)
    assert told(POSSIBLE, COPY, THIRD) == [
        f"  line 9: may read stale data: race (possible; in the source): they race [{one}]",
        "    fix: put in a barrier.",
        f"    possible, not certain: {OPEN}; likewise line 23",
        f"    {doubt_of(POSSIBLE)}",
        f"    2 more of this cause: Bs at line 29 [{two}]; Bs at lines 31, 39 [{three}]",
    ]


def test_each_certain_one_is_told_with_its_fix() -> None:
    other = replace(CERTAIN, site=Site("Bs_1[tx] = 1", 29), buffers=("Bs",))
    one, two = names(CERTAIN, other)
    assert told(CERTAIN, other) == [
        f"  line 9: can read stale data: race (certain by PTX; in the source): they race [{one}]",
        "    fix: put in a barrier.",
        f"    {seen_words(CERTAIN)}",
        "    1 more of this cause:",
        f"      Bs at line 29 [{two}]: fix: put in a barrier.",
    ]


def test_a_fence_that_does_for_a_second_hazard_is_told_once() -> None:
    arrival = Site("ptx_arrive_barrier(bar[0])", 71)
    first, other = (
        Mend(Remedy.FENCE, f"fence after line {line}.", Site(name, line), None, (0, 128))
        for name, line in (("As_1[tx]", 67), ("Bs_1[tx]", 68))
    )
    both = [
        replace(CERTAIN, kind=HazardKind.MISSING_FENCE, buffers=(name,), mend=mend)
        for name, mend in (("As", first), ("Bs", other))
    ]
    one, _ = names(*both)
    assert told(*both)[-1].endswith(": fix: fence after line 68.")
    together = [replace(each, mend=replace(each.mend, until=arrival)) for each in both]
    last = f": fix: by the fence of [{one}], if that is also after line 68."
    assert told(*together)[-1].endswith(last)
    assert f"    fix{last.removeprefix(': fix')}" in told(*together, each=True)
    few = replace(together[1], mend=replace(together[1].mend, threads=(0, 32)))
    assert told(together[0], few)[-1].endswith(": fix: fence after line 68.")


def test_one_by_one_if_asked() -> None:
    lines = told(POSSIBLE, COPY, each=True)
    assert sum("they race" in line for line in lines) == 2
    assert not any("more of this cause" in line for line in lines)
    assert sum("possible, not certain" in line for line in lines) == 2


def test_a_line_of_python_is_told_with_that_of_the_dump() -> None:
    source = SourceLine("scan.py", 88)
    there = replace(COPY, site=replace(COPY.site, source=source))
    assert "1 more of this cause: Bs at line 29, from scan.py:88 [" in told(POSSIBLE, there)[-1]
    nowhere = replace(COPY, site=Site("Bs_1[tx] = 1"))
    assert "1 more of this cause: Bs at `Bs_1[tx] = 1` [" in told(POSSIBLE, nowhere)[-1]


def test_whether_there_are_more() -> None:
    assert has_more(linted(POSSIBLE, COPY).open_hazards)
    assert not has_more(linted(POSSIBLE, CERTAIN).open_hazards)


def test_of_many_kernels_a_cause_has_one_line() -> None:
    report = linted(POSSIBLE, CERTAIN, COPY).report
    assert [line.plain for line in hazard_lines("k", report)] == [
        "k: race (possible; in the source): they race (1 more of this cause)",
        "k: race (certain by PTX; in the source): they race",
    ]


def test_annotations_stand_at_each_place_and_tell_the_cause_once() -> None:
    first, second = hazard_findings(linted(POSSIBLE, COPY), Gate())
    assert (first.place.line, second.place.line) == (9, 29)
    assert f"they race. Possible, not certain: {OPEN}. Fix:" in first.message
    assert "Possible, not certain: for the reason that line 9 has. Fix:" in second.message
    (certain,) = hazard_findings(linted(CERTAIN), Gate())
    assert certain.message == "they race. Fix: put in a barrier."


def test_the_page_has_the_others_beneath_the_first() -> None:
    entry: Any = with_hazards({}, "d.tir", linted(POSSIBLE, CERTAIN, COPY).report)
    certain, possible = entry["lint"]["hazards"]
    assert (certain["more"], certain["undecided"]) == ([], "")
    assert possible["undecided"] == f"{OPEN}; likewise line 23"
    assert [one["line"] for one in possible["more"]] == [29]
