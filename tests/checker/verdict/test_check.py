"""From findings and what is not covered to a verdict."""

from __future__ import annotations

import pytest

from smemreuse.checker import check_plan
from smemreuse.checker.execution.traces import MAX_KINDS
from smemreuse.checker.verdict.check import MAX_BUFFER
from smemreuse.results.verdict import BARRIERS_FOLLOW, SOUND, UNPROVED, UNSOUND
from smemreuse.semantics.accesses import KernelAccesses
from tests.checker.small import (
    COPY_A,
    SCOPE,
    SYNC,
    TO_AND_FRO,
    USE_A,
    USE_B,
    judge,
    kernel_of,
    under,
)

RACE = "As[63 - tx] = 1\nBs[tx] = 1\n"
UNCOVERED = "T.mangle(As.data)\n"


def test_without_bytes_in_common_nothing_is_executed() -> None:
    found = judge(RACE + UNCOVERED, offsets={"Bs": 256})
    assert (found.verdict, found.assumptions) == (SOUND, ())


def test_a_plan_that_is_misplaced_is_not_executed_either() -> None:
    found = judge(UNCOVERED, offsets={"Bs": -4})
    assert (found.verdict, found.uncovered) == (UNSOUND, ())
    assert [one.rule for one in found.violations] == [7]


def test_alignments_are_asked_for() -> None:
    kernel = kernel_of(USE_A)
    a, b = kernel.allocations(SCOPE)
    found = check_plan(kernel, SCOPE, {a: 0, b: 264}, 1024, {b: 16}, assume_barriers=False)
    assert [(one.rule, one.buffers) for one in found.violations] == [(7, ("Bs",))]


@pytest.mark.parametrize(("needed", "verdict"), [(1024, SOUND), (2048, UNPROVED)])
def test_an_offset_does_not_align_what_the_arena_is_not_aligned_to(
    needed: int, verdict: str
) -> None:
    kernel = kernel_of(USE_A)
    a, b = kernel.allocations(SCOPE)
    found = check_plan(kernel, SCOPE, {a: 2048, b: 0}, 4096, {a: needed}, assume_barriers=False)
    assert found.verdict == verdict
    assert len(found.uncovered) == (verdict == UNPROVED)


def test_what_is_certain_is_told_even_if_something_else_is_not_covered() -> None:
    found = judge(RACE + UNCOVERED)
    assert found.verdict == UNSOUND
    assert [one.rule for one in found.violations] == [6]
    assert len(found.uncovered) == 1


def test_what_is_only_possible_is_no_refutation() -> None:
    found = judge(under("if D[0] < 3", RACE))
    assert found.verdict == UNPROVED
    assert [one.rule for one in found.violations] == [6]


def test_beside_what_is_certain_what_is_possible_is_not_told() -> None:
    found = judge(COPY_A + RACE.replace("As", "O") + under("if D[0] < 3", f"{SYNC}{RACE}"))
    assert found.verdict == UNSOUND
    assert [one.rule for one in found.violations] == [5]


def test_the_assumption_is_told_with_every_verdict_that_rests_on_it() -> None:
    for body, verdict in ((USE_A + USE_B, SOUND), (under("if D[tx] < 3", RACE), UNPROVED)):
        found = judge(body, assume_barriers=True)
        assert (found.verdict, found.assumptions) == (verdict, (BARRIERS_FOLLOW,))
    assert judge(USE_A + SYNC + USE_B).assumptions == ()


def test_a_view_larger_than_its_allocation_proves_nothing() -> None:
    declared = 'v = T.decl_buffer((99,), "int32", data=As.data, scope="shared.dyn")'
    for offsets in ({"Bs": 0}, {"Bs": 256}):
        found = judge(USE_A, declared=declared, offsets=offsets)
        assert (found.verdict, found.uncovered) == (
            UNPROVED,
            ("v, a view of As, is larger than that",),
        )


def test_a_block_of_each_kind_is_tried() -> None:
    branch = under("if bx == 5", "Bs[63 - tx] = 1\n") + under("else", "Bs[tx] = 1\n")
    assert judge(f"As[tx] = 1\n{branch}", blocks=5).sound
    assert judge(f"As[tx] = 1\n{branch}", blocks=6).verdict == UNSOUND


def test_more_kinds_of_blocks_than_are_tried_are_not_covered() -> None:
    """Each kind alone is proved, and an unknown one is not."""
    body = "As[tx] = 1\n" + under("for k in range(bx)", "c[0] = k\nBs[tx] = c[0]\n")
    body += under("if bx >= 1", "O[tx] = Bs[tx]\n") + under("if bx < 1", "O[tx] = As[tx]\n")
    assert judge(body, blocks=MAX_KINDS).sound
    found = judge(body, blocks=MAX_KINDS + 1)
    assert found.uncovered == (f"more than {MAX_KINDS} kinds of thread blocks",)


