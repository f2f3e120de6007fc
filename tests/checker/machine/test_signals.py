"""What threads do to mbarriers, and what a wait for a phase orders: small kernels, judged."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import LintStatus
from smemreuse.results.verdict import SOUND, UNPROVED
from tests.checker.small import (
    ARRIVE,
    CONSUME,
    COPY_A,
    PRODUCE,
    SYNC,
    TO_AND_FRO,
    USE_B,
    WAIT,
    arms,
    init_barrier,
    judge,
    kernel_of,
    tma_load,
    under,
)
from tests.linter.test_linter import report_on

# Which phase a wait is over with ------------------------------------------------------------------


@pytest.mark.parametrize(("rounds", "verdict"), [(1, SOUND), (3, UNPROVED)])
def test_a_wait_is_passed_as_soon_as_its_phase_is_complete(rounds: int, verdict: str) -> None:
    """Behind the first, whatever the producer, who comes first here, has done by then."""
    known = "T.mbarrier_wait_parity(full[0], k % 2)\n"
    producer = under(f"for k in range({rounds})", PRODUCE + ARRIVE + known)
    found = judge(init_barrier(32) + arms(producer, WAIT + CONSUME))
    assert (found.verdict, found.uncovered) == (verdict, ())


PIPELINE = """
if tx < 32:
    for k in range({rounds}):
        T.mbarrier_wait_parity(full[k % 2 + 2], T.bitwise_xor(k // 2 % 2, {initial}))
        As[tx] = k
        T.ptx_arrive_barrier(full[k % 2])
else:
    for k in range({rounds}):
        T.mbarrier_wait_parity(full[k % 2], k // 2 % 2)
        O[tx] = As[tx - 32]
        T.ptx_arrive_barrier(full[k % 2 + 2])
    {behind}
"""
STAGES = "".join(init_barrier(32, f"full[{slot}]") for slot in range(4))


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 7, 12])
def test_behind_a_pipeline_its_stages_are_free(rounds: int) -> None:
    body = PIPELINE.format(rounds=rounds, initial=1, behind="Bs[tx - 32] = 1")
    assert judge(STAGES + body).sound


def test_a_pipeline_whose_producer_waits_for_the_wrong_parity_is_stuck() -> None:
    found = judge(STAGES + PIPELINE.format(rounds=4, initial=0, behind="Bs[tx - 32] = 1"))
    assert found.uncovered == ("an mbarrier is waited for that nobody completes",)


@pytest.mark.parametrize(("parity", "sound"), [("k % 2", True), ("0", False), ("1", False)])
def test_a_wait_for_a_phase_that_is_known_to_be_over_tells_nothing_new(
    parity: str, sound: bool
) -> None:
    rounds = f"T.mbarrier_wait_parity(full[0], {parity})\nT.ptx_arrive_barrier(full[1])\n"
    produce = f"T.mbarrier_wait_parity(full[1], (k + 1) % 2)\n{PRODUCE}{ARRIVE}"
    producer, consumer = (under("for k in range(3)", one) for one in (produce, rounds))
    init = init_barrier(32) + init_barrier(32, "full[1]")
    assert judge(init + arms(producer, consumer + CONSUME)).sound is sound


def test_initial_parity_lets_a_wait_pass_at_once() -> None:
    """It tells nothing of the producer."""
    wait = "T.mbarrier_wait_parity(full[0], 1)\n"
    assert not judge(init_barrier(32) + arms(PRODUCE + ARRIVE, wait + CONSUME)).sound


# Which arrivals count, and for which phase --------------------------------------------------------


def test_a_phase_needs_no_more_arrivals_than_it_expects() -> None:
    """Each warp completes a phase: the first writes B before the others have read A."""
    before = f"As[tx] = tx\n{SYNC}O[tx] = As[95 - tx]\n{ARRIVE}{WAIT}"
    assert not judge(init_barrier(32) + before + "Bs[95 - tx] = tx\n", threads=96).sound
    assert judge(init_barrier(96) + before + "Bs[95 - tx] = tx\n", threads=96).sound


def test_an_arrival_may_come_a_phase_earlier_than_in_the_schedule_that_is_tried() -> None:
    """The first warp may arrive twice before the second has arrived once."""
    first = under("if tx < 32", ARRIVE + ARRIVE)
    second = under("if tx >= 32", f"O[tx] = As[tx]\n{ARRIVE}{ARRIVE}")
    third = under("if tx < 32", WAIT + "Bs[tx + 32] = 1\n")
    body = f"{init_barrier(64)}As[tx] = tx\n{SYNC}{first}{second}{third}"
    assert judge(body).uncovered == ("a signal to an mbarrier may come in an earlier phase",)


FIRST_AGAIN = "T.ptx_arrive_barrier(full[0])\n"
MEET = "T.ptx_arrive_barrier(full[1])\nT.mbarrier_wait_parity(full[1], k % 2)\n"
ONE, OTHER = (under(f"if k % 2 == {n}", under(f"if tx == {n}", FIRST_AGAIN)) for n in (0, 1))


@pytest.mark.parametrize(
    ("count", "lower", "upper", "follows"),
    [
        (64, FIRST_AGAIN + MEET, MEET, True),
        (64, MEET + FIRST_AGAIN, MEET, True),
        (128, FIRST_AGAIN + MEET, FIRST_AGAIN + MEET, True),
        (128, MEET + FIRST_AGAIN, FIRST_AGAIN + MEET, False),
        (64, FIRST_AGAIN, MEET.replace("k % 2", "0"), False),  # the lanes do not wait
        (64, FIRST_AGAIN + "T.ptx_cp_async_barrier(full[0])\n" + MEET, MEET, False),
        (64, "T.ptx_cp_async_barrier_noinc(full[0])\n" + MEET, MEET, False),
        (1, ONE + OTHER, "T.evaluate(0)\n", False),
        (1, ONE + MEET + OTHER, MEET, False),
        (1, ONE + OTHER + MEET, MEET, True),
    ],
)
def test_phases_that_ended_by_arrivals_before_need_no_wait(
    count: int, lower: str, upper: str, follows: bool
) -> None:
    """Nobody waits for `full[0]`; all meet at `full[1]` in each round."""
    first = under("if tx < 64", under("for k in range(4)", lower))
    second = under("if tx >= 64", under("for k in range(4)", upper))
    begun = init_barrier(count) + init_barrier(128, "full[1]")
    unknown = () if follows else ("a signal to an mbarrier may come in an earlier phase",)
    assert report_on(kernel_of(begun + first + second, threads=128)).unknown == unknown


def with_the_second_warp(operation: str, count: int = 32) -> str:
    """The second warp does something to the mbarrier that counts as so many arrivals. Without it,
    the phase for which the consumer waits would not be complete."""
    early = under("if 32 <= tx", under("if tx < 64", operation))
    consumer = under("if tx >= 64", WAIT + CONSUME.replace("32", "64"))
    return init_barrier(32 + count) + early + under("if tx < 32", PRODUCE + ARRIVE) + consumer


@pytest.mark.parametrize(
    "operation",
    [
        ARRIVE,
        "T.ptx_cp_async_barrier_noinc(full[0])\n",
        'T.ptx.mbarrier(full[0], "arrive", "relaxed", "cta", "shared::cta", "b64", "")\n',
    ],
)
def test_every_kind_of_arrival_counts(operation: str) -> None:
    assert judge(with_the_second_warp(operation), threads=96).sound
    # Two arms more than are expected, and none of them knows of the other.
    assert not judge(with_the_second_warp(operation, count=0), threads=96).sound


def test_the_arrival_of_a_matrix_operation_counts() -> None:
    """One thread makes it."""
    one = under("if tx == 32", "T.tcgen05_mma_arrive(full[0])\n")
    assert judge(with_the_second_warp(one, count=1), threads=96).sound


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("T.call_extern('handle', 'arrive_on', full[0])\n", "`call_extern` is handed an mbarrier"),
        ("T.arrive_somehow(T.address_of(full[0]))\n", "`arrive_somehow` has no row"),
        ("T.arrive_somehow(full.data)\n", "`arrive_somehow` has no row"),
        ("T.ptx_arrive_barrier(full[0], 7)\n", "is not known with 2 operands"),
        ("T.ptx_arrive_cluster_barrier(full[0], 1)\n", "another block of the cluster"),
        ("T.ptx_arrive_barrier_expect_tx(full[0], 0, 1, 1)\n", "another block of the cluster"),
    ],
)
def test_what_may_arrive_and_is_not_understood_is_not_covered(operation: str, reason: str) -> None:
    found = judge(with_the_second_warp(operation), threads=96)
    assert found.verdict == UNPROVED
    assert reason in " ".join(found.uncovered)


def test_an_arrival_hands_over_nothing_that_it_does_not_release() -> None:
    relaxed = 'T.ptx.mbarrier(full[0], "arrive", "relaxed", "cta", "shared::cta", "b64", "")\n'
    noinc = "T.ptx_cp_async_barrier_noinc(full[0])\n"
    for arrival in (relaxed, noinc):
        assert not judge(init_barrier(32) + arms(PRODUCE + arrival, WAIT + CONSUME)).sound


def test_an_arrival_among_an_unknown_few_is_not_covered() -> None:
    branch = under("if D[tx] > 0", ARRIVE) + under("else", ARRIVE)
    found = judge(init_barrier(128) + branch + TO_AND_FRO)
    assert found.verdict == UNPROVED
    assert "which threads signal" in " ".join(found.uncovered)


_USED = init_barrier(32) + under("if tx < 32", ARRIVE)
_INVALIDATE = under("if tx == 0", 'T.ptx.mbarrier(full[0], "inval", "shared::cta", "b64", "")\n')


def test_an_mbarrier_that_is_initialized_again_is_in_phase_0() -> None:
    """So a wait for parity 1 is passed at once."""
    again = _USED + SYNC + _INVALIDATE + init_barrier(32)
    assert not judge(again + arms(PRODUCE + ARRIVE, WAIT.replace("0)", "1)") + CONSUME)).sound
    assert judge(again + arms(PRODUCE + ARRIVE, WAIT + CONSUME)).sound


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (_USED + SYNC + init_barrier(32), "has not been invalidated"),
        (_USED + _INVALIDATE + init_barrier(32), "may still use"),
        (_USED + SYNC + _INVALIDATE + SYNC, "has been invalidated"),
        (init_barrier(64) + under("if tx < 32", ARRIVE) + SYNC + _INVALIDATE, "middle of a phase"),
        (init_barrier(0), "initialized to 0 arrivals"),
        (init_barrier(2**20), "initialized to 1,048,576 arrivals"),
        ("T.ptx_init_barrier_thread_count(full[0], 32)\n" + SYNC, "several threads initialize"),
        (init_barrier(32, "full[4]"), "full has no mbarrier 4"),
        (init_barrier(32, "full[-1]"), "full has no mbarrier -1"),
        (init_barrier(32, "full[D[0]]"), "slot is not known"),
        (init_barrier(32) + "full[0] = T.uint64(0)\n" + SYNC, "an mbarrier is written over"),
    ],
)
def test_an_mbarrier_that_is_misused_proves_nothing(begin: str, reason: str) -> None:
    body = begin + arms(PRODUCE + ARRIVE, WAIT + CONSUME)
    found = judge(body)
    assert found.verdict == UNPROVED
    assert reason in " ".join(found.uncovered)
    assert judge(init_barrier(32) + arms(PRODUCE + ARRIVE, WAIT + CONSUME)).sound
    assert report_on(kernel_of(body)).status is not LintStatus.CLEAN


def test_as_many_arrivals_as_a_phase_may_expect_are_allowed() -> None:
    assert judge(init_barrier(2**20 - 1) + TO_AND_FRO).sound


@pytest.mark.parametrize("function", ["", "tl::"])
def test_an_mbarrier_in_plain_memory_is_none_of_data(function: str) -> None:
    """Of the bytes behind it any may be."""
    place = "M = T.decl_buffer((64,), 'uint64', data=As.data, scope='shared.dyn')\n"
    init = "T.ptx_init_barrier_thread_count(M[{}], 32)\n"
    if function:
        init = "T.call_extern('handle', 'tl::mbarrier_init', M[{}], 32)\n"

    def reasons(number: int, store: str) -> str:
        body = place + under("if tx == 0", init.format(number)) + SYNC + store
        return " ".join(report_on(kernel_of(body, elements=128)).unknown)

    assert "M has an mbarrier" not in reasons(0, "As[tx + 2] = tx\n")
    assert "As has an mbarrier" in reasons(0, "As[tx] = tx\n")
    assert "As has an mbarrier" in reasons(1, "O[tx] = As[3]\n")
    shared = place + under("if tx == 0", init.format(0)) + SYNC + "Bs[tx] = tx\n"
    found = judge(shared, elements=128)
    assert found.verdict == UNPROVED
    assert "As has an mbarrier" in " ".join(found.uncovered)


def test_a_shortened_loop_leaves_every_phase_as_it_would_be() -> None:
    """Twelve rounds complete four phases. Then a wait for parity 1 is passed at once; behind fewer
    rounds it would wait for the other warp's arrivals."""
    init = init_barrier(96) + init_barrier(1, "full[1]")
    rounds = "T.ptx_arrive_barrier(full[k % 1])\nT.mbarrier_wait_parity(full[k % 1 + 1], 1)\n"
    wait = "T.mbarrier_wait_parity(full[0], 1)\nBs[tx] = tx\nO[tx] = Bs[tx]\n"
    other = f"As[tx - 32] = tx\nO[tx] = As[tx - 32]\n{ARRIVE}{ARRIVE}"
    body = arms(under("for k in range(12)", rounds) + wait, other)
    assert not judge(init + body).sound


@pytest.mark.parametrize(("met", "verdict"), [(SYNC, SOUND), ("", UNPROVED)])
def test_a_phase_hands_over_what_it_does_in_both_arms(met: str, verdict: str) -> None:
    """Without the barrier, the first warp may arrive without having met the other."""
    arrival = under("if tx < 32", ARRIVE)
    branch = under("if D[0] > 0", SYNC + arrival) + under("else", met + arrival)
    before = f"As[tx] = tx\n{SYNC}O[tx] = As[tx]\n"
    assert judge(init_barrier(32) + before + branch + WAIT + USE_B).verdict == verdict


# Which mbarrier -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "one", "other"),
    [
        ('m = T.alloc_buffer((2, 2), "uint64", scope="shared.barrier")', "m[0, 0]", "m[0, 1]"),
        (
            'm = T.decl_buffer((1,), "uint64", data=full.data, scope="shared.barrier",'
            " elem_offset=1)",
            "full[0]",
            "m[0]",
        ),
    ],
)
def test_different_mbarriers_are_not_one(declared: str, one: str, other: str) -> None:
    """The consumer waits for the one, the producer arrives at the other."""
    init = init_barrier(32, one) + init_barrier(32, other)
    second = under("if 32 <= tx", under("if tx < 64", f"T.ptx_arrive_barrier({one})\n"))

    def waiting_for(slot: str) -> str:
        wait = f"T.mbarrier_wait_parity({slot}, 0)\n"
        consumer = under("if tx >= 64", wait + CONSUME.replace("32", "64"))
        first = under("if tx < 32", f"{PRODUCE}T.ptx_arrive_barrier({other})\n")
        return init + second + first + consumer

    assert not judge(waiting_for(one), threads=96, declared=declared).sound
    assert judge(waiting_for(other), threads=96, declared=declared).sound


# Copies that report to mbarriers ------------------------------------------------------------------


def test_a_load_whose_phase_may_be_over_before_it_is_announced_is_not_waited_for() -> None:
    """The arrival stands before the announcement: nothing holds the phase open."""
    issue = tma_load("As") + ARRIVE + "T.mbarrier_expect_tx(full[0], 256)\n"
    found = judge(init_barrier(1) + under("if tx == 0", issue) + WAIT + USE_B)
    assert not found.sound


@pytest.mark.parametrize(
    ("arrive", "sound"), [(ARRIVE, False), ("T.ptx_cp_async_barrier_noinc(full[0])\n", True)]
)
def test_copies_are_over_with_their_own_arrival(arrive: str, sound: bool) -> None:
    assert judge(init_barrier(32) + arms(COPY_A + arrive, WAIT + CONSUME)).sound is sound


@pytest.mark.parametrize(("expected", "sound"), [(32, True), (33, False)])
def test_one_thread_may_arrive_for_several(expected: int, sound: bool) -> None:
    arrival = 'T.ptx.mbarrier(c[0], full[0], 32, "arrive", "cta", "shared::cta", "b64", "")\n'
    producer = f"{PRODUCE}T.sync_warp()\n" + under("if tx == 0", arrival)
    assert judge(init_barrier(expected) + arms(producer, WAIT + CONSUME)).sound is sound


def test_a_load_for_two_blocks_reaches_the_other_one() -> None:
    load = tma_load("As").replace(", 0)\n", ", 0, use_2cta=1)\n")
    issue = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + load
    body = init_barrier(1) + under("if tx == 0", issue) + WAIT + USE_B
    assert judge(body.replace(", use_2cta=1", "")).sound
    assert "another block of the cluster" in " ".join(judge(body).uncovered)
