"""Pairs that the order of statements keeps apart, and those that it does not."""

from __future__ import annotations

import pytest

from smemreuse.checker import check_plan
from smemreuse.results.verdict import SOUND
from tests.checker.small import (
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    SCOPE,
    SYNC,
    TO_AND_FRO,
    USE_A,
    USE_B,
    WGMMA_A,
    init_barrier,
    kernel_of,
    tma_load,
    under,
)
from tests.soundness.not_apart import NOT_APART

ONE_THEN_OTHER = f"{USE_A}{SYNC}{USE_B}{SYNC}"
_SOURCE = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1)'
STORE_A = under("if tx == 0", f"T.tma_store({_SOURCE}, X, 0)\nT.tma_store_arrive()\n")
STORED_A = STORE_A.replace("arrive()\n", "arrive()\n    T.tma_store_wait(0, True)\n")
DONE_A = f"{USE_A}{SYNC}{USE_A}"
WAIT = "T.mbarrier_wait_parity(full[0], 0)\n"
MEET = 'T.tvm_storage_sync("shared", 1, 64)\n'
IN_AN_ARM = ONE_THEN_OTHER.replace(SYNC, MEET)
LOOPS = ("for k in range(3)", "for k in range(D[0])", "while D[0] < 3")


def is_apart(
    body: str,
    *,
    threads: int = 64,
    declared: str = "",
    offsets: dict[str, int] | None = None,
    assume_barriers: bool = False,
) -> bool:
    """Whether As and Bs are proved apart: a trace of no statement proves nothing."""
    kernel = kernel_of(body, threads=threads, declared=declared)
    places = {one: (offsets or {}).get(one.name, 0) for one in kernel.allocations(SCOPE)}
    arena = max(place + (one.size or 0) for one, place in places.items())
    found = check_plan(kernel, SCOPE, places, arena, {}, assume_barriers=assume_barriers, budget=0)
    return found.verdict is SOUND


@pytest.mark.parametrize("name", NOT_APART)
def test_what_is_not_apart_is_not_called_sound(name: str) -> None:
    plan = NOT_APART[name]
    kernel = plan.kernel()
    places = plan.places(kernel)
    assert not check_plan(kernel, SCOPE, places, 1024, {}, assume_barriers=False).sound


# One after the other ------------------------------------------------------------------------------


def test_with_a_barrier_between() -> None:
    assert is_apart(ONE_THEN_OTHER)
    assert is_apart(f"{USE_B}{SYNC}{USE_A}")
    assert not is_apart(USE_A + USE_B)
    assert not is_apart(TO_AND_FRO)


def test_what_is_not_accessed_is_apart() -> None:
    assert is_apart(USE_A)
    assert is_apart("O[tx] = tx\n")


def test_branches_on_data_change_nothing() -> None:
    branch = under("if D[tx] > 0", "As[tx] = tx\nO[tx] = As[tx]\n")
    assert is_apart(branch + SYNC + branch.replace("As", "Bs"))
    assert is_apart(branch + under("if D[0] > 0", SYNC) + under("else", SYNC) + USE_B)
    assert not is_apart(branch + branch.replace("As", "Bs"))


def test_a_mbarrier_that_nobody_can_follow_is_of_no_concern() -> None:
    unknown = init_barrier(64) + "T.mbarrier_wait_parity(full[0], D[0])\n"
    assert is_apart(unknown + ONE_THEN_OTHER)
    assert is_apart(unknown + under("while D[0] < 3", ONE_THEN_OTHER))


def test_in_a_branch_that_all_take_alike() -> None:
    assert is_apart(under("if D[0] > 0", ONE_THEN_OTHER))
    assert is_apart(under("if bx > 0", ONE_THEN_OTHER))
    # Who is there is not known: a barrier of all may not be one of these.
    assert not is_apart(under("if D[tx] > 0", ONE_THEN_OTHER))
    assert not is_apart("c[0] = D[tx]\n" + under("if c[0] > 0", ONE_THEN_OTHER))
    assert not is_apart(under("while O[0] < 3", f"{ONE_THEN_OTHER}O[tx] = 1\n"))


@pytest.mark.parametrize("loop", LOOPS)
def test_round_a_loop(loop: str) -> None:
    assert is_apart(under(loop, ONE_THEN_OTHER))
    assert is_apart(under(loop, under("if D[1] > 0", ONE_THEN_OTHER)))
    assert is_apart(under(loop, f"{SYNC}{USE_A}{SYNC}{USE_B}"))
    assert is_apart(under("for i in range(2)", under(loop, ONE_THEN_OTHER)))
    assert not is_apart(under(loop, f"{USE_A}{SYNC}{USE_B}"))
    assert not is_apart(under(loop, f"O[tx] = As[tx]\n{SYNC}As[tx] = 1\n{SYNC}{USE_B}{SYNC}"))


