"""The hazards of fixtures/hazards, as TIR: each is refused, and held sound with what mends it.

`scripts/hazards_on_gpu.py` shows on a device that the refused ones go wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import UNSOUND, Verdict
from tests.checker.small import (
    DESCRIBE_A,
    DESCRIPTORS,
    SCOPE,
    SYNC,
    init_barrier,
    judge,
    judge_kernel,
    tma_load,
    under,
)

DUMPS = Path(__file__).parents[2] / "fixtures" / "hazards" / "dumps"

APART = {"Bs": 4096}
FENCE = "T.fence_proxy_async()\n"


def rules(verdict: Verdict) -> set[Rule]:
    return {one.rule for one in verdict.violations}


# Sparse multiplications in flight ---------------------------------------------------------------

SPARSE = (
    'T.ptx_wgmma_sp_ss("float16", "m64n16k32", T.bool(False), T.bool(False), "fp16", "fp16", '
    '"fp32", da[0], 0, da[0], 0, meta.data, 0, acc.data, 0, T.bool(True), 1, 1)\n'
    "T.warpgroup_commit_batch()\n"
)
META = DESCRIPTORS + 'meta = T.alloc_buffer((1,), "uint32", scope="local")\n'
OTHER_WORK = f"Bs[127 - tx] = tx\n{SYNC}O[tx] = Bs[tx]\n"
LATE = "T.wait_wgmma(0)\n"


def test_sparse_multiplications_read_until_they_are_waited_for() -> None:
    fill = f"As[tx] = tx\n{FENCE}{SYNC}{DESCRIBE_A}"
    late = fill + SPARSE + SYNC + OTHER_WORK + LATE
    found = judge(late, threads=128, declared=META)
    assert not found.sound
    assert rules(found) == {Rule.IN_FLIGHT}
    assert judge(late, threads=128, declared=META, offsets=APART).sound
    early = fill + SPARSE + LATE + SYNC + OTHER_WORK
    assert judge(early, threads=128, declared=META).sound


# A bulk store that still reads ------------------------------------------------------------------


def stored(waited: str, at_the_end: str = "") -> str:
    pointer = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1)'
    store = f"T.tma_store({pointer}, X, 0)\nT.tma_store_arrive()\n{waited}"
    use = f"Bs[63 - tx] = tx\n{SYNC}O[tx] = Bs[tx]\n"
    end = under("if tx == 0", at_the_end) if at_the_end else ""
    return f"As[tx] = tx\n{FENCE}{SYNC}" + under("if tx == 0", store) + SYNC + use + end


def test_a_bulk_store_reads_until_it_is_waited_for() -> None:
    wait = "T.tma_store_wait(0)\n"
    late = stored("", wait)
    found = judge(late)
    assert found.verdict == UNSOUND
    assert rules(found) == {Rule.IN_FLIGHT}
    assert judge(late, offsets=APART).sound
    assert judge(stored(wait)).sound


# A phase that is passed early -------------------------------------------------------------------

ARRIVE, ARRIVE_LAST = "T.ptx_arrive_barrier(full[0])\n", "T.ptx_arrive_barrier(full[1])\n"
FIRST, LAST = "T.mbarrier_wait_parity(full[0], 0)\n", "T.mbarrier_wait_parity(full[1], 0)\n"


def rounds(wait: str) -> str:
    """The first warp uses A in three rounds; the other waits, and uses B."""
    each = "As[31 - tx] = tx\nT.sync_warp()\nO[tx] = As[tx]\nT.sync_warp()\n"
    known = "T.mbarrier_wait_parity(full[0], k % 2)\n"
    one = under("for k in range(3)", each + ARRIVE + known) + ARRIVE_LAST
    two = f"{wait}Bs[63 - tx] = tx\nT.sync_warp()\nO[tx] = Bs[tx - 32]\n"
    init = init_barrier(32) + init_barrier(32, "full[1]")
    return init + under("if tx < 32", one) + under("else", two)


def test_a_first_phase_is_not_the_last() -> None:
    assert not judge(rounds(FIRST)).sound


def test_a_last_phase_is() -> None:
    assert judge(rounds(FIRST), offsets=APART).sound
    assert judge(rounds(LAST)).sound


# Other blocks of the cluster --------------------------------------------------------------------

CLUSTER_SYNC = "T.cluster_sync()\n"


def exchanged(fill: str) -> str:
    """Behind the arrival, the other block goes on and fills this one's A."""
    use = f"Bs[63 - tx] = tx\n{SYNC}O[tx] = Bs[tx]\n"
    read = f"O[tx] = As[tx]\n{SYNC}"
    each = f"{fill}{read}T.cluster_arrive()\n{use}T.cluster_wait()\n"
    return under("for k in range(4)", each)


def test_another_block_may_store_here_behind_its_barrier() -> None:
    store = f"T.ptx_cluster_store(As[tx], tx, 1 - T.block_rank_in_cluster(), tx)\n{CLUSTER_SYNC}"
    body = exchanged(store)
    assert not judge(body, blocks=2).sound
    assert judge(body, blocks=2, offsets=APART).sound


