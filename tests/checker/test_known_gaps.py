"""Kernels on which the checker is known to be wrong, each with the verdict that would be right.

Every test here fails today, and says why. Once it holds, its mark has to go. Where a kernel is
called sound, the comment tells the execution that breaks it.
"""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import UNSOUND
from tests.checker.small import (
    COPY_A,
    SYNC,
    USE_A,
    USE_B,
    init_barrier,
    judge,
    tma_load,
    under,
)


def gap(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


# Phases of mbarriers ------------------------------------------------------------------------------

ARRIVE = "T.ptx_arrive_barrier(full[0])\n"
WAIT = "T.mbarrier_wait_parity(full[0], 0)\n"
PRODUCE = "As[tx] = tx\nO[tx] = As[tx]\n"
CONSUME = "Bs[tx - 32] = tx\nO[tx] = Bs[tx - 32]\n"


def arms(producer: str, consumer: str) -> str:
    """The first warp does the one, the others do the other."""
    return under("if tx < 32", producer) + under("if tx >= 32", consumer)


@gap("who waits learns of all phases that the schedule tried has completed")
def test_a_wait_is_passed_as_soon_as_its_phase_is_complete() -> None:
    """The consumer goes on behind the first round, while the producer is in its second."""
    producer = under("for k in range(3)", PRODUCE + ARRIVE)
    assert not judge(init_barrier(32) + arms(producer, WAIT + CONSUME)).sound


@gap("arrivals beyond those that a phase expects are taken into it")
def test_a_phase_needs_no_more_arrivals_than_it_expects() -> None:
    """Each warp completes a phase: the first writes B before the others have read A."""
    before = f"As[tx] = tx\n{SYNC}O[tx] = As[95 - tx]\n{ARRIVE}{WAIT}"
    assert not judge(init_barrier(32) + before + "Bs[95 - tx] = tx\n", threads=96).sound


ARRIVE_TWICE = ARRIVE + PRODUCE + ARRIVE
LAST_CONSUMES = under("if tx >= 64", WAIT + CONSUME.replace("32", "64"))


def arrivals_by_the_second_warp(operation: str, count: int = 32) -> str:
    """They come first, `count` of them. So the producer's first arrival completes the phase, and
    what it does then is not ordered before what the consumer does behind its wait."""
    early = under("if 32 <= tx", under("if tx < 64", operation))
    return init_barrier(32 + count) + early + SYNC + arms(ARRIVE_TWICE, LAST_CONSUMES)


def test_arrivals_that_are_counted_complete_the_phase_early() -> None:
    """The tests behind this one differ from it in how the second warp arrives."""
    assert judge(arrivals_by_the_second_warp(ARRIVE), threads=96).verdict == UNSOUND


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(
            "T.ptx_cp_async_barrier_noinc(full[0])\n",
            marks=gap("arrivals of finished copies are left out"),
        ),
        pytest.param(
            'T.ptx.mbarrier(full[0], "arrive", "relaxed", "cta", "shared::cta", "b64", "")\n',
            marks=gap("relaxed arrivals are left out, though they count"),
        ),
        pytest.param(
            "T.call_extern('handle', 'arrive_on', full[0])\n",
            marks=gap("a function that is not known may arrive at what it is handed"),
        ),
        pytest.param(
            "T.arrive_somehow(T.address_of(full[0]))\n",
            marks=gap("so may an operation without a row that is handed an address"),
        ),
        pytest.param(
            "T.arrive_somehow(full.data)\n",
            marks=gap("so may an operation without a row that is handed all of them"),
        ),
        pytest.param(
            "c[0] = T.ptx_arrive_barrier(full[0])\n",
            marks=gap("operations inside a stored value are not performed"),
        ),
        pytest.param(
            "t: T.int32 = T.ptx_arrive_barrier(full[0])\n",
            marks=gap("operations inside a bound value are not performed"),
        ),
        pytest.param(
            under("if T.ptx_arrive_barrier(full[0]) > 0", "c[0] = 1\n"),
            marks=gap("operations inside a condition are not performed"),
        ),
    ],
)
def test_an_arrival_that_is_left_out_does_not_delay_the_phase(operation: str) -> None:
    assert not judge(arrivals_by_the_second_warp(operation), threads=96).sound


@gap("arrivals of finished matrix operations are left out")
def test_the_arrival_of_a_matrix_operation_does_not_delay_the_phase() -> None:
    """One thread of the warp makes it."""
    body = arrivals_by_the_second_warp("T.tcgen05_mma_arrive(full[0])\n", count=1)
    assert not judge(body, threads=96).sound


