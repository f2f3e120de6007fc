"""Where a later pass may be content with barriers of the threads in one arm."""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import SOUND, UNPROVED, VerdictKind
from tests.checker.small import COPY_A, SYNC, judge, under
from tests.linter.test_linter import found

MEET = 'T.tvm_storage_sync("shared", 1, 32)\n'
GOES_ROUND_C = under("for k in range(3)", "Cs[31 - tx] = k\nO[tx] = Cs[tx]\n")
GOES_ROUND = under("for k in range(3)", "As[31 - tx] = k\nO[tx] = As[tx]\n")
GOES_ROUND_AND_C = under("for k in range(3)", "As[31 - tx] = k\nO[tx] = As[tx]\nO[tx] = Cs[tx]\n")
DECLARED_C = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
WRITE_B = "Bs[(tx * 3 + 31) % 64] = 1\n"
READ_B = "O[tx] = Bs[tx]\n"
FORTH = f"{SYNC}As[tx] = 1\nO[tx] = As[tx]\n"
"""So that of neither buffer all accesses come first, and the trace is asked."""


def some(body: str) -> str:
    return under("if tx < 32", body)


@pytest.mark.parametrize(
    "arm",
    [
        f"As[31 - tx] = tx\n{MEET}O[tx] = As[tx]\n",
        "As[31 - tx] = tx\nO[tx] = As[tx]\n",
        GOES_ROUND,
    ],
)
def test_what_is_done_before_or_behind_an_arm_needs_a_barrier_of_all(arm: str) -> None:
    """In the arm threads meet between what they do to As and to Cs, and that is enough for it."""

    def verdict(body: str) -> VerdictKind:
        declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
        found = judge(body, declared=declared, offsets={"Cs": 256}, assume_barriers=True)
        return found.verdict

    before, behind = some(GOES_ROUND_C + arm), some(arm + GOES_ROUND_C)
    for body in (behind + WRITE_B + FORTH, FORTH + WRITE_B + before):
        assert verdict(body) is UNPROVED
    assert verdict(behind + SYNC + WRITE_B + FORTH) is SOUND
    assert verdict(FORTH + WRITE_B + SYNC + before) is SOUND


def test_what_comes_behind_all_barriers_of_an_arm_is_compared_with_what_is_behind_it() -> None:
    arm = "As[31 - tx] = tx\nO[tx] = As[tx]\n"
    assert judge(some(arm) + WRITE_B + FORTH, assume_barriers=True).sound


@pytest.mark.parametrize(
    "arm",
    [
        "As[31 - tx] = tx\n",
        under("for k in range(2)", "As[31 - tx + k * 32] = k\n"),
        "Bs[tx + 32] = As[31 - tx]\n",
    ],
)
def test_where_nothing_collides_it_puts_no_barrier_in_an_arm(arm: str) -> None:
    assert judge(some(arm) + WRITE_B + FORTH, assume_barriers=True).sound
    assert judge(FORTH + WRITE_B + some(arm), assume_barriers=True).verdict is not UNPROVED


def test_a_wait_for_copies_brings_one() -> None:
    def verdict(between: str) -> VerdictKind:
        arm = f"{COPY_A}T.ptx_commit_group()\nT.ptx_wait_group(0)\n"
        body = some(arm) + between + WRITE_B + FORTH
        found = judge(body, declared=DECLARED_C, offsets={"Cs": 256}, assume_barriers=True)
        return found.verdict

    assert verdict("") is UNPROVED
    assert verdict(SYNC) is SOUND


@pytest.mark.parametrize(
    "rounds",
    ["As[tx] = k + As[31 - tx]\n", "As[tx] = k + As[31 - tx]\nO[tx] = Cs[tx]\n"],
)
def test_behind_what_a_round_ends_with_no_barrier_is_taken_for_met(rounds: str) -> None:
    """Whatever is in the loop: what collides with that has one before it."""
    arm = under("for k in range(3)", rounds)
    again = under("if c[0] < 3", arm)
    for body in (f"{some(arm)}{WRITE_B}{FORTH}", f"c[0] = 5\n{again}{WRITE_B}{FORTH}"):
        found = judge(body, declared=DECLARED_C, offsets={"Cs": 256}, assume_barriers=True)
        assert found.sound


def test_the_threads_of_an_arm_meet_there() -> None:
    arm = f"{GOES_ROUND}Bs[31 - tx] = 1\nO[tx] = Bs[tx]\n{GOES_ROUND}"
    assert judge(some(arm), assume_barriers=True).sound
    assert judge(some(some(arm)), assume_barriers=True).sound


def test_what_collides_before_the_first_barrier_of_an_arm_is_seen_before_it() -> None:
    first = f"O[tx] = Cs[tx]\n{GOES_ROUND}"
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
    places = {"Cs": 256}
    for before, sound in ((f"{WRITE_B}Cs[63 - tx] = 1\n", True), (WRITE_B, False)):
        body = FORTH + before + some(first)
        assert judge(body, declared=declared, offsets=places, assume_barriers=True).sound is sound


