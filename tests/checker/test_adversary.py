"""Kernels that were written to deceive the checker. What it still gets wrong is marked `xfail`.

Each docstring of a kernel that is called sound tells an execution in which the merged kernel gives
another result; the unmerged one is well defined in it. Kernels nearby, judged rightly, stand by.
"""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import (
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    SYNC,
    USE_A,
    USE_B,
    WGMMA_A,
    init_barrier,
    judge,
    tma_load,
    under,
)

ARRIVE = "T.ptx_arrive_barrier(full[0])\n"
WAIT = "T.mbarrier_wait_parity(full[0], 0)\n"
EXPECT = "T.mbarrier_expect_tx(full[0], 256)\n"
ARRIVE_AND_EXPECT = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n"

# A local that differs from thread to thread, in a loop of as many iterations --------------------

ONE_BY_ONE = (
    "As[tx] = tx\nc[0] = tx\n"
    + under("for k in range({})", under("if k == c[0]", "Bs[tx] = k\n") + SYNC)
    + under("if tx == 5", "O[5] = As[5]\n")
)
"""In iteration k thread k writes Bs[k]: As[5] is overwritten in iteration 5, and read behind."""


def test_a_local_of_each_thread_is_no_column_of_iterations() -> None:
    """64 threads, 64 iterations: `k == c[0]` is evaluated as [0..63] == [0..63], true every time.

    So the loop seems to repeat itself, and iterations 0 and 1 alone are executed.
    """
    assert not judge(ONE_BY_ONE.format(64)).sound


def test_a_local_of_each_thread_in_a_place_is_no_column_of_iterations() -> None:
    """Thread 60 writes all of Bs, one place in each iteration: `k + c[0]` seems to be 63 always."""
    loop = under("if tx == 60", "Bs[(k + c[0]) % 64] = k\nO[0] = Bs[(k + c[0]) % 64]\n")
    body = f"As[tx] = tx\nc[0] = 63 - tx\n{SYNC}{under('for k in range(64)', loop)}{SYNC}"
    assert not judge(body + under("if tx >= 32", "O[tx] = As[tx]\n")).sound


@pytest.mark.parametrize("condition", ["k == c[0]", "(k + c[0]) % 2 == 0"])
def test_a_local_of_each_thread_in_a_loop_of_another_length(condition: str) -> None:
    """`ValueError: operands could not be broadcast together with shapes (100,) (64,)`."""
    assert not judge(ONE_BY_ONE.format(100).replace("k == c[0]", condition)).sound


def test_a_thread_index_in_a_loop_of_as_many_iterations() -> None:
    assert not judge(ONE_BY_ONE.format(64).replace("k == c[0]", "k == tx")).sound


# Bytes that are announced by somebody for whose arrival nobody waits ----------------------------

BY_ANOTHER = [
    # Another warp arrives.
    init_barrier(1) + under("if tx == 0", EXPECT + tma_load("As")) + under("if tx == 32", ARRIVE),
    # Another lane of the warp does.
    init_barrier(1) + under("if tx == 0", EXPECT + tma_load("As")) + under("if tx == 1", ARRIVE),
    # All lanes of the warp but the one that loads.
    init_barrier(31)
    + under(
        "if tx < 32", under("if tx == 0", EXPECT + tma_load("As")) + under("if tx > 0", ARRIVE)
    ),
    # Each loads; one of them arrives.
    init_barrier(1)
    + under("if tx == 0", EXPECT + tma_load("As"))
    + under("if tx == 32", ARRIVE_AND_EXPECT + tma_load("As")),
]


@pytest.mark.parametrize("issue", BY_ANOTHER)
def test_a_phase_may_be_over_before_bytes_are_announced_by_one_who_does_not_arrive(
    issue: str,
) -> None:
    """Who arrives comes first: phase 0 is complete, and all pass the wait. Thread 0 is late; its
    announcement and its load belong to phase 1, and the load lands on Bs while that is used."""
    assert not judge(issue + WAIT + USE_B).sound


