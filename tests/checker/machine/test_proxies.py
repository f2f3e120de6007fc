"""Rule 11: a proxy fence between generic accesses and what the async proxy writes there."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.machine.order import Order
from smemreuse.checker.machine.proxies import MAX_PLACES, Fences, Proxies
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import UNPROVED, Verdict
from smemreuse.semantics.effects import Proxy
from tests.checker.small import (
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    SYNC,
    USE_A,
    WGMMA_A,
    access,
    init_barrier,
    judge,
    layout_of,
    shared,
    tma_load,
    under,
    warps,
)

FENCE = "T.fence_proxy_async()\n"
EXPECT = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n"
LOAD_B = EXPECT + tma_load("Bs")
WAIT = "T.mbarrier_wait_parity(full[0], 0)\n"
READ_B = f"O[tx] = Bs[tx]\n{SYNC}"


def elected(body: str) -> str:
    return under("if tx == 0", body)


def lacks_a_fence(verdict: Verdict) -> bool:
    """Whether that is all that there is to say."""
    return verdict.verdict is UNPROVED and {one.rule for one in verdict.violations} == {Rule.PROXY}


# A load behind generic accesses -----------------------------------------------------------------


def load_behind(before: str, load: str = LOAD_B, *, later: bool = False) -> Verdict:
    """A is used, then B is loaded in its place by one thread."""
    return judge(
        init_barrier(1) + before + elected(load) + WAIT + READ_B, assume_barriers=later, threads=64
    )


def test_a_load_behind_plain_reads_needs_a_proxy_fence() -> None:
    """TMA may write what plain loads before the barrier have yet to read."""
    found = load_behind(USE_A + SYNC)
    assert lacks_a_fence(found)
    assert "no proxy fence stands between" in found.violations[0].witness


@pytest.mark.parametrize(
    ("before", "load"),
    [
        pytest.param(USE_A + FENCE + SYNC, LOAD_B, id="by all, before the barrier"),
        pytest.param(USE_A + SYNC, FENCE + LOAD_B, id="by who loads, behind the barrier"),
        pytest.param(USE_A + SYNC + FENCE, LOAD_B, id="by all, behind the barrier"),
        pytest.param(
            USE_A + SYNC + under("if tx == 40", FENCE) + SYNC, LOAD_B, id="by another, in between"
        ),
        pytest.param(
            USE_A + SYNC + "T.ptx.fence('proxy', 'async', 'shared::cta', '')\n", LOAD_B, id="in PTX"
        ),
    ],
)
def test_a_fence_anywhere_on_the_way_is_enough(before: str, load: str) -> None:
    assert load_behind(before, load).sound


@pytest.mark.parametrize(
    ("before", "load"),
    [
        pytest.param(FENCE + USE_A + SYNC, LOAD_B, id="before the accesses"),
        pytest.param(USE_A + SYNC + under("if tx == 40", FENCE), LOAD_B, id="by another thread"),
        pytest.param(USE_A + SYNC + under("if tx == 1", FENCE), LOAD_B, id="of the same warp"),
        pytest.param(USE_A + under("if tx < 32", FENCE) + SYNC, LOAD_B, id="by some who accessed"),
        pytest.param(USE_A + SYNC + under("if D[tx] > 0", FENCE), LOAD_B, id="by some, by data"),
        pytest.param(USE_A + SYNC + under("if D[0] > 0", FENCE), LOAD_B, id="perhaps"),
        pytest.param(USE_A + SYNC, LOAD_B + FENCE, id="behind the load"),
    ],
)
def test_a_fence_beside_the_way_is_none(before: str, load: str) -> None:
    assert lacks_a_fence(load_behind(before, load))


def test_half_a_warp_makes_no_fence_for_the_other_half() -> None:
    use = under("if tx < 32", "As[tx] = tx\nO[tx] = As[tx]\n")
    assert load_behind(use + under("if tx < 32", FENCE) + SYNC).sound
    assert lacks_a_fence(load_behind(use + under("if tx < 16", FENCE) + SYNC))


def test_the_latest_of_the_same_accesses_counts() -> None:
    """Behind the last fence A is read once more."""
    read = "O[tx] = As[tx]\n"
    assert lacks_a_fence(load_behind(under("for k in range(3)", FENCE + read) + SYNC))
    assert load_behind(under("for k in range(3)", read + FENCE) + SYNC).sound


def test_a_write_is_kept_behind_by_a_fence_as_a_read_is() -> None:
    write = f"As[tx] = tx\n{SYNC}"
    assert lacks_a_fence(load_behind(write))
    assert load_behind(write, FENCE + LOAD_B).sound


def test_copies_by_threads_are_generic() -> None:
    """cp.async is, unlike a bulk copy."""
    copy = f"{COPY_A}T.ptx_commit_group()\nT.ptx_wait_group(0)\n{SYNC}"
    assert lacks_a_fence(load_behind(copy))
    assert load_behind(copy + FENCE).sound


def test_only_bytes_in_common_count() -> None:
    """B begins at the middle of A, whose first half is used."""
    use = under("if tx < 32", "As[tx] = tx\nO[tx] = As[tx]\n") + SYNC
    body = init_barrier(1) + use + elected(LOAD_B) + WAIT + READ_B
    assert judge(body, offsets={"Bs": 128}).sound
    assert lacks_a_fence(judge(body, offsets={"Bs": 64}))


def test_the_kernels_own_order_is_not_asked_for() -> None:
    """A load into the buffer that has been read is the kernel's hazard, with any plan."""
    read = f"Bs[tx] = tx\n{SYNC}O[tx] = Bs[tx]\n{SYNC}"
    assert load_behind(read).sound


