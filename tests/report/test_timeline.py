"""A hazard as a timeline: its rows as data, and drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.report.timeline import (
    EventKind,
    TimelineEvent,
    WitnessTimeline,
    timeline_of,
    timeline_text,
    violation_timeline,
)
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.rules import Rule
from smemreuse.results.sites import Site
from smemreuse.results.verdict import Violation, WitnessAct
from tests.conftest import ROOT

LINT = ROOT / "fixtures" / "lint"
WRONG = sorted(path for path in LINT.glob("*.tir") if ".mended" not in path.name)


def hazards(name: str) -> tuple[Hazard, ...]:
    (kernel,) = read_dump(LINT / f"{name}.tir").kernels
    return lint(kernel).hazards


def shown(name: str) -> WitnessTimeline:
    return timeline_of(hazards(name)[0])


def test_a_race_has_its_barrier_missing_between_the_two_accesses() -> None:
    timeline = shown("race_round_the_loop")
    assert timeline.agents == ("thread 127", "thread 0")
    first, missing, second, outcome = timeline.events
    assert (first.column, first.text, first.when) == (0, "reads byte 0 of As", "k = 0")
    assert (second.column, second.text, second.when) == (1, "writes byte 0 of As", "k = 1")
    assert (missing.kind, missing.column) == (EventKind.MISSING, None)
    assert missing.text.startswith("a barrier is missing: let threads 0-127 meet")
    assert outcome.kind is EventKind.OUTCOME


def test_proxies_and_engines_are_named() -> None:
    timeline = shown("stored_without_fence")
    assert [one.text for one in timeline.events if one.column is not None] == [
        "writes bytes 0-511 of As, generic proxy",
        "reads bytes 0-511 of As, async proxy",
    ]
    assert timeline.agents[1] == "TMA store of thread 0"
    assert timeline.events[1].text.startswith("a proxy fence is missing")


def test_those_who_do_not_come_stand_beside_those_who_wait() -> None:
    timeline = shown("barrier_in_a_branch")
    assert timeline.agents == ("all other threads", "threads 64-127")
    assert [(one.column, one.text) for one in timeline.events[:2]] == [
        (0, "wait here"),
        (1, "never come to it"),
    ]


def test_a_late_warp_comes_behind_what_ends_its_phase() -> None:
    timeline = shown("warp_that_is_late")
    assert timeline.agents == ("threads 32-127", "threads 128-255")
    assert [one.column for one in timeline.events] == [1, None, 0, None]
    assert timeline.events[0].text.startswith("complete phase 0 of mbarrier_1[1] at `")
    waits = "wait for parity 1 of mbarrier_1[1], which returns at once until phase 0 ends"
    assert timeline.events[2].text == waits


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [56, 76, 100])
def test_every_fixture_is_drawn_within_the_width(path: Path, width: int) -> None:
    for hazard in hazards(path.stem):
        lines = [*timeline_text(timeline_of(hazard), width)]
        assert max(map(len, lines)) <= width
        assert hazard.site.line is not None
        assert any(f"line {hazard.site.line}" in line for line in lines)


def test_three_agents_have_room_in_a_terminal() -> None:
    """Where a margin for rounds leaves too little, they stand in the cells."""
    agents = ("TMA load of thread 0", "threads 128-383", "wgmma of threads 128-383")
    events = tuple(
        TimelineEvent(EventKind.DOES, "reads byte 0 of K_shared", at, f"k_base - begin = {at}")
        for at in range(3)
    )
    drawn = WitnessTimeline(agents, events)
    narrow, wide = ([*timeline_text(drawn, width)] for width in (76, 120))
    assert max(map(len, narrow)) <= 76
    assert "k_base - begin = 1: reads" not in "\n".join(wide)
    assert any(line.strip().startswith("k_base - begin = 1:") for line in narrow)


def test_every_kind_of_hazard_has_an_outcome() -> None:
    seen = {one.kind for path in WRONG for one in hazards(path.stem)}
    assert seen == {*HazardKind}


# Plans --------------------------------------------------------------------------------------------

WRITES = WitnessAct("threads 0-31", "writes byte 0 of As", Site("As[tx] = X[tx]", 3))
OVER = WitnessAct("threads 0-31", "writes byte 0 of Bs", Site("Bs[tx] = 0", 4, (("k", 1),)))
READS = WitnessAct("thread 5", "reads byte 0 of As", Site("Y[tx] = As[tx]", 5))


def broken(rule: Rule, *acts: WitnessAct) -> Violation:
    return Violation(rule, ("As", "Bs"), "why", acts)


def test_of_a_plan_a_value_is_written_then_overwritten_then_read() -> None:
    timeline = violation_timeline(broken(Rule.LOOP_CARRIED, WRITES, OVER, READS))
    assert timeline is not None
    assert timeline.agents == ("threads 0-31", "thread 5")
    assert [one.column for one in timeline.events] == [0, 0, None, 1, None]
    assert timeline.events[1].when == "k = 1"
    assert timeline.events[2].text == (
        "As and Bs must not share bytes, but do in this plan (rule 2)"
    )
    assert timeline.events[4].text == "what is read is what the other buffer has there"


@pytest.mark.parametrize(
    ("rule", "lacks"),
    [(Rule.BARRIER, "a barrier"), (Rule.IN_FLIGHT, "a wait"), (Rule.PROXY, "a proxy fence")],
)
def test_two_accesses_stand_in_columns_of_their_own(rule: Rule, lacks: str) -> None:
    timeline = violation_timeline(broken(rule, WRITES, OVER))
    assert timeline is not None
    assert [one.column for one in timeline.events] == [0, None, 1, None]
    assert timeline.events[1].text.startswith(f"{lacks} is missing, or As and Bs must not")


def test_what_no_execution_shows_has_no_timeline() -> None:
    assert violation_timeline(broken(Rule.ALIGNMENT)) is None
    assert violation_timeline(broken(Rule.BARRIER, WRITES)) is None
    assert violation_timeline(broken(Rule.DIVERGENT_ARMS, WRITES, OVER)) is None
