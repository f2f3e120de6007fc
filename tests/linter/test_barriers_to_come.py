"""What `lint` says of dumps whose barriers TileLang has yet to put in, or to change.

`tests/soundness/test_before_barriers_tilelang.py` holds the same against the passes themselves.
"""

from __future__ import annotations

import re

import pytest

from smemreuse.results.hazards import HazardKind, HazardOrigin, LintReport, LintStatus
from tests.checker.small import SYNC, kernel_of, tma_load, under
from tests.linter.test_linter import found, report_on

INIT = under(
    "if tx == 0",
    "T.ptx_init_barrier_thread_count(full[0], 1)\nT.ptx_init_barrier_thread_count(full[1], 1)\n",
)
PUBLISH = "T.ptx_fence_barrier_init()\n"
LOAD = under(
    "if tx == 0",
    "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As"),
)
WAIT_FULL, WAIT_EMPTY = (
    f"T.mbarrier_wait_parity(full[{one}], {parity})\n" for one, parity in ((0, 0), (1, 1))
)
PRODUCER = under("if tx < 32", WAIT_EMPTY + LOAD)
CONSUMER = under(
    "if 32 <= tx",
    WAIT_FULL + "O[tx] = As[63 - tx]\n" + under("if tx == 32", "T.ptx_arrive_barrier(full[1])\n"),
)


def later(body: str, threads: int = 64) -> LintReport:
    return report_on(kernel_of(body, threads=threads), later=True)


def kinds(report: LintReport) -> set[tuple[HazardKind, bool]]:
    """The kinds of hazards, each with whether it is certain."""
    return {(one.kind, one.certain) for one in report.hazards}


# Barriers between two branches --------------------------------------------------------------------


def test_a_barrier_between_two_branches_makes_one_wait_for_the_other() -> None:
    """Those who wait for the load never come to the barrier before the branch that loads."""
    body = INIT + PUBLISH + SYNC + CONSUMER + PRODUCER
    deadlocks = [kind for kind, _ in kinds(later(body))]
    assert deadlocks == [HazardKind.BARRIER_DEADLOCK]
    assert report_on(kernel_of(body)).status is LintStatus.CLEAN


def test_it_does_no_harm_behind_what_is_waited_for() -> None:
    assert later(INIT + PUBLISH + SYNC + PRODUCER + CONSUMER).status is LintStatus.CLEAN


def test_where_it_is_not_sure_to_come_there_may_be_a_deadlock() -> None:
    """Which elements are read data decide."""
    shifted = CONSUMER.replace("As[63 - tx]", "As[D[tx] & 63]")
    found = kinds(later(INIT + PUBLISH + SYNC + shifted + PRODUCER))
    assert (HazardKind.BARRIER_DEADLOCK, False) in found
    assert not any(certain for _, certain in found)


def test_a_phase_may_be_missed_only_where_no_barrier_is_to_come_between() -> None:
    """Warp 1 waits and loads nothing: a barrier behind its branch keeps it in time."""
    wide = under("if tx < 64", WAIT_EMPTY + LOAD)
    reader = CONSUMER.replace("32 <= tx", "64 <= tx").replace("tx == 32", "tx == 64")
    reader = reader.replace("63 - tx", "95 - tx")
    body = INIT + PUBLISH + SYNC + wide + reader
    assert (HazardKind.MISSED_PHASE, True) not in kinds(later(body, threads=96))
    assert (HazardKind.MISSED_PHASE, True) in kinds(report_on(kernel_of(body, threads=96)))


# Barriers in a branch -----------------------------------------------------------------------------

ARM, OTHER = "if tx < 32", "else"


def test_a_barrier_of_the_block_becomes_one_of_the_branch_that_it_is_in() -> None:
    """So nobody waits for those who never come."""
    body = under(ARM, f"As[tx] = tx\n{SYNC}O[tx] = As[31 - tx]\n")
    assert later(body).status is LintStatus.CLEAN
    assert report_on(kernel_of(body)).hazards


def test_those_of_two_branches_order_nothing_between_these() -> None:
    body = f"Bs[tx] = 0\n{SYNC}"
    body += under(ARM, f"As[tx] = tx\n{SYNC}O[tx] = Bs[tx]\n")
    body += under(OTHER, f"Bs[tx] = tx\n{SYNC}O[tx] = As[tx - 32]\n")
    assert (HazardKind.RACE, True) in kinds(later(body))
    assert report_on(kernel_of(body)).status is LintStatus.CLEAN


@pytest.mark.parametrize(
    ("number", "status"), [(3, LintStatus.POSSIBLE), (4, LintStatus.CLEAN), (5, LintStatus.CLEAN)]
)
def test_the_pass_looks_at_no_number_that_is_in_use(number: int, status: LintStatus) -> None:
    """It begins with 3, whoever is there."""
    named = f'T.tvm_storage_sync("shared", {number}, 32)\n'
    body = under(ARM, f"As[tx] = tx\n{named}O[tx] = As[31 - tx]\n")
    body += under(OTHER, "Bs[tx] = tx\nO[tx] = Bs[95 - tx]\n")
    assert later(body).status is status


# What is known by a barrier that is yet to come ---------------------------------------------------


