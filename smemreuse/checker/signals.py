"""Signals to mbarriers, and waits for their phases (rules 5 and 6)."""

from __future__ import annotations

from smemreuse.checker.agent import BLOCKED, Steps
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.mbarriers import Barrier
from smemreuse.checker.relevance import Relevance
from smemreuse.checker.state import State
from smemreuse.checker.values import Values
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.expr import Call, Expr
from smemreuse.ir.kernel import Stmt
from smemreuse.semantics.effects import Effect, Signal
from smemreuse.semantics.evaluate import Threads
from smemreuse.semantics.table import mbarrier_operand


class Signals:
    """What is done to mbarriers."""

    def __init__(self, relevance: Relevance, vectors: Vectors, state: State, values: Values):
        self._relevance = relevance
        self._vectors = vectors
        self._state = state
        self._values = values
        self._warps = len(vectors.warps(vectors.everyone))

    def wait_for_phase(self, call: Call, effect: Effect, threads: Threads) -> Steps:
        """Waits for an mbarrier's phase to complete, and learns what that hands over."""
        operand, parity = mbarrier_operand(call, effect), self._count(call, effect, threads)
        barrier = self._barrier(operand, threads)
        if barrier is None or parity is None:
            raise Uncovered("an mbarrier's slot or parity is not known")
        while barrier.phase % 2 == parity % 2:
            yield BLOCKED
            barrier = self._barrier(operand, threads)
            assert barrier is not None
        if barrier.completed is not None:
            full = self._vectors.full_warps(threads.ids)
            self._state.order.acquire(full, *barrier.completed)

    def _barrier(self, operand: Expr | None, threads: Threads) -> Barrier | None:
        slot = self._values.slot(operand, threads)
        return None if slot is None else self._state.barriers[slot]

    def _count(self, call: Call, effect: Effect, threads: Threads) -> int | None:
        """The number that a signal to an mbarrier speaks of, if it is known."""
        operands, at = call.args, effect.mbarrier.count if effect.mbarrier else None
        if at is None or at >= len(operands):
            return None
        value = self._values(operands[at], threads)
        return value if isinstance(value, int) else None

    def signal(self, call: Call, effect: Effect, stmt: Stmt, threads: Threads) -> None:
        """Initializes an mbarrier, announces bytes, arrives, or has bytes come in."""
        signal = effect.signals
        if signal in (Signal.ARRIVE_WITH_COPIES, Signal.HOLD_FOR_COPIES):
            return  # it counts as one that never arrives
        barrier = self._barrier(mbarrier_operand(call, effect), threads)
        if barrier is None:
            raise Uncovered("an mbarrier's slot is not known")
        if signal is Signal.INITIALIZE:
            barrier.expected = self._count(call, effect, threads)
            if barrier.expected is None:
                raise Uncovered("an mbarrier's arrival count is not known")
            return
        if signal is Signal.COMPLETE_WITH_BYTES:
            self._take_off(barrier, stmt, threads)
        if signal in (Signal.EXPECT, Signal.ARRIVE_AND_EXPECT):
            due = self._count(call, effect, threads)
            if due is None:
                raise Uncovered("the bytes that an mbarrier expects are not known")
            barrier.bytes_due += due * threads.count
        if signal in (Signal.ARRIVE, Signal.ARRIVE_AND_EXPECT):
            self._arrive(barrier, threads)
        barrier.settle(self._warps)

    def _take_off(self, barrier: Barrier, stmt: Stmt, threads: Threads) -> None:
        """The bytes of a TMA load come off what its mbarrier still expects."""
        size = self._relevance.load_bytes.get(stmt)
        if size is None:
            raise Uncovered("the size of a TMA load is not known")
        barrier.bytes_due -= size * threads.count

    def _arrive(self, barrier: Barrier, threads: Threads) -> None:
        """Threads hand over what they know; their own accesses only if their whole warp arrives."""
        full = self._vectors.full_warps(threads.ids)
        order = self._state.order
        if len(full):
            handed, known = order.release(full)
        else:
            handed, known = order.release_in_part(self._vectors.warps(threads.ids))
        barrier.arrive(threads.count, handed, known)
