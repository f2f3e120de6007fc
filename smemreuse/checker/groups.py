"""Groups of asynchronous accesses: issued, committed, waited for (rule 5)."""

from __future__ import annotations

from smemreuse.checker.accesses import Accesses
from smemreuse.checker.agent import Agent
from smemreuse.checker.findings import Findings
from smemreuse.checker.layout import ByteIndices
from smemreuse.checker.state import State
from smemreuse.checker.values import Values
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.expr import Call, Load, Pointer, walk
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.semantics.effects import Engine, Wait
from smemreuse.semantics.evaluate import Threads, Value


class Groups:
    """What commits and waits do to the state, and what descriptors stand for."""

    def __init__(
        self,
        vectors: Vectors,
        state: State,
        values: Values,
        accesses: Accesses,
        findings: Findings,
    ):
        self._vectors = vectors
        self._state = state
        self._values = values
        self._accesses = accesses
        self._findings = findings

    def commit(self, engine: Engine, agent: Agent) -> None:
        """Closes a group, for each thread its own."""
        ids = agent.threads.ids
        counted = [] if agent.partly else self._vectors.full_warps(ids).tolist()
        self._state.engines.commit(engine, self._vectors.warps(ids).tolist(), counted)

    def wait(self, call: Call, wait: Wait, agent: Agent) -> None:
        """The oldest groups are done, if it is known how many, and for whom."""
        ids, operands = agent.threads.ids, call.args
        keep: Value = 0
        if wait.keep is not None and wait.keep < len(operands):
            keep = self._values(operands[wait.keep], agent.threads)
        if not isinstance(keep, int):
            return
        if agent.partly:
            return
        warps, full = self._vectors.warps(ids).tolist(), self._vectors.full_warps(ids).tolist()
        epochs = self._state.order.epochs
        for traced in self._state.engines.wait(wait.engine, keep, ids, warps, full):
            self._state.history.note(traced, epochs[traced.warps])
            self._state.proxies.generic.note(traced, epochs[traced.warps])

    def read_described(self, call: Call, stmt: Stmt, agent: Agent) -> None:
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

    def _reads_already(self, buffer: Buffer, where: ByteIndices, threads: Threads) -> bool:
        """Whether the batch being issued has this read in flight already."""
        batch = self._state.engines.queue(Engine.WGMMA, int(threads.ids[0]) // 32).uncommitted
        return any(one.traced.buffer is buffer and one.traced.where is where for one in batch)
