"""What orders accesses, and for whom: barriers, waits, groups, arrivals (rules 5 and 6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.ir.kernel import UNSTATED
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from smemreuse.versions import APACHE_TVM, LEGACY, TILELANG
from tests.checker.small import (
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    SYNC,
    TO_AND_FRO,
    USE_A,
    USE_B,
    WGMMA_A,
    init_barrier,
    judge,
    judge_kernel,
    kernel_of,
    reduced,
    tma_load,
    under,
)

# Barriers of threads ------------------------------------------------------------------------------


def across(distance: int, barrier: str) -> str:
    """A's bytes, then a barrier, then the same bytes as B's, by a thread `distance` away."""
    return f"As[tx ^ {distance}] = tx\n{barrier}Bs[tx] = tx\n"


@pytest.mark.parametrize(
    ("barrier", "in_warp", "across_warps"),
    [
        ("", False, False),
        (SYNC, True, True),
        ('T.tvm_storage_sync("shared.dyn")\n', True, True),
        ('T.tvm_storage_sync("shared", 1, -1)\n', True, True),
        ('T.tvm_storage_sync("warp")\n', False, False),
        ("T.sync_warp()\n", True, False),
        ("T.sync_warp(0xFFFFFFFF)\n", True, False),
        ("T.sync_warp(0xFFFF)\n", False, False),
        ("T.sync_warp(D[0])\n", False, False),
        ("T.sync_grid()\n", True, True),
        ("T.cluster_sync()\n", True, True),
        ("T.cluster_arrive()\n", False, False),
        ("T.cluster_wait()\n", False, False),
        ("T.fence_proxy_async()\n", False, False),
        ("T.warpgroup_arrive()\n", False, False),
    ],
)
def test_a_barrier_orders_those_who_meet_there(
    barrier: str, in_warp: bool, across_warps: bool
) -> None:
    assert judge(across(1, barrier), threads=32).sound is in_warp
    assert judge(across(32, barrier)).sound is across_warps


def test_a_named_barrier_orders_as_many_threads_as_it_says() -> None:
    assert judge(across(32, 'T.tvm_storage_sync("shared", 1, 64)\n')).sound


@pytest.mark.parametrize(
    ("barrier", "reason"),
    [
        ('T.tvm_storage_sync("shared", 1, 128)\n', "shared by several arms"),
        ('T.tvm_storage_sync("shared", 1, D[0])\n', "how many threads a named barrier takes"),
        ("T.named_barrier_arrive(1, 64)\n", "`named_barrier_arrive` (line 14) is not followed"),
        (under("if tx < 16", "T.thread_return()\n"), "`thread_return` (line 15) is not followed"),
        ('T.tvm_storage_sync("elsewhere")\n', ""),
    ],
)
def test_a_barrier_that_is_not_followed_proves_nothing(barrier: str, reason: str) -> None:
    found = judge(across(32, barrier))
    assert not found.sound
    assert reason in " ".join(found.uncovered)


def test_a_barrier_that_part_of_a_warp_comes_by_orders_no_warp() -> None:
    body = under("if tx < 48", f"As[tx ^ 1] = tx\n{SYNC}Bs[tx] = tx\n")
    assert judge(body).verdict == UNPROVED  # for the second warp
    assert judge(body.replace("48", "32")).sound


# Groups ---------------------------------------------------------------------------------------

COMMIT = "T.ptx_commit_group()\n"


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        (f"{COMMIT}T.ptx_wait_group(0)\n{SYNC}", SOUND),
        (f"{COMMIT}T.ptx_wait_group(0)\n", UNSOUND),  # each thread for its own copies
        (f"{COMMIT}{SYNC}T.ptx_wait_group(0)\n", UNSOUND),
        (f"{COMMIT}T.ptx_wait_group(1)\n{SYNC}", UNSOUND),
        (f"{COMMIT}{COMMIT}T.ptx_wait_group(1)\n{SYNC}", SOUND),
        (f"T.ptx_wait_group(1)\n{SYNC}", UNSOUND),  # not committed
        (f"{COMMIT}T.ptx_wait_group(D[0])\n{SYNC}", UNPROVED),  # nobody knows for how many
        (f"{COMMIT}T.ptx_wait_group(tx // 64)\n{SYNC}", SOUND),
        (f"{COMMIT}T.ptx_wait_group(tx // 32)\n{SYNC}", UNPROVED),
        (f"{COMMIT}T.ptx_wait_group(T.min(D[0] * D[0], 0))\n{SYNC}", UNPROVED),  # it is 0
        (f'{COMMIT}{COMMIT}T.call_extern("handle", "tl::cp_async_wait<1>")\n{SYNC}', SOUND),
        (f'{COMMIT}T.call_extern("handle", "tl::cp_async_wait<1>")\n{SYNC}', UNSOUND),
        (f"{COMMIT}T.tma_store_wait(0)\n{SYNC}", UNSOUND),
        (f'T.call_extern("handle", "tl::cp_async_wait<0>")\n{SYNC}', SOUND),  # for all, by its name
        (under("if tx < 32", f"{COMMIT}T.ptx_wait_group(0)\n") + SYNC, UNSOUND),
        (COMMIT + under("if D[tx] < 3", "T.ptx_wait_group(0)\n") + SYNC, UNPROVED),
    ],
)
def test_a_copy_is_over_when_those_who_issued_it_have_waited_and_met(
    between: str, verdict: str
) -> None:
    assert judge(f"{COPY_A}{between}{USE_B}").verdict == verdict


@pytest.mark.parametrize(
    ("version", "verdict"),
    [(TILELANG, UNPROVED), (APACHE_TVM, UNSOUND), (LEGACY, UNSOUND), (UNSTATED, UNSOUND)],
)
def test_a_wait_for_all_may_be_for_copies_of_no_group_too(version: str, verdict: str) -> None:
    """TileLang makes `cp.async.wait_all` of it, which counts on no group."""
    kernel = kernel_of(f"{COPY_A}T.ptx_wait_group(0)\n{SYNC}{USE_B}")
    assert judge_kernel(replace(kernel, version=version)).verdict == verdict


STORE_A = 'T.tma_store(T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1), X, 0)\n'


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        ("T.tma_store_arrive()\nT.tma_store_wait(0)\n", SOUND),
        ("T.tma_store_arrive()\n", UNSOUND),
        ("T.tma_store_wait(0)\n", UNSOUND),
        ("T.tma_store_arrive()\nT.tma_store_wait(1)\n", UNSOUND),
    ],
)
def test_the_thread_that_issued_a_store_waits_for_it(done: str, verdict: str) -> None:
    body = USE_A + SYNC + under("if tx == 0", STORE_A + done) + SYNC + USE_B
    assert judge(body).verdict == verdict


def test_another_thread_of_the_warp_cannot_wait_for_it() -> None:
    issued = under("if tx == 0", f"{STORE_A}T.tma_store_arrive()\n")
    other = under("if tx == 1", "T.tma_store_wait(0)\n")
    assert judge(USE_A + SYNC + issued + other + SYNC + USE_B).verdict == UNSOUND


FILL = f"As[tx] = tx\nT.fence_proxy_async()\n{SYNC}"
OVERWRITE = "Bs[127 - tx] = tx\n"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (f"{DESCRIBE_A}{WGMMA_A}T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n{SYNC}", SOUND),
        (f"{DESCRIBE_A}{WGMMA_A}T.warpgroup_commit_batch()\n{SYNC}", UNPROVED),
        (f"{DESCRIBE_A}{WGMMA_A}T.warpgroup_wait(0)\n{SYNC}", UNPROVED),
        (f"{DESCRIBE_A}{WGMMA_A}T.warpgroup_commit_batch()\nT.warpgroup_wait(1)\n", UNPROVED),
        (f"{DESCRIBE_A}{SYNC}", SOUND),  # described and never read
        (f"{WGMMA_A}{SYNC}", SOUND),  # reads nothing that is known of
    ],
)
def test_a_wgmma_reads_what_its_descriptors_stand_for_until_it_is_waited_for(
    body: str, verdict: str
) -> None:
    found = judge(FILL + body + OVERWRITE, threads=128, declared=DESCRIPTORS)
    assert found.verdict == verdict


def test_a_wgmma_reads_what_is_there_when_it_is_issued() -> None:
    clobbered = f"{FILL}{DESCRIBE_A}Bs[tx] = tx\n{WGMMA_A}"
    found = judge(clobbered, threads=128, declared=DESCRIPTORS)
    assert found.verdict == UNPROVED
    assert any(one.rule == 2 for one in found.violations)


# mbarriers --------------------------------------------------------------------------------------

PRODUCE = "As[tx] = tx\nO[tx] = As[tx]\n"
CONSUME = "Bs[tx - 32] = tx\nO[tx] = Bs[tx - 32]\n"
ARRIVE = "T.ptx_arrive_barrier(full[0])\n"
WAIT = "T.mbarrier_wait_parity(full[0], 0)\n"


def arms(producer: str, consumer: str, count: int = 32) -> str:
    return init_barrier(count) + under("if tx < 32", producer) + under("if tx >= 32", consumer)


@pytest.mark.parametrize(
    ("producer", "consumer", "verdict"),
    [
        (PRODUCE + ARRIVE, WAIT + CONSUME, SOUND),
        (ARRIVE + PRODUCE, WAIT + CONSUME, UNSOUND),
        (PRODUCE + ARRIVE, CONSUME + WAIT, UNSOUND),
        (PRODUCE + ARRIVE, "T.mbarrier_wait_parity(full[0], 1)\n" + CONSUME, UNPROVED),
        (PRODUCE, CONSUME, UNSOUND),
    ],
)
def test_who_waits_comes_behind_what_arrivals_came_behind(
    producer: str, consumer: str, verdict: str
) -> None:
    assert judge(arms(producer, consumer)).verdict == verdict


def test_who_waits_with_part_of_a_warp_learns_nothing() -> None:
    consumer = under("if tx < 48", WAIT + CONSUME)
    assert judge(arms(PRODUCE + ARRIVE, consumer)).verdict == UNPROVED


def test_who_arrives_with_part_of_a_warp_does_not_speak_for_the_warp() -> None:
    producer = PRODUCE + under("if tx < 16", ARRIVE)
    assert judge(arms(producer, WAIT + CONSUME, count=16)).verdict == UNSOUND


def test_what_threads_did_that_arrive_without_their_warp_refutes_nothing() -> None:
    """It comes before what those do who have waited, and is not proved to."""
    producer = under("if tx == 0", "As[5] = 1\nO[0] = As[5]\n" + ARRIVE)
    assert judge(arms(producer, WAIT + CONSUME, count=1)).verdict == UNPROVED
    behind = under("if tx == 0", ARRIVE + "As[5] = 1\nO[0] = As[5]\n")
    assert judge(arms(behind, WAIT + CONSUME, count=1)).verdict == UNSOUND


def test_who_arrives_alone_speaks_for_those_he_has_met() -> None:
    producer = f"{PRODUCE}T.sync_warp()\n" + under("if tx == 0", ARRIVE)
    assert judge(arms(producer, WAIT + CONSUME, count=1)).sound


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (init_barrier(64) + under("if tx < 32", ARRIVE) + WAIT, "that nobody completes"),
        (WAIT, "that nobody completes"),
        (init_barrier(64) + "T.mbarrier_wait_parity(full[D[0]], 0)\n", "slot or parity"),
        (init_barrier(64) + "T.mbarrier_wait_parity(full[0], D[0])\n", "slot or parity"),
        ("T.ptx_arrive_barrier(full[tx % 2])\n", "slot is not known"),
        ("T.ptx_init_barrier_thread_count(full[0], D[0])\n", "arrival count is not known"),
        ("T.mbarrier_expect_tx(full[0], D[0])\n", "bytes that an mbarrier expects"),
        ("T.arrive_somehow(full[0])\n", "`arrive_somehow` has no row"),
        ("T.ptx_arrive_barrier(full[0], 1)\n", "is not known with 2 operands"),
    ],
)
def test_an_mbarrier_that_is_not_followed_proves_nothing(body: str, reason: str) -> None:
    found = judge(body + TO_AND_FRO)
    assert found.verdict == UNPROVED
    assert reason in " ".join(found.uncovered)


# TMA loads --------------------------------------------------------------------------------------


def loaded(*issue: str) -> str:
    return under("if tx == 0", "".join(issue))


EXPECT = "T.ptx_arrive_barrier_expect_tx(full[0], {})\n"


@pytest.mark.parametrize(
    ("issue", "wait", "verdict"),
    [
        ((EXPECT.format(256), tma_load("As")), WAIT, SOUND),
        ((tma_load("As"), EXPECT.format(256)), WAIT, SOUND),
        ((EXPECT.format(256), tma_load("As")), "", UNSOUND),
        ((EXPECT.format(256), tma_load("As")), under("if tx < 32", WAIT), UNSOUND),
        ((EXPECT.format(256), tma_load("As")), under("if tx < 32", WAIT) + SYNC, SOUND),
        ((EXPECT.format(512), tma_load("As"), tma_load("As")), WAIT, SOUND),
    ],
)
def test_a_load_is_there_when_its_phase_has_been_waited_for(
    issue: tuple[str, ...], wait: str, verdict: str
) -> None:
    assert judge(init_barrier(1) + loaded(*issue) + wait + USE_B).verdict == verdict


@pytest.mark.parametrize(
    ("announced", "reason"),
    [
        (128, "bytes come in at an mbarrier that were not announced to its phase"),
        (512, "an mbarrier is waited for that nobody completes"),
    ],
)
def test_a_phase_waits_for_as_many_bytes_as_were_announced(announced: int, reason: str) -> None:
    body = init_barrier(1) + loaded(EXPECT.format(announced), tma_load("As")) + WAIT + USE_B
    assert judge(body).uncovered == (reason,)


def test_bytes_are_counted_for_each_thread_that_announces_and_loads_them() -> None:
    body = init_barrier(2) + under("if tx < 2", EXPECT.format(256) + tma_load("As"))
    assert judge(body + WAIT + USE_B).sound


def test_a_load_that_reports_to_another_mbarrier_is_not_waited_for() -> None:
    issue = loaded(
        EXPECT.format(256), tma_load("As"), EXPECT.format(256).replace("[0]", "[1]")
    ) + loaded(tma_load("As", barrier="full[1]"))
    both = init_barrier(1) + init_barrier(1, "full[1]") + issue
    assert judge(both + WAIT + USE_B).verdict == UNSOUND
    assert judge(both + WAIT + WAIT.replace("[0]", "[1]") + USE_B).sound


def test_a_load_into_bytes_that_are_still_read_is_not_ordered_behind() -> None:
    issue = loaded("T.fence_proxy_async()\n", EXPECT.format(256), tma_load("As")) + WAIT
    assert judge(init_barrier(1) + USE_B + SYNC + issue).sound
    assert judge(init_barrier(1) + USE_B + issue).verdict == UNSOUND


# Barriers that are assumed ------------------------------------------------------------------------


def test_a_pass_puts_a_barrier_behind_each_wait_for_copies() -> None:
    """TileLang's does, whatever stands before the wait: each thread waits for its own copies."""
    body = f"{COPY_A}T.ptx_commit_group()\n{SYNC}T.ptx_wait_group(0)\n{USE_B}"
    assert judge(body, assume_barriers=True).sound
    assert not judge(body).sound


