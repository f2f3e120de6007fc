"""Which iterations of a loop are executed: as many as show all its states."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.periods import MAX_PERIOD, Periods
from smemreuse.ir.kernel import For
from tests.checker.small import judge, kernel_of, relevance_of, statement, under

COUNT = 240
STEP = "c[0] = c[0] + 1\n"


def executed(body: str, count: int = COUNT, before: str = "", after: str = "") -> int:
    """How many iterations of `for k: body` are executed."""
    loop_text = under(f"for k in range({count})", body)
    kernel = kernel_of(f"{before}{loop_text}{after}", elements=100_000)
    loop = statement(kernel, "for k")
    assert isinstance(loop, For)
    return len([*Periods(relevance_of(kernel)).iterations(loop, count)])


def test_a_loop_that_does_not_use_its_variable_is_executed_twice() -> None:
    assert executed("As[tx] = k\n") == 2


@pytest.mark.parametrize(
    ("body", "period"),
    [
        ("As[tx + k % 3] = 1\n", 3),
        ("As[tx + (k + 1) % 4 * 64] = 1\n", 4),
        ("As[tx + k % 4 + k % 6] = 1\n", 12),
        (under("if k % 5 == 0", "As[tx] = 1\n"), 5),
        (under("for j in range(k % 2)", "As[tx] = 1\n"), 2),
        ("v: T.int32 = k + 1\nAs[v % 3 + tx] = 1\n", 3),
        (f"{STEP}As[tx + c[0] % 3] = 1\n", 3),
    ],
)
def test_two_periods_stand_for_all(body: str, period: int) -> None:
    count = 30 * period
    assert executed(body, count) == 2 * period
    assert executed(body, count + 1) == 2 * period + 1  # what is left out is whole periods
    assert executed(body, 3 * period) == 3 * period


@pytest.mark.parametrize(
    "body",
    [
        "As[tx + k] = 1\n",
        "As[tx + k // 4] = 1\n",
        "As[tx + (k // 4) % 2] = 1\n",
        "As[tx + k * k % 3] = 1\n",
        under("if k == 7", "As[tx] = 1\n"),
        under("if k < D[0]", "As[tx] = 1\n"),
        under("for j in range(k)", "As[tx] = 1\n"),
        "v: T.int32 = k // 4\nAs[v % 3 + tx] = 1\n",
        "v: T.int32 = k // 4\nw: T.int32 = v + 1\nAs[w % 3 + tx] = 1\n",
        "As[tx + T.Cast('uint32', k) * T.uint32(3) % T.uint32(3)] = 1\n",
        f"As[tx + k % {MAX_PERIOD + 1}] = 1\n",
    ],
)
def test_a_loop_that_is_not_seen_to_repeat_itself_is_executed_whole(body: str) -> None:
    assert executed(body) == COUNT


@pytest.mark.parametrize(
    "body",
    [
        f"{STEP}As[tx + c[0]] = 1\n",
        "c[0] = c[0] * 2\nAs[tx + c[0] % 3] = 1\n",
        "c[0] = k\nAs[tx + c[0] % 3] = 1\n",
        under("if tx < 3", STEP) + "As[tx + c[0] % 3] = 1\n",
        under("for j in range(k % 2)", STEP) + "As[tx + c[0] % 3] = 1\n",
        under("for j in range(k % 2)", f"O[tx] = 1\n{STEP}") + "As[tx + c[0] % 3] = 1\n",
        "c[D[0]] = c[D[0]] + 1\nAs[tx + c[0] % 3] = 1\n",
    ],
)
def test_a_counter_must_be_stepped_by_a_constant_in_every_iteration(body: str) -> None:
    assert executed(body) == COUNT


def test_a_counter_may_decide_behind_the_loop_too() -> None:
    body = f"{STEP}As[tx + c[0] % 3] = 1\n"
    assert executed(body, after="As[tx + c[0] % 4] = 1\n") == 2 * 12
    assert executed(body, after="As[tx + c[0]] = 1\n") == COUNT
    assert executed(body, after="c[1] = c[0]\nAs[tx + c[1] % 3] = 1\n") == COUNT
    assert executed(body, after="v: T.int32 = c[0]\nAs[tx + v % 3] = 1\n") == COUNT


ROUND = "T.ptx_arrive_barrier(full[{}])\nT.mbarrier_wait_parity(full[{}], {})\n"


@pytest.mark.parametrize(
    ("body", "iterations"),
    [
        (ROUND.format(0, 0, "k % 2"), 8),  # a period of four has an even number of phases
        (ROUND.format(0, 0, "k % 3"), 12),
        (ROUND.format("k % 2", "k % 2", "k % 4 // 2"), 16),
        (ROUND.format(0, "k % 2", "k % 4 // 2"), 16),
        (ROUND.format(0, 0, "k // 2 % 2"), COUNT),
        (ROUND.format(0, 1, "k % 2"), COUNT),  # who waits for 0 is not seen
        ("T.ptx_arrive_barrier(full[0])\n", COUNT),
        ("T.mbarrier_wait_parity(full[0], k % 2)\n", 4),
    ],
)
def test_phases_repeat_themselves_too(body: str, iterations: int) -> None:
    assert executed(body) == iterations


# Shortened or not, the verdict is that of all iterations --------------------------------------

PIECES = (
    "As[tx + k % 2 * 64] = 1\n",
    "O[tx] = As[tx + (k + 1) % 2 * 64]\n",
    "O[tx] = As[tx + k % 3 * 64]\n",
    "Bs[tx + k % 3 * 64] = 1\n",
    "O[tx] = Bs[tx + c[0] % 2 * 64]\n",
    STEP,
    under("if k % 3 == 1", "Bs[tx] = 1\n"),
    'T.tvm_storage_sync("shared")\n',
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=4), st.integers(7, 26))
def test_what_a_shortened_loop_proves_holds_of_all_iterations(
    pieces: list[str], count: int
) -> None:
    """The same statements written out one after the other."""
    before = "c[0] = 0\nAs[tx] = 1\n"
    behind = "O[tx] = As[tx] + Bs[tx + 64]\n"
    body = "".join(pieces)
    looped = before + under(f"for k in range({count})", body) + behind
    if judge(looped, elements=192).sound:
        rounds = "".join(_written_out(body, number) for number in range(count))
        assert judge(before + rounds + behind, elements=192).sound


def _written_out(body: str, number: int) -> str:
    return body.replace("k ", f"{number} ")
