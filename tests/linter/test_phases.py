"""Mbarriers that nobody has initialized, and waits for what is no parity."""

from __future__ import annotations

import pytest

from smemreuse.linter.collected import ELSEWHERE
from tests.checker.small import ARRIVE, SYNC, WAIT, init_barrier, kernel_of, tma_load, under
from tests.linter.test_linter import report_on

BEGIN = init_barrier(1)
SIGNAL = under("if tx == 0", ARRIVE)
SECOND = WAIT.replace("full[0]", "full[1]")
UNINITIALISED, UNDEFINED = "uninitialised-read", "barrier-deadlock"


def _found(body: str, kind: str) -> list[bool]:
    hazards = report_on(kernel_of(body)).hazards
    return [one.is_unconditional for one in hazards if one.kind.value == kind]


@pytest.mark.parametrize(
    ("body", "certain"),
    [
        (BEGIN + SIGNAL + WAIT, []),
        (BEGIN + SIGNAL + SECOND, [True]),
        (BEGIN + under("if tx == 0", ARRIVE.replace("full[0]", "full[1]")), [True]),
        (BEGIN + under("if D[0] > 0", SECOND.replace(", 0)", ", 1)")), [False]),
        (WAIT.replace(", 0)", ", 1)") + BEGIN + SIGNAL, [True]),
        (under("for k in range(4)", BEGIN.replace("full[0]", "full[k]")) + SIGNAL, []),
    ],
)
def test_an_mbarrier_is_initialized_before_it_is_used(body: str, certain: list[bool]) -> None:
    assert _found(body, UNINITIALISED) == certain


@pytest.mark.parametrize(("begin", "assumed"), [("", True), (BEGIN, False)])
def test_one_that_the_kernel_never_initializes_is_assumed_to_be(
    begin: str, *, assumed: bool
) -> None:
    report = report_on(kernel_of(begin + WAIT.replace(", 0)", ", 1)") + SYNC))
    assert not report.hazards
    assert (ELSEWHERE in report.assumptions) == assumed


@pytest.mark.parametrize(
    ("parity", "certain"),
    [("0", []), ("2", [True]), ("-2", [True]), ("D[0]", [])],
)
def test_a_phase_has_a_parity_of_0_or_1(parity: str, certain: list[bool]) -> None:
    wait = WAIT.replace(", 0)", f", {parity})")
    assert _found(BEGIN + SIGNAL + wait, UNDEFINED) == certain


def test_a_number_of_rounds_is_no_parity() -> None:
    rounds = under("for k in range(4)", SIGNAL + WAIT.replace(", 0)", ", k)"))
    assert _found(BEGIN + rounds, UNDEFINED) == [True]
    assert not _found(BEGIN + rounds.replace(", k)", ", k % 2)"), UNDEFINED)


LOAD = under("if tx == 0", "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As"))
AGAIN = WAIT.replace(", 0)", ", 1)")
ALONE = under("if tx == 0", WAIT)


@pytest.mark.parametrize(
    ("body", "in_flight"),
    [
        (LOAD, True),
        (LOAD + WAIT, False),
        (LOAD + WAIT + SYNC + LOAD, True),
        (LOAD + WAIT + SYNC + LOAD + AGAIN, False),
        (LOAD + under("if tx >= 32", WAIT), False),  # one warp that knows is enough
        (LOAD + ALONE, False),
        (LOAD + under("if D[0] > 0", WAIT), True),
        (under("if D[0] > 0", LOAD + WAIT), False),
        (under("for k in range(D[0])", LOAD + WAIT.replace(", 0)", ", k % 2)") + SYNC), False),
    ],
)
def test_a_load_is_waited_for_before_the_kernel_ends(body: str, *, in_flight: bool) -> None:
    assert _found(BEGIN + body, "missing-wait") == [False] * in_flight