# Other ways of the async proxy ------------------------------------------------------------------


def test_a_load_behind_a_load_needs_no_fence() -> None:
    load_a = "T.ptx_arrive_barrier_expect_tx(full[1], 256)\n" + tma_load("As", barrier="full[1]")
    wait = "T.mbarrier_wait_parity(full[1], 0)\n"
    body = init_barrier(1) + init_barrier(1, "full[1]") + elected(load_a) + wait + SYNC
    assert judge(body + elected(LOAD_B) + WAIT + READ_B).sound


def test_a_load_behind_a_multiplication_needs_no_fence() -> None:
    """Both are of the async proxy; the fence is for the writes before."""
    fill = f"As[tx] = tx\n{FENCE}{SYNC}"
    multiply = f"{DESCRIBE_A}{WGMMA_A}T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n{SYNC}"
    load = LOAD_B.replace("256", "512").replace("0, 64,", "0, 128,")
    body = init_barrier(1) + fill + multiply + elected(load) + WAIT + READ_B
    assert judge(body, threads=128, declared=DESCRIPTORS).sound


def test_a_store_needs_no_fence_for_another_buffer() -> None:
    """It reads B, which has been written since A was used; that B's writes are fenced is the
    kernel's own concern."""
    pointer = 'T.tvm_access_ptr(T.type_annotation("int32"), Bs.data, 0, 64, 1)'
    store = f"T.tma_store({pointer}, X, 0)\nT.tma_store_arrive()\nT.tma_store_wait(0)\n"
    assert judge(f"{USE_A}{SYNC}Bs[tx] = tx\n{SYNC}{elected(store)}").sound


# From arm to arm --------------------------------------------------------------------------------

ARRIVE = "T.ptx_arrive_barrier(full[1])\n"
WAIT_EMPTY = "T.mbarrier_wait_parity(full[1], 0)\n"


def handed_over(consumer: str, waiting: str, issuing: str = "", arrivals: int = 64) -> Verdict:
    """The consumers use A and arrive; the producers wait for that, and one of them loads B."""
    init = init_barrier(1) + init_barrier(arrivals, "full[1]")
    consume = f"As[95 - tx] = tx\nO[tx] = As[95 - tx]\n{consumer}{WAIT}O[tx] = Bs[tx - 32]\n"
    produce = waiting + under("if T.tl_shuffle_elect(32)", issuing + LOAD_B)
    body = init + under("if tx < 32", produce) + under("else", consume)
    return judge(body, threads=96)


@pytest.mark.parametrize(
    ("consumer", "waiting", "issuing"),
    [
        (FENCE + ARRIVE, WAIT_EMPTY, ""),
        (ARRIVE, WAIT_EMPTY + FENCE, ""),
        (ARRIVE, WAIT_EMPTY, FENCE),
    ],
)
def test_a_fence_goes_with_an_arrival(consumer: str, waiting: str, issuing: str) -> None:
    assert handed_over(consumer, waiting, issuing).sound


def test_one_thread_may_make_the_fence_and_arrive_for_all() -> None:
    meet = 'T.tvm_storage_sync("shared", 1, 64)\n'
    assert handed_over(meet + under("if tx == 40", FENCE + ARRIVE), WAIT_EMPTY, arrivals=1).sound
    assert lacks_a_fence(
        handed_over(meet + under("if tx == 40", ARRIVE + FENCE), WAIT_EMPTY, arrivals=1)
    )


@pytest.mark.parametrize(
    ("consumer", "waiting"),
    [
        pytest.param(ARRIVE, WAIT_EMPTY, id="none"),
        pytest.param(ARRIVE + FENCE, WAIT_EMPTY, id="behind the arrival"),
        pytest.param(ARRIVE, FENCE + WAIT_EMPTY, id="before the wait"),
        pytest.param(under("if tx == 32", FENCE) + ARRIVE, WAIT_EMPTY, id="for one thread"),
    ],
)
def test_an_arrival_alone_is_no_fence(consumer: str, waiting: str) -> None:
    assert lacks_a_fence(handed_over(consumer, waiting))


# Before TileLang's pass -------------------------------------------------------------------------


