"""Why a hazard is only possible: which statement is open."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import Hazard
from tests.checker.small import kernel_of, under
from tests.linter.test_linter import report_on

FILL = "As[tx] = tx\n"
READ = "O[tx] = As[63 - tx]\n"
ASKED = "if D[bx] * D[bx] == 7"
"""Whether that ever holds is not known of any inputs that are tried."""


def hazards_of(body: str) -> list[Hazard]:
    return [*report_on(kernel_of(body)).hazards]


@pytest.mark.parametrize(
    ("body", "kind", "at"),
    [
        (FILL + under(ASKED, READ), "branch", "if D"),
        (FILL + under("for k in range(D[0])", under(ASKED, READ)), "branch", "if D"),
        (FILL + under(ASKED, under("for k in range(D[1])", READ)), "loop", "for k"),
        (FILL + "O[tx] = T.if_then_else(D[0] < 3, As[63 - tx], 0)\n", "access", "O["),
        # What may be missing is the write: a branch around both says nothing of it.
        (under(ASKED, under("if D[5] < 3", FILL) + "O[tx] = As[tx]\n"), "branch", "if D[5] < 3"),
        (under(ASKED, under("if tx < D[0]", FILL) + "O[tx] = As[tx]\n"), "branch", "if tx"),
    ],
)
def test_it_is_told_what_is_open(body: str, kind: str, at: str) -> None:
    (hazard, *more) = hazards_of(body)
    assert not more
    assert not hazard.certain
    assert hazard.undecided is not None
    assert hazard.undecided.kind.value == kind
    assert hazard.undecided.site.statement.startswith(at)
    assert f"(line {hazard.undecided.site.line})" in hazard.undecided.sentence


def test_a_loop_that_polls_memory_may_order_what_comes_before_and_after() -> None:
    poll = under("while O[99] == 0", "T.evaluate(0)\n")
    use = under("if tx < 32", FILL + "O[99] = 1\n") + under("if tx >= 32", f"{poll}{READ}")
    (hazard,) = hazards_of(use)
    assert hazard.undecided is not None
    assert (hazard.certain, hazard.undecided.site.statement) == (False, "while O[99] == 0")


def test_nothing_is_open_of_what_is_certain() -> None:
    (hazard,) = hazards_of(FILL + READ)
    assert hazard.certain
    assert hazard.undecided is None


def test_it_needs_no_kernel() -> None:
    (hazard,) = hazards_of(FILL + under(ASKED, READ))
    assert hazard.undecided is not None
    assert hazard.undecided.site.stmt is not None
    bare = hazard.without_statements().undecided
    assert bare is not None
    assert bare.site.stmt is None
    assert bare.sentence == hazard.undecided.sentence
