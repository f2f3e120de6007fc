"""Barriers of threads, mbarriers as TileLang has them, and hints that order nothing.

`tvm_storage_sync(scope[, barrier[, threads]])`: TileLang and Apache TVM emit `__syncthreads` or
`bar.sync` for the shared scopes, and nothing at all for `warp`.
"""

from __future__ import annotations

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Effect, Group, Mbarrier, Meeting, Rows, Signal
from smemreuse.semantics.rows.forms import merged, nothing, ordering_elsewhere, text_at

_OF_SCOPE = {
    "shared": Effect(meeting=Meeting(Group.NAMED, identity=1, count=2)),
    "shared.dyn": Effect(meeting=Meeting(Group.NAMED, identity=1, count=2)),
    "warp": Effect(meeting=Meeting(Group.NOBODY)),
    "cluster": Effect(meeting=Meeting(Group.CLUSTER)),
    "global": Effect(meeting=Meeting(Group.GRID)),
}


def _storage_sync(call: Call) -> Effect | None:
    return _OF_SCOPE.get(text_at(call, 0) or "")


_MEETINGS: Rows = {
    "tvm_storage_sync": _storage_sync,
    "sync_warp": Effect(meeting=Meeting(Group.WARP, mask=0)),
    "sync_grid": Effect(meeting=Meeting(Group.GRID)),
    "named_barrier_arrive": Effect(meeting=Meeting(Group.NAMED, 1, identity=0, waits=False)),
    "cluster_sync": Effect(meeting=Meeting(Group.CLUSTER)),
    "cluster_arrive": Effect(meeting=Meeting(Group.CLUSTER, waits=False)),
    "cluster_wait": Effect(meeting=Meeting(Group.CLUSTER, arrives=False)),
    # `barrier.cluster.arrive.relaxed` hands over nothing of what was accessed before it.
    "cluster_arrive_relaxed": Effect(meeting=Meeting(Group.CLUSTER, arrives=False, waits=False)),
}

_HINTS = merged(
    nothing(
        "set_max_nreg no_set_max_nreg annotate_producer_reg_dealloc annotate_consumer_reg_alloc",
        "how many registers a warp group may have",
    ),
    ordering_elsewhere("pdl_trigger pdl_sync", "order between kernels"),
    nothing("assume conflict_hint ignore_loop_partition", "a hint to the compiler"),
    nothing("start_profile_intrinsic end_profile_intrinsic", "marks for a profiler"),
    nothing("device_assert device_assert_with_msg", "ends the kernel, or does nothing"),
    nothing("mvb_stage_index", "its operand, marked as the number of a stage"),
)

# Mbarriers are elements of buffers of their own scope -------------------------------------------


def _arrive_and_expect(call: Call) -> Effect | None:
    """`ptx_arrive_barrier_expect_tx(mbarrier, bytes[, block, predicate])`"""
    if len(call.args) not in (2, 4):
        return None
    signal = Mbarrier(Signal.ARRIVE_AND_EXPECT, 0, count=1)
    return Effect(mbarrier=signal, remote=len(call.args) == 4)


_MBARRIERS: Rows = merged(
    {
        "ptx_init_barrier_thread_count": Effect(mbarrier=Mbarrier(Signal.INITIALIZE, 0, count=1)),
        "ptx_arrive_barrier": Effect(mbarrier=Mbarrier(Signal.ARRIVE, 0), arity=frozenset({1})),
        # The mbarrier of the block that the second operand names.
        "ptx_arrive_cluster_barrier": Effect(mbarrier=Mbarrier(Signal.ARRIVE, 0), remote=True),
        "ptx_arrive_barrier_expect_tx": _arrive_and_expect,
        "mbarrier_expect_tx": Effect(mbarrier=Mbarrier(Signal.EXPECT, 0, count=1)),
        "mbarrier_wait_parity": Effect(mbarrier=Mbarrier(Signal.WAIT, 0, count=1)),
        # `ptx_wait_barrier(number)` waits for the first phase of a barrier that is no element.
        "ptx_wait_barrier": Effect(mbarrier=Mbarrier(Signal.WAIT, 0)),
        "ptx_fence_barrier_init": Effect(fences_mbarriers=True),
    },
    nothing("create_barriers", "mbarriers have memory of their own, which is never merged"),
)

ROWS: Rows = merged(_MEETINGS, _HINTS, _MBARRIERS)