@pytest.mark.parametrize(
    "issue",
    [
        init_barrier(1) + under("if tx == 0", EXPECT + tma_load("As") + ARRIVE),
        init_barrier(32)
        + under("if tx < 32", under("if tx == 0", EXPECT + tma_load("As")) + ARRIVE),
        # Announced first, and the other one knows that.
        init_barrier(1)
        + under("if tx == 0", EXPECT + tma_load("As"))
        + SYNC
        + under("if tx == 32", ARRIVE),
    ],
)
def test_a_phase_is_held_open_by_an_arrival_behind_the_announcement(issue: str) -> None:
    assert judge(issue + WAIT + USE_B).sound


# What takes three iterations to come about ------------------------------------------------------

REFILLED = (
    under("if D[100 + k] > 0", "O[tx] = As[63 - tx]\n")
    + f"{SYNC}Bs[tx] = k\n{SYNC}O[tx] = Bs[63 - tx]\n{SYNC}"
    + under("if D[k] > 0", "As[tx] = k\n")
    + SYNC
)
"""As may be read, Bs is scratch, As may be filled for the iterations to come."""


@pytest.mark.parametrize("count", [3, 4, 100])
def test_a_value_may_be_lost_an_iteration_behind_the_one_that_wrote_it(count: int) -> None:
    """D[0] > 0 and D[102] > 0, the others are 0. Iteration 0 fills As; in iteration 1 Bs overwrites
    it, and nothing fills it; iteration 2 reads As. Executed are iterations 0 and 1: before the
    read in 1 As is unwritten or there, and it is lost only behind that read."""
    assert not judge(under(f"for k in range({count})", REFILLED)).sound


def test_written_out_three_iterations_are_refuted() -> None:
    rounds = (REFILLED.replace("100 + k", f"10{k}").replace("D[k]", f"D[{k}]") for k in range(3))
    assert not judge("".join(rounds).replace("= k", "= 1")).sound
    assert not judge(under("for k in range(D[0])", REFILLED)).sound


@pytest.mark.parametrize("count", [1, 2])
def test_two_iterations_lose_nothing(count: int) -> None:
    assert judge(under(f"for k in range({count})", REFILLED)).sound


def test_a_descriptor_that_is_made_behind_its_use_is_used_an_iteration_later() -> None:
    """D[0] is 0, the others are not. Iteration 0 makes the descriptor, 1 multiplies with it, and in
    2 Bs is written while that multiplication still reads As: it is waited for behind that."""
    fill = f"As[tx] = k\nT.fence_proxy_async()\n{SYNC}"
    multiply = under("if D[k] > 0", WGMMA_A) + "T.warpgroup_commit_batch()\n"
    wait = f"T.warpgroup_wait(0)\n{SYNC}"
    loop = f"Bs[127 - tx] = k\n{wait}{fill}{multiply}{DESCRIBE_A}"
    assert not judge(under("for k in range(100)", loop), threads=128, declared=DESCRIPTORS).sound


# Who fills a byte in arms within arms -------------------------------------------------------------

OLD_A = f"As[tx] = 5\n{SYNC}O[tx] = As[63 - tx]\n{SYNC}{USE_B}{SYNC}"
"""As has a value, and in a merged kernel Bs then takes its place."""


def filled(place: str, condition: str = "D[tx] > 0") -> str:
    """A fill in two arms, of the same place in both."""
    return under(f"if {condition}", f"As[{place}] = 1\n") + under("else", f"As[{place}] = 0\n")


@pytest.mark.parametrize(("place", "sound"), [("tx", True), ("tx + 1", False)])
def test_another_thread_fills_a_byte_in_the_other_arm(place: str, sound: bool) -> None:
    """The first half takes the first arm, the second half the other: nobody fills As[32], and the
    unmerged kernel reads its old value. No two threads touch one element."""
    other = under("if tx < 63", filled(place)) + under("if tx == 0", "As[0] = 3\n")
    fill = under("if tx < D[64]", filled("tx")) + under("else", other)
    assert judge(OLD_A + fill + f"{SYNC}O[tx] = As[62 - tx // 2]\n").sound is sound


LARGE_A = (
    under("for i in range(4)", "As[i * 64 + tx] = 5\n")
    + f"{SYNC}O[tx] = As[63 - tx]\n{SYNC}"
    + under("for i in range(4)", "Bs[i * 64 + tx] = tx\n")
    + f"{SYNC}O[tx] = Bs[63 - tx]\n{SYNC}"
)


