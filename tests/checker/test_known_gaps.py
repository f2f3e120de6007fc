"""Kernels on which the checker is known to be wrong, each with the verdict that would be right.

Every test here fails today, and says why. Once it holds, its mark has to go. Where a kernel is
called sound, the comment tells the execution that breaks it.
"""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import UNSOUND
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
    ],
)
def test_an_arrival_that_is_left_out_does_not_delay_the_phase(operation: str) -> None:
    assert not judge(arrivals_by_the_second_warp(operation), threads=96).sound


@gap("arrivals of finished matrix operations are left out")
def test_the_arrival_of_a_matrix_operation_does_not_delay_the_phase() -> None:
    """One thread of the warp makes it."""
    body = arrivals_by_the_second_warp("T.tcgen05_mma_arrive(full[0])\n", count=1)
    assert not judge(body, threads=96).sound


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


# Which accesses are remembered --------------------------------------------------------------------


@gap("of the accesses in one epoch only the last are kept, and older ones are not asked for")
def test_a_conflict_is_not_forgotten_over_those_behind_it() -> None:
    body = "Bs[63 - tx] = tx\n" + "Bs[tx] = 7\n" * 24
    assert not judge(f"{body}As[tx] = 1\nO[tx] = As[tx]\n").sound


@gap("a warp that lags behind hides that older accesses have been dropped")
def test_a_conflict_is_not_forgotten_while_another_warp_lags_behind() -> None:
    """The third warp has written B without meeting the others; its last read hides it."""
    first = under("if tx >= 64", "Bs[tx - 64] = 1\n")
    met = under("if tx < 64", 'T.tvm_storage_sync("shared", 1, 64)\n' + "Bs[tx] = 7\n" * 24)
    last = under("if tx >= 64", "O[tx] = Bs[90]\n")
    body = first + met + last + under("if tx < 64", "As[tx] = 1\nO[tx] = As[tx]\n")
    assert not judge(body, threads=96).sound


@gap("behind a branch, the one arm's accesses push out the other's")
def test_a_conflict_of_one_arm_is_not_forgotten_over_the_other() -> None:
    branch = under("if D[0] > 0", "Bs[63 - tx] = 1\n") + under("else", "Bs[tx] = 7\n" * 24)
    assert not judge(f"{branch}Bs[tx] = 8\nAs[tx] = 1\nO[tx] = As[tx]\n").sound


# What is in flight --------------------------------------------------------------------------------

DONE = f"T.ptx_wait_group(0)\n{SYNC}{USE_B}"


@gap("a commit by half a warp closes the groups of all of it")
def test_half_a_warp_does_not_commit_for_the_other() -> None:
    """The other half's copies are in no group that it waits for."""
    commit = under("if tx % 32 < 16", "T.ptx_commit_group()\n")
    assert not judge(COPY_A + commit + DONE).sound


@gap("a commit by a thread closes the groups of the others of its warp")
def test_a_thread_does_not_commit_for_another() -> None:
    target = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1)'
    issue = under("if tx == 0", f"T.tma_store({target}, X, 0)\n")
    commit = under("if tx == 1", "T.tma_store_arrive()\n")
    wait = under("if tx == 0", "T.tma_store_wait(0)\n")
    assert not judge(USE_A + SYNC + issue + commit + wait + SYNC + USE_B).sound


FILL = f"As[tx] = tx\nT.fence_proxy_async()\n{SYNC}{DESCRIBE_A}"
COMMIT = "T.warpgroup_commit_batch()\n"


@pytest.mark.parametrize(
    "multiply",
    [
        pytest.param(
            "db[0] = da[0]\n" + WGMMA_A.replace("da", "db") + COMMIT,
            marks=gap("a copy of a descriptor stands for nothing"),
        ),
        pytest.param(
            "d: T.uint64 = da[0]\n" + WGMMA_A.replace("da[0]", "d") + COMMIT,
            marks=gap("a variable that holds a descriptor stands for nothing"),
        ),
        pytest.param(
            "T.multiply_somehow(da[0], acc.data)\n",
            marks=gap("an operation without a row that is handed a descriptor is not refused"),
        ),
        pytest.param(
            "T.call_extern('handle', 'multiply', da[0], acc.data)\n",
            marks=gap("nor is a function that is not known"),
        ),
    ],
)
def test_what_descriptors_stand_for_is_read_whoever_holds_them(multiply: str) -> None:
    """Nothing waits for the multiplication, which reads A while B is written."""
    body = f"{FILL}{multiply}{SYNC}Bs[127 - tx] = tx\n"
    assert not judge(body, threads=128, declared=DESCRIPTORS).sound


