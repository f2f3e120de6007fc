"""Hazards of barriers that may be passed without those whom they are for (rule 12)."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.preconditions import Assumption, Preconditions
from tests.checker.small import ARRIVE as M_ARRIVE
from tests.checker.small import SYNC, init_barrier, judge_kernel, kernel_of, under
from tests.checker.small import WAIT as M_WAIT
from tests.linter.test_linter import report_on
from tests.soundness.model.modes import IllDefined, as_it_stands
from tests.soundness.model.run import Model

CLUSTER, GRID = "T.cluster_sync()\n", "T.sync_grid()\n"
ARRIVE, WAIT = "T.cluster_arrive()\n", "T.cluster_wait()\n"
LANES = "T.sync_warp({})\n"


def _hazards(body: str, threads: int = 64) -> list[Hazard]:
    return list(report_on(kernel_of(body, threads=threads)).hazards)


def _found(body: str, threads: int = 64) -> list[tuple[str, bool]]:
    return [(hazard.kind.value, hazard.is_unconditional) for hazard in _hazards(body, threads)]


def _lower(body: str) -> str:
    return under("if tx < 32", body)


def _upper(body: str) -> str:
    return under("if tx >= 32", body)


DIVERGES = "barrier-divergence"
M = "{}\n"


@pytest.mark.parametrize("meet", [SYNC, CLUSTER, GRID])
@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (M, []),
        (_lower(M), [(DIVERGES, False)]),  # the others may have ended
        (_lower(M) + M, [(DIVERGES, True)]),
        (_lower(M) + M + M + M, [(DIVERGES, True)]),  # told once
        (_lower(M) + _upper(M), []),
        (_lower(M) + _upper(M) + M, []),
        (_lower(M + M) + _upper(M) + M, [(DIVERGES, True)]),
        (under("if D[0] > 0", M) + M, []),
        (under("if D[tx] > 0", M) + M, [(DIVERGES, False)]),
        (_lower(under("if D[0] > 0", M)), [(DIVERGES, False)]),
        (_lower(under("if D[0] > 0", M)) + M, [(DIVERGES, False)]),
        (under("if tx < 16", M) + M, [(DIVERGES, True)]),
    ],
)
def test_all_threads_come_equally_often(
    meet: str, body: str, hazards: list[tuple[str, bool]]
) -> None:
    assert _found(body.replace("{}", meet.rstrip())) == hazards


def test_the_witness_names_who_waits_where_for_whom() -> None:
    (hazard,) = _hazards(_lower(CLUSTER) + CLUSTER)
    assert "threads 32-63 do not reach the barrier `cluster_sync()`" in hazard.witness
    assert hazard.site.line is not None
    assert f"line {hazard.site.line}" in hazard.mend.sentence
    assert hazard.agents == ("threads 32-63",)


def test_barriers_are_counted_apart() -> None:
    """Of the cluster, of the grid, by number."""
    assert len(_found(_lower(CLUSTER) + _upper(SYNC))) == 2
    named = 'T.tvm_storage_sync("shared", {}, 64)\n'
    assert len(_found(_lower(named.format(1)) + _upper(named.format(2)))) == 2
    assert not _found(_lower(named.format(1)) + _upper(named.format(1)))


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (ARRIVE + WAIT, []),
        (ARRIVE, []),
        (ARRIVE + ARRIVE + WAIT, [("barrier-deadlock", True)]),
        (WAIT, [("barrier-deadlock", True)]),
        (ARRIVE + CLUSTER, [("barrier-deadlock", True)]),
        (_lower(ARRIVE) + WAIT, [("barrier-deadlock", True)]),
        (_lower(ARRIVE + WAIT), [(DIVERGES, False)]),
        (_lower(ARRIVE + WAIT) + _upper(CLUSTER), []),
        (under("if D[0] > 0", ARRIVE) + WAIT, [("barrier-deadlock", False), (DIVERGES, False)]),
    ],
)
def test_each_arrival_is_waited_for_once(body: str, hazards: list[tuple[str, bool]]) -> None:
    assert _found(body) == hazards


NAMED = 'T.tvm_storage_sync("shared", {}, 64)\n'
ONE, TWO = NAMED.format(1), NAMED.format(2)
SIGNAL = under("if tx % 32 == 0", M_ARRIVE)


@pytest.mark.parametrize(
    ("lower", "upper", "hangs"),
    [
        (SYNC + SIGNAL, M_WAIT + SYNC, True),
        (SYNC + SIGNAL, SYNC + M_WAIT, False),
        (SIGNAL + SYNC, M_WAIT + SYNC, False),
        (M_WAIT + SYNC, SYNC + SIGNAL, True),
        (ONE + TWO, TWO + ONE, True),
        (ONE + TWO, ONE + TWO, False),
        (SYNC + CLUSTER, CLUSTER + SYNC, True),
        (ARRIVE + SYNC + WAIT, SYNC + ARRIVE + WAIT, False),
        (ARRIVE + WAIT + SYNC, SYNC + ARRIVE + WAIT, True),
        (under("for k in range(3)", ONE) + TWO, TWO + under("for k in range(3)", ONE), True),
        (under("for k in range(3)", ONE) + TWO, under("for k in range(3)", ONE) + TWO, False),
    ],
)
def test_two_that_wait_for_each_other_at_two_barriers(lower: str, upper: str, hangs: bool) -> None:
    """Each goes on at one barrier alone once the other has come, which it does behind another."""
    body = init_barrier(1) + under("if tx < 32", lower) + under("else", upper)
    assert _found(body) == [("barrier-deadlock", True)] * hangs
    model = Model(kernel_of(body), [], np.arange(1, 4097))
    if hangs:
        with pytest.raises(IllDefined, match="hangs"):
            model.differing(as_it_stands(2, fences=False))
    else:
        model.differing(as_it_stands(6, fences=False))


_FIRST_ARRIVES = under("if tx == 0", M_ARRIVE)
_STORE = "As[tx] = tx\n"


@pytest.mark.parametrize(
    ("body", "certain"),
    [
        (_upper(M_WAIT) + _STORE + _FIRST_ARRIVES, False),
        (under("for k in range(2)", _upper(M_WAIT) + _STORE + _FIRST_ARRIVES + SYNC), False),
        (_lower(SYNC + M_WAIT) + _upper(SYNC) + _STORE + under("if tx == 32", M_ARRIVE), False),
        (under("if tx < 64", _upper(M_WAIT) + _STORE) + _FIRST_ARRIVES, False),
        (_upper(M_WAIT) + _STORE, True),
        (_FIRST_ARRIVES + _upper(M_WAIT + M_WAIT.replace("0)", "1)")) + _STORE, True),
        (M_WAIT + _STORE + _FIRST_ARRIVES, True),
        (under("if D[0] > 0", _upper(M_WAIT) + _STORE), False),
    ],
)
def test_who_has_done_with_a_branch_goes_on_to_signal(body: str, certain: bool) -> None:
    """No deadlock is certain where those who do not wait may come to what completes the phase."""
    hazards = _found(init_barrier(1) + body)
    assert ("barrier-deadlock", certain) in hazards
    assert ("barrier-deadlock", not certain) not in hazards


def test_a_hang_behind_a_condition_on_data_is_possible() -> None:
    body = under("if D[0] > 0", _lower(ONE + TWO) + _upper(TWO + ONE))
    assert _found(body) == [("barrier-deadlock", False)]


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (LANES.format(""), []),
        (_lower(LANES.format("")), []),
        (under("if tx % 32 < 16", LANES.format("0xFFFF")), []),
        (under("if tx % 32 < 16", LANES.format("")), [(DIVERGES, False)]),
        (under("if tx % 32 < 8", LANES.format("0xFFFF")), [(DIVERGES, False)]),
        (under("if tx % 32 < 16", LANES.format("0xFF")), [(DIVERGES, True)]),
        (under("if D[tx] > 0", LANES.format("")), [(DIVERGES, False)]),
    ],
)
def test_the_lanes_of_a_mask_come_to_a_barrier_of_a_warp(
    body: str, hazards: list[tuple[str, bool]]
) -> None:
    assert _found(body) == hazards


def test_lanes_that_their_mask_does_not_name() -> None:
    (hazard,) = _hazards(under("if tx % 32 < 16", LANES.format("0xFF")), threads=32)
    assert hazard.witness.startswith("threads 8-15 come to `sync_warp(255)`")
    assert "the mask does not name them" in hazard.witness


def test_a_plan_on_such_a_kernel_rests_on_an_open_assumption() -> None:
    report = report_on(kernel_of(_lower(CLUSTER) + CLUSTER))
    (open_one,) = Preconditions(report).open
    assert open_one.assumption is Assumption.MEETING
    assert open_one.refuted
    assert HazardKind.BARRIER_DIVERGENCE.value in open_one.why
    assert not Preconditions(report).proved


_TEXT = "int f(int x) { __syncthreads(); return x; }"


@pytest.mark.parametrize("text", ["", f', "{_TEXT}"'])
@pytest.mark.parametrize(
    "statement",
    [
        "T.evaluate({})\n",
        "O[tx] = {}\n",
        "v: T.int32 = {}\nO[tx] = v\n",
        "if {} > 0:\n    O[tx] = 1\n",
        "for k in range({}):\n    O[tx] = k\n",
    ],
)
def test_a_function_in_which_a_part_of_the_block_may_meet(statement: str, text: str) -> None:
    """Wherever it stands in a statement: who has come how often to the barriers is open then."""
    called = statement.format(f'T.call_extern("int32", "f", tx{text})')
    use = "As[tx] = tx\nO[tx] = As[tx]\n" + SYNC + "Bs[63 - tx] = tx\nO[tx] = Bs[63 - tx]\n"
    assert not judge_kernel(kernel_of(_lower(called) + use)).sound
    assert judge_kernel(kernel_of(called + use)).sound
    assert (DIVERGES, False) in _found(_lower(called) + use)
    known = called.replace("__syncthreads();", "")
    if text:
        assert judge_kernel(kernel_of(_lower(known) + use)).sound


def test_an_arm_that_is_thousands_of_barriers_ahead_is_not_followed() -> None:
    """The trace runs an arm to its end, and keeps what each of its arrivals hands over."""
    loop = under("for k in range(100000)", SYNC)
    report = report_on(kernel_of(_lower(loop) + _upper(loop)))
    assert report.unknown == ("some threads come to a barrier 2,001 times before the others",)


@pytest.mark.parametrize(
    "body",
    [
        _lower(SYNC + SYNC + GRID) + _upper(GRID + GRID) + GRID,
        _lower(SYNC + SYNC + GRID) + _upper(GRID + SYNC + SYNC) + GRID,
        under("if tx < 32", GRID + GRID)
        + under("if tx >= 32 and tx < 64", SYNC + SYNC + GRID)
        + under("if tx >= 64", GRID + GRID)
        + GRID,
    ],
)
def test_one_thread_may_stand_for_its_block_at_the_grid_s_barrier(body: str) -> None:
    """The block's barriers in that of the grid pair with others', and it runs through."""
    assert not any(certain for _, certain in _found(body, threads=96 if "64" in body else 64))


BY_NAME, ALL_BY_NAME = (
    "T.tvm_storage_sync('shared', 1, 64)\n",
    "T.tvm_storage_sync('shared', 5, 128)\n",
)


@pytest.mark.parametrize(
    ("lower", "upper", "certain"),
    [
        (BY_NAME, BY_NAME, True),
        (ALL_BY_NAME + BY_NAME, ALL_BY_NAME + BY_NAME, True),
        (ALL_BY_NAME + BY_NAME, BY_NAME + ALL_BY_NAME, False),  # the later arm comes there first
        (BY_NAME + ALL_BY_NAME, ALL_BY_NAME + BY_NAME, None),
    ],
)
def test_who_used_a_named_barrier_may_have_waited_for_these(
    lower: str, upper: str, certain: bool | None
) -> None:
    body = under("if tx < 64", lower) + under("if tx >= 64", upper) + SYNC
    assert _found(body, threads=128) == ([] if certain is None else [(DIVERGES, certain)])