@pytest.mark.parametrize(
    ("then", "other", "sound"),
    [
        ("As[i * 64 + tx] = 1\n", "As[i * 64 + tx] = 0\n", True),
        ("As[i * 64 + tx] = 1\n", "As[192 - i * 64 + tx] = 0\n", False),
        (filled("i * 64 + tx"), filled("192 - i * 64 + tx"), False),
    ],
)
def test_another_iteration_fills_a_byte_in_the_other_arm(
    then: str, other: str, sound: bool
) -> None:
    """A thread takes the one arm in the first iteration and the other in the last: both times it
    writes the same, and in As there is something that it has not filled."""
    rounds = under("for i in range(4)", under("if D[tx + i * 64] > 7", then) + under("else", other))
    text = LARGE_A + rounds + f"{SYNC}O[tx] = As[63 - tx] + As[255 - tx]\n"
    assert judge(text, elements=256).sound is sound


# A local that threads hold differently, and of which it is then not known what they hold ----------

EITHER = under("if c[0] > 0", "As[tx] = 1\nO[tx] = As[tx]\n") + under(
    "else", "Bs[63 - tx] = 1\nO[tx] = Bs[63 - tx]\n"
)
"""Threads that take the two arms at once use the same bytes."""


@pytest.mark.parametrize(
    "setting",
    [
        "c[0] = tx\nc[0] = c[0] * D[0]\n",
        "c[0] = tx\n" + under("for k in range(D[0])", "c[0] = c[0] + 1\n"),
        "c[0] = tx\n" + under("while D[c[1]] > 0", "c[0] = 0\nc[1] = c[1] + 1\n"),
        "c[0] = tx\n" + under("if D[0] > 0", "c[0] = 0\n"),
        "c[0] = 0\n" + under("if tx > 5", under("if D[0] > 0", "c[0] = 1\n")),
        "c[0] = 0\nc[1] = tx\n" + under("if D[0] > 0", "c[0] = c[1]\n"),
        "c[0] = 1\nc[1] = tx\nc[0] = c[D[0]]\n",
        # Of some threads alone it is known what they hold.
        "c[0] = D[0]\n" + under("if tx > 5", "c[0] = 1\n"),
        under("if D[0] > 0", "c[0] = 1\n")
        + under("else", "c[0] = 0\n")
        + "".join(under("if tx > 5", "c[0] = 1\n")),
    ],
)
def test_a_local_stays_one_of_each_thread_where_data_decide_what_it_holds(setting: str) -> None:
    """D[0] is such that `c[0]` is 0 for thread 0, and more for another one."""
    assert not judge(setting + EITHER).sound


@pytest.mark.parametrize(
    "setting",
    [
        "c[0] = 0\n" + under("for k in range(D[0])", "c[0] = c[0] + 1\n"),
        "c[0] = 0\n" + under("if D[0] > 0", "c[0] = 1\n"),
        under("if tx > 5", "c[0] = 7\n") + under("else", "c[0] = 7\n") + "c[0] = c[0] * D[0]\n",
        "c[0] = tx\n" + under("if D[0] > 0", "c[0] = 0\n") + "c[0] = D[1]\n",
        "c[0] = tx\n" + under("if D[0] > 0", "c[0] = 0\n") + "c[0] = 1\n",
    ],
)
def test_a_local_that_all_threads_set_alike_is_the_same_for_all(setting: str) -> None:
    assert judge(setting + EITHER).sound


# Iterations that are followed at once -------------------------------------------------------------


@pytest.mark.parametrize(("other", "sound"), [("k * 64 + tx", True), ("192 - k * 64 + tx", False)])
@pytest.mark.parametrize("count", ["5", "D[100]"])
def test_of_iterations_at_once_each_takes_an_arm_of_its_own(
    count: str, other: str, sound: bool
) -> None:
    """D[4] is 0, D[7] is not, and r = 0 takes one arm alone. In r = 1 both k = 0 and k = 3 fill the
    last quarter: the unmerged kernel reads in the first one what r = 0 has left there."""
    fill = under("if D[r * 4 + k] > 0", "As[k * 64 + tx] = r\n") + under(
        "else", f"As[{other}] = r\n"
    )
    use = f"{SYNC}O[tx] = As[63 - tx]\n{SYNC}"
    again = under("for k in range(4)", "Bs[k * 64 + tx] = r + 100\n")
    loop = under("for k in range(4)", fill) + use + again + use.replace("As", "Bs")
    assert judge(under(f"for r in range({count})", loop), elements=256).sound is sound