def test_a_block_of_which_nothing_is_known_may_stand_for_many() -> None:
    body = "As[tx] = 1\n" + under("for k in range(bx)", "c[0] = k\nBs[tx] = c[0]\n")
    assert judge(body, blocks=4 * MAX_KINDS).sound
    wrong = under(f"if bx == {3 * MAX_KINDS}", "O[tx] = As[tx]\n")
    assert judge(body + wrong, blocks=4 * MAX_KINDS).verdict is UNPROVED
    wrong = under("if bx == 2", "O[tx] = As[tx]\n")
    assert judge(body + wrong, blocks=4 * MAX_KINDS).verdict is UNSOUND


def test_what_the_first_kinds_showed_is_kept_where_a_later_one_is_not_covered() -> None:
    branch = under("if bx == 0", "Bs[63 - tx] = 1\n") + under("else", UNCOVERED)
    found = judge(f"As[tx] = 1\n{branch}", blocks=2)
    assert found.verdict == UNSOUND
    assert len(found.uncovered) == 1


def test_a_kernel_whose_threads_are_not_known_is_not_covered() -> None:
    found = judge(RACE + 'ty = T.launch_thread("threadIdx.y", T.int32(D[0]))\n')
    assert found.verdict == UNPROVED
    assert found.uncovered == ("the extent of threadIdx.y is not one constant",)


def test_a_buffer_that_is_too_large_is_not_followed() -> None:
    found = judge(TO_AND_FRO, elements=MAX_BUFFER // 4 + 1)
    assert found.verdict == UNPROVED
    assert found.uncovered == ("As is too large to be followed",)


def test_a_budget_of_steps() -> None:
    kernel = kernel_of(TO_AND_FRO)
    a, b = kernel.allocations(SCOPE)
    plan = {a: 0, b: 0}
    few = check_plan(kernel, SCOPE, plan, 256, {}, assume_barriers=False, budget=3)
    assert few.uncovered == ("budget: more than 3 steps",)
    enough = check_plan(kernel, SCOPE, plan, 256, {}, assume_barriers=False, budget=11)
    assert enough.sound


def test_accesses_that_somebody_has_found_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = kernel_of(USE_A + SYNC + USE_B)
    a, b = kernel.allocations(SCOPE)
    accesses = KernelAccesses.of(kernel.body)

    def never(body: object) -> KernelAccesses:
        raise AssertionError("they are known")

    monkeypatch.setattr(KernelAccesses, "of", staticmethod(never))
    plan = {a: 0, b: 0}
    assert check_plan(kernel, SCOPE, plan, 256, {}, assume_barriers=False, accesses=accesses).sound


def test_a_plan_has_to_place_every_buffer_that_is_used() -> None:
    kernel = kernel_of(USE_A + USE_B)
    (one, _) = kernel.allocations(SCOPE)
    found = check_plan(kernel, SCOPE, {one: 0}, 1024, {})
    assert found.verdict == UNPROVED
    assert found.uncovered == ("the plan gives no place to Bs, which is used",)


_COPIED = under("if {0} > 0", f"{COPY_A}T.ptx_commit_group()\n") + under("else", "As[tx] = 0\n")
_WAITED = under("if {0} > 0", "T.ptx_wait_group(0)\n")


@pytest.mark.parametrize(
    ("copied", "between", "waited", "sound"),
    [
        ("D[0]", "", "D[0]", True),
        ("D[0]", "", "D[1]", False),
        ("D[0]", "D[0] = 0\n", "D[0]", False),
        ("D[0]", "D[5] = 0\n", "D[0]", False),  # may be the same memory
        ("D[tx]", "", "D[tx]", False),  # nothing that all threads have in common
    ],
)
def test_what_the_same_data_decide_twice_does_not_go_two_ways(
    copied: str, between: str, waited: str, sound: bool
) -> None:
    body = f"{_COPIED.format(copied)}{between}{_WAITED.format(waited)}{SYNC}O[tx] = As[tx]\n"
    found = judge(f"{body}{SYNC}{USE_B}")
    assert found.sound is sound
    assert found.sound or any(one.rule == 5 for one in found.violations)


def test_cases_that_are_too_many_leave_what_has_been_found() -> None:
    many = "".join(under(f"if D[{n}] > 0", "As[tx] = 1\n") for n in range(2, 14))
    body = f"{_COPIED.format('D[0]')}{many}{_WAITED.format('D[0]')}{SYNC}{USE_B}"
    found = judge(body)
    assert not found.sound
    assert [one.rule for one in found.violations] == [5]