def test_every_byte_that_is_read_is_written_before() -> None:
    use = f"{SYNC}O[tx] = As[tx]\n{SYNC}{USE_B}{SYNC}"
    in_parts = under("for i in range(2)", "As[i * 32 + tx % 32] = tx\n")
    by_two = under("if tx < 32", "As[tx] = 1\n") + under("if tx >= 32", "As[tx] = 2\n")
    either = under("if D[0] > 0", "As[tx] = 1\n") + under("else", "As[tx] = 2\n")
    for refill in (in_parts, by_two, either, in_parts.replace("range", "T.unroll")):
        assert is_apart(under("for k in range(3)", refill + use))
    for refill in (
        in_parts.replace("32 + tx % 32", "16 + tx % 32"),
        by_two.replace("tx >= 32", "tx >= 33"),
        by_two.replace("tx >= 32", "D[tx] > 0"),
        "As[T.min(tx, D[0])] = 1\n",
    ):
        assert not is_apart(under("for k in range(3)", refill + use))


def test_who_reads_what_others_wrote_meets_them_first() -> None:
    """From the second round on a read that is too early finds the other buffer's bytes, and not
    what the round before wrote."""
    rest = f"{SYNC}{USE_B}{SYNC}"
    for refill in (
        "As[tx] = 5\n{}O[tx] = As[63 - tx]\n",
        "As[tx // 2] = 5\n{}O[tx] = As[tx % 32]\n",
        under("if tx < 32", "As[tx] = 1\n") + "{}O[tx] = As[tx % 32]\n",
    ):
        for loop in LOOPS:
            assert is_apart(under(loop, refill.format(SYNC) + rest))
            assert not is_apart(under(loop, refill.format("") + rest))
        assert is_apart(refill.format("") + rest)
    for refill in (
        "As[tx] = 5\nO[tx] = As[tx]\n",
        under("if tx < 40", "As[tx] = 5\n") + under("if tx < 40", "O[tx] = As[tx]\n"),
        f"As[tx] = 5\n{SYNC}As[tx // 2] = 6\nO[tx] = As[63 - tx]\n",
    ):
        assert is_apart(under("for k in range(3)", refill + rest))


@pytest.mark.parametrize(("matrices", "apart"), [(1, False), (2, True), (4, True)])
def test_lanes_write_the_rows_that_they_name(matrices: int, apart: bool) -> None:
    """The lanes beyond those that name a row of 16 bytes write nothing."""
    row = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, tx % 16 * 4, 4, 2)'
    store = under("if tx < 32", f"T.ptx_stmatrix(0, {matrices}, {row}, 1, 2, 3, 4)\n")
    body = f"{store}{SYNC}O[tx] = As[tx]\n{SYNC}{USE_B}{SYNC}"
    assert is_apart(under("for k in range(3)", body)) is apart
    others = store.replace("tx % 16 * 4", "tx * 4")  # with four they go beyond the 64 elements read
    if matrices == 2:
        assert is_apart(under("for k in range(3)", body.replace(store, others)))


def test_what_a_round_of_any_number_writes_counts_in_it() -> None:
    rounds = under("for i in range({})", f"As[tx] = i\n{SYNC}O[tx] = As[63 - tx]\n{SYNC}")
    for count, apart in (("D[0]", True), ("D[tx]", False), ("2", True)):
        body = rounds.format(count) + f"{SYNC}{USE_B}{SYNC}"
        assert is_apart(under("for k in range(3)", body)) is apart
    behind = under("for i in range(D[0])", "As[tx] = 1\n") + "O[tx] = As[tx]\n"
    assert not is_apart(under("for k in range(3)", f"{behind}{SYNC}{USE_B}{SYNC}"))


def test_what_may_not_be_written_does_not_count() -> None:
    copied = COPY_A + "T.ptx_commit_group()\nT.ptx_wait_group(0)\n"
    use = f"{SYNC}O[tx] = As[tx]\n{SYNC}{USE_B}{SYNC}"
    assert is_apart(under("for k in range(3)", copied + use))
    pointer = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 2)'
    reduced = f"T.call_extern('int32', 'tl::AllReduce<tl::SumOp, 64, 1, 0>::run', tx, {pointer})\n"
    assert not is_apart(under("for k in range(3)", reduced + use))


def test_only_common_bytes_have_to_be_written_before() -> None:
    half = f"As[tx // 2 + 32] = tx\n{SYNC}O[tx] = As[tx]\n{SYNC}{USE_B}{SYNC}"
    body = under("for k in range(3)", half)
    assert is_apart(body, offsets={"Bs": 128})
    assert not is_apart(body)
    assert not is_apart(body, offsets={"As": 128})


