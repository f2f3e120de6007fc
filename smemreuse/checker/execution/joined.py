"""Paths that data decide, joined: both arms of a branch, and any number of rounds of a loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from smemreuse.checker.budget import STEP, Work
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.execution.statements import Statements
from smemreuse.checker.loops.iteration import Loops
from smemreuse.checker.machine.agent import Agent, Steps
from smemreuse.checker.machine.arms import ArmAccesses, conflict, filled_by_both
from smemreuse.checker.machine.events import Findings
from smemreuse.checker.machine.state import State
from smemreuse.checker.machine.tallies import ArmTallies
from smemreuse.checker.predicted.barriers import PredictedBarriers
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.symbols import Key
from smemreuse.checker.values.vectors import Vectors
from smemreuse.ir.expr import Expr
from smemreuse.ir.kernel import Block, For, If, While
from smemreuse.ir.labels import label
from smemreuse.results.undecided import UndecidedKind
from smemreuse.semantics.evaluate import Threads, Value

ROUNDS_ALIKE = 4
"""Rounds of a loop of unknown length after which it should do the same each time."""

MAX_ROUNDS = 8


class JoinedPaths(ABC):
    """Executes what may be executed or not, from the same state, and joins the states at the
    end."""

    state: State
    findings: Findings
    values: Values
    _setting: Setting
    _slice: ProgramSlice
    _vectors: Vectors
    _work: Work
    _loops: Loops
    _predicted: PredictedBarriers
    _statements: Statements
    _assumed: dict[Key, int]
    _decide: Callable[[Expr, Agent], Value]

    @abstractmethod
    def _run(self, block: Block, agent: Agent) -> Steps:
        """Executes a block."""

    @abstractmethod
    def _drive(self, steps: Steps) -> None:
        """Runs steps to the end."""

    def _either(self, stmt: If, agent: Agent) -> None:
        """A condition on data: executes both arms from the same state, then joins the two
        states."""
        threads, divergent = agent.threads, self.values.varies(stmt.condition, agent.threads)
        are_alike = divergent and self._statements.write_alike(stmt, agent)
        self._work.do(STEP + (0 if are_alike else self._setting.layout.weight))
        before = self.state if are_alike else self.state.copy()
        self._loops.leave_open(stmt, agent)
        self.findings.fork(UndecidedKind.BRANCH, stmt)
        around = agent.accesses
        is_recorded = divergent or around is not None
        once = is_recorded and (
            len(np.unique(threads.ids)) == threads.count
            or (are_alike and self._statements.write_apart(stmt, agent))
        )
        arms = [
            ArmAccesses(self._setting.layout, once, around=around) for _ in (stmt.then, stmt.orelse)
        ]
        with self._predicted.in_unknown_part(agent, divergent):
            timestamps = agent.timestamps.copy()
            agent.accesses = arms[0] if is_recorded else None
            self._drive(self._run(stmt.then, agent))
            agent.threads = threads
            after_then = self.state if are_alike else self.state.become(before)
            agent.timestamps, timestamps = timestamps, agent.timestamps
            agent.accesses = arms[1] if is_recorded else None
            self._predicted.skips(agent, stmt.then)
            self._drive(self._run(stmt.orelse, agent))
            agent.threads, agent.timestamps = threads, timestamps.joined(agent.timestamps)
        agent.accesses = around
        if around is not None:
            around.add_branch(*arms)
        self._predicted.skips(agent, stmt.then, stmt.orelse)
        self._predicted.after_branch(stmt, agent)
        if divergent:
            self._report_arms(stmt, *arms)
            self.values.mark_divergent(stmt.then, stmt.orelse)
        if not are_alike:
            together = not divergent and not agent.partly
            self.state.become(after_then.joined(self.state, alike=together))
        # Within an arm nothing is filled yet: the thread that would may be in the other arm, where
        # another one fills that byte.
        for buffer, where, _ in filled_by_both(*arms) if divergent and around is None else ():
            self.state.memory.fill(buffer, where)

    def _go_each_way(self, block: Block, agent: Agent) -> int:
        """Executes the branches at the head of a block that go both ways in each round of a loop;
        how many statements these are, none where it is known which way they go."""
        first = block[0]
        assert isinstance(first, If)
        asked = self._asked(first, agent)
        is_open = asked is not None and asked not in self._assumed and not agent.partly
        if asked is None or not is_open or self._decide(first.condition, agent) is not None:
            return 0
        branches = self._loops.joined_with(block)
        self._each_way(branches, asked, agent)
        return len(branches)

    def _supposed(self, stmt: If, agent: Agent) -> int | None:
        """Which way such a branch goes now; None if it goes both ways by itself."""
        asked = self._asked(stmt, agent)
        return None if asked is None else self._assumed.get(asked)

    def _each_way(self, branches: Block, asked: Key, agent: Agent) -> None:
        """Branches with signals to mbarriers on one condition, of which nothing tells in which
        rounds of a loop it holds: executes them all where it does and where it does not, from the
        same state, then joins the two states."""
        self._work.do(STEP + self._setting.layout.weight)
        threads, before, tallies = agent.threads, self.state.copy(), ArmTallies(agent.tallies)
        timestamps = agent.timestamps.copy()
        self.findings.fork(UndecidedKind.BRANCH, branches[0])
        self._assumed[asked] = 1
        self._drive(self._run(branches, agent))
        agent.threads = threads
        after_then = self.state.become(before)
        agent.timestamps, timestamps = timestamps, agent.timestamps
        tallies.enter_other()
        self._assumed[asked] = 0
        self._drive(self._run(branches, agent))
        del self._assumed[asked]
        agent.threads, agent.timestamps = threads, timestamps.joined(agent.timestamps)
        tallies.leave()
        for one in branches:
            if isinstance(one, If):
                self._predicted.skips(agent, one.then, one.orelse)
        self.state.become(after_then.joined(self.state, alike=True))
        everyone = self._vectors.warps(self._vectors.everyone)
        self.state.engines.drop_over(self.state.order.known_to_all(everyone).copies)

    def _asked(self, stmt: If, agent: Agent) -> Key | None:
        """A condition that all threads know alike, whatever it is; None if it is no such one."""
        unknowns = self.values.unknowns
        written = unknowns.written(stmt.condition, agent.threads)
        return None if written is None else unknowns.interned.condition(written.form)

    def _report_arms(self, stmt: If, then: ArmAccesses, orelse: ArmAccesses) -> None:
        """Rule 4: threads may be in both arms, so that what each touches is not ordered."""
        blocks = (stmt.then, stmt.orelse)
        held = [self._setting.holders.read_in(block) for block in blocks]
        arms = [
            {buffer for buffer, _ in self._slice.kinds(block)} | read
            for block, read in zip(blocks, held, strict=True)
        ]
        for one, partners in self._setting.layout.partners.items():
            for two in partners:
                if one not in arms[0] or two not in arms[1]:
                    continue
                if one in held[0] or two in held[1] or conflict(then, one, orelse, two):
                    self.findings.arms(stmt, one, two)

    def _repeat(self, stmt: For | While, condition: Expr, agent: Agent, threads: Threads) -> None:
        """A loop of unknown length: joins iterations until a fixpoint. Raises `Uncovered` if there
        is none after `MAX_ROUNDS`."""
        self.findings.fork(UndecidedKind.LOOP, stmt)
        self._loops.leave_open(stmt, agent)
        divergent = self.values.varies(condition, threads)
        if not divergent and self._slice.meets_in_blocks_alone(stmt):
            if self._repeat_alike(stmt, agent, threads):
                return
        for round_number in range(MAX_ROUNDS):
            self._work.do(STEP + self._setting.layout.weight)
            before, timestamps = self.state.copy(), agent.timestamps.copy()
            agent.threads = threads
            with self._predicted.in_unknown_part(agent, divergent):
                if isinstance(stmt, For):
                    agent.timestamps.begin_round(stmt)
                self._drive(self._run(stmt.body, agent))
                agent.threads, agent.timestamps = threads, timestamps.joined(agent.timestamps)
                self._statements.access(
                    stmt, agent
                )  # the condition is evaluated again; no barrier can precede it
            if divergent:
                self.values.mark_divergent(stmt.body)
            together = not divergent and not agent.partly
            merged = before.joined(self.state, alike=together)
            settled = round_number > 1 and merged.knows_what(before)
            self.state.become(merged)
            if settled:
                self._predicted.skips_loop(agent, stmt)
                return
        raise Uncovered(f"`{label(stmt)}` did not settle")

    def _repeat_alike(self, stmt: For | While, agent: Agent, threads: Threads) -> bool:
        """Runs the first rounds one after the other, for all threads; returns whether the last ones
        did the same. The loop may then be over before any of them.

        Nothing is handed on but by barriers of the block, so what is ordered in rounds that follow
        one another, or the next but one, is in all that lie further apart.
        """
        over, is_alike = (self.state.copy(), agent.timestamps.copy()), False
        for round_number in range(ROUNDS_ALIKE):
            self._work.do(STEP + self._setting.layout.weight)
            before = self.state.copy()
            agent.threads = threads
            if isinstance(stmt, For):
                agent.timestamps.begin_round(stmt)
            self._drive(self._run(stmt.body, agent))
            agent.threads = threads
            self._statements.access(stmt, agent)
            joined = over[0].joined(self.state, alike=not agent.partly)
            over = joined, over[1].joined(agent.timestamps)
            is_alike = round_number > 1 and self.state.is_as_before(before)
            if is_alike:
                break
        self.state.become(over[0])
        agent.timestamps = over[1]
        if is_alike:
            self._predicted.skips_loop(agent, stmt)
        return is_alike