def test_another_block_may_load_here_behind_its_barrier() -> None:
    load = tma_load("As").replace("tma_load(X, full[0], ", "tma_load_multicast(X, full[0], ")
    load = load.replace(", 0)\n", ", 3, 0)\n")
    issue = under("if tx == 0", "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + load)
    body = init_barrier(1) + exchanged(f"{issue}T.mbarrier_wait_parity(full[0], k % 2)\n")
    assert not judge(body, blocks=2).sound
    assert judge(body, blocks=2, offsets=APART).sound


# Proxies ----------------------------------------------------------------------------------------

EMPTY, WAIT_EMPTY = "T.ptx_arrive_barrier(full[2])\n", "T.mbarrier_wait_parity(full[2], 0)\n"


def refilled(consumer: str, producer: str) -> str:
    """A is loaded, read and handed back; then B is loaded in its place, and read."""
    init = init_barrier(1) + init_barrier(1, "full[1]") + init_barrier(64, "full[2]")
    loads = [
        f"T.ptx_arrive_barrier_expect_tx(full[{at}], 256)\n" + tma_load(name, barrier=f"full[{at}]")
        for at, name in enumerate(("As", "Bs"))
    ]
    produce = [under("if T.tl_shuffle_elect(32)", load) for load in loads]
    arm = produce[0] + WAIT_EMPTY + producer + produce[1]
    reads = [
        f"T.mbarrier_wait_parity(full[{at}], 0)\nO[tx] = {name}[95 - tx]\n"
        for at, name in enumerate(("As", "Bs"))
    ]
    other = reads[0] + consumer + EMPTY + reads[1]
    return init + under("if tx < 32", arm) + under("else", other)


def test_a_stage_that_was_read_is_refilled_behind_a_proxy_fence() -> None:
    found = judge(refilled("", ""), threads=96)
    assert not found.sound
    assert rules(found) == {Rule.PROXY}
    assert judge(refilled("", ""), threads=96, offsets=APART).sound
    assert judge(refilled(FENCE, ""), threads=96).sound
    assert judge(refilled("", FENCE), threads=96).sound


# As TileLang lowers them -----------------------------------------------------------------------


def lowered(name: str) -> Kernel:
    kernels = parse_dump((DUMPS / f"{name}.tir").read_text()).kernels
    return next(kernel for kernel in kernels if kernel.allocations(SCOPE))


def judge_lowered(name: str, *together: str) -> Verdict:
    """The verdict where the buffers `together` begin at one byte, and all others lie apart."""
    kernel = lowered(name)
    places: dict[str, int] = {}
    end = 0
    for buffer in kernel.allocations(SCOPE):
        first = together[0] if buffer.name in together else buffer.name
        places[buffer.name] = places.get(first, end)
        end = max(end, places[buffer.name] + (buffer.size or 0))
    return judge_kernel(kernel, places, assume_barriers=name not in AS_THEY_STAND)


AS_THEY_STAND = {"part_of_a_cluster"}
"""Between the two buffers of these, `ThreadSync` would put a barrier of the block."""

PAIRS = {
    "sparse_wgmma_in_flight": ("right", "scratch"),
    "phase_passed_early": ("used", "other"),
    "remote_store": ("inbox", "scratch"),
    "multicast_load": ("inbox", "scratch"),
    "generic_then_tma_load": ("stage", "after"),
    "part_of_a_cluster": ("used", "other"),
    "reductions_in_two_arms": ("used", "other"),
}


@pytest.mark.parametrize(
    "name",
    [
        "sparse_wgmma_in_flight",
        pytest.param(
            "phase_passed_early",
            marks=pytest.mark.xfail(
                strict=True, reason="who waits learns of all phases that the schedule tried"
            ),
        ),
        "remote_store",
        "multicast_load",
        "generic_then_tma_load",
        "part_of_a_cluster",
        "reductions_in_two_arms",
    ],
)
def test_a_lowered_hazard_is_refused(name: str) -> None:
    assert not judge_lowered(name, *PAIRS[name]).sound


@pytest.mark.parametrize("name", PAIRS)
def test_buffers_side_by_side_are_sound(name: str) -> None:
    assert judge_lowered(name).sound


def test_why_the_lowered_hazards_are_refused() -> None:
    found = {name: judge_lowered(name, *pair) for name, pair in PAIRS.items()}
    assert rules(found["sparse_wgmma_in_flight"]) == {Rule.IN_FLIGHT}
    assert rules(found["generic_then_tma_load"]) == {Rule.PROXY}
    (unordered,) = found["part_of_a_cluster"].violations
    assert unordered.rule is Rule.BARRIER
    assert "(rule 12)" in unordered.witness
    assert "named barrier 1" in found["reductions_in_two_arms"].uncovered[0]
    for name, operation in {
        "remote_store": "ptx_cluster_store",
        "multicast_load": "tma_load_multicast",
    }.items():
        assert operation in found[name].uncovered[0]
