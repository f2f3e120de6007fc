"""Loops in which the block index decides something: which blocks run them alike."""

from __future__ import annotations

import pytest

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.execution.traces import Traces
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import (
    SYNC,
    TO_AND_FRO,
    arms,
    init_barrier,
    judge,
    kernel_of,
    setting_of,
    under,
)

BLOCKS = 16
IN_TURN = (
    f"As[63 - tx] = tx\n{SYNC}O[tx] = As[tx]\n{SYNC}Bs[63 - tx] = tx\n{SYNC}O[tx] = Bs[tx]\n{SYNC}"
)
"""A round that is right."""

RACE = f"As[63 - tx] = tx\n{SYNC}O[tx] = As[tx]\nBs[63 - tx] = 1\n{SYNC}"
"""A round in which no barrier is between As and Bs."""

TWO_WARPS = "".join(init_barrier(32, f"full[{slot}]") for slot in range(4))


def kinds(body: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many thread blocks are traced, where nothing is wrong."""
    tried: list[object] = []
    inner = Traces._cases

    def cases(self: Traces, *operands: object) -> object:
        tried.append(operands)
        return inner(self, *operands)  # type: ignore[arg-type]

    monkeypatch.setattr(Traces, "_cases", cases)
    kernel = kernel_of(body, blocks=BLOCKS)
    traces = Traces(setting_of(kernel, budget=20_000))
    traces.run(kernel.body)
    assert traces.outcome.is_clear
    return len(tried)


def judged(body: str) -> str:
    return judge(body, blocks=BLOCKS).verdict


def handed_over(producer: str, consumer: str, *, stop: str = "") -> str:
    """The first warp fills a stage of As in each round, the second one empties it; then Bs."""
    fill = (
        "T.mbarrier_wait_parity(full[2 + k % 2], T.bitwise_xor(k % 4 // 2, 1))\n"
        "As[tx + k % 2 * 32] = k\n"
        "T.ptx_arrive_barrier(full[k % 2])\n"
    )
    empty = (
        f"{stop}"
        "T.mbarrier_wait_parity(full[k % 2], k % 4 // 2)\n"
        "O[tx] = As[tx - 32 + k % 2 * 32]\n"
        "T.ptx_arrive_barrier(full[2 + k % 2])\n"
    )
    behind = (
        f"{SYNC}Bs[63 - tx] = 1\n{SYNC}O[tx] = Bs[tx]\n{SYNC}As[tx] = 1\n{SYNC}O[tx] = As[tx]\n"
    )
    return TWO_WARPS + arms(under(producer, fill), under(consumer, empty)) + behind


@pytest.mark.parametrize(
    ("header", "number"),
    [
        ("for k in range(bx, bx + 8)", 1),  # the same number, wherever they begin
        ("for k in range(bx * 2, 60)", 1),  # so many more or fewer, of a loop that is shortened
        ("for k in range(bx % 4 + 1)", 4),  # as many rounds as are executed of each
        ("for k in range(0, bx * 0 + 8)", 1),
    ],
)
def test_blocks_with_other_rounds_of_the_same_kind_run_a_loop_alike(
    header: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kinds(under(header, IN_TURN), monkeypatch) == number


def test_a_loop_that_asks_for_its_first_round_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    body = under("if k == bx * 2", TO_AND_FRO + SYNC) + IN_TURN
    assert kinds(under("for k in range(bx * 2, bx + 90)", body), monkeypatch) == 1


def test_rounds_that_do_something_else_make_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    body = under("if (k + bx) % 2 == 0", IN_TURN)
    assert kinds(under("for k in range(bx, bx + 8)", body), monkeypatch) == 1
    assert kinds(under("for k in range(8)", body), monkeypatch) == 2


@pytest.mark.parametrize(
    "condition",
    [
        "bx == 11",
        "k == 30 + bx * 2",  # somewhere in the middle, in few blocks
        "k == 49 and bx == 5",
        "k - bx * 2 == 44",  # in the longest loops alone
        "k == bx + 3",
        "k - bx * 2 + bx // 15 == 20",
        "k == 59 and bx % 8 == 7",  # the last round
    ],
)
def test_what_goes_wrong_in_some_rounds_of_some_blocks_is_found(condition: str) -> None:
    loop = "for k in range(bx * 2, 60)"
    assert judged(under(loop, IN_TURN)) == SOUND
    wrong = under(f"if {condition}", RACE)
    assert judged(under(loop, wrong + IN_TURN)) == UNSOUND
    assert judged(under(loop, IN_TURN + wrong)) == UNSOUND


def test_what_goes_wrong_behind_the_rounds_that_are_left_out_is_found() -> None:
    last = under("if k == 59", under("if bx == 9", RACE))
    assert judged(under("for k in range(bx * 2, 60)", IN_TURN + last)) == UNSOUND


def test_what_goes_wrong_in_an_inner_loop_of_some_blocks_is_found() -> None:
    inner = under("for j in range(bx % 5 - 3)", RACE)
    assert judged(under("for k in range(bx * 2, 60)", IN_TURN + inner)) == UNSOUND


def test_what_goes_wrong_behind_a_loop_of_some_length_is_found() -> None:
    loop = under("for k in range(bx * 2, 60)", IN_TURN)
    assert judged(loop + under("if bx == 13", RACE)) == UNSOUND


def test_a_loop_that_is_not_run_is_no_loop_that_is() -> None:
    filled = f"As[tx] = 1\n{SYNC}Bs[tx] = 1\n{SYNC}"
    again = under("for k in range(bx)", f"As[63 - tx] = k\n{SYNC}") + "O[tx] = As[tx]\n"
    assert judged(filled + again) == UNSOUND  # block 0 reads what Bs has left


def test_arms_whose_loops_depend_on_the_block_are_shortened_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = "for k in range(bx * 4, 120)"
    body = handed_over(loop, loop)
    assert judged(body) == SOUND
    assert kinds(body, monkeypatch) == 1


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        ("for k in range(bx * 4, 120)", "for k in range(120)"),
        ("for k in range(120 - bx * 4)", "for k in range(120)"),
        ("for k in range(120)", "for k in range(120 - bx * 4)"),
        ("for k in range(120 - bx // 15 * 4)", "for k in range(120)"),
        ("for k in range(120 - bx // 8)", "for k in range(120 - bx // 9)"),
    ],
)
def test_arms_that_do_not_go_round_as_often_are_not_proved(producer: str, consumer: str) -> None:
    assert judged(handed_over(producer, consumer)) != SOUND


def test_lengths_that_leave_another_phase_are_kinds_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, other = "for k in range(120 - bx)", "for k in range(bx, 120)"
    assert kinds(handed_over(loop, loop), monkeypatch) == 4
    assert kinds(handed_over(other, other), monkeypatch) == 4


@pytest.mark.parametrize(("block", "verdict"), [(6, SOUND), (8, UNPROVED)])
def test_a_phase_behind_loops_is_that_of_each_block(block: int, verdict: str) -> None:
    loop = "for k in range(120 - bx)"
    late = under("if tx >= 32", "T.mbarrier_wait_parity(full[1], 0)\n")
    assert judged(handed_over(loop, loop) + under(f"if bx == {block}", late)) == verdict


def test_what_a_loop_counts_is_not_compared() -> None:
    count = "c[0] = c[0] + 1\n"
    loop = "c[0] = 0\n" + under("for k in range(bx * 2, 60)", count + IN_TURN)
    assert judged(loop + under("if c[0] == 36", RACE)) == UNSOUND
    assert judged(loop + under("if c[0] == 61", RACE)) == SOUND


def test_where_data_decide_loops_are_not_compared() -> None:
    loop = "for k in range(bx * 4, 120)"
    asked = under("if D[k] == D[4]", "T.ptx_arrive_barrier(full[1])\n")
    assert judged(handed_over(loop, loop, stop=asked)) != SOUND


def test_the_rounds_of_more_blocks_than_are_compared_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = under("for k in range(bx * 2, 60)", IN_TURN)
    monkeypatch.setattr("smemreuse.checker.loops.loop_runs.MAX_ROUNDS", 100)
    assert kinds(body, monkeypatch) == 1
    monkeypatch.setattr("smemreuse.checker.loops.loop_runs.MAX_ROUNDS", 50)
    assert kinds(body, monkeypatch) > 1  # too long to be compared


def test_loops_of_other_blocks_that_are_far_too_long_are_not_evaluated() -> None:
    kernel = kernel_of(under("for k in range(bx * 1000000000000 + 60)", IN_TURN), blocks=BLOCKS)
    with pytest.raises(Uncovered, match="budget"):
        Traces(setting_of(kernel, budget=20_000)).run(kernel.body)


@pytest.mark.parametrize(
    ("offset", "sound"),
    [
        ("k % 2", True),
        ("T.if_then_else(k == 200, 0, k % 2)", True),
        ("T.if_then_else(k == 41, 0, k % 2)", False),  # a phase that is over already
        ("T.if_then_else(k == 41 and bx == 7, 0, k % 2)", False),
    ],
)
@pytest.mark.parametrize(
    "header", ["for k in range(120)", "for k in range(bx // 7 * 28, bx // 7 * 28 + 16)"]
)
@pytest.mark.parametrize("index", ["0", "k - k"])
def test_where_a_view_of_mbarriers_begins_is_compared(
    offset: str, sound: bool, header: str, index: str
) -> None:
    """The second warp waits for what the first has put into As and Bs in turn."""
    view = (
        'M = T.decl_buffer((1,), "uint64", data=full.data, '
        f'elem_offset={offset}, scope="shared.barrier")\n'
    )
    fill, empty = (
        under("if k % 4 < 2", text.format("As")) + under("else", text.format("Bs"))
        for text in ("{}[tx + k % 2 * 32] = k\n", "O[tx] = {}[tx - 32 + k % 2 * 32]\n")
    )
    freed = "T.mbarrier_wait_parity(full[2 + k % 2], T.bitwise_xor(k % 4 // 2, 1))\n"
    filled = f"{view}T.mbarrier_wait_parity(M[{index}], k % 4 // 2)\n"
    body = TWO_WARPS + arms(
        under(header, f"{freed}{fill}T.ptx_arrive_barrier(full[k % 2])\n"),
        under(header, f"{filled}{empty}T.ptx_arrive_barrier(full[2 + k % 2])\n"),
    )
    assert (judged(body) == SOUND) is sound
