"""Objective `occupancy` on whole kernels: as many blocks as can be had, and no more bytes."""

from __future__ import annotations

import pytest

from smemreuse.baselines import baseline_of
from smemreuse.compilers.text.reader import parse_dump, read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Candidate
from smemreuse.pipeline.planning import OBJECTIVES, checked_options, plan_kernel
from smemreuse.pipeline.proposals import propose
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Occupancy, Origin
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from smemreuse.targets.architectures import ARCHITECTURES, threads_of
from smemreuse.targets.blocks import block_memory
from tests.compilers.text.texts import dump
from tests.conftest import DUMPS

H200 = ARCHITECTURES["sm_90"]
PHASES = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", {threads})
S = T.alloc_buffer((4,), "uint64", scope="shared")
P = T.alloc_buffer((10000,), "float32", scope="shared.dyn")
X = T.alloc_buffer((9400,), "float32", scope="shared.dyn")
Y = T.alloc_buffer((9400,), "float32", scope="shared.dyn")
G = T.decl_buffer((1024,), "float32", data=A)
P[tx] = G[tx]
X[tx] = G[tx]
G[tx] = X[tx]
Y[tx] = G[tx]
G[tx] = Y[tx] + P[tx]
"""


def blocks(kernel: Kernel, plan: Plan) -> int | None:
    return block_memory(kernel, [plan]).blocks(H200, threads_of(kernel))


def test_the_padding_of_static_bytes_is_left_room_for() -> None:
    """Side by side, 115,200 bytes: 2 blocks but for 32 static ones, padded."""
    (kernel,) = parse_dump(dump(PHASES.format(threads=128))).kernels
    apart = plan_kernel(kernel, "shared.dyn", objective="none")
    assert (apart.arena_bytes, blocks(kernel, apart)) == (115_200, 1)
    plan = plan_kernel(kernel, "shared.dyn", objective="occupancy")
    assert blocks(kernel, plan) == 2
    assert plan.provenance.occupancy == Occupancy(2, "sm_90", assumed=True, threads_known=True)


def test_unknown_threads_set_no_number_of_blocks() -> None:
    (kernel,) = parse_dump(dump(PHASES.format(threads="n"))).kernels
    plan = plan_kernel(kernel, "shared.dyn", objective="occupancy", arch=H200)
    assert plan.provenance.occupancy == Occupancy(2, "sm_90", assumed=False, threads_known=False)


@pytest.mark.parametrize(
    "name", ["batched_gemm.sm_90a", "stream_k.sm_90a", "flash_attention.sm_90a"]
)
def test_no_block_is_lost_to_less_sharing(name: str) -> None:
    for kernel in read_dump(str(DUMPS / f"{name}.tir")).kernels:
        for scope in kernel.shared_scopes():
            wanted = plan_kernel(kernel, scope, objective="occupancy")
            cautious = plan_kernel(kernel, scope, cautious=True)
            assert (blocks(kernel, wanted) or 0) >= (blocks(kernel, cautious) or 0)


def proposed(kernel: Kernel, objective: str) -> list[Plan]:
    """All that is tried for the dynamic scope of a kernel, should everything be rejected."""
    options = checked_options("dataflow", "best", objective)
    every = propose([kernel], [["shared.dyn"]], options, baseline_of(kernel))
    return [candidate.plan for proposal in every for candidate in proposal]


FALLBACKS = ["batched_gemm.sm_90a", "mmha_decode.sm_80", "flash_attention.sm_90a"]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", FALLBACKS)
def test_what_is_tried_after_a_rejection(name: str, objective: str) -> None:
    """The cheapest first; side by side comes last, and nothing twice on the same terms."""
    for kernel in read_dump(str(DUMPS / f"{name}.tir")).kernels:
        plans = proposed(kernel, objective)
        assert plans[-1].objective == "none"
        terms = [(plan.offsets, plan.provenance.is_kept) for plan in plans]
        assert all(one not in terms[:index] for index, one in enumerate(terms[:-1]))
        rest = plans[1:]
        if objective == "bytes":
            costs = [plan.arena_bytes for plan in rest]
        else:
            costs = [-(blocks(kernel, plan) or 0) for plan in rest]
        assert costs == sorted(costs)


@pytest.mark.parametrize("objective", ["bytes", "occupancy"])
@pytest.mark.parametrize("name", FALLBACKS)
def test_no_rejection_costs_more_than_the_compiler_s_own_layout(name: str, objective: str) -> None:
    """With its arena a kernel has some number of blocks; whatever is rejected, it keeps them."""
    for kernel in read_dump(str(DUMPS / f"{name}.tir")).kernels:
        own = baseline_of(kernel).plan(kernel, "shared.dyn")
        plans = proposed(kernel, objective)
        layouts = [plan.offsets for plan in plans]
        assert own.offsets in layouts
        for plan in plans[1 : layouts.index(own.offsets)]:
            assert (blocks(kernel, plan) or 0) >= (blocks(kernel, own) or 0)


def test_the_smallest_arena_is_tried_for_occupancy_too() -> None:
    (kernel,) = read_dump(str(DUMPS / "batched_gemm.sm_90a.tir")).kernels
    smallest = plan_kernel(kernel, "shared.dyn", objective="bytes")
    assert smallest.offsets in [plan.offsets for plan in proposed(kernel, "occupancy")]


def test_the_compiler_s_own_layout_is_kept_unproved_where_arms_wait_for_each_other() -> None:
    (kernel,) = read_dump(str(DUMPS / "producer_consumer_groups.sm_90a.tir")).kernels
    unproved = Verdict(UNPROVED, uncovered=("?",))
    (own,) = (plan for plan in proposed(kernel, "bytes") if plan.packer == "tilelang")
    found = Candidate(kernel, own)
    assert found.with_verdict(unproved).acceptable
    assert found.with_verdict(unproved).settled.provenance.origin is Origin.KEPT_FROM_COMPILER
    proved = found.with_verdict(Verdict(SOUND))
    assert proved.settled.provenance.origin is Origin.PROVED_AFTER_ALL
    for plan in proposed(kernel, "bytes"):
        may_be_applied = Candidate(kernel, plan).with_verdict(unproved).acceptable
        assert may_be_applied == (plan.provenance.is_kept or not plan.sharing_pairs())
