"""What holds of every candidate of every problem, on every card."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from smemreuse.errors import PlanError
from smemreuse.results.advice import Validation
from smemreuse.results.residents import MOST_REGISTERS
from smemreuse.targets.architectures import ARCHITECTURES
from smemreuse.targets.cards import Card, card, card_for
from smemreuse.worksheet import Workload, advise
from smemreuse.worksheet.judge import (
    DRAM,
    L2,
    LATENCY,
    SHARED,
    TENSOR_COLUMNS,
    judge,
    roofline_terms,
)
from smemreuse.worksheet.terms import attainable
from tests.worksheet.problems import EACH, GEMM, cards, dtypes, problems


@given(problem=problems, found=cards, dtype=dtypes)
@settings(max_examples=60, deadline=None)
def test_every_candidate(problem: Workload, found: Card, dtype: str) -> None:
    arch = found.architecture
    for work in problem.candidates(found, dtype):
        one = judge(found, dtype, work)
        resident = arch.resident_blocks(work.shared_bytes, work.threads, work.launched)
        if work.registers > MOST_REGISTERS:
            resident = 0
        if work.columns:
            resident = min(resident, TENSOR_COLUMNS // work.columns)
        assert one.blocks == resident
        assert one.fits == (resident >= 1) == (not one.refused)
        assert one.fits == math.isfinite(one.seconds)
        bound = max(roofline_terms(found, dtype, work).values())
        assert one.seconds >= bound > 0
        assert 0 < one.balance <= 1
        if one.fits:
            assert one.l1_left == arch.l1_left(work.shared_bytes, work.threads, work.launched)
            assert one.seconds >= one.terms[one.limit] > 0
            assert one.seconds >= found.dram_latency / found.clock
            peak = found.peak(dtype) if problem.multiplies else 2 * found.lanes
            for level, bandwidth in (
                (DRAM, found.dram),
                (L2, found.l2),
                (SHARED, found.shared_bandwidth),
            ):
                roof = attainable(max(peak, 2 * found.lanes), bandwidth, one.intensity[level])
                assert one.rate <= roof * (1 + 1e-9), level


@given(problem=problems, found=cards, dtype=dtypes)
@settings(max_examples=30, deadline=None)
def test_ranks(problem: Workload, found: Card, dtype: str) -> None:
    advice = advise(problem, found, dtype)
    fits = [one.fits for one in advice.estimates]
    assert fits == sorted(fits, reverse=True)
    times = [one.seconds for one in advice.estimates]
    assert times == sorted(times)
    assert advice.best == (advice.estimates[0] if fits[0] else None)
    assert advice.validation is Validation.UNCALIBRATED


@given(problem=problems, found=cards, dtype=dtypes)
@settings(max_examples=30, deadline=None)
def test_dram_moves_no_more_than_l2(problem: Workload, found: Card, dtype: str) -> None:
    for work in problem.candidates(found, dtype):
        assert work.dram <= work.l2 * (1 + 1e-9), work.config


@pytest.mark.parametrize("problem", EACH, ids=lambda one: one.title)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_has_an_answer_for_every_kind(problem: Workload, arch: str) -> None:
    best = advise(problem, card_for(arch), "float16").best
    assert best is not None
    assert best.seconds < 1.35 * max(one for name, one in best.terms.items() if name != LATENCY)


@pytest.mark.parametrize("problem", EACH[:5], ids=lambda one: one.title)
def test_more_stages_take_more_bytes_and_move_as_many(problem: Workload) -> None:
    found = card("h200")
    by_tile: dict[object, list[tuple[int, int, float]]] = {}
    for work in problem.candidates(found, "float16"):
        if work.stages:
            key = tuple((name, one) for name, one in work.config.items() if name != "stages")
            by_tile.setdefault(key, []).append((work.stages, work.shared_bytes, work.dram))
    assert by_tile
    for found_terms in by_tile.values():
        for less, more in zip(sorted(found_terms), sorted(found_terms)[1:], strict=False):
            assert less[0] < more[0]
            assert less[1] < more[1], "bytes"
            assert less[2] == more[2], "traffic"


def test_a_type_that_is_not_known() -> None:
    with pytest.raises(PlanError, match="unknown type 'float12'; choose one of float32"):
        advise(GEMM, card("h200"), "float12")


def test_what_is_assumed_of_a_card_is_told() -> None:
    notes = advise(GEMM, card("gb10"), "float16").notes
    assert (
        "for the GB10 (DGX Spark), as not published: tensor, l2, dram_latency, l2_latency"
        in notes[-1]
    )
    assert advise(GEMM, card("a100"), "float16").notes == ("mma instructions, as sm_80 has them",)
