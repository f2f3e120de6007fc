"""What TileLang does to mbarriers; they are elements of buffers of their own scope."""

from __future__ import annotations

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Effect, Mbarrier, Rows, Signal
from smemreuse.semantics.rows.forms import merged, nothing


def _arrive_and_expect(call: Call) -> Effect | None:
    """`ptx_arrive_barrier_expect_tx(mbarrier, bytes[, block, predicate])`"""
    if len(call.args) not in (2, 4):
        return None
    signal = Mbarrier(Signal.ARRIVE_AND_EXPECT, 0, count=1)
    return Effect(mbarrier=signal, remote=len(call.args) == 4)


ROWS: Rows = merged(
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
    },
    nothing("create_barriers", "mbarriers have memory of their own, which is never merged"),
    nothing("ptx_fence_barrier_init", "orders the initialization of mbarriers alone"),
)
