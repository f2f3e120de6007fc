"""Executes single statements: those without nested ones, and the headers of branches and loops."""

from __future__ import annotations

from smemreuse.checker.budget import STEP
from smemreuse.checker.execution.leaves import Leaf
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.loops.iteration import Loops
from smemreuse.checker.machine.accesses import Accesses
from smemreuse.checker.machine.agent import Agent, Steps
from smemreuse.checker.machine.synchronization import Synchronization
from smemreuse.checker.predicted.barriers import PredictedBarriers
from smemreuse.checker.values.evaluation import Values
from smemreuse.ir.kernel import Assert, For, If, Stmt, Store, While
from smemreuse.semantics.evaluate import Threads
from smemreuse.semantics.polled import Polled


class Statements:
    """Carries out the statements of one trace."""

    def __init__(
        self,
        setting: Setting,
        values: Values,
        accesses: Accesses,
        synchronization: Synchronization,
        predicted: PredictedBarriers,
        loops: Loops,
    ):
        self._slice, self._fenced = setting.program_slice, setting.fenced
        self._work = setting.work
        self._stores_alike = setting.stores_alike
        self._values = values
        self._accesses = accesses
        self.access = accesses.perform
        self._synchronization = synchronization
        self._predicted = predicted
        self._loops = loops

    def perform(self, stmt: Stmt, leaf: Leaf, agent: Agent) -> bool:
        """Executes a statement without nested ones. Returns whether it waits for an mbarrier phase;
        if so, the caller continues with `wait`."""
        self.fence_before(stmt, agent)
        threads, count = agent.threads, agent.threads.count
        self._work.do(STEP + 10 * count)
        if count == 0:
            return False
        self._synchronization.meet_unseen(stmt, agent)
        if leaf.touches:
            self._predicted.before(agent, stmt)
            self._predicted.reaches(stmt, agent)
        else:
            self._predicted.enters(stmt, agent)
        if leaf.sets:
            assert isinstance(stmt, Store)
            self._values.store(stmt, threads)
        if leaf.around is None:
            self.access(stmt, agent)
        else:
            if agent.tallies:
                self._loops.note_within(leaf.around.call, agent)
            self._accesses.perform_some(stmt, leaf.around.before, agent)
            self._synchronization.meet_within(leaf.around.call, stmt, agent)
            self._accesses.perform_some(stmt, leaf.around.own, agent)
            self._accesses.perform_some(stmt, leaf.around.behind, agent)
        if not leaf.orders or leaf.call is None or leaf.effect is None:
            return False
        if agent.tallies:
            self._loops.note(leaf.call, leaf.effect, stmt, agent)
        if leaf.waits:
            return True
        self._predicted.meets(leaf.effect, agent)
        self._synchronization.perform(leaf.call, stmt, agent)
        if leaf.effect.fence:
            self._synchronization.fence(agent)
        self._predicted.after(stmt, agent)
        return False

    def wait(self, stmt: Stmt, leaf: Leaf, agent: Agent) -> Steps:
        """Waits for the phase of an mbarrier."""
        assert leaf.call is not None
        assert leaf.effect is not None
        yield from self._synchronization.wait_for_phase(leaf.call, leaf.effect, stmt, agent)

    def poll(self, stmt: While, polled: Polled, agent: Agent) -> Steps:
        """Asks an mbarrier until a phase is complete."""
        self.header(stmt, agent)
        for inner in stmt.body:
            self.access(inner, agent)
        yield from self._synchronization.wait_for_phase(*polled, stmt, agent)

    def fence_before(self, stmt: Stmt, agent: Agent) -> None:
        """Makes the proxy fence that a pass of the compiler will insert before a statement, if any
        (rule 11)."""
        if stmt in self._fenced:
            self._predicted.before(agent)
            self._synchronization.fence(agent, assumed=True)

    def write_alike(self, stmt: If, agent: Agent) -> bool:
        """Whether each thread writes the same bytes in both arms of a branch, and no others do."""
        writes = self._stores_alike(stmt)
        return writes is not None and self._accesses.are_same_bytes(*writes, agent.threads)

    def write_apart(self, stmt: If, agent: Agent) -> bool:
        """The same, of threads that are there once for each iteration of a loop: whether they write
        other bytes each time."""
        writes = self._stores_alike(stmt)
        return writes is not None and self._accesses.are_own_bytes(*writes, agent.threads)

    def fill_apart(self, loop: For, threads: Threads) -> bool:
        """Whether a loop fills buffers, by threads that are there once for each iteration: no write
        is related to another one, or to anything that is not over."""
        return all(
            self._accesses.are_own_bytes(*both, threads)
            and self._accesses.are_free(both[0], threads)
            for both in self._stores_alike.in_loop(loop)
        )

    def header(self, stmt: If | For | While | Assert, agent: Agent) -> None:
        """Performs the accesses of a condition or a loop bound, which may read shared memory."""
        if agent.threads.count:
            self._synchronization.meet_unseen(stmt, agent)
        if self._slice.accesses.get(stmt) and agent.threads.count:
            self._predicted.before(agent, stmt)
            self._predicted.reaches(stmt, agent)
            self.access(stmt, agent)
