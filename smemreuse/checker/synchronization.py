"""The intrinsics that order accesses: barriers, waits, groups, arrivals (rules 5 and 6)."""

from __future__ import annotations

from collections.abc import Callable

from smemreuse.checker.accesses import Accesses
from smemreuse.checker.agent import BLOCKED, Agent, Steps
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.findings import Findings
from smemreuse.checker.layout import Bytes
from smemreuse.checker.mbarriers import Barrier
from smemreuse.checker.relevance import Relevance
from smemreuse.checker.state import State
from smemreuse.checker.values import Values
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, walk
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.semantics.evaluate import Threads
from smemreuse.semantics.intrinsics import LEAVING_OPS, WAITS, Engine

_COMMITS = {
    "ptx_commit_group": Engine.CP_ASYNC,
    "tma_store_arrive": Engine.TMA_STORE,
    "warpgroup_commit_batch": Engine.WGMMA,
}
_MBARRIER_OPS = ("ptx_arrive_barrier", "mbarrier_expect_tx", "ptx_init_barrier")


class Synchronization:
    """What the synchronizing intrinsics do to the state."""

    def __init__(
        self,
        relevance: Relevance,
        vectors: Vectors,
        state: State,
        values: Values,
        accesses: Accesses,
        findings: Findings,
    ):
        self._relevance = relevance
        self._vectors = vectors
        self._state = state
        self._values = values
        self._accesses = accesses
        self._findings = findings
        self._warps = len(vectors.warps(vectors.everyone))
        self._handlers: dict[str, Callable[[Call, Stmt, Agent], None] | None] = {}

    def perform(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """An intrinsic that is not `WAIT_PARITY`; most do nothing here."""
        if call.op not in self._handlers:
            self._handlers[call.op] = self._handler(call.op)
        handler = self._handlers[call.op]
        if handler is not None:
            handler(call, stmt, agent)

    def _handler(self, op: str) -> Callable[[Call, Stmt, Agent], None] | None:
        if op in ("tvm_storage_sync", "sync_warp"):
            return self._storage_sync
        if op in _COMMITS:
            return self._commit
        if op in WAITS:
            return self._wait_groups
        if op in ("ptx_wgmma_ss", "ptx_wgmma_rs"):
            return self._wgmma
        if op in ("tma_load", "tma_load_im2col"):
            return self._load_bytes
        if op.startswith(_MBARRIER_OPS):
            return self._mbarrier
        if op in LEAVING_OPS or op == "named_barrier_arrive":
            return _not_followed
        return None

    # Barriers of threads ------------------------------------------------------------------------

    def barrier(self, threads: Threads) -> None:
        """These threads meet; what a warp's other threads do is not ordered by that."""
        self._state.order.barrier(self._vectors.full_warps(threads.ids))

    def _storage_sync(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """`tvm_storage_sync(scope[, barrier id, threads])`; a partial one orders those who meet.

        Apache TVM writes -1 threads for all of the block.
        """
        threads = agent.threads
        if call.op == "sync_warp" or call.args[0] == Const("warp"):
            warps = self._vectors.full_warps(threads.ids)
            for index in range(len(warps)):
                self._state.order.barrier(warps[index : index + 1])
            return
        counted = len(call.args) >= 3 and call.args[2] != Const(-1)
        if counted and self._values(call.args[2], threads) != threads.count:
            raise Uncovered("a named barrier is shared by several arms")
        self.barrier(threads)

    # Groups -------------------------------------------------------------------------------------

    def _commit(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """Closes a group, for each thread its own."""
        ids = agent.threads.ids
        counted = [] if agent.partly else self._vectors.full_warps(ids).tolist()
        self._state.engines.commit(_COMMITS[call.op], self._vectors.warps(ids).tolist(), counted)

    def _wait_groups(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """The oldest groups are done, if it is known how many, and for whom."""
        ids = agent.threads.ids
        keep = 0 if call.op == "tma_store_wait" and not call.args else None
        if keep is None:
            value = self._values(call.args[0], agent.threads)
            if not isinstance(value, int):
                return
            keep = value
        if agent.partly:
            return
        warps, full = self._vectors.warps(ids).tolist(), self._vectors.full_warps(ids).tolist()
        epochs = self._state.order.epochs
        for touch in self._state.engines.wait(WAITS[call.op], keep, ids, warps, full):
            self._state.history.note(touch, epochs[touch.warps])

    def _wgmma(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """Reads what its descriptors stand for."""
        event = -1
        for node in walk(call):
            if isinstance(node, (Pointer, Load)):
                behind = self._state.descriptors.get(node.buffer.storage, {})
                for buffer, where in behind.items():
                    if event < 0:
                        event = self._findings.event(stmt, agent.loops)
                    if not self._reads_already(buffer, where, agent.threads):
                        self._accesses.read_in_flight(buffer, where, agent.threads, event)

    def _reads_already(self, buffer: Buffer, where: Bytes, threads: Threads) -> bool:
        """Whether the batch being issued has this read in flight already."""
        batch = self._state.engines.queue(Engine.WGMMA, int(threads.ids[0]) // 32).uncommitted
        return any(one.touch.buffer is buffer and one.touch.where is where for one in batch)

    # Mbarriers ----------------------------------------------------------------------------------

    def wait_parity(self, call: Call, threads: Threads) -> Steps:
        """Waits for an mbarrier's phase to complete, and learns what that hands over."""
        parity = self._values(call.args[1], threads)
        barrier = self._barrier(call.args[0], threads)
        if barrier is None or not isinstance(parity, int):
            raise Uncovered("an mbarrier's slot or parity is not known")
        while barrier.phase % 2 == parity % 2:
            yield BLOCKED
            barrier = self._barrier(call.args[0], threads)
            assert barrier is not None
        if barrier.completed is not None:
            full = self._vectors.full_warps(threads.ids)
            self._state.order.acquire(full, *barrier.completed)

    def _barrier(self, operand: Expr, threads: Threads) -> Barrier | None:
        slot = self._values.slot(operand, threads)
        return None if slot is None else self._state.barriers[slot]

    def _mbarrier(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """Initializes it, announces bytes, arrives; two of these in one for some."""
        threads = agent.threads
        barrier = self._barrier(call.args[0], threads)
        if barrier is None:
            raise Uncovered("an mbarrier's slot is not known")
        if call.op == "ptx_init_barrier_thread_count":
            count = self._values(call.args[1], threads)
            if not isinstance(count, int):
                raise Uncovered("an mbarrier's arrival count is not known")
            barrier.expected = count
            return
        if call.op in ("mbarrier_expect_tx", "ptx_arrive_barrier_expect_tx"):
            due = self._values(call.args[1], threads)
            if not isinstance(due, int):
                raise Uncovered("the bytes that an mbarrier expects are not known")
            barrier.bytes_due += due * threads.count
        if call.op != "mbarrier_expect_tx":
            self._arrive(barrier, threads)
        barrier.settle(self._warps)

    def _arrive(self, barrier: Barrier, threads: Threads) -> None:
        """Threads hand over what they know; their own accesses only if their whole warp arrives."""
        full = self._vectors.full_warps(threads.ids)
        order = self._state.order
        if len(full):
            handed, known = order.release(full)
        else:
            handed, known = order.release_in_part(self._vectors.warps(threads.ids))
        barrier.arrive(threads.count, handed, known)

    def _load_bytes(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """The bytes of a TMA load come off what its mbarrier still expects."""
        operands = (arg for arg in call.args if _is_barrier(arg))
        barrier = next((self._barrier(arg, agent.threads) for arg in operands), None)
        if barrier is None:
            raise Uncovered("a TMA load reports to no known mbarrier")
        size = self._relevance.load_bytes.get(stmt)
        if size is None:
            raise Uncovered("the size of a TMA load is not known")
        barrier.bytes_due -= size * agent.threads.count
        barrier.settle(self._warps)


def _not_followed(call: Call, stmt: Stmt, agent: Agent) -> None:
    raise Uncovered(f"`{call.op}` is not followed")


def _is_barrier(expr: Expr) -> bool:
    return isinstance(expr, Load) and "barrier" in expr.buffer.scope
