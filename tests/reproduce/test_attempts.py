"""Which threads are made late where follows from the witness."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.reproduce.attempts import (
    FOR_EVER,
    LONG,
    PATTERN,
    READS,
    SHORT,
    Attempt,
    attempts_of,
)
from smemreuse.results.hazards import Hazard, HazardKind
from tests.conftest import ROOT

LINT = ROOT / "fixtures" / "lint"
WRONG = sorted(path.stem for path in LINT.glob("*.tir") if ".mended" not in path.name)


def hazards(name: str) -> tuple[Hazard, ...]:
    (kernel,) = read_dump(LINT / f"{name}.tir").kernels
    return lint(kernel).hazards


def attempts(name: str) -> tuple[Attempt, ...]:
    return attempts_of(hazards(name)[0])


def test_of_a_race_the_warp_of_the_earlier_access_is_late_in_its_round() -> None:
    hazard = hazards("race_round_the_loop")[0]
    first, longer, always = attempts_of(hazard)
    (delay,) = first.delays
    assert hazard.other is not None
    assert delay.stmt is hazard.other.stmt
    assert (delay.first, delay.end, delay.after) == (96, 128, False)  # the reader, thread 127
    assert (delay.loops, delay.cycles) == ((("k", 0),), SHORT)
    assert longer.delays[0].cycles == LONG
    assert always.delays[0].loops == ()


def test_of_two_proxies_one_warp_is_late_then_all() -> None:
    found = [(one.delays[0].first, one.delays[0].end) for one in attempts("refilled_without_fence")]
    assert found[:4] == [(128, 160), (128, 160), (128, 160), (32, 160)]


def test_reads_that_a_copy_may_overtake_come_behind_others_at_last() -> None:
    *_, last = attempts("refilled_without_fence")
    (delay,) = last.delays
    assert (delay.cycles, delay.reads, delay.loops, delay.after) == (0, READS, (), False)
    assert (delay.first, delay.end) == (32, 160)
    assert "read one bank of shared memory 64 times before" in last.words
    assert not any(one.delays[0].reads for one in attempts("stored_without_fence"))


def test_what_is_in_flight_is_tried_without_a_delay_first() -> None:
    first, second, *_ = attempts("cp_async_not_waited_for")
    assert first.is_plain
    assert not second.is_plain


def test_a_late_warp_waits_for_longer_than_a_launch_before_it_waits_for_its_phase() -> None:
    hazard = hazards("warp_that_is_late")[0]
    steady, first = attempts_of(hazard)
    assert steady.delays[0].stmt is hazard.site.stmt
    assert (steady.delays[0].first, steady.delays[0].end) == (96, 128)
    assert (steady.delays[0].loops, first.delays[0].loops) == ((("k", 2),), (("k", 0),))
    assert steady.delays[0].cycles == FOR_EVER


def test_who_comes_to_a_barrier_in_a_branch_is_late_behind_it() -> None:
    plain, late, _ = attempts("barrier_in_a_branch")
    assert plain.is_plain
    assert late.delays[0].after


def test_what_nothing_has_written_is_filled_with_a_pattern() -> None:
    (attempt,) = attempts("uninitialised_state")
    assert (attempt.fill, attempt.delays, attempt.is_plain) == (PATTERN, (), False)


def test_a_deadlock_needs_no_help() -> None:
    (attempt,) = attempts("phase_that_never_comes")
    assert attempt.is_plain


@pytest.mark.parametrize("name", WRONG)
def test_every_finding_has_attempts_that_differ(name: str) -> None:
    for hazard in hazards(name):
        found = attempts_of(hazard)
        assert found
        assert len({one.words for one in found}) == len(found)


def test_every_kind_has_a_way() -> None:
    assert {one.kind for name in WRONG for one in hazards(name)} == {*HazardKind}
