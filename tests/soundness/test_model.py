"""The model itself: what PTX's documents say of barriers, phases, groups, copies and fences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from smemreuse.ir.kernel import Buffer
from tests.checker.small import (
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    SCOPE,
    SYNC,
    WGMMA_A,
    init_barrier,
    kernel_of,
    tma_load,
    under,
)
from tests.soundness.model.barriers import Mbarrier, Meeting, WarpMeeting
from tests.soundness.model.modes import IllDefined, Mode, NotModelled, as_it_stands, held_at_each
from tests.soundness.model.run import Model

MODES = 24
ARRIVE = "T.ptx_arrive_barrier(full[0])\n"
WAIT = "T.mbarrier_wait_parity(full[0], 0)\n"


def _model(body: str, threads: int = 64, declared: str = "", blocks: int = 1) -> Model:
    """With As and Bs at one place in the only plan."""
    kernel = kernel_of(body, threads=threads, declared=declared, blocks=blocks)
    together: Mapping[Buffer, int] = dict.fromkeys(kernel.allocations(SCOPE), 0)
    return Model(kernel, [together], np.arange(1, 4097))


def _differs(
    body: str, threads: int = 64, declared: str = "", blocks: int = 1, *, fences: bool = False
) -> bool:
    """Whether As and Bs may not share; raises `IllDefined` for a kernel that is so."""
    model = _model(body, threads, declared, blocks)
    return bool(model.differing(_modes(model, fences=fences))[0])


def _modes(model: Model, *, fences: bool = False) -> Iterator[Mode]:
    yield from as_it_stands(MODES, fences=fences)
    for seed in range(4):
        yield from held_at_each(model.places, seed, fences=fences)


# Mbarriers --------------------------------------------------------------------------------------


def test_a_phase_is_complete_with_its_last_arrival() -> None:
    barrier = Mbarrier(2)
    assert barrier.passes(1)  # the phase before the first counts as complete
    assert not barrier.passes(0)
    barrier.arrive(1)
    assert not barrier.passes(0)
    barrier.arrive(1)
    assert barrier.passes(0)
    assert not barrier.passes(1)
    barrier.arrive(2)
    assert not barrier.passes(0)


def test_arrivals_go_on_into_the_next_phase() -> None:
    barrier = Mbarrier(2)
    barrier.arrive(3)
    assert (barrier.phase, barrier.pending) == (1, 1)


def test_bytes_announced_have_to_come_before_the_phase_is_complete() -> None:
    barrier = Mbarrier(1)
    barrier.arrive(1, 16)
    assert barrier.phase == 0
    with pytest.raises(IllDefined):
        barrier.arrive(1)
    barrier.take(8)
    assert barrier.phase == 0
    barrier.take(8)
    assert (barrier.phase, barrier.pending, barrier.bytes) == (1, 1, 0)


def test_bytes_may_come_before_they_are_announced() -> None:
    barrier = Mbarrier(1)
    barrier.take(16)
    barrier.expect(16)
    assert barrier.phase == 0
    barrier.arrive(1)
    assert barrier.phase == 1


def test_an_mbarrier_that_is_initialized_again_is_in_phase_0() -> None:
    barrier = Mbarrier(1)
    barrier.arrive(1)
    barrier.initialize(3)
    assert (barrier.phase, barrier.pending) == (0, 3)


def test_an_mbarrier_has_to_be_initialized() -> None:
    with pytest.raises(IllDefined, match="not initialized"):
        _differs(ARRIVE)


def test_a_wait_for_a_phase_that_never_ends_hangs() -> None:
    with pytest.raises(IllDefined, match="hangs"):
        _differs(init_barrier(33) + under("if tx < 32", ARRIVE) + WAIT)


PRODUCE = under("if tx < 32", "As[tx] = tx\nO[tx] = As[tx]\n" + ARRIVE)
CONSUME = "Bs[tx - 32] = tx\nO[tx] = Bs[tx - 32]\n"


@pytest.mark.parametrize(("parity", "differs"), [(0, False), (1, True)])
def test_an_mbarrier_orders_arms_by_its_parity(parity: int, differs: bool) -> None:
    """A wait for parity 1 is passed at once, as long as nobody has arrived."""
    produce = PRODUCE if parity == 0 else PRODUCE.replace("    " + ARRIVE, "")
    consume = under("if tx >= 32", WAIT.replace("0)", f"{parity})") + CONSUME)
    assert _differs(init_barrier(32) + produce + consume) == differs


def test_a_copy_arrives_when_it_has_landed() -> None:
    init, wait = init_barrier(64), WAIT + SYNC + "Bs[tx] = 5\nO[tx] = Bs[tx]\n"
    report = "T.ptx_cp_async_barrier_noinc(full[0])\n"
    assert not _differs(init + COPY_A + report + wait)
    assert _differs(init + report + COPY_A + wait + SYNC + "O[tx] = Bs[tx]\n" * 8)


# Barriers of threads ----------------------------------------------------------------------------


def _over(meeting: Meeting) -> int:
    return sum(one.over for one in meeting.rounds)


def test_a_round_hands_on_to_those_who_waited_for_it_though_a_later_one_is_over() -> None:
    meeting = Meeting(0, np.ones(64, dtype=bool))
    meeting.arrive(np.arange(16), 32, np.array([5, 0]))
    ((wait, _),) = meeting.waits(np.arange(16))
    assert wait() is None
    meeting.arrive(np.arange(16, 32), 32, np.array([7, 0]))
    meeting.arrive(np.arange(32, 64), 32, np.array([0, 3]))
    awaited = wait()
    assert awaited is not None
    assert awaited.clock is not None
    assert awaited.clock.tolist() == [7, 0]


def test_a_named_barrier_takes_whoever_comes() -> None:
    meeting = Meeting(0, np.ones(96, dtype=bool))
    meeting.arrive(np.arange(32), 64)
    assert _over(meeting) == 0
    meeting.arrive(np.arange(64, 80), 64)
    assert _over(meeting) == 0  # half a warp is none
    meeting.arrive(np.arange(80, 96), 64)
    assert _over(meeting) == 1


def test_threads_that_returned_are_not_waited_for() -> None:
    alive = np.arange(64) < 32
    meeting = Meeting(0, np.ones(64, dtype=bool))
    meeting.arrive(np.arange(32), None)
    assert _over(meeting) == 0
    meeting.left(alive)
    assert _over(meeting) == 1


def test_who_came_and_went_is_still_one_of_those_that_meet() -> None:
    everyone = np.ones(64, dtype=bool)
    one_left = np.arange(64) >= 32
    for gone_first in (False, True):
        meeting = Meeting(0, everyone)
        meeting.arrive(np.arange(32), None)
        if gone_first:
            meeting.left(one_left)
        assert not meeting.rounds[0].over
        meeting.arrive(np.arange(32, 64), None)
        assert meeting.rounds[0].over
        assert meeting.company() == [[[0, 1]], [[0, 1]]]


def test_a_barrier_for_different_numbers_of_threads() -> None:
    meeting = Meeting(0, np.ones(64, dtype=bool))
    meeting.arrive(np.arange(32), 64)
    with pytest.raises(IllDefined):
        meeting.arrive(np.arange(32, 64), 96)


def test_threads_of_a_warp_meet_by_mask() -> None:
    meeting = WarpMeeting(np.arange(32), 0xFF)
    alive = np.ones(32, dtype=bool)
    first = meeting.arrive(np.arange(4), alive)
    assert not first.over
    assert meeting.arrive(np.arange(4, 8), alive) is first
    assert first.over
    assert not meeting.arrive(np.arange(4, 8), alive).over


HAND_OVER = "As[tx] = tx\n{}O[tx] = As[tx ^ 1]\n{}Bs[tx] = 5\nO[tx] = Bs[tx]\n"


def test_threads_of_a_warp_go_together_only_as_far_as_they_meet() -> None:
    warp = "T.sync_warp()\n"
    with pytest.raises(IllDefined, match=r"nobody wrote|races"):
        _differs(HAND_OVER.format("", warp))
    assert not _differs(HAND_OVER.format(warp, warp))
    assert _differs(HAND_OVER.format(warp, ""))


def test_who_only_arrives_at_a_named_barrier_does_not_wait() -> None:
    meet = 'T.tvm_storage_sync("shared", 1, 64)\n'
    arrive = "T.named_barrier_arrive(1, 64)\n"
    first = "As[tx] = tx\nO[tx] = As[tx]\n"
    for one, other, differs in ((arrive, meet, False), (meet, arrive, True)):
        body = under("if tx < 32", first + one) + under("if tx >= 32", other + CONSUME)
        assert _differs(body) == differs


# What is under way ------------------------------------------------------------------------------

COMMIT = "T.ptx_commit_group()\n"
COPY_FURTHER = COPY_A.replace("As.data, tx", "Cs.data, tx")
THIRD = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'


@pytest.mark.parametrize(("keep", "differs"), [(0, False), (1, False), (2, True)])
def test_a_wait_leaves_the_last_groups(keep: int, differs: bool) -> None:
    """Of two groups the first writes A."""
    body = f"{COPY_A}{COMMIT}{COPY_FURTHER}{COMMIT}T.ptx_wait_group({keep})\n{SYNC}Bs[tx] = 5\n"
    body += "O[tx] = Bs[tx]\n"
    kernel = kernel_of(body, declared=THIRD)
    places = {one: 256 if one.name == "Cs" else 0 for one in kernel.allocations(SCOPE)}
    model = Model(kernel, [places], np.arange(1, 4097))
    assert bool(model.differing(_modes(model))[0]) == differs


def test_what_nobody_committed_is_not_waited_for() -> None:
    assert _differs(f"{COPY_A}T.ptx_wait_group(0)\n{SYNC}Bs[tx] = 5\nO[tx] = Bs[tx]\n")


def test_a_copy_that_is_predicated_off_copies_zeros() -> None:
    """So it has to be waited for as any other."""
    off = COPY_A.replace(", 1)\n", ", 1, D[tx] < 0)\n")
    copied = f"As[tx] = 7\n{SYNC}{off}{COMMIT}"
    with pytest.raises(IllDefined):
        _differs(f"{copied}O[tx] = As[63 - tx]\n")
    assert _differs(f"{copied}{SYNC}Bs[tx] = 5\nO[tx] = Bs[tx]\n")
    assert not _differs(f"{copied}T.ptx_wait_group(0)\n{SYNC}Bs[tx] = 5\nO[tx] = Bs[tx]\n")


_SOURCE = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1)'
_STORE = under("if tx == 0", f"T.tma_store({_SOURCE}, X, 0)\nT.tma_store_arrive()\n")
_STORED = under("if tx == 0", "T.tma_store_wait(0)\n")
_FILL = f"As[tx] = tx + 1\nT.fence_proxy_async()\n{SYNC}"


@pytest.mark.parametrize(("wait", "differs"), [(_STORED, False), ("", True)])
def test_a_store_reads_until_it_is_waited_for(wait: str, differs: bool) -> None:
    assert _differs(_FILL + _STORE + wait + SYNC + "Bs[tx] = 5\n") == differs


@pytest.mark.parametrize(("keep", "differs"), [(0, False), (1, True)])
def test_wgmma_reads_until_it_is_waited_for(keep: int, differs: bool) -> None:
    multiply = f"{DESCRIBE_A}{WGMMA_A}T.warpgroup_commit_batch()\nT.warpgroup_wait({keep})\n"
    body = _FILL + multiply + SYNC + "Bs[tx] = 5\n"
    assert _differs(body, 128, DESCRIPTORS) == differs


LOAD = under("if tx == 0", "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As"))
BEHIND = f"{SYNC}Bs[tx] = 5\nO[tx] = Bs[tx]\n"


def test_a_load_lands_before_its_phase_is_complete() -> None:
    assert not _differs(init_barrier(1) + LOAD + WAIT + "O[tx] = As[tx]\n" + BEHIND)
    assert _differs(init_barrier(1) + LOAD + BEHIND)


# Proxies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "differs"),
    [
        ("T.fence_proxy_async()\n" + SYNC, False),
        (SYNC, True),
        (SYNC + "T.fence_proxy_async()\n", False),
    ],
)
def test_a_load_over_plain_accesses_needs_a_fence(before: str, differs: bool) -> None:
    """By any thread on the way there."""
    body = f"{init_barrier(1)}Bs[tx] = 7\nO[tx] = Bs[tx]\n{before}{LOAD}{WAIT}O[tx] = As[tx]\n"
    assert _differs(body, fences=True) == differs
    assert not _differs(body)


def test_a_store_of_what_was_written_needs_a_fence() -> None:
    with pytest.raises(IllDefined, match="fence"):
        _differs(f"As[tx] = tx\n{SYNC}{_STORE}", fences=True)


# Clusters, and what is not known ----------------------------------------------------------------


@pytest.mark.parametrize(("meet", "differs"), [("T.cluster_sync()\n", False), (SYNC, True)])
def test_another_block_writes_here_until_they_meet(meet: str, differs: bool) -> None:
    remote = "T.ptx_cluster_store(As.data, tx, 1 - bx, tx)\n"
    body = f"T.cluster_sync()\n{remote}{meet}Bs[tx] = 500\nO[tx] = Bs[tx]\n"
    assert _differs(body, blocks=2) == differs


def test_what_is_not_known_is_not_run() -> None:
    with pytest.raises(NotModelled, match="do_something"):
        _differs("T.do_something(As.data)\n")


@pytest.mark.parametrize(
    "body",
    ["O[tx] = As[tx]\n", "As[tx] = tx\nO[tx] = As[63 - tx]\n", "As[tx + 1] = 1\n"],
    ids=["what nobody wrote", "a race", "beyond the buffer"],
)
def test_a_kernel_without_a_defined_result(body: str) -> None:
    with pytest.raises(IllDefined):
        _differs(body)
