"""Arms that data send each thread into by itself: who is in both, and what they fill together."""

from __future__ import annotations

import pytest

from tests.checker.small import SYNC, WAIT, init_barrier, tma_load, under
from tests.linter.test_linter import found

RACE, UNWRITTEN = ("race", False), ("uninitialised-read", False)
BACK = f"{SYNC}O[tx] = As[63 - tx]\n"
MINE, ZERO = "As[tx] = D[tx]\n", "As[tx] = 0\n"
HALF = under("if tx // 32 == i", MINE)
READ = "O[tx] = As[tx]\n"
NEXT = "As[(tx + 1) % 64] = 0\n"


def either(then: str, orelse: str = "", condition: str = "D[tx] > 0") -> str:
    return under(f"if {condition}", then) + (under("else", orelse) if orelse else "")


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        # Each thread has the same element in either.
        (either(MINE, ZERO) + BACK, []),
        (either(MINE, ZERO, "tx < D[0]") + BACK, []),
        (either(MINE, either(ZERO, MINE, "D[tx + 64] > 0")) + BACK, []),
        (either(MINE, either(ZERO, MINE, "D[0] > 0")) + BACK, []),
        (either(MINE, either(either(ZERO, MINE, "tx < 7"), ZERO, "D[0] > 0")) + BACK, []),
        (either(under("for i in T.unroll(2)", HALF), ZERO) + BACK, []),
        (under("for k in range(D[0])", either(MINE, ZERO) + BACK + SYNC), []),
        # Of what is read in one arm and written in the other by the same thread.
        (ZERO + either("O[tx] = As[tx]\n", MINE) + BACK, []),
        # What a thread reads in the arm in which it wrote it.
        (either(MINE + READ), []),
        (either(MINE + either(READ, condition="D[tx + 64] > 0")), []),
        (either(MINE + either(READ, either(READ), "D[0] > 0")), []),
        (either(MINE + under("for i in T.unroll(2)", either(READ, condition="D[i] > 0"))), []),
        (either(either(MINE) + READ), [UNWRITTEN]),
        (either(either(MINE, condition="D[0] > 0") + READ), [UNWRITTEN]),
        (either(MINE, READ), [UNWRITTEN]),
        (either(MINE) + READ, [UNWRITTEN]),
        (either("As[tx // 2] = 1\n" + "O[tx] = As[tx // 2]\n"), [UNWRITTEN]),
        (either(MINE + "O[tx] = As[63 - tx]\n"), [RACE, UNWRITTEN]),
        (either(under("for i in range(D[9])", MINE) + READ), [UNWRITTEN]),
        # One thread's element is another's in the other arm.
        (ZERO + SYNC + either(MINE, NEXT) + BACK, [RACE]),
        (ZERO + SYNC + either("O[tx] = As[(tx + 1) % 64]\n", MINE) + BACK, [RACE]),
        (ZERO + SYNC + either(MINE, "O[tx] = As[(tx + 1) % 64]\n") + BACK, [RACE]),
        (ZERO + SYNC + either(MINE, either(MINE, NEXT, "D[1] > 0")) + BACK, [RACE]),
        # Not all of it is filled, whichever arm is taken.
        (either(MINE) + BACK, [UNWRITTEN]),
        (either(MINE, either(ZERO)) + BACK, [UNWRITTEN]),
        (either(MINE, either(ZERO, condition="D[0] > 0")) + BACK, [UNWRITTEN]),
        (either(MINE, under("if tx < 40", ZERO)) + BACK, [UNWRITTEN]),
        (either(MINE, NEXT) + BACK, [RACE, UNWRITTEN]),
        # Several threads have one element: who writes it is not known.
        (either("As[tx // 2] = 1\n", "As[tx // 2] = 1\n") + SYNC + "O[tx] = As[tx // 2]\n",
         [RACE, UNWRITTEN]),
    ],
)  # fmt: skip
def test_what_arms_do_together(body: str, hazards: list[tuple[str, bool]]) -> None:
    assert sorted(found(body)) == sorted(hazards)


def test_a_loop_of_any_length_fills_nothing_for_sure() -> None:
    loop = under("for i in range(D[9])", MINE)
    assert UNWRITTEN in found(either(loop, ZERO) + BACK)
    assert UNWRITTEN in found(either(MINE, loop) + BACK)


@pytest.mark.parametrize(
    ("behind", "hazards"),
    [
        ("As[tx] = tx\n", []),  # each of the threads that write the loaded bytes has waited
        ("As[63 - tx] = tx\n", [("missing-wait", True)]),
        ("if tx >= 32:\n    As[tx - 32] = tx\n", [("missing-wait", True)]),
    ],
)
def test_who_touches_what_is_loaded_has_to_have_waited(
    behind: str, hazards: list[tuple[str, bool]]
) -> None:
    """The load fills the elements of the first warp, which alone waits for it."""
    body = init_barrier(1)
    load = "T.ptx_arrive_barrier_expect_tx(full[0], 128)\n" + tma_load("As", 32)
    body += under("if tx == 32", load) + under("if tx < 32", WAIT) + behind
    assert [one for one in found(body) if one[0] == "missing-wait"] == hazards
