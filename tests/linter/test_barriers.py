"""Hazards of barriers that stand inside operations."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import HazardKind, LintStatus
from tests.checker.small import SYNC, init_barrier, kernel_of, reduced, tma_load, under
from tests.linter.test_linter import found, report_on

_W = 'W = T.alloc_buffer((256,), "int32", scope="shared")\n'
_REDUCE = f"O[tx] = {reduced(workspace='W')}\n"
_OF_THE_BLOCK = f"O[tx] = {reduced(barrier='tl::SyncThreadsBarrier', workspace='W')}\n"


def test_two_arms_that_both_reduce_meet_at_the_same_numbers() -> None:
    other = f"O[tx] = {reduced(workspace='As')}\n"
    report = report_on(
        kernel_of(under("if tx < 64", _REDUCE) + under("else", other), threads=128, declared=_W)
    )
    assert report.status is LintStatus.HAZARDS
    (hazard,) = report.hazards
    assert (hazard.kind.value, hazard.certain) == ("barrier-divergence", True)
    assert "named barrier 1" in hazard.witness
    assert hazard.agents == ("threads 0-63", "threads 64-127")
    assert hazard.other is not None


NAMED = 'T.tvm_storage_sync("shared", 1, 64)\n'


@pytest.mark.parametrize(
    ("first", "second", "status", "hazards"),
    [
        ("if tx < 64", "else", LintStatus.HAZARDS, [True]),
        ("if tx < 64", "if tx >= 64", LintStatus.HAZARDS, [True]),
        ("if tx < 64 and D[0] > 0", "if tx >= 64", LintStatus.HAZARDS, [False]),
        ("if tx < 64", "if tx >= 64 and D[0] > 0", LintStatus.HAZARDS, [False]),
        ("if tx < 64", "if tx < 64", LintStatus.CLEAN, []),
    ],
)
def test_two_groups_at_one_number_are_certain_if_no_data_decide(
    first: str, second: str, status: LintStatus, hazards: list[bool]
) -> None:
    body = under(first, NAMED) + under(second, NAMED)
    report = report_on(kernel_of(body, threads=128))
    assert report.status is status
    assert [hazard.is_unconditional for hazard in report.hazards] == hazards
    assert all(hazard.kind.value == "barrier-divergence" for hazard in report.hazards)


ALONE = 'T.tvm_storage_sync("shared", 1, 32)\n'
EACH = under("if tx < 32", ALONE) + under("if tx >= 32", under("if tx < 64", ALONE))
OF_TWO = under("if tx < 64", NAMED)


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (EACH, []),
        (EACH + EACH, []),
        (EACH + SYNC + OF_TWO + SYNC + EACH, []),
        (EACH + OF_TWO, [True]),  # the second warp may come in between
        (EACH + under("if tx >= 64", NAMED), [True]),
        (OF_TWO + EACH, []),  # who comes after its own group comes after that
        (OF_TWO + EACH + OF_TWO, [True]),
        (OF_TWO + under("if tx >= 96", ALONE), [True]),
        (EACH + SYNC + under("if tx < 32", ALONE) + OF_TWO, [True]),
    ],
)
def test_a_warp_by_itself_is_never_at_a_barrier_with_another(
    body: str, hazards: list[bool]
) -> None:
    found = report_on(kernel_of(body, threads=128)).hazards
    expected = [(HazardKind.BARRIER_DIVERGENCE, one) for one in hazards]
    assert [(one.kind, one.is_unconditional) for one in found] == expected


@pytest.mark.parametrize("meet", ["", "_in_a_function"])
def test_a_part_of_each_warp_comes_to_a_named_barrier(meet: str) -> None:
    """As many threads as it takes, but warps are what the hardware counts."""
    number = NAMED.replace("64", "32")
    if meet:
        number = 'T.evaluate(T.call_extern("void", "tl::__sync_thread_partial<1, 32>"))\n'
    assert found(under("if tx % 32 < 16", number)) == [("barrier-divergence", True)]
    in_data = under("if D[0] > 0", under("if tx % 32 < 16", number))
    assert found(in_data) == [("barrier-divergence", False)]


@pytest.mark.parametrize("number", [-1, 16])
def test_a_block_has_sixteen_barriers(number: int) -> None:
    body = NAMED.replace("1, 64", f"{number}, 64")
    report = report_on(kernel_of(body, threads=128))
    assert report.unknown == (f"a block has no barrier {number}",)
    assert [hazard.is_unconditional for hazard in report.hazards] == [False]


def test_a_barrier_to_come_may_stand_between_two_groups() -> None:
    """`ThreadSync` puts one between two accesses of As here, and may do so elsewhere."""
    use = "As[tx] = tx\n" + SYNC + "O[tx] = As[tx ^ 1]\n"
    body = under("if tx < 64", NAMED) + use + under("if tx >= 64", NAMED)
    assert found(body, threads=128) == []
    report = report_on(kernel_of(body.replace(SYNC, ""), threads=128), later=True)
    assert not any(hazard.is_unconditional for hazard in report.hazards)


def test_reductions_one_after_the_other_are_in_order() -> None:
    assert found(_REDUCE * 3, declared=_W) == []
    assert found(_OF_THE_BLOCK * 2, declared=_W) == []
    behind = under("if tx < 64", _REDUCE) + SYNC + under("if tx >= 64", _REDUCE)
    assert found(behind, threads=128, declared=_W) == []


@pytest.mark.parametrize("arm", ["if tx < 64", "if D[tx] > 0"])
def test_all_threads_have_to_come_to_a_reduction_that_they_all_meet_in(arm: str) -> None:
    hazards = found(under(arm, _OF_THE_BLOCK), threads=128, declared=_W)
    assert ("barrier-divergence", False) in hazards


def test_a_reduction_orders_what_threads_do_before_and_behind() -> None:
    assert found(f"As[63 - tx] = tx\n{_REDUCE}O[tx] = As[tx]\n", declared=_W) == []
    in_a_warp = f"O[tx] = {reduced(32, workspace='W')}\n"
    races = found(f"As[63 - tx] = tx\n{in_a_warp}O[tx] = As[tx]\n", declared=_W)
    assert ("race", True) in races


def test_a_workspace_is_still_read_when_a_reduction_returns() -> None:
    assert ("race", True) not in found(f"{_REDUCE}W[tx] = tx\n", declared=_W)
    assert found(f"{_REDUCE}W[tx] = tx\n", declared=_W) != []
    assert found(f"{_REDUCE}{SYNC}W[tx] = tx\n", declared=_W) == []


def test_one_lane_of_each_of_two_warps_releases_a_stage_for_its_warp() -> None:
    """The phase ends with both arrivals, and hands over what either warp has read and fenced."""
    empty = 'empty = T.alloc_buffer((1,), "uint64", scope="shared.barrier")\n'
    init = init_barrier(1) + init_barrier(2).replace("full", "empty")
    load = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As")
    waited = "T.mbarrier_wait_parity(empty[0], k % 2 ^ 1)\n"
    produce = under("for k in range(2)", waited + under("if tx == 0", load))
    released = "T.sync_warp()\n" + under("if tx % 32 == 0", "T.ptx_arrive_barrier(empty[0])\n")
    read = "T.mbarrier_wait_parity(full[0], k % 2)\nO[tx] = As[tx - 32]\n"
    consume = under("for k in range(2)", read + "T.fence_proxy_async()\n" + released)
    body = init + under("if tx < 32", produce) + under("if tx >= 32", consume)
    assert found(body, threads=96, declared=empty) == []
    unfenced = body.replace("T.fence_proxy_async()", "T.sync_warp()")
    assert ("missing-fence", True) in found(unfenced, threads=96, declared=empty)


@pytest.mark.parametrize(
    ("mine", "theirs", "certain"), [(1, 1, False), (3, 3, False), (1, 2, True), (2, 1, True)]
)
def test_whoever_comes_to_other_barriers_as_often_may_pass(
    mine: int, theirs: int, certain: bool
) -> None:
    """Before a barrier of all threads and after it: hardware counts, CUDA leaves it undefined."""
    body = under("if tx < 32", mine * SYNC) + SYNC + under("if 32 <= tx", theirs * SYNC) + SYNC
    hazards = found(body)
    assert ("barrier-divergence", certain) in hazards
    assert (("barrier-divergence", True) in hazards) is certain


@pytest.mark.parametrize(("last", "certain"), [("arrive", False), ("sync", True)])
def test_an_arrival_that_nobody_waits_for_lets_the_others_pass(last: str, certain: bool) -> None:
    body = under("if tx < 32", "T.cluster_sync()\n") + f"T.cluster_{last}()\n"
    hazards = found(body)
    assert ("barrier-divergence", certain) in hazards
    assert (("barrier-divergence", True) in hazards) is certain