def test_a_barrier_that_may_come_does_not_publish_an_mbarrier_for_sure() -> None:
    body = INIT + PUBLISH + PRODUCER + CONSUMER
    assert (HazardKind.RACE, False) in kinds(later(body))
    assert (HazardKind.RACE, True) in kinds(report_on(kernel_of(body)))


def test_that_a_load_is_over_may_be_known_by_a_barrier_to_come() -> None:
    """Warp 0 writes again where warp 1, with which it meets before, has waited for the load."""
    body = INIT + PUBLISH + SYNC + PRODUCER + CONSUMER + "As[tx] = tx\n"
    assert (HazardKind.MISSING_WAIT, True) not in kinds(later(body))
    assert (HazardKind.MISSING_WAIT, True) in kinds(report_on(kernel_of(body)))


# Barriers that the pass takes for others' ---------------------------------------------------------


def test_a_barrier_in_one_arm_is_taken_for_one_before_the_other() -> None:
    """Those who take the other arm overwrite what a warp may still read before the branch."""
    read = "As[tx % 32] = D[tx % 32]\nO[tx] = As[31 - tx % 32]\n"
    crossing = "Bs[tx] = D[tx]\nO[tx] = Bs[63 - tx]\n"
    branch = under("if D[0] > 0", crossing) + under("else", read)
    assert (HazardKind.RACE, False) in kinds(later(read + branch))
    assert later(read + under("if D[0] > 0", "O[tx] = 1\n") + under("else", read)).clean


def test_no_block_is_past_the_end_of_a_grid_that_an_argument_gives() -> None:
    """Where what is read is no row that is filled, the pass puts no barrier in between."""
    fill = under("if n <= bx * 64 + tx", "As[tx] = 0\n")
    body = f"As[tx] = 1\n{SYNC}{fill}O[tx] = As[T.max(0, T.min(64, n - bx * 64) - 1)]\n"
    assert found(body, later=True, blocks="(n + 63) // 64") == [("race", False)]
    assert found(body, later=True, blocks="4") == []


def test_barriers_of_the_threads_of_other_branches_order_nothing_between_them() -> None:
    reduce = (
        'c[2] = T.call_extern("int32", "tl::AllReduce<tl::SumOp, 64, 1, 0, tl::NamedBarrier<64>>'
        '::run", D[tx], T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 3))\n'
    )
    crossing = "Bs[tx - 64] = D[tx]\nO[tx] = Bs[127 - tx]\n"
    body = under("if tx < 64", reduce) + under("if 64 <= tx", crossing) + "As[tx % 64] = D[tx]\n"
    assert not later('c = T.alloc_buffer((4,), "int32", scope="local.var")\n' + body, 128).clean


def test_barriers_of_two_storage_scopes_begin_with_the_same_number() -> None:
    """The pass goes over each scope by itself, and numbers the barriers of branches anew."""
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared")\n'
    dynamic = "As[tx % 64] = D[tx]\nO[tx] = As[63 - tx % 64]\n"
    static = dynamic.replace("As", "Cs")

    def arms(first: str, second: str) -> LintReport:
        body = under("if tx < 64", first) + under("else", second)
        return report_on(kernel_of(body, threads=128, declared=declared), later=True)

    (hazard,) = arms(static, dynamic).hazards
    assert (hazard.kind, hazard.certain) == (HazardKind.BARRIER_DIVERGENCE, False)
    assert hazard.origin is HazardOrigin.COMPILER
    assert "gets number 3, as has that of threads 0-63" in hazard.witness
    assert arms(dynamic, dynamic.replace("As", "Bs")).clean
    assert arms(dynamic + static, "O[tx] = 1\n").clean
    # Number 3 is for the threads of the first arm in either scope.
    assert arms(dynamic + static, dynamic.replace("As", "Bs")).clean


def test_whether_two_have_one_number_may_not_be_known() -> None:
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared")\n'
    perhaps = "Cs[D[tx] % 8 * 8 + tx % 8] = 1\nO[tx] = Cs[D[tx + 1] % 8 * 8 + tx % 8]\n"
    crossing = "As[tx % 64] = D[tx]\nO[tx] = As[63 - tx % 64]\n"
    body = under("if tx < 64", perhaps) + under("else", crossing)
    report = report_on(kernel_of(body, threads=128, declared=declared), later=True)
    (doubt,) = (one for one in report.unknown if "may both be" in one)
    assert re.search(
        r"insert at `.*` \(line \d+\) and at `.*` \(line \d+\) may both be named barrier 3,", doubt
    )


def test_a_barrier_of_a_cluster_in_two_branches_may_have_the_block_s_in_between() -> None:
    sync = "T.cluster_sync()\n"
    assert later(under("if tx < 32", sync) + under("if 32 <= tx", sync)).clean

    def behind(store: str) -> LintStatus:
        arm = under("if 32 <= tx", f"{store}O[tx] = Bs[tx - 32]\n{sync}")
        return later(under("if tx < 32", sync) + arm).status

    assert behind("Bs[tx - 32] = D[tx]\n") is LintStatus.CLEAN
    assert behind("Bs[63 - tx] = D[tx]\n") is LintStatus.UNKNOWN
