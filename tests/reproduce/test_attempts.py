"""Which threads are made late where follows from the witness."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import If
from smemreuse.linter import lint, taken_apart
from smemreuse.reproduce.attempts import attempts_of
from smemreuse.reproduce.cuda import BEYOND, BULK, COPIES, CROWD, DELAY, PRODUCTS, QUEUE
from smemreuse.reproduce.delays import FOR_EVER, LONG, PATTERN, SHORT, Attempt, warps_of
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.semantics.table import evaluated_effect
from tests.conftest import ROOT

LINT = ROOT / "fixtures" / "lint"
FIELD = ROOT / "fixtures" / "field" / "dumps"
WRONG = sorted(path.stem for path in LINT.glob("*.tir") if ".mended" not in path.name)


def hazards(name: str) -> tuple[Hazard, ...]:
    (kernel,) = read_dump(LINT / f"{name}.tir").kernels
    return lint(kernel).hazards


def attempts(name: str) -> tuple[Attempt, ...]:
    return attempts_of(hazards(name)[0])


def of_function(what: str, name: str) -> tuple[Hazard, list[Attempt]]:
    """The first hazard, and the attempts for it in which threads call a device function."""
    (kernel,) = read_dump(LINT / f"{name}.tir").kernels
    hazard = lint(kernel).hazards[0]
    found = attempts_of(hazard, kernel.body)
    return hazard, [one for one in found if any(each.what == what for each in one.delays)]


def test_of_a_race_the_warp_of_the_earlier_access_is_late_in_its_round() -> None:
    hazard = hazards("race_round_the_loop")[0]
    first, longer, always = attempts_of(hazard)
    (delay,) = first.delays
    assert hazard.other is not None
    assert delay.stmt is hazard.other.stmt
    assert (delay.first, delay.end, delay.after) == (96, 128, False)  # the reader, thread 127
    assert (delay.loops, delay.count) == ((("k", 0),), SHORT)
    assert longer.delays[0].count == LONG
    assert always.delays[0].loops == ()


def test_of_two_proxies_one_warp_is_late_then_all() -> None:
    found = [(one.delays[0].first, one.delays[0].end) for one in attempts("refilled_without_fence")]
    assert found == [(128, 160), (32, 160), (128, 160), (128, 160), (32, 160)]


def test_the_last_read_comes_behind_stores_while_others_that_have_arrived_store_too() -> None:
    hazard, (alone, crowded) = of_function(QUEUE, "refilled_without_fence")
    (queued,) = alone.delays
    assert hazard.other is not None
    assert (queued.stmt, queued.first, queued.end) == (hazard.other.stmt, 32, 160)
    crowd, late, again = crowded.delays
    assert again == queued
    assert (crowd.what, crowd.first, crowd.end, crowd.after) == (CROWD, 32, 128, True)
    effect = evaluated_effect(crowd.stmt)
    assert effect is not None
    assert effect.arrives
    assert (late.what, late.first, late.end) == (DELAY, 128, 160)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tma_store_not_waited_for", BULK),
        ("accumulator_not_waited_for", PRODUCTS),
        ("cp_async_not_waited_for", COPIES),
    ],
)
def test_an_engine_has_other_work_to_do_first(name: str, what: str) -> None:
    hazard, (attempt, *once) = of_function(what, name)
    (delay,) = attempt.delays
    assert hazard.other is not None
    assert (delay.stmt, delay.after, delay.loops) == (hazard.other.stmt, False, ())
    assert bool(once) == bool(hazard.other.loops)
    assert [one.delays[0].loops for one in once] == [hazard.other.loops for _ in once]


def attempts_at(name: str, kind: HazardKind, mechanism: str) -> tuple[Hazard, tuple[Attempt, ...]]:
    """A finding of a kernel of the field, and all ways to make it show."""
    (merged,) = read_dump(FIELD / f"{name}.before.tir").kernels
    kernel = taken_apart(merged).kernel
    found = [one for one in lint(kernel).hazards if (one.kind, one.mechanism) == (kind, mechanism)]
    return found[0], attempts_of(found[0], kernel.body)


def test_who_overwrites_what_lands_late_waits_for_it_before_it_is_read() -> None:
    wanted = HazardKind.MISSING_WAIT, "write after cp.async write"
    hazard, found = attempts_at("lands_in_the_epilogue", *wanted)
    held = [one for one in found if one.delays and one.delays[-1].stmt is hazard.site.stmt]
    assert all(one.delays[-1].after and one.delays[-1].what == DELAY for one in held)
    assert [[each.what for each in one.delays[:-1]] for one in held] == [[], [COPIES], [COPIES]]
    wanted = HazardKind.MISSING_WAIT, "read after cp.async write"
    hazard, found = attempts_at("lands_in_the_epilogue", *wanted)
    assert not [one for one in found if one.delays and one.delays[-1].stmt is hazard.site.stmt]


def test_what_an_engine_reads_early_is_stored_behind_other_stores() -> None:
    hazard, (attempt,) = of_function(QUEUE, "stored_without_fence")
    (delay,) = attempt.delays
    assert hazard.other is not None
    assert (delay.stmt, delay.after) == (hazard.other.stmt, False)


def test_whole_warps_store_first() -> None:
    assert [warps_of(one) for one in ((0, 1), (32, 64), (40, 70))] == [(0, 32), (32, 64), (32, 96)]


def test_threads_store_while_copies_land() -> None:
    wanted = HazardKind.MISSING_FENCE, "wgmma read after cp.async write"
    hazard, found = attempts_at("copied_by_cp_async.varied", *wanted)
    (behind,) = [one.delays for one in found if one.delays and one.delays[0].what == QUEUE]
    assert hazard.other is not None
    assert [(one.stmt, one.after, one.loops) for one in behind] == [
        (hazard.other.stmt, True, (("i", 3),))
    ]


def test_other_warps_store_while_one_has_tma_store() -> None:
    wanted = HazardKind.MISSING_WAIT, "TMA load write after TMA store read"
    hazard, found = attempts_at("wait_in_a_fixed_round", *wanted)
    (crowd,) = next(one.delays for one in found if one.delays and one.delays[0].what == CROWD)
    assert (crowd.first, crowd.end, crowd.after) == (32, 1024, False)
    assert isinstance(crowd.stmt, If)
    assert hazard.other is not None
    assert hazard.other.stmt in crowd.stmt.then


def test_one_warp_of_a_group_is_late_ahead_of_a_number_that_others_take() -> None:
    wanted = HazardKind.BARRIER_DIVERGENCE, "named barrier"
    hazard, found = attempts_at("number_of_both_groups", *wanted)
    ahead = [one.delays[0] for one in found[3:]]
    assert [(one.first, one.end, one.after) for one in ahead] == [
        (96, 128, False),
        (224, 256, False),
    ]
    sites = [site.stmt for site in (hazard.site, hazard.other) if site is not None]
    assert not [one for one in ahead if one.stmt in sites]


def test_what_lies_behind_the_memory_of_a_kernel_is_nobodys() -> None:
    for kind, after in (("write", True), ("read", False)):
        wanted = HazardKind.OUT_OF_BOUNDS, kind
        hazard, (filled, beyond) = attempts_at("one_slot_for_all_stages", *wanted)
        assert (filled.fill, beyond.fill) == (PATTERN, PATTERN)
        (delay,) = beyond.delays
        assert (delay.what, delay.stmt, delay.after) == (BEYOND, hazard.site.stmt, after)
        assert delay.count == 4  # one int32


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
    assert steady.delays[0].count == FOR_EVER


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
