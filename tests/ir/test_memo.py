"""Answers that are kept with a kernel."""

from __future__ import annotations

from smemreuse.ir.kernel import Kernel
from smemreuse.ir.memo import KernelMemo


def twice(number: int) -> int:
    return 2 * number


def test_an_answer_is_worked_out_once_for_each_argument() -> None:
    memo = KernelMemo()
    found = [memo.once(twice, lambda: twice(3), 3), memo.once(twice, lambda: 0, 3)]
    found.append(memo.once(twice, lambda: twice(4), 4))
    assert found == [6, 6, 8]
    assert memo.computed == {"twice": 2}


def test_an_answer_may_be_given_and_replaced() -> None:
    memo = KernelMemo()
    memo.keep(twice, 1)
    assert memo.once(twice, lambda: 2) == 1
    memo.keep(twice, 3)
    assert memo.once(twice, lambda: 2) == 3
    assert not memo.computed


def test_a_kernel_with_the_same_statements_learns_what_is_known() -> None:
    one, other = Kernel("one", ()), Kernel("other", ())
    one.memo.once(twice, lambda: 5)
    other.memo.learn(one.memo)
    assert other.memo.once(twice, lambda: 6) == 5
    assert one.memo is not other.memo