# Who is elected -----------------------------------------------------------------------------------

ELECTED = "if T.tl_shuffle_elect({})"
STORE_A = (
    'T.tma_store(T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1), X, 0)\n'
    "T.tma_store_arrive()\n"
)


@pytest.mark.xfail(strict=True, reason="lane 0 is taken for the one that is elected")
@pytest.mark.parametrize(
    "body",
    [
        under(ELECTED.format(32), "As[0] = 1\nO[0] = As[0]\n")
        + under("if tx % 32 == 0", "Bs[0] = 2\nO[1] = Bs[0]\n"),
        f"As[tx] = 1\nT.fence_proxy_async()\n{SYNC}"
        + under(ELECTED.format(64), STORE_A)
        + under("if tx == 0", "T.tma_store_wait(0)\n")
        + SYNC
        + USE_B,
    ],
)
def test_which_lane_is_elected_is_not_known(body: str) -> None:
    """PTX says that it is the same every time, and not which. If it is lane 7, lane 0 writes Bs[0]
    between its two statements, or waits for no store while lane 7's still reads As."""
    threads = 64 if "tma" in body else 32
    assert not judge(body, threads=threads).sound


def test_the_same_lane_is_elected_every_time() -> None:
    body = under(ELECTED.format(0), "As[0] = 1\nO[0] = As[0]\n") + under(
        ELECTED.format(0), "Bs[0] = 2\nO[1] = Bs[0]\n"
    )
    assert judge(body, threads=32).sound


# Arrivals, and copies that nobody waits for with a group ------------------------------------------


def dropping(arrival: str) -> str:
    """Two warps arrive twice each, the second one behind its use of As; the third one waits for
    both phases, and says in between that it has seen the first."""
    seen = "T.mbarrier_wait_parity(full[1], 0)\n"
    use = "As[tx - 32] = 1\nO[tx] = As[tx - 32]\n"
    arms = (
        under("if tx < 32", ARRIVE)
        + under("if tx >= 32", arrival)
        + f"{WAIT}{seen}{under('if tx >= 32', use)}{ARRIVE}"
    )
    waits = f"{WAIT}T.ptx_arrive_barrier(full[1])\nT.mbarrier_wait_parity(full[0], 1)\n"
    other = f"{waits}Bs[tx - 64] = 1\nO[tx] = Bs[tx - 64]\n"
    init = init_barrier(64) + init_barrier(32, "full[1]")
    return init + under("if tx < 64", arms) + under("if tx >= 64", other)


def test_who_drops_out_is_not_waited_for_in_later_phases() -> None:
    """Behind phase 0 the mbarrier expects 32. The first warp completes phase 1 alone, and the
    third writes Bs while the second uses As."""
    drop = 'T.ptx.mbarrier(full[0], "arrive_drop", "", "cta", "shared::cta", "b64", "")\n'
    assert not judge(dropping(drop), threads=96).sound


def test_who_arrives_is_waited_for_in_later_phases() -> None:
    assert judge(dropping(ARRIVE), threads=96).verdict == SOUND


def copied_and_loaded(wait: str) -> str:
    """cp.async into As, a wait for that, and a TMA load into Bs, without a fence."""
    issue = under("if tx == 0", f"{ARRIVE_AND_EXPECT}{tma_load('Bs')}".replace("[0]", "[1]"))
    done = "T.mbarrier_wait_parity(full[1], 0)\nO[tx] = Bs[tx]\n"
    return f"{init_barrier(64)}{init_barrier(1, 'full[1]')}{COPY_A}{wait}{issue}{done}"


def test_a_copy_that_an_mbarrier_tells_of_is_generic_too() -> None:
    """cp.async writes As through the generic proxy; the load's bytes may be overtaken (rule 11)."""
    assert not judge(copied_and_loaded("T.ptx_cp_async_barrier_noinc(full[0])\n" + WAIT)).sound