def test_the_pass_brings_the_fence_behind_a_write() -> None:
    """And, by accident, for a read before it."""
    assert load_behind(f"As[tx] = tx\n{SYNC}", later=True).sound
    assert load_behind(USE_A + SYNC, later=True).sound


def test_the_pass_brings_none_behind_a_read() -> None:
    """Behind the first load, which the fence comes before, A is only read."""
    load_a = "T.ptx_arrive_barrier_expect_tx(full[1], 256)\n" + tma_load("As", barrier="full[1]")
    wait = f"T.mbarrier_wait_parity(full[1], 0)\n{SYNC}"
    read = f"O[tx] = As[tx]\n{SYNC}"
    init = init_barrier(1, "full[1]")
    # A store to the mbarrier's own memory would count for the pass; initializing it does not.
    found = load_behind(init + elected(load_a) + wait + read, later=True)
    assert lacks_a_fence(found)
    assert load_behind(init + elected(load_a) + wait + read + FENCE, later=True).sound


def test_a_barrier_to_come_may_come_behind_a_fence() -> None:
    """So before it is there, a fence is for the accesses of those alone who make it. The fence of
    the pass stands right before the load, where no barrier can come in between."""
    init = init_barrier(1)
    apart = init + "O[tx] = As[tx]\n" + elected(FENCE) + elected(LOAD_B) + WAIT + READ_B
    assert lacks_a_fence(judge(apart, assume_barriers=True))
    by_all = init + "O[tx] = As[tx]\n" + FENCE + "{}" + elected(LOAD_B) + WAIT + READ_B
    assert lacks_a_fence(judge(by_all.format(""), assume_barriers=True))
    assert judge(by_all.format(SYNC), assume_barriers=True).sound


# Parts ------------------------------------------------------------------------------------------


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def test_a_fence_of_one_thread_is_not_its_neighbours() -> None:
    fences, order = Fences(2), Order(2)
    order.barrier(warps(0, 1))
    fences.fence(ids(3), warps(), order)
    assert fences.of(ids(3)).tolist() == order.clock[0].tolist()
    assert not fences.of(ids(2)).any()
    assert not fences.of(ids(2, 3)).any()
    fences.barrier(warps(0))
    assert fences.of(ids(2)).tolist() == order.clock[0].tolist()
    assert not fences.of(ids(40)).any()


def test_a_fence_of_a_whole_warp_reaches_its_own_accesses() -> None:
    fences, order = Fences(2), Order(2)
    epoch = int(order.epochs[0])
    fences.fence(np.arange(32), warps(0), order)
    assert fences.of(ids(0))[0] > epoch
    assert fences.of(ids(0))[1] == 0
    assert order.epochs[0] > epoch  # what comes behind the fence is not reached


def test_what_either_branch_did_is_remembered_and_only_common_fences_hold() -> None:
    one, other = shared("one", 8), shared("other", 8)
    layout = layout_of(one, other)
    left, right, order = Proxies(layout, 1), Proxies(layout, 1), Order(1)
    load = access(other, range(8), is_write=True)
    load = type(load)(**{**vars(load), "proxy": Proxy.ASYNC})
    left.generic.note(access(one, range(4), event=7), order)
    right.fences.fence(np.arange(32), warps(0), order)
    for joined in (left.joined(right, order.epochs), right.joined(left, order.epochs)):
        found = joined.unfenced(load, one)
        assert found is not None
        assert found.event == 7
    assert right.unfenced(load, one) is None


def test_what_one_branch_alone_did_and_fenced_is_fenced() -> None:
    one, other = shared("one", 8), shared("other", 8)
    order = Order(1)
    stored, left = Proxies(layout_of(one, other), 1), Proxies(layout_of(one, other), 1)
    load = access(other, range(8), is_write=True)
    load = type(load)(**{**vars(load), "proxy": Proxy.ASYNC})
    stored.generic.note(access(one, range(4), event=7), order)
    before = stored.copy()
    stored.fences.fence(np.arange(32), warps(0), order)
    for joined in (stored.joined(left, order.epochs), left.joined(stored, order.epochs)):
        assert joined.unfenced(load, one) is None
        joined.generic.note(access(one, range(4), event=8), order)
        assert joined.unfenced(load, one) is not None  # what comes later is not
    assert stored.joined(before, order.epochs).unfenced(load, one) is not None


@pytest.mark.parametrize("at", [0, 299, 300])
def test_many_accesses_become_one(at: int) -> None:
    """Then all bytes that any of them touched count, and it is not certain which one is meant."""
    one, other = shared("one", 4096), shared("other", 4096)
    proxies, order = Proxies(layout_of(one, other), 1), Order(1)
    for byte in range(300):
        proxies.generic.note(access(one, [byte], event=byte), order)
    load = access(other, [at], is_write=True)
    found = proxies.unfenced(type(load)(**{**vars(load), "proxy": Proxy.ASYNC}), one)
    if at == 300:
        assert found is None
        return
    assert found is not None
    assert (found.event, found.certain) == (at, at >= MAX_PLACES)