def test_a_load_that_one_warp_waited_for_is_not_waited_for_by_all() -> None:
    """The barrier that the pass puts in may stand before the wait."""
    issue = loaded(EXPECT.format(256), tma_load("As")) + SYNC
    waited = init_barrier(1) + issue + under("if tx < 32", WAIT)
    assert not judge(waited + USE_B, assume_barriers=True).sound
    assert judge(waited + SYNC + USE_B, assume_barriers=True).sound
    assert judge(init_barrier(1) + issue + WAIT + USE_B, assume_barriers=True).sound


USED = f"{DESCRIBE_A}{WGMMA_A}T.warpgroup_commit_batch()\n"
DONE = "T.warpgroup_wait(0)\n"
ALL_OF_A = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 128, 1)'
OTHER = 'Cs = T.alloc_buffer((128,), "int32", scope="shared.dyn")\n'


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        ("", SOUND),
        ("O[tx] = tx\n", SOUND),  # nothing for which a barrier would be put in
        ("Cs[tx] = tx\n", UNPROVED),  # one may stand before this, and there is none behind it then
        (SYNC, UNPROVED),
    ],
)
def test_a_barrier_that_is_assumed_may_stand_before_the_wait(between: str, verdict: str) -> None:
    used = USED.replace("As.data", ALL_OF_A)
    body = f"{FILL}{used}{between}{DONE}{OVERWRITE}"
    declared = DESCRIPTORS + OTHER
    judged = {"declared": declared, "threads": 128, "offsets": {"Cs": 4096}}
    assert judge(body, assume_barriers=True, **judged).verdict == verdict  # type: ignore[arg-type]
    surely = f"{FILL}{used}{between}{DONE}{SYNC}{OVERWRITE}"
    assert judge(surely, assume_barriers=True, **judged).sound  # type: ignore[arg-type]


