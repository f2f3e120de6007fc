"""Loops that ask an mbarrier until a phase is over are waits; nothing else that asks is."""

from __future__ import annotations

import pytest

from smemreuse.linter import lint
from smemreuse.results.hazards import LintStatus
from smemreuse.results.verdict import SOUND
from tests.checker.small import (
    ARRIVE,
    CONSUME,
    PRODUCE,
    arms,
    init_barrier,
    judge,
    kernel_of,
    under,
)

_ASK = "T.call_extern('uint32', 'tl::mbarrier_try_wait', full[0], 0)"
_PTX = (
    "T.ptx.mbarrier(c[0], full[0], 0, 'try_wait', 'parity', 'acquire', 'cta', 'shared::cta', 'b64',"
    " '')\n"
)
_SLEEP = "T.call_extern('handle', '__nanosleep', 32)\n"


def _judged(wait: str) -> bool:
    """Whether the consumer's bytes may be the producer's."""
    found = judge(init_barrier(32) + arms(PRODUCE + ARRIVE, wait + CONSUME))
    return found.verdict == SOUND


@pytest.mark.parametrize(
    "wait",
    [
        under(f"while T.Not(T.cast({_ASK}, 'bool'))", _SLEEP),
        under(f"while {_ASK} == 0", "T.evaluate(0)\n"),
        under("while T.bool(True)", under(f"if {_ASK} != 0", "T.break_loop()\n")),
        "c[0] = 0\n" + under("while c[0] == 0", f"c[0] = T.cast({_ASK}, 'int32')\n"),
        under("while T.bool(True)", _PTX + under("if c[0] != 0", "T.break_loop()\n")),
        under(
            "while T.bool(True)",
            f"c[0] = T.cast({_ASK}, 'int32')\n" + under("if c[0] != 0", "T.break_loop()\n"),
        ),
    ],
)
def test_a_loop_that_asks_until_the_answer_is_yes_waits(wait: str) -> None:
    assert _judged(wait)
    report = lint(kernel_of(init_barrier(32) + arms(PRODUCE + ARRIVE, wait + CONSUME)))
    assert report.status is LintStatus.CLEAN, report


@pytest.mark.parametrize(
    "asks",
    [
        f"c[0] = T.cast({_ASK}, 'int32')\n",
        under(f"if {_ASK} == 0", _SLEEP),
        under(f"while {_ASK} != 0", _SLEEP),  # until it is not
        under(f"while {_ASK} == 0", "O[0] = 1\n"),  # something else is done
        under("while T.bool(True)", under(f"if {_ASK} == 0", "T.break_loop()\n")),
        under("while T.bool(True)", _PTX + under("if c[1] != 0", "T.break_loop()\n")),
        "c[0] = 0\n" + under("while c[0] == 0", _PTX),  # what an instruction sets is not followed
        under("while T.bool(True)", under(f"if {_ASK} != 0", "O[0] = 1\n") + "T.break_loop()\n"),
        under("while c[0] == 0", f"c[0] = T.cast({_ASK}, 'int32')\n"),  # may not be entered
        "c[0] = 1\n" + under("while c[0] == 0", f"c[0] = T.cast({_ASK}, 'int32')\n"),
        "c[0] = 0\n" + under("while c[0] == 0", f"c[1] = T.cast({_ASK}, 'int32')\n"),
        "c[0] = 0\n" + under("while c[0] == 0", _PTX.replace("acquire", "relaxed")),
        under("for k in range(9)", under(f"if {_ASK} != 0", "T.break_loop()\n")),
        under(f"while {_ASK.replace('full[0], 0', 'full[0], D[0]')} == 0", "T.evaluate(0)\n"),
    ],
)
def test_an_answer_alone_is_data(asks: str) -> None:
    assert not _judged(asks)


def test_a_flag_that_was_set_lets_the_next_loop_pass() -> None:
    """It is not reset: the second loop asks nobody, and the other mbarrier is not waited for."""
    first = under("while c[0] == 0", f"c[0] = T.cast({_ASK}, 'int32')\n")
    second = first.replace("full[0]", "full[1]")
    begin = init_barrier(32) + init_barrier(32, "full[1]")
    produce = ARRIVE + PRODUCE + ARRIVE.replace("full[0]", "full[1]")

    def judged(between: str) -> bool:
        return judge(begin + arms(produce, f"c[0] = 0\n{first}{between}{second}{CONSUME}")).sound

    assert judged("c[0] = 0\n")
    assert not judged("")