# Whose barrier it is ------------------------------------------------------------------------------


def test_in_an_arm_whose_threads_are_known() -> None:
    arm = under("if tx < 64", IN_AN_ARM)
    assert is_apart(arm, threads=128)
    assert is_apart(under("for k in range(2)", arm), threads=128)
    other = under("if tx >= 64", 'T.tvm_storage_sync("shared", 1, 64)\n')
    assert not is_apart(arm + other, threads=128)  # anybody may complete it
    assert is_apart(arm + other.replace("1, 64", "2, 64"), threads=128)
    assert not is_apart(arm.replace("64)", "32)"), threads=128)
    assert not is_apart(arm.replace('"shared", 1', '"shared", D[0]'), threads=128)
    assert not is_apart(under("if tx < 64", ONE_THEN_OTHER), threads=128)


def test_parts_of_warps_do_not_meet() -> None:
    """By PTX it is not defined who waits for whom there; hardware counts a warp when it comes."""
    arm = f"As[tx] = 1\n{MEET.replace('64', '32')}Bs[62 - tx] = 1\n"
    assert not is_apart(under("if tx % 2 == 0", arm))
    assert is_apart(under("if tx < 32", arm))


def test_buffers_of_two_arms_are_not_apart() -> None:
    arms = under("if tx < 32", "As[tx] = tx\n") + under("else", "Bs[tx] = tx\n")
    assert not is_apart(SYNC + arms + SYNC)


def test_who_returns_returns_with_all_the_others() -> None:
    assert is_apart(under("if D[0] > 0", "T.thread_return()\n") + ONE_THEN_OTHER)
    assert not is_apart(under("if D[tx] > 0", "T.thread_return()\n") + ONE_THEN_OTHER)
    assert not is_apart(under("for k in range(2)", f"{ONE_THEN_OTHER}T.break_loop()\n"))


def test_what_is_not_followed_keeps_nothing_apart() -> None:
    assert not is_apart(f'vt = T.launch_thread("vthread", 2)\n{ONE_THEN_OTHER}')
    assert not is_apart(ONE_THEN_OTHER + "O[tx] = T.tvm_storage_sync('shared')\n")
    assert not is_apart(ONE_THEN_OTHER + under("if tx < 32", "T.mangle(X)\n"))
    assert not is_apart("T.mangle(As.data)\n" + ONE_THEN_OTHER)
    assert is_apart("T.mangle(X)\n" + ONE_THEN_OTHER)


# What is asynchronous -----------------------------------------------------------------------------


def test_copies_are_waited_for_before_the_barrier() -> None:
    close, wait = "T.ptx_commit_group()\n", "T.ptx_wait_group({})\n"
    assert is_apart(COPY_A + close + wait.format(0) + SYNC + USE_B)
    assert is_apart(COPY_A + close + close + wait.format(1) + SYNC + USE_B)
    pipeline = under("for k in range(D[0])", COPY_A + close)
    assert is_apart(pipeline + wait.format(0) + SYNC + USE_B)
    assert not is_apart(pipeline + wait.format(1) + SYNC + USE_B)
    assert not is_apart(COPY_A + close + SYNC + wait.format(0) + USE_B)
    assert not is_apart(COPY_A + close + wait.format("D[0]") + SYNC + USE_B)


def test_a_store_is_waited_for_by_who_issued_it() -> None:
    assert is_apart(USE_A + SYNC + STORED_A + SYNC + USE_B)
    assert not is_apart(USE_A + SYNC + STORE_A + SYNC + USE_B)
    wait = under("if tx == 32", "T.tma_store_wait(0, True)\n")
    assert not is_apart(USE_A + SYNC + STORE_A + wait + SYNC + USE_B)


def test_what_a_descriptor_stands_for_is_read_where_it_is_used() -> None:
    wait = "T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n"
    for body, apart in (
        (f"{WGMMA_A}{wait}{SYNC}{USE_B}", True),
        (f"{SYNC}{USE_B}{WGMMA_A}{wait}", False),
        (f"{WGMMA_A}{SYNC}{wait}{USE_B}", False),
    ):
        filled = f"As[tx] = tx\nT.fence_proxy_async()\n{SYNC}{DESCRIBE_A}{body}"
        assert is_apart(filled, declared=DESCRIPTORS) is apart


def test_what_an_mbarrier_stands_for_is_left_to_the_trace() -> None:
    load = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As")
    assert not is_apart(init_barrier(1) + under("if tx == 0", load) + WAIT + SYNC + USE_B)
    assert not is_apart(init_barrier(1) + USE_B + SYNC + under("if tx == 0", load))


# Barriers that are yet to come --------------------------------------------------------------------