@gap("a read that one warpgroup has in flight is not remembered of another")
def test_each_warpgroup_reads_for_itself() -> None:
    """The second warpgroup's multiplication is not waited for."""
    first = under("if tx < 128", WGMMA_A)
    wait = under("if tx < 128", "T.warpgroup_wait(0)\n")
    body = f"{FILL}{first}{WGMMA_A}{COMMIT}{wait}{SYNC}Bs[255 - tx] = tx\n"
    assert not judge(body, threads=256, declared=DESCRIPTORS).sound


@gap("what descriptors stand for is not among what an arm touches")
def test_a_multiplication_in_one_arm_conflicts_with_a_write_in_the_other() -> None:
    """One warpgroup multiplies while the other writes over its operand."""
    multiply = f"{WGMMA_A}{COMMIT}T.warpgroup_wait(0)\n"
    branch = under("if D[tx // 128] > 0", multiply) + under("else", "Bs[tx] = 1\n")
    assert not judge(FILL + branch, threads=256, declared=DESCRIPTORS).sound


@gap("accesses of the two proxies need no fence between them")
def test_a_load_behind_plain_reads_needs_a_proxy_fence() -> None:
    """Rule 11: TMA may write what plain loads before the barrier have yet to read."""
    load = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("Bs")
    read = f"O[tx] = Bs[tx]\n{SYNC}"
    body = init_barrier(1) + USE_A + SYNC + under("if tx == 0", load) + WAIT + read
    assert not judge(body).sound


# Which bytes, and which threads -------------------------------------------------------------------

THIRD = 'Cs = T.alloc_buffer(({},), "int32", scope="shared.dyn")'


@gap("the offset of a pointer is computed where it is used, with what its locals hold then")
def test_a_pointer_keeps_the_place_that_it_was_made_with() -> None:
    """It points at the first element of Cs, which shares bytes with Bs."""
    pointer = 'p: T.handle("int32", "shared.dyn") = T.address_of(Cs[c[0]])\n'
    view = 'v = T.decl_buffer((64,), "int32", data=p, scope="shared.dyn")\n'
    body = f"Bs[tx] = tx\nc[0] = 0\n{pointer}c[0] = 64\n{view}v[tx] = 7\nO[tx] = Bs[tx]\n"
    found = judge(body, declared=THIRD.format(128), offsets={"As": 1024})
    assert not found.sound


@gap("contents that the offset of a view is computed from count as not read")
def test_the_offset_of_a_view_is_read_where_the_view_is_used() -> None:
    """As[0] has been overwritten by then."""
    view = (
        'v = T.decl_buffer((32,), "int32", data=Cs.data, elem_offset=As[0], scope="shared.dyn")\n'
    )
    body = f"As[tx] = 0\n{SYNC}Bs[63 - tx] = tx\n{SYNC}{view}O[tx] = v[tx % 32]\n"
    assert not judge(body, declared=THIRD.format(64), offsets={"Cs": 1024}).sound


@gap("half a byte at the end of a copy is rounded away")
def test_a_copy_of_half_a_byte_takes_the_whole_byte() -> None:
    """Three elements of four bits reach into the second byte."""
    declared = 'fours = T.alloc_buffer((16,), "int4", scope="shared.dyn")\n'
    pointer = 'T.tvm_access_ptr(T.type_annotation("int4"), fours.data, 0, 3, 1)'
    view = 'bytes = T.decl_buffer((8,), "uint8", data=Bs.data, scope="shared.dyn")\n'
    body = f"{view}T.tma_store({pointer}, X, 0)\nbytes[1] = T.uint8(1)\n"
    found = judge(body, threads=1, elements=2, declared=declared, offsets={"As": 64})
    assert not found.sound


def test_a_function_of_any_name_may_take_a_reference() -> None:
    """From the element that it is handed it may write all of Bs."""
    body = f"As[tx] = 1\n{SYNC}T.call_extern('handle', '__scale_in_place', Bs[0])\n{SYNC}"
    assert not judge(f"{body}O[tx] = As[tx]\n").sound


# Refuted, though no execution breaks the plan -----------------------------------------------------


@gap("of two unordered warps' accesses the bytes of all the warps are compared")
def test_what_one_warp_did_is_not_laid_to_another() -> None:
    """Each warp keeps to its own bytes, and meets in between."""
    assert judge("As[tx ^ 1] = tx\nT.sync_warp()\nBs[tx] = tx\n").sound


@gap("whether the earlier of two accesses surely happens is not asked")
def test_a_race_with_what_may_not_happen_is_not_certain() -> None:
    body = "Bs.vstore([63 - tx], 1, predicate=D[0] > 0)\nAs[tx] = 1\n"
    assert judge(body).verdict != UNSOUND


@gap("a value that may have been written anew counts as surely lost")
def test_a_value_that_may_be_new_is_not_surely_lost() -> None:
    again = "As.vstore([tx], 3, predicate=D[0] > 0)\nO[tx] = As[tx]\n"
    assert judge(f"As[tx] = 1\n{SYNC}Bs[tx] = 2\n{SYNC}{again}").verdict != UNSOUND