@gap("a loop is shortened to whole periods of four, though three rounds make a phase")
def test_a_shortened_loop_leaves_every_phase_as_it_would_be() -> None:
    """Twelve rounds complete four phases. Then a wait for parity 1 is passed at once; behind the
    four rounds that are executed it waits for the other warp's arrivals."""
    init = init_barrier(96) + init_barrier(1, "full[1]")
    rounds = "T.ptx_arrive_barrier(full[k % 1])\nT.mbarrier_wait_parity(full[k % 1 + 1], 1)\n"
    wait = "T.mbarrier_wait_parity(full[0], 1)\nBs[tx] = tx\nO[tx] = Bs[tx]\n"
    other = f"As[tx - 32] = tx\nO[tx] = As[tx - 32]\n{ARRIVE}{ARRIVE}"
    body = arms(under("for k in range(12)", rounds) + wait, other)
    assert not judge(init + body).sound


@gap("an mbarrier that is initialized again keeps its phase")
def test_an_mbarrier_that_is_initialized_again_is_in_phase_0() -> None:
    """So a wait for parity 1 is passed at once."""
    again = init_barrier(32) + under("if tx < 32", ARRIVE) + SYNC + init_barrier(32)
    wait = WAIT.replace("0)", "1)")
    assert not judge(again + arms(PRODUCE + ARRIVE, wait + CONSUME)).sound


@pytest.mark.parametrize(
    "operation",
    [
        "T.ptx_arrive_cluster_barrier(full[0], 1)\n",
        "T.ptx_arrive_barrier_expect_tx(full[0], 0, 1, 1)\n",
    ],
)
@gap("an arrival at another block's mbarrier counts as one at one's own")
def test_an_arrival_in_another_block_hands_over_nothing_here(operation: str) -> None:
    """The consumer is let go by the other block's producer, before this one's is done."""
    assert not judge(init_barrier(32) + arms(PRODUCE + operation, WAIT + CONSUME)).sound


@gap("behind a branch, a phase hands over what the one arm's arrivals knew")
def test_a_phase_hands_over_what_it_does_in_both_arms() -> None:
    """In the second arm, the first warp arrives without having met the other."""
    arrival = under("if tx < 32", ARRIVE)
    branch = under("if D[0] > 0", SYNC + arrival) + under("else", arrival)
    before = f"As[tx] = tx\n{SYNC}O[tx] = As[63 - tx]\n"
    assert not judge(init_barrier(32) + before + branch + WAIT + USE_B).sound


@pytest.mark.parametrize(
    ("declared", "one", "other"),
    [
        pytest.param(
            'm = T.alloc_buffer((2, 2), "uint64", scope="shared.barrier")',
            "m[0, 0]",
            "m[0, 1]",
            marks=gap("of several indices only the first tells mbarriers apart"),
        ),
        pytest.param(
            'm = T.decl_buffer((1,), "uint64", data=full.data, scope="shared.barrier",'
            " elem_offset=1)",
            "full[0]",
            "m[0]",
            marks=gap("a view of an mbarrier further on counts as the first"),
        ),
    ],
)
def test_different_mbarriers_are_not_one(declared: str, one: str, other: str) -> None:
    """The consumer waits for the second warp alone, not for the producer."""
    init = init_barrier(64, one) + init_barrier(64, other)
    arrive = f"T.ptx_arrive_barrier({one})\n"
    consumer = under("if tx < 64", arrive + arrive) + under(
        "else", f"T.mbarrier_wait_parity({one}, 0)\n{CONSUME.replace('32', '64')}"
    )
    body = under("if tx < 32", f"{PRODUCE}T.ptx_arrive_barrier({other})\n")
    assert not judge(init + body + under("else", consumer), threads=96, declared=declared).sound


# Barriers of threads ------------------------------------------------------------------------------


@gap("the number of a named barrier is not looked at")
def test_two_arms_at_one_named_barrier_do_not_wait_for_their_own_threads() -> None:
    """`bar.sync 1, 64` is complete when any two warps have come: one of each arm."""
    meet = 'T.tvm_storage_sync("shared", 1, 64)\n'
    one = f"O[tx] = As[tx]\n{meet}Bs[63 - tx] = tx\n"
    two = f"O[tx] = As[tx]\n{meet}Bs[191 - tx] = tx\n"
    body = f"As[tx] = tx\n{SYNC}" + under("if tx < 64", one) + under("else", two)
    assert not judge(body, threads=128).sound


