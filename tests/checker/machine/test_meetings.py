"""Named barriers: who may meet whom."""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import UNPROVED
from tests.checker.small import SYNC, judge, under

MEET = 'T.tvm_storage_sync("shared", {}, 64)\n'


def two_arms(first: str, second: str) -> str:
    """Each half reads all of its part of A, meets, and writes over it."""
    one = f"O[tx] = As[63 - tx]\n{first}Bs[tx] = tx\n"
    two = f"O[tx] = As[191 - tx]\n{second}Bs[tx] = tx\n"
    return f"As[tx] = tx\n{SYNC}" + under("if tx < 64", one) + under("else", two)


def test_each_arm_may_have_a_barrier_of_its_own() -> None:
    assert judge(two_arms(MEET.format(1), MEET.format(2)), threads=128).sound


def test_two_arms_at_one_named_barrier_do_not_wait_for_their_own_threads() -> None:
    """`bar.sync 1, 64` is complete when any two warps have come: one of each arm."""
    found = judge(two_arms(MEET.format(1), MEET.format(1)), threads=128)
    assert found.verdict == UNPROVED
    assert "may be at that barrier at once (rule 12)" in found.first_finding
    assert not found.uncovered


@pytest.mark.parametrize("number", ["D[0]", "tx"])
def test_a_barrier_whose_number_is_not_known_may_be_any(number: str) -> None:
    found = judge(two_arms(MEET.format(number), MEET.format(2)), threads=128)
    assert found.verdict == UNPROVED
    assert "number of a named barrier" in " ".join(found.uncovered)


def test_others_may_use_a_number_when_they_know_the_last_use_to_be_over() -> None:
    first = f"O[tx] = As[63 - tx]\n{MEET.format(1)}Bs[tx] = tx\n"
    second = f"O[tx] = As[191 - tx]\n{MEET.format(1)}Bs[tx] = tx\n"
    body = f"As[tx] = tx\n{SYNC}" + under("if tx < 64", first)
    assert judge(body + SYNC + under("if tx >= 64", second), threads=128).sound
    # The branches stand one behind the other: nobody waits for those in the first.
    assert not judge(body + under("if tx >= 64", second), threads=128).sound


def test_the_same_threads_may_meet_at_one_number_again_and_again() -> None:
    rounds = under("for k in range(3)", MEET.format(1))
    assert judge(two_arms(rounds, MEET.format(2) * 2), threads=128).sound


def test_behind_a_branch_on_data_it_is_open_who_met_last() -> None:
    mine = under("if tx < 64", f"O[tx] = As[63 - tx]\n{MEET.format(1)}Bs[tx] = tx\n")
    others = under("if D[0] > 0", under("if tx >= 64", MEET.format(1)))
    assert not judge(f"As[tx] = tx\n{SYNC}{others}{mine}", threads=128).sound
    assert judge(f"As[tx] = tx\n{SYNC}{mine}", threads=128).sound
