"""How much is done to judge a plan: counted, and limited."""

from __future__ import annotations

import pytest

from smemreuse.checker import check_plan, share_work, work_of
from smemreuse.checker.budget import OF_CHECK, OF_FILE, OF_KERNEL, Work
from smemreuse.checker.errors import Uncovered
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import SCOPE, SYNC, USE_A, USE_B, judge_kernel, kernel_of, under


def nested(header: str, depth: int, body: str) -> str:
    for number in reversed(range(depth)):
        body = under(header.format(number), body)
    return body


def twice(text: str) -> str:
    return f"{text}{SYNC}{text.replace('As', 'Bs')}"


MANY = "".join(
    f"As[tx + {place}] = 1\n{SYNC}O[tx] = As[{place + 63} - tx]\n" for place in range(99)
)
BRANCHES = "".join(under(f"if D[{place}] > 0", f"As[tx + {place}] = 1\n") for place in range(300))
ROUNDS = under("for k in range(60000)", f"As[tx + k % 7919] = 1\n{SYNC}")

SLOW = {
    "nested loops of unknown length": (nested("for i{0} in range(D[{0}])", 25, USE_A + SYNC), 64),
    "loops one after the other": (
        "".join(under(f"for i in range(D[{n}])", MANY) for n in range(8)),
        999,
    ),
    "nested while": (nested("while D[{0}] > c[0]", 12, f"c[0] = c[0] + 1\n{USE_A}{SYNC}"), 64),
    "many accesses of large buffers": (MANY, 28_000),
    "branches on data": (BRANCHES, 28_000),
    "a long loop": (ROUNDS, 10_000),
    "larger than any shared memory": (USE_A, 1 << 20),
    "larger, and branches": (BRANCHES, 200_000),
}


@pytest.mark.parametrize("what", SLOW)
def test_every_kernel_gets_an_answer_within_the_budget(what: str) -> None:
    """No time is measured: the work counted is what must stay within its limits."""
    body, elements = SLOW[what]
    kernel = kernel_of(twice(body), elements=elements)
    work = Work(OF_KERNEL)
    plan = dict.fromkeys(kernel.allocations(SCOPE), 0)
    found = check_plan(kernel, SCOPE, plan, 4 * elements, {}, assume_barriers=False, work=work)
    assert found.verdict in (SOUND, UNPROVED, UNSOUND)
    assert work.done <= OF_CHECK
    if found.verdict is UNPROVED and not found.violations:
        assert found.uncovered


def test_all_plans_of_a_kernel_have_one_budget() -> None:
    kernel = kernel_of(f"{USE_A}{SYNC}{USE_B}")
    assert judge_kernel(kernel).sound
    once = work_of(kernel).done
    assert once > 0
    judge_kernel(kernel)
    assert work_of(kernel).done == 2 * once
    work_of(kernel).limit = 3 * once - 1
    found = judge_kernel(kernel)
    assert found.verdict is UNPROVED
    assert found.uncovered == ("budget: it takes too long to follow what the kernel does",)


def test_the_kernels_of_a_file_share_a_budget() -> None:
    kernels = [kernel_of(USE_A), kernel_of(USE_B)]
    share_work(kernels)
    one, two = map(work_of, kernels)
    assert one.limit == two.limit == OF_KERNEL
    one.do(OF_KERNEL)
    two.do(OF_FILE - OF_KERNEL)
    with pytest.raises(Uncovered, match="budget"):
        two.do(1)


def test_what_is_not_done_is_not_counted() -> None:
    whole = Work(10)
    part = Work(100, whole)
    part.do(9)
    with pytest.raises(Uncovered):
        part.do(2)
    part.do(1)
    assert whole.done == part.done == 10