def test_a_later_pass_puts_barriers_where_all_come_by() -> None:
    both = "As[63 - tx] = tx\nO[tx] = As[63 - tx]\nBs[tx] = 1\nO[tx] = Bs[tx]\n"
    few = both.replace("63", "31")
    assert is_apart(both, assume_barriers=True)
    assert is_apart(under("for k in range(D[0])", both), assume_barriers=True)
    assert is_apart(under("if tx < 32", few), assume_barriers=True)
    assert not is_apart(under("if tx < 33", few), assume_barriers=True)
    assert not is_apart(under("if D[tx] > 0", both), assume_barriers=True)
    assert not is_apart(
        "As[tx] = 1\n" + under("if D[tx] > 0", "Bs[tx] = 1\n"), assume_barriers=True
    )


def test_it_puts_none_between_what_it_takes_for_the_bytes_of_one_thread() -> None:
    """Eight threads store one element, and each of them reads it: no barrier comes between."""
    replicated = "As[tx // 8] = D[tx // 8]\nO[tx] = As[tx // 8]\n"
    handed_on = "As[tx // 8] = D[tx // 8]\nO[tx] = As[7 - tx // 8]\n"
    for body, apart in ((replicated, False), (handed_on, True)):
        loop = under("for k in range(3)", f"Bs[tx] = D[tx + k]\nO[tx] = Bs[63 - tx]\n{body}")
        assert is_apart(loop, assume_barriers=True) is apart


@pytest.mark.parametrize(("loop", "apart"), [("for j in range(D[0])", False), ("", True)])
def test_a_barrier_in_a_loop_of_no_rounds_has_not_come(loop: str, apart: bool) -> None:
    between = under(loop, SYNC) if loop else SYNC
    body = f"As[tx // 8] = D[tx // 8]\n{between}As[8 + tx // 8] = tx // 8\n"
    body += "O[tx] = As[tx // 8] + As[15 - tx // 8]\n"
    body = under("for k in range(3)", f"Bs[tx] = D[tx + k]\nO[tx] = Bs[63 - tx]\n{body}")
    assert is_apart(body, assume_barriers=True) is apart


def test_it_may_put_them_before_a_wait() -> None:
    store = STORED_A.replace("T.tma_store_wait", "O[tx] = As[tx]\n    T.tma_store_wait")
    assert is_apart(DONE_A + STORED_A + USE_B, assume_barriers=True)
    assert not is_apart(DONE_A + store + USE_B, assume_barriers=True)
    assert is_apart(DONE_A + store + SYNC + USE_B, assume_barriers=True)
    copies = f"{COPY_A}T.ptx_commit_group()\nO[tx] = As[tx]\nT.ptx_wait_group(0)\n"
    assert is_apart(copies + USE_B, assume_barriers=True)


@pytest.mark.parametrize(
    "arm",
    [
        f"As[tx] = 1\n{MEET.replace('64', '32')}O[tx] = As[31 - tx]\n",
        "As[tx] = 1\nO[tx] = As[31 - tx]\n",
        under("for k in range(3)", "As[tx] = O[k] + As[31 - tx]\n"),
    ],
)
def test_it_is_content_with_barriers_of_the_threads_in_an_arm(arm: str) -> None:
    branch = under("if tx < 32", arm)
    for body in (branch + "Bs[63 - tx] = 1\n", "Bs[63 - tx] = 1\n" + branch):
        assert not is_apart(body, assume_barriers=True)
    assert is_apart(branch + SYNC + "Bs[63 - tx] = 1\n", assume_barriers=True)
    for quiet in ("As[tx] = 1\n", under("for k in range(2)", "As[tx + k * 32] = k\n")):
        body = under("if tx < 32", quiet) + "Bs[tx * 3 % 64] = 1\n"
        assert is_apart(body, assume_barriers=True)


# What is left -------------------------------------------------------------------------------------


def test_what_is_seen_to_leave_its_buffer_is_left_to_the_trace() -> None:
    for write in ("As[tx + 1] = 1\n", under("for i in range(2)", "As[tx + i] = 1\n")):
        assert not is_apart(f"{write}{SYNC}{USE_B}")


def test_other_pairs_are_executed() -> None:
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
    third = f"{SYNC}Cs[63 - tx] = tx\n{SYNC}"
    kernel = kernel_of(f"{USE_A}{SYNC}{USE_B}{third}O[tx] = As[tx]\n", declared=declared)
    a, b, c = kernel.allocations(SCOPE)
    for places, sound in (({a: 0, b: 0, c: 256}, False), ({a: 256, b: 0, c: 0}, True)):
        found = check_plan(kernel, SCOPE, places, 512, {}, assume_barriers=False)
        assert found.sound is sound
