"""Barriers and waits inside functions: nothing is refuted for certain by what they may order, and
nothing is proved by it."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import Hazard
from smemreuse.results.rules import Rule
from smemreuse.results.undecided import UndecidedKind
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, VerdictKind
from smemreuse.semantics.declarations import Argument, Declaration
from smemreuse.semantics.rows.device_functions import DECLARED
from tests.checker.small import (
    ARRIVE,
    CONSUME,
    PRODUCE,
    SYNC,
    TO_AND_FRO,
    USE_A,
    USE_B,
    WAIT,
    init_barrier,
    judge,
    kernel_of,
    under,
)
from tests.linter.test_linter import report_on

FIRST, THEN = "As[tx] = tx\n", "Bs[63 - tx] = 1\n"
"""By different threads: a barrier in between makes it right."""

FLAG = "T.address_of(O[99])"


def called(*arguments: str, text: str = "") -> str:
    """A call of a function that brings its text, or none."""
    texts = [f'"__device__ int f(volatile int* p) {{ {text} }}"'] if text else []
    operands = ["'int32'", "'f'", *arguments, *texts]
    return f"T.call_extern({', '.join(operands)})"


PURE = called(FLAG, text="return *p + 1;")
MEETS = called(FLAG, text="__syncthreads(); return 0;")
SPINS = called(FLAG, text="while (*p == 0) {} return 0;")


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        (called("tx"), UNPROVED),
        (called("O.data"), UNPROVED),  # handed memory that shares nothing
        (called(FLAG), UNPROVED),
        (MEETS, UNPROVED),
        (SPINS, UNPROVED),
        (SPINS.replace("while (*p == 0)", "for (; *p == 0;)"), UNPROVED),
        (PURE, UNSOUND),
        (called(FLAG, text="int s = 0; for (int i = 0; i < 4; ++i) s += i; return s;"), UNPROVED),
        (SPINS.replace("volatile ", ""), UNSOUND),  # read once, by C++
        ("T.cuda.atomic_add(T.address_of(O[99]), 1)", UNSOUND),
    ],
)
@pytest.mark.parametrize(
    "statement", ["T.evaluate({})\n", "O[tx] = {}\n", "if {} > 5:\n    pass\n"]
)
def test_what_a_function_may_order_is_not_refuted(
    call: str, statement: str, verdict: VerdictKind
) -> None:
    body = FIRST + statement.format(call).replace("pass", "T.evaluate(0)") + THEN
    assert judge(body).verdict is verdict


def test_a_thread_may_wait_in_a_function_for_a_flag() -> None:
    """The second warp has seen the flag that the first one sets behind its use of As."""
    body = under("if tx < 32", PRODUCE + "O[99] = 1\n") + under(
        "if tx >= 32", "T.evaluate({})\nBs[tx - 32] = 1\n"
    )
    assert judge(body.format(SPINS)).verdict is UNPROVED
    assert judge(body.format(PURE)).verdict is UNSOUND


@pytest.mark.parametrize("call", [called(FLAG), MEETS, SPINS])
def test_what_comes_before_a_function_is_refuted_and_no_proof_is_lost(call: str) -> None:
    evaluated = f"T.evaluate({call})\n"
    assert judge(FIRST + THEN + evaluated).verdict is UNSOUND
    assert judge(USE_A + evaluated + SYNC + USE_B).verdict is SOUND
    assert judge(TO_AND_FRO.replace(SYNC, SYNC + evaluated)).verdict is SOUND


def test_a_loop_may_ask_a_function_for_a_flag() -> None:
    text = "return *p;"
    poll = under(f"while {called(FLAG, text=text)} == 0", "T.evaluate(0)\n")
    body = under("if tx < 32", PRODUCE) + under("if tx >= 32", poll + "Bs[tx - 32] = 1\n")
    assert judge(body).verdict is UNPROVED


@pytest.mark.parametrize("answer", ["not {}", "T.cast('int32', {}) == 0"])
def test_a_loop_may_ask_an_mbarrier_and_do_something_else(answer: str) -> None:
    """That is no wait to prove anything by; who goes on has seen the phase complete."""
    asked = answer.format("T.call_extern('bool', 'tl::mbarrier_try_wait', full[0], 0)")
    loop = under(f"while {asked}", "O[tx + 500] = 1\n")
    body = init_barrier(32) + under("if tx < 32", PRODUCE + ARRIVE)
    assert judge(body + under("if tx >= 32", loop + CONSUME)).verdict is UNPROVED


# Operations with a row --------------------------------------------------------------------------

WAIT_UNTIL = "T.cuda.wait_until(c[0], T.address_of(O[99]), c[0] == 1)\n"
CTA_REDUCE = "O[tx] = T.cuda.cta_reduce(tx, 'sum', 2, Cs.data)\n"
SCRATCH = 'Cs = T.alloc_buffer((64,), "int32", scope="shared")'


def test_a_wait_for_a_word_acquires_what_others_have_released() -> None:
    body = under("if tx < 32", PRODUCE + "O[99] = 1\n") + under(
        "if tx >= 32", WAIT_UNTIL + "Bs[tx - 32] = 1\n"
    )
    assert judge(body).verdict is UNPROVED


def test_a_reduction_of_the_block_has_barriers_of_the_block() -> None:
    assert judge(FIRST + CTA_REDUCE + THEN, declared=SCRATCH).verdict is SOUND
    # The others come to the block's barrier twice less often: who meets whom then is another thing.
    part = under("if tx < 32", CTA_REDUCE)
    assert not judge(part + FIRST + SYNC + THEN, declared=SCRATCH).sound
    assert judge(FIRST + SYNC + THEN, declared=SCRATCH).sound


def test_what_a_reduction_of_the_block_reads_at_its_end_is_read_behind_its_barriers() -> None:
    """Another thread overwrites the scratch while a late one still reads it."""
    scratch = "Cs = T.alloc_buffer((64,), 'int32', scope='shared.dyn')"
    body = CTA_REDUCE + "Bs[63 - tx] = 1\nO[tx] = Bs[63 - tx]\n"
    assert not judge(body, declared=scratch).sound
    assert judge(body.replace("Bs[63", SYNC + "Bs[63", 1), declared=scratch).sound


# Declared functions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asynchronous", "inside", "verdict"),
    [
        (False, False, UNSOUND),
        (False, None, UNPROVED),
        (False, True, UNPROVED),
        (True, False, UNPROVED),  # it may wait for what it starts
    ],
)
def test_a_declaration_says_whether_there_are_barriers_inside(
    monkeypatch: pytest.MonkeyPatch, asynchronous: bool, inside: bool | None, verdict: VerdictKind
) -> None:
    declaration = Declaration(
        "hidden_f", (Argument(),), asynchronous, False, False, "a test", barriers_inside=inside
    )
    monkeypatch.setitem(DECLARED, "hidden_f", declaration.row)
    assert judge(f"{FIRST}T.call_extern('int32', 'hidden_f', tx)\n{THEN}").verdict is verdict


# Lint -------------------------------------------------------------------------------------------


def hazard_of(body: str) -> Hazard:
    (hazard,) = report_on(kernel_of(body)).hazards
    return hazard


def test_a_race_across_a_function_is_only_possible() -> None:
    read = "O[tx] = As[63 - tx]\n"
    hazard = hazard_of(f"{FIRST}T.evaluate({called(FLAG)})\n{read}")
    assert not hazard.certain
    assert hazard.undecided is not None
    assert hazard.undecided.kind is UndecidedKind.OPERATION
    assert "may hold a barrier, or wait for other threads" in hazard.undecided.sentence
    assert hazard_of(f"{FIRST}T.evaluate({PURE})\n{read}").certain
    assert hazard_of(f"{FIRST}{read}T.evaluate({called(FLAG)})\n").certain


# Barriers that are yet to come ------------------------------------------------------------------

POLL = under("while O[99] == 0", "T.evaluate(0)\n")
SET = "O[99] = 1\n"


@pytest.mark.parametrize("wait", [POLL, f"T.evaluate({SPINS})\n", WAIT_UNTIL])
def test_a_barrier_to_come_may_not_keep_threads_from_what_others_wait_for(wait: str) -> None:
    """The compiler's pass puts one between the branches, for the bytes that they share: the first
    one then waits for ever for what comes in the second one."""
    first = under("if tx >= 32", wait + CONSUME)
    second = under("if tx < 32", PRODUCE + SET)
    found = judge(first + second, assume_barriers=True)
    assert found.verdict is UNPROVED
    assert "may wait for ever" in found.first_finding
    assert found.open_pairs
    # Where they meet already, none is put in.
    assert judge(first + under("if tx < 32", SET) + SYNC + USE_A, assume_barriers=True).sound


def test_nor_from_an_mbarrier_that_others_wait_for() -> None:
    first, second = under("if tx >= 32", WAIT + CONSUME), PRODUCE + ARRIVE
    apart = init_barrier(32) + first + under("if tx < 32", second)
    assert judge(apart, assume_barriers=True).verdict is UNPROVED
    assert judge(init_barrier(32) + first + under("else", second), assume_barriers=True).sound
    ordered = under("if tx < 32", second) + first
    assert judge(init_barrier(32) + ordered, assume_barriers=True).sound


def test_a_barrier_that_is_there_is_refuted_where_it_keeps_others_from_an_arrival() -> None:
    """Behind the compiler's pass: no pair needs a trace then, as the barrier keeps all apart."""
    first, second = under("if tx >= 32", WAIT + CONSUME), under("if tx < 32", PRODUCE + ARRIVE)
    found = judge(init_barrier(32) + first + SYNC + second)
    assert found.verdict is UNSOUND
    (violation,) = found.violations
    assert (violation.rule, violation.buffers) == (Rule.COLLECTIVE, ("As", "Bs"))
    assert judge(init_barrier(32) + second + SYNC + first).sound