def test_a_copy_that_a_group_is_waited_for_is_generic() -> None:
    group = f"T.ptx_commit_group()\nT.ptx_wait_group(0)\n{SYNC}"
    assert not judge(copied_and_loaded(group)).sound
    assert judge(copied_and_loaded(f"{group}T.fence_proxy_async()\n{SYNC}")).sound


# Waits that no barrier follows --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "sound"),
    [
        ("T.ptx_wait_group(0)", True),
        ('T.call_extern("handle", "tl::cp_async_wait<0>")', False),
        ('T.call_extern("handle", "__pipeline_wait_prior", 0)', False),
    ],
)
def test_a_later_pass_puts_no_barrier_after_a_function_that_waits(wait: str, sound: bool) -> None:
    """It puts one before Cs is written, which is what it sees collide with the copies. Behind that
    each thread waits for its own copies: one of them may land on what another has put into Bs."""
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
    use_c = "Cs[63 - tx] = 1\nO[tx] = Cs[63 - tx]\n"
    body = f"{COPY_A}T.ptx_commit_group()\n{use_c}{wait}\nBs[63 - tx] = 1\nO[tx] = Bs[63 - tx]\n"
    found = judge(body, declared=declared, offsets={"Cs": 256}, assume_barriers=True)
    assert found.sound is sound


# Said to be refuted, and no execution breaks them -------------------------------------------------

LOADED = init_barrier(1) + under("if tx == 0", ARRIVE_AND_EXPECT + tma_load("As"))
HANDED_ON = init_barrier(32) + under("if tx < 32", f"As[tx] = tx\nO[tx] = As[tx]\n{ARRIVE}")


@pytest.mark.parametrize(
    "body",
    [
        # One thread waits for a load, and then all meet.
        LOADED + under("if tx == 0", WAIT) + SYNC + USE_B,
        # One lane waits for the other warp, and then its warp meets.
        HANDED_ON
        + under("if tx >= 32", under("if tx == 32", WAIT) + "T.sync_warp()\nBs[tx - 32] = 1\n"),
        # Half a warp waits, and writes.
        HANDED_ON + under("if 32 <= tx", under("if tx < 48", WAIT + "Bs[tx - 32] = 1\n")),
        # Half a warp meets by its own mask.
        under("if tx < 16", "As[tx] = 1\nT.sync_warp(0xFFFF)\nBs[15 - tx] = 1\n"),
        # Threads that all make one `__syncwarp(mask)` must be in its mask.
        "As[tx ^ 1] = tx\nT.sync_warp(D[0])\nBs[tx] = tx\n",
        "As[tx] = 1\nT.cluster_arrive()\nT.cluster_wait()\nBs[63 - tx] = 1\n",
        # A phase waits for the copies that it is held for.
        f"{init_barrier(64)}{COPY_A}T.ptx_cp_async_barrier(full[0])\n{ARRIVE}{WAIT}{USE_B}",
        # What has no row may be a barrier.
        "As[tx] = tx\nT.call_extern('handle', 'my_sync')\nBs[63 - tx] = 1\n",
        "As[tx] = tx\nT.sync_somehow()\nBs[63 - tx] = 1\n",
    ],
)
def test_what_is_ordered_in_a_way_that_is_not_followed_is_not_refuted(body: str) -> None:
    assert judge(body).verdict != UNSOUND


POLL = under("while O[99] == 0", "T.evaluate(0)\n")
POLL_BY_LOCAL = "c[0] = 0\n" + under("while c[0] == 0", "c[0] = O[99]\n")


def spinning(spin: str, flag: str = "O[99] = 1\n") -> str:
    """The second warp writes Bs when it has seen the flag that the first one sets behind its use
    of As."""
    use = "As[tx] = tx\nO[tx] = As[tx]\n"
    return under("if tx < 32", use + flag) + under("if tx >= 32", spin + "Bs[tx - 32] = 1\n")