# Barriers inside operations -----------------------------------------------------------------------

_WS = 'W = T.alloc_buffer((256,), "int32", scope="shared")\n'


@pytest.mark.parametrize(
    ("threads", "barrier", "ordered"),
    [
        (64, "tl::SyncThreadsBarrier", True),
        (64, "tl::NamedBarrier<64>", True),
        (32, "tl::NamedBarrier<64>", False),  # lanes of a warp shuffle
    ],
)
def test_what_stands_before_a_reduction_is_over_behind_it(
    threads: int, barrier: str, ordered: bool
) -> None:
    reduce = f"O[tx] = {reduced(threads, barrier, workspace='W')}\n"
    found = judge(f"As[63 - tx] = tx\n{reduce}Bs[tx] = tx\n", declared=_WS)
    assert found.verdict == (SOUND if ordered else UNSOUND)


def test_what_a_reduction_is_handed_is_read_before_its_barriers() -> None:
    handed = f"As[tx] = tx\n{SYNC}O[tx] = {reduced(value='As[63 - tx]', workspace='W')}\n"
    assert judge(handed + "Bs[tx] = tx\n", declared=_WS).verdict == SOUND


def test_the_result_of_a_reduction_is_written_behind_its_barriers() -> None:
    """So the next use of those bytes has to be ordered anew."""
    stored = f"As[63 - tx] = {reduced(workspace='W')}\n"
    assert judge(stored + "Bs[tx] = tx\n", declared=_WS).verdict == UNSOUND
    assert judge("Bs[63 - tx] = tx\n" + stored, declared=_WS).verdict == SOUND