def test_where_data_decide_about_the_arrival_it_is_not_proved() -> None:
    first = under("if tx >= 32", WAIT + CONSUME)
    second = under("if tx < 32", PRODUCE + under("if O[tx] > 0", ARRIVE))
    assert judge(init_barrier(32) + first + SYNC + second).verdict is UNPROVED


def test_nor_from_what_an_index_says_that_a_thread_waits_for() -> None:
    """Each warp waits for the one before it: all threads come to the wait, not to one phase."""
    first, then = "As[63 - tx] = tx\nO[tx] = As[tx]\n", "Bs[63 - tx] = tx\nO[tx] = Bs[63 - tx]\n"
    poll = under("while O[tx // 32] == 0", "T.evaluate(0)\n")
    found = judge(first + poll + then + "O[tx // 32 + 1] = 1\n", assume_barriers=True)
    assert found.verdict is UNPROVED
    assert "may wait for ever" in found.first_finding
    one_place = poll.replace("tx // 32", "99")
    assert judge(first + one_place + then + "O[tx] = 1\n", assume_barriers=True).sound
    counts = under("if tx < 32", ARRIVE)
    waits = WAIT.replace("full[0]", "full[tx // 32]")
    begin = init_barrier(32) + init_barrier(32, "full[1]") + counts
    body = begin + first + waits + then + counts.replace("full[0]", "full[1]")
    assert judge(body, assume_barriers=True).verdict is UNPROVED