def test_a_pointer_is_not_compared_with_elements() -> None:
    arm = f"{COPY_A}T.ptx_commit_group()\nT.ptx_wait_group(0)\n"
    first = arm.replace("As.data", "Cs.data") + GOES_ROUND
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
    found = judge(
        FORTH + WRITE_B + some(first), declared=declared, offsets={"Cs": 256}, assume_barriers=True
    )
    assert found.sound


OTHERS = under("if tx >= 32", "Bs[63 - tx] = 1\nO[tx] = Bs[tx - 32]\n")
"""They write before a barrier of their own, and read behind it."""


def test_the_last_of_one_arm_collides_with_the_first_of_the_next() -> None:
    """So that a barrier of all stands between, whatever else is in the two."""

    def proved(body: str) -> bool:
        arms, places = some(body) + OTHERS, {"Cs": 256}
        return judge(arms + FORTH, declared=DECLARED_C, offsets=places, assume_barriers=True).sound

    assert proved(f"{GOES_ROUND}O[tx] = As[tx]\n")
    assert proved(GOES_ROUND)
    assert proved(GOES_ROUND_AND_C)
    assert not proved(f"{GOES_ROUND}Cs[31 - tx] = 1\nO[tx] = Cs[tx]\n")


def test_what_a_round_leaves_open_collides_with_the_next_one() -> None:
    arms = some(f"As[31 - tx] = k\nO[tx] = As[tx]\n{GOES_ROUND}O[tx] = As[tx]\n") + under(
        "else", "Bs[63 - tx] = 1\nO[tx] = Bs[tx - 32]\n"
    )
    body = under("for k in range(3)", f"{arms}")
    assert not judge(body, assume_barriers=True).sound  # at the same time, in one round


def test_there_is_no_barrier_between_the_arms_of_a_branch() -> None:
    """So that what threads have done in the other arm before is not forgotten for it."""

    def filled(orelse: str) -> str:
        then = "As[63 - tx] = D[tx]\n"
        return under("if D[1] == 0", then) + under("else", orelse) + "O[tx] = As[tx]\n"

    either = under("if D[0] < tx", "As[tx] = 1\n") + under("else", "As[tx] = 2\n")
    assert found(filled(either), later=True) == []
    again = under("for k in range(2)", "O[tx] = As[63 - tx]\n" + either)
    assert found(filled("As[tx] = 0\n" + again), later=True) == [("race", False)]


def test_a_barrier_after_a_branch_comes_whichever_arm_threads_take() -> None:
    """In a loop, too, in one round of which they may take the one, and in another the other."""
    fill = under("if tx < D[0] + k", "As[k * 64 + tx] = D[tx]\n")
    fill += under("else", "As[k * 64 + tx] = 0\n")
    filled = under("for k in range(3)", fill) + "O[tx] = As[tx + 65]\n"
    body = FORTH + filled + "Bs[tx] = 1\nO[tx] = Bs[tx]\n"
    assert judge(body, elements=192, assume_barriers=True).sound


def test_a_wait_that_is_all_there_is_in_an_arm_has_its_barrier_after_the_branch() -> None:
    """For those, too, who took the other arm and stored."""
    fill = under("if D[1] == 0", f"{COPY_A}T.ptx_commit_group()\n") + under("else", "As[tx] = 0\n")
    wait = under("if D[1] == 0", "T.ptx_wait_group(0)\n")
    assert found(fill + wait + "O[tx] = As[63 - tx]\n", later=True) == []


GOES_ROUND_OTHERS = "O[tx] = As[tx * 5 % 64]\nAs[tx] = k\n"
"""Whether there is a barrier in such a loop or not, what it stores last is behind it."""


@pytest.mark.parametrize(
    ("rounds", "hazards"),
    [
        (GOES_ROUND_OTHERS, []),
        (f"{GOES_ROUND_OTHERS}{under('if k == 1', 'As[tx] = 2' + chr(10))}", []),
        (f"As[tx] = k\n{SYNC}O[tx] = As[tx * 5 % 64]\n", [("race", False)]),
        (f"{GOES_ROUND_OTHERS}{SYNC}", [("race", False)]),
        # before what is last there may be a barrier for what it does in the next round
        ("As[tx] = k\nBs[tx] = Bs[63 - tx]\n", [("race", False)]),
    ],
)
def test_what_a_loop_in_the_second_arm_ends_with_is_compared(
    rounds: str, hazards: list[tuple[str, bool]]
) -> None:
    """The first arm is forgotten where there may be a barrier in the second, and what collides with
    the end of that has one before it all the same."""
    first = under("if D[0] < 3", "As[63 - tx] = 1\nBs[tx] = 1\n")
    second = under("else", f"Bs[tx] = 1\n{SYNC}" + under("for k in range(3)", rounds))
    behind = "O[tx] = As[tx * 3 % 64]\n"
    report = found(first + second + behind, later=True)
    assert [one for one in report if one[0] == "race"][-1:] == hazards