def test_the_last_read_of_a_workspace_comes_behind_the_last_barrier() -> None:
    """The workspace is A: whoever writes B over it has to wait for those who read it still."""
    assert judge(f"O[tx] = {reduced()}\nBs[tx] = tx\n").verdict == UNPROVED
    assert judge(f"O[tx] = {reduced()}\n{SYNC}Bs[tx] = tx\n").verdict == SOUND
    assert judge(f"Bs[63 - tx] = tx\nO[tx] = {reduced()}\n").verdict == SOUND


def test_two_arms_that_reduce_under_the_same_numbers_are_not_proved() -> None:
    """`tl::AllReduce` meets at named barriers 1 and 2 in every arm."""
    arm = f"As[191 - tx] = tx\nO[tx] = {reduced(workspace='W')}\nBs[tx] = tx\n"
    plain = under("if tx < 64", arm.replace("191", "63")) + under("else", arm)
    found = judge(plain, threads=128, declared=_WS)
    assert found.verdict == UNPROVED
    assert "may be at that barrier at once" in found.first_finding
    one = under("if tx < 64", arm.replace("191", "63"))
    assert judge(one, threads=128, declared=_WS).verdict == SOUND


def test_a_reduction_by_other_threads_than_its_barrier_counts_is_not_followed() -> None:
    arm = f"As[63 - tx] = tx\nO[tx] = {reduced(64, 'tl::NamedBarrier<96>', workspace='W')}\n"
    found = judge(under("if tx < 64", arm + "Bs[tx] = tx\n"), threads=128, declared=_WS)
    assert found.verdict == UNPROVED


def test_a_reduction_that_may_be_left_out_is_not_followed() -> None:
    perhaps = f"O[tx] = T.if_then_else(D[0] > 0, {reduced(workspace='W')}, 0)\n"
    found = judge(f"As[63 - tx] = tx\n{perhaps}Bs[tx] = tx\n", declared=_WS)
    assert found.verdict == UNPROVED
    assert "inside an expression" in " ".join(found.uncovered)


def test_an_operation_with_a_barrier_of_a_warp_inside_orders_its_lanes() -> None:
    transposed = 'T.call_extern("handle", "tl::tcgen05_sf_warp_transpose", W.data)\n'
    body = "As[tx ^ 1] = tx\n{}Bs[tx] = tx\n"
    assert judge(body.format(transposed), declared=_WS).verdict == SOUND
    assert judge(body.format(""), declared=_WS).verdict == UNSOUND
    far = body.format(transposed).replace("tx ^ 1", "tx ^ 32")
    assert judge(far, declared=_WS).verdict == UNSOUND