@pytest.mark.parametrize(
    "body",
    [
        spinning(POLL),
        spinning(POLL_BY_LOCAL),
        spinning(under("if tx == 32", POLL) + "T.sync_warp()\n"),
        # The flag is in shared memory that no other buffer shares.
        spinning(POLL.replace("O[99]", "Cs[0]"), "Cs[0] = 1\n"),
        spinning(
            under("while T.atomic_load_elem_op(T.address_of(O[99]), 2) == 0", "T.evaluate(0)\n"),
            "T.atomic_store_elem_op(T.address_of(O[99]), 1, 3)\n",
        ),
        # The trace comes first to the warp that waits: what the other one reads seems to be lost.
        f"As[tx] = tx\n{SYNC}"
        + under("if tx < 32", f"{POLL}Bs[tx] = 1\n")
        + under("if tx >= 32", "O[tx] = As[tx - 32]\nO[99] = 1\n"),
    ],
)
def test_a_loop_that_polls_memory_may_order_accesses(body: str) -> None:
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
    assert judge(body, declared=declared, offsets={"Cs": 256}).verdict == UNPROVED


def test_what_comes_before_a_loop_that_polls_is_refuted() -> None:
    assert judge(f"As[tx] = tx\nBs[63 - tx] = tx\n{POLL}").verdict == UNSOUND


def test_a_loop_that_reads_what_nobody_writes_orders_nothing() -> None:
    loop = under("while D[c[0]] == 0", "c[0] = c[0] + 1\n")
    assert judge(f"c[0] = 0\nAs[tx] = tx\n{loop}Bs[63 - tx] = tx\n").verdict == UNSOUND


@pytest.mark.parametrize("poll", [POLL, under("if tx == 0", POLL)])
def test_barriers_around_a_loop_that_polls_order_accesses(poll: str) -> None:
    rounds = under("for k in range(100)", f"{USE_A}{SYNC}{USE_B}{poll}{SYNC}")
    assert judge(rounds).verdict == SOUND


def test_what_all_wait_for_is_proved() -> None:
    assert judge(LOADED + WAIT + USE_B).sound
    assert judge(USE_A + SYNC + USE_B).sound


# Reads that no thread makes ---------------------------------------------------------------------

LOST = f"As[tx] = tx\n{SYNC}Bs[tx] = 7\n{SYNC}O[tx] = {{}}\n"
UNORDERED = f"As[tx] = tx\n{SYNC}O[tx] = {{}}\nBs[tx] = 3\n{SYNC}O[tx] = Bs[63 - tx]\n"


@pytest.mark.parametrize("body", [LOST, UNORDERED])
@pytest.mark.parametrize(
    ("read", "verdict"),
    [
        ("T.if_then_else(tx < 0, As[63 - tx], 0)", SOUND),
        ("T.Select(tx >= 0, 0, As[63 - tx])", SOUND),
        ("T.Cast('int32', T.And(tx >= 64, As[63 - tx] > 1))", SOUND),
        ("T.Cast('int32', T.Or(tx < 64, As[63 - tx] > 1))", SOUND),
        ("T.if_then_else(D[0] > 0, As[63 - tx], 0)", UNPROVED),
        ("T.if_then_else(D[0] > 0, T.if_then_else(tx >= 64, As[63 - tx], 1), 0)", SOUND),
        ("T.Cast('int32', T.And(D[0] > 0, As[63 - tx] > 1))", UNPROVED),
        ("T.if_then_else(tx < 32, As[63 - tx], 0)", UNSOUND),
        ("T.if_then_else(As[63 - tx] > 3, 1, 0)", UNSOUND),
        ("T.if_then_else(tx < 0, As[63 - tx], As[62 - tx + tx // 63])", UNSOUND),
    ],
)
def test_no_plan_is_refuted_by_a_read_that_may_never_happen(
    body: str, read: str, verdict: str
) -> None:
    assert judge(body.format(read)).verdict == verdict


def test_a_round_decides_whether_a_read_happens_in_it() -> None:
    reads = "O[tx] = T.if_then_else(k == {}, As[63 - tx], 0)\n"
    body = f"As[tx] = tx\n{SYNC}Bs[tx] = 7\n{SYNC}"
    known = body + under("for k in range(40)", reads)
    assert judge(known.format(39)).verdict == UNSOUND
    assert judge(known.format(40)).verdict == SOUND
    assert judge(body + under("for k in range(D[0])", reads.format(39))).verdict == UNPROVED