@gap("a barrier is assumed before every statement; the pass sees none needed behind this wait")
def test_a_barrier_before_a_wait_is_none_behind_it() -> None:
    """TileLang's ThreadSync is content with the barrier that stands between the copy and the
    write, though each thread waits for its own copies behind that barrier."""
    body = f"{COPY_A}T.ptx_commit_group()\n{SYNC}T.ptx_wait_group(0)\n{USE_B}"
    assert not judge(body, assume_barriers=True).sound


@gap("an assumed barrier passes on what one warp alone has waited for")
def test_a_load_that_one_warp_waited_for_is_not_waited_for_by_all() -> None:
    load = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As")
    body = init_barrier(1) + under("if tx == 0", load) + SYNC + under("if tx < 32", WAIT) + USE_B
    assert not judge(body, assume_barriers=True).sound


# Proxies -----------------------------------------------------------------------------------------


@gap("accesses of the two proxies need no fence between them")
def test_a_load_behind_plain_reads_needs_a_proxy_fence() -> None:
    """Rule 11: TMA may write what plain loads before the barrier have yet to read."""
    load = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("Bs")
    read = f"O[tx] = Bs[tx]\n{SYNC}"
    body = init_barrier(1) + USE_A + SYNC + under("if tx == 0", load) + WAIT + read
    assert not judge(body).sound


# Which bytes, and which threads -------------------------------------------------------------------

THIRD = 'Cs = T.alloc_buffer(({},), "int32", scope="shared.dyn")'


@gap("`tl_shuffle_elect` asks for threadIdx.x, not for the number of the thread in its block")
def test_a_thread_is_elected_in_every_row_of_a_block() -> None:
    """`cutlass::canonical_warp_idx` is threadIdx.x / 32: 0 in both warps here."""
    rows = 'ty = T.launch_thread("threadIdx.y", 2)\n'
    use = "As[ty] = 1\nO[ty] = As[ty]\nBs[1 - ty] = 2\nO[ty] = Bs[1 - ty]\n"
    assert judge(rows + under("if tx == 0", use), threads=32).verdict == UNSOUND
    assert not judge(rows + under("if T.tl_shuffle_elect(0)", use), threads=32).sound


@gap("registers of other scopes than `local` count as the same for all threads")
def test_registers_of_a_warp_are_each_threads_own() -> None:
    """Threads are in both arms."""
    declared = 'w = T.alloc_buffer((1,), "int32", scope="warp")'
    branch = under("if w[0] < 16", "O[tx] = As[63 - tx]\n") + under("else", "Bs[63 - tx] = 7\n")
    assert not judge(f"w[0] = tx\nAs[tx] = 1\n{SYNC}{branch}", declared=declared).sound


def test_a_function_of_any_name_may_take_a_reference() -> None:
    """From the element that it is handed it may write all of Bs."""
    body = f"As[tx] = 1\n{SYNC}T.call_extern('handle', '__scale_in_place', Bs[0])\n{SYNC}"
    assert not judge(f"{body}O[tx] = As[tx]\n").sound


# What is no serial loop of one thread -------------------------------------------------------------


@gap("a virtual thread is executed once, and not as often as there are")
def test_virtual_threads_come_one_after_the_other() -> None:
    """The second reads As when the first has written Bs."""
    rounds = f"O[tx] = As[63 - tx]\n{SYNC}Bs[63 - tx] = tx\n{SYNC}"
    assert not judge(f'As[tx] = tx\n{SYNC}vt = T.launch_thread("vthread", 2)\n{rounds}').sound


@gap("a loop over threads counts as a loop")
def test_the_iterations_of_a_loop_over_threads_are_threads() -> None:
    body = "As[ty * 64 + tx] = 1\nBs[(1 - ty) * 64 + tx] = 2\n"
    loop = under("for ty in T.thread_binding(2, thread='threadIdx.y')", body)
    assert not judge(loop, elements=128).sound


@gap("a vectorized loop counts as a serial one")
def test_each_statement_of_a_vectorized_loop_is_done_for_all_lanes_at_once() -> None:
    """Both elements of As are written, then Bs over the second one, then both are read."""
    loop = under("for v in T.vectorized(2)", "As[v] = v\nBs[v] = 7\nO[v] = As[v]\n")
    assert not judge(loop, threads=1, elements=2, offsets={"Bs": 4}).sound


@gap("a loop that counts down is taken for one without iterations")
def test_a_loop_may_count_down() -> None:
    loop = under("for k in range(3, -1, -1)", "Bs[63 - tx] = k\n")
    assert not judge(f"As[tx] = 1\n{SYNC}{loop}{SYNC}O[tx] = As[tx]\n").sound
