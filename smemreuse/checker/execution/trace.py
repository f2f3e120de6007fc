"""The byte trace: executes one thread block's shared-memory accesses under a plan.

All threads of a statement run at once (NumPy). Divergent arms run as agents, in turns, blocked by
mbarriers as on the hardware. Conditions on the block index are settled one block at a time, for one
block of each kind; conditions on data go both ways and are joined (`joined`). Here is the control
flow; what a statement does is in `statements`, and what that does to the shadow machine (`state`)
in `accesses` and `synchronization`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smemreuse.checker.budget import BUDGET
from smemreuse.checker.errors import Returned, Stuck, Uncovered
from smemreuse.checker.execution.concurrent import Branches, ConcurrentBranches
from smemreuse.checker.execution.joined import JoinedPaths
from smemreuse.checker.execution.leaves import Leaf
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.execution.statements import Statements
from smemreuse.checker.loops.fast_forward import FastForwardPoint
from smemreuse.checker.loops.iteration import Loops
from smemreuse.checker.loops.loop_runs import LoopsOfBlock
from smemreuse.checker.machine.accesses import Accesses
from smemreuse.checker.machine.agent import BLOCKED, Agent, Steps
from smemreuse.checker.machine.events import Findings
from smemreuse.checker.machine.state import State
from smemreuse.checker.machine.synchronization import Synchronization
from smemreuse.checker.predicted.barriers import PredictedBarriers
from smemreuse.checker.values.cases import Case
from smemreuse.checker.values.evaluation import Values
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Assert,
    Attr,
    Bind,
    Block,
    For,
    If,
    Stmt,
    While,
    rounds_of,
)
from smemreuse.ir.labels import label
from smemreuse.results.undecided import UndecidedKind
from smemreuse.semantics.evaluate import Threads
from smemreuse.semantics.polled import Polled, waits_once_entered


@dataclass(frozen=True)
class RunningArm:
    """An agent and the blocks that it executes, in order."""

    agent: Agent
    blocks: tuple[Block, ...]


class Trace(JoinedPaths):
    """One execution. `findings` are told what is wrong, and `block` is the block index, used only
    where control flow depends on it."""

    def __init__(
        self,
        setting: Setting,
        findings: Findings,
        block: Mapping[Var, int],
        case: Case | None = None,
    ):
        self.state = State.initial(setting.layout, setting.vectors.everyone)
        self.findings = findings
        self.values = Values(
            setting.program_slice,
            setting.vectors,
            self.state,
            block,
            case,
            setting.given,
            of_block=setting.every_case,
        )
        self.findings.supposes = not self.values.unknowns.supposes_length_alone
        self.steps = 0
        self._assumed = {}
        self._releases = 0  # how often loops went on that had stopped, since others waited for them
        self._setting = setting
        self._slice, self._vectors = setting.program_slice, setting.vectors
        shared = (self.state, self.values)
        accesses = Accesses(setting.footprints, setting.holders, setting.work, *shared, findings)
        self._work, self._leaves = setting.work, setting.leaves
        self.loops_of_block = LoopsOfBlock(self.values, setting.is_compared, setting.asked)
        self._decide = self.loops_of_block.decide
        self._loops = Loops(
            setting.periods, setting.parities, *shared, self.loops_of_block, setting.is_case
        )
        synchronization = Synchronization(*shared, accesses, findings, setting.contended)
        self.waiting = synchronization.waiting
        self._predicted = PredictedBarriers(setting.prediction, *shared, synchronization)
        self._concurrent = ConcurrentBranches(setting, findings, self._predicted, self._decide)
        self._statements = Statements(
            setting, self.values, accesses, synchronization, self._predicted, self._loops
        )

    def run(self, body: Block) -> None:
        """Executes a kernel. Raises `Uncovered` for what it cannot follow, and `Infeasible` if
        no execution is like this case."""
        self.values.unknowns.require_feasible()
        with contextlib.suppress(Returned):
            self._drive(self._run(body, Agent(self.values.everyone())))

    def _drive(self, steps: Steps) -> None:
        """Runs steps to the end. Raises `Stuck` where they block: no other agent could wake them.
        Before that, those go on that wait to leave out iterations together with the others."""
        before = released = -1
        for step in steps:
            if isinstance(step, list):
                self._loops.leave_out(step)
                before = -1
            elif self.steps != before:
                before = self.steps
            elif self.steps != released:
                self._releases += 1
                released = self.steps
            else:
                raise Stuck("an mbarrier is waited for that nobody completes")

    def _tick(self) -> None:
        self.steps += 1
        if self.steps > self._setting.budget:
            raise Uncovered(f"{BUDGET}more than {self._setting.budget:,} steps")

    # Blocks -------------------------------------------------------------------------------------

    def _run(self, block: Block, agent: Agent) -> Steps:
        if agent.threads.count == 0:
            return
        skip = 0
        for index, (stmt, leaf, matters, branches) in enumerate(self._leaves.rows(block)):
            if index < skip:
                continue
            if isinstance(stmt, Bind):
                agent.threads = self.values.bind(stmt, agent.threads)
            elif branches:
                group = self._concurrent.at_head(block[index:], agent)
                if len(group) > 1:
                    skip = index + 1 + block[index:].index(group[-1][0])
                    yield from self._branch_concurrently(group, agent)
                    continue
            if isinstance(stmt, If) and self._loops.joins(stmt):
                skip = index + self._go_each_way(block[index:], agent)
                if skip > index:
                    continue
            if matters:
                if leaf is None:
                    yield from self._statement(stmt, agent)
                    self._predicted.after(stmt, agent)
                elif self._leaf(stmt, leaf, agent):
                    yield from self._statements.wait(stmt, leaf, agent)
            elif isinstance(stmt, Attr):
                yield from self._attr(stmt, agent)
            else:
                self._predicted.passes(stmt, agent)

    def _run_all(self, arm: RunningArm) -> Steps:
        threads = arm.agent.threads
        for block in arm.blocks:
            arm.agent.threads = threads
            yield from self._run(block, arm.agent)

    def _branch_concurrently(self, group: Branches, agent: Agent) -> Steps:
        """Runs several branches at the same time: one agent for each set of threads that takes the
        same arms of all of them."""
        branches = [stmt for stmt, mask in group if mask is not None]
        together = tuple(stmt for stmt, mask in group if mask is None)
        self._predicted.enters(branches[0], agent)
        self._predicted.before_branch(branches[0], agent)
        arms = []
        for choice, mine in self._vectors.choices([mask for _, mask in group if mask is not None]):
            blocks = [
                stmt.then if then else stmt.orelse
                for stmt, then in zip(branches, choice, strict=True)
            ]
            threads = self._vectors.where(agent.threads, mine)
            arms.append(RunningArm(agent.of(threads), (*blocks, together)))
        yield from self._meet(arms, agent, [stmt for stmt, _ in group])

    # Statements ---------------------------------------------------------------------------------

    def _statement(self, stmt: Stmt, agent: Agent) -> Steps:
        self._statements.fence_before(stmt, agent)
        if isinstance(stmt, Attr):
            yield from self._attr(stmt, agent)
        elif isinstance(stmt, For):
            yield from self._for(stmt, agent)
        elif isinstance(stmt, If):
            yield from self._if(stmt, agent)
        elif isinstance(stmt, While):
            yield from self._while(stmt, agent)
        elif isinstance(stmt, Assert):
            self._statements.header(stmt, agent)
            yield from self._run(stmt.body, agent)

    def _leaf(self, stmt: Stmt, leaf: Leaf, agent: Agent) -> bool:
        """Executes a statement without nested ones; whether it waits for an mbarrier phase."""
        self._tick()
        return self._statements.perform(stmt, leaf, agent)

    def _attr(self, stmt: Attr, agent: Agent) -> Steps:
        if stmt.key == THREAD_EXTENT and stmt.var is not None:
            agent.threads = agent.threads.bind(stmt.var, self._setting.axis(stmt, agent.threads))
        yield from self._run(stmt.body, agent)

    # Branches -----------------------------------------------------------------------------------

    def _if(self, stmt: If, agent: Agent) -> Steps:
        self._predicted.enters(stmt, agent)
        self._statements.header(stmt, agent)
        threads = agent.threads
        condition = self._decide(stmt.condition, agent)
        if condition is None and self._loops.joins(stmt):
            condition = self._supposed(stmt, agent)
        elif condition is None and self._setting.is_case(stmt) and not agent.partly:
            condition = self.values.unknowns.truth(stmt.condition, threads)
            if condition is not None:
                self.findings.fork(UndecidedKind.BRANCH, stmt)
        self._predicted.before_branch(stmt, agent)
        if condition is None:
            self._either(stmt, agent)
        elif isinstance(condition, int):
            if not condition:
                self._predicted.skips(agent, stmt.then)
            yield from self._run(stmt.then if condition else stmt.orelse, agent)
            if condition:
                self._predicted.skips(agent, stmt.orelse)
            self._predicted.after_branch(stmt, agent)
            agent.threads = threads
        else:
            arms = [
                RunningArm(agent.of(self._vectors.where(threads, mask)), (block,))
                for mask, block in zip(
                    self._vectors.masks(condition), (stmt.then, stmt.orelse), strict=True
                )
                if self._slice.block(block)
            ]
            yield from self._meet(arms, agent, (stmt,))

    def _meet(self, arms: list[RunningArm], agent: Agent, branches: Sequence[If]) -> Steps:
        """Runs arms in turns; an arm that waits for an mbarrier lets the others go on.

        A predicted barrier of all threads may stand before the branch and after it.
        """
        parts = [(arm.agent, arm.blocks) for arm in arms]
        self._predicted.split(agent, parts, branches)
        self._predicted.before(agent)
        running = [self._run_all(arm) for arm in arms]
        stopped: dict[Steps, list[FastForwardPoint]] = {}
        releases = self._releases
        while running:
            before = self.steps
            if self._releases != releases:
                stopped.clear()
                releases = self._releases
            for arm in [one for one in running if one not in stopped]:
                step = next(arm, running)
                if step is running:
                    running.remove(arm)
                    self.steps += 1
                elif isinstance(step, list):
                    stopped[arm] = step
            if self.steps != before:
                continue
            if len(stopped) == len(running) > 0:
                yield [point for points in stopped.values() for point in points]
                stopped.clear()
            elif running:
                yield BLOCKED
        self._predicted.before(agent)
        self._predicted.join(agent, parts, branches)

    # Loops --------------------------------------------------------------------------------------

    def _for(self, stmt: For, agent: Agent) -> Steps:
        self._predicted.enters(stmt, agent)
        self._statements.header(stmt, agent)
        threads, loops, covered = agent.threads, agent.loops, agent.covered
        noted = self.loops_of_block.begin(stmt, agent)
        begin, extent, step = (
            self._decide(expr, agent) for expr in (stmt.begin, stmt.extent, stmt.step)
        )
        if not (isinstance(begin, int) and isinstance(extent, int) and isinstance(step, int)):
            if any(self.values.varies(expr, threads) for expr in (stmt.begin, stmt.step)):
                self.values.note_varying(stmt.var)
            if stmt.kind == "vectorized":
                raise Uncovered(f"`{label(stmt)}` is vectorized, and not followed")
            agent.forget_accesses()
            is_case = self._setting.is_case(stmt) and not agent.partly
            first = self._loops.begin(stmt, begin, step, agent) if is_case else None
            length = None if first is None else self._loops.length(stmt, first, agent)
            if first is not None and length is not None:
                if self.values.unknowns.may_be_long(length.key):
                    self.findings.long.setdefault(stmt.var)
                else:
                    self.findings.fork(UndecidedKind.LOOP, stmt)
                yield from self._loops.go_through(stmt, first, length, agent, self._run)
                if not length.rounds:
                    self._predicted.skips_loop(agent, stmt)
            else:
                self.state.memo.set(stmt.var, threads.ids)  # in a round it may be any
                self._repeat(stmt, rounds_of(stmt), agent, threads.bind(stmt.var, None))
        elif step == 0:
            raise Uncovered(f"`{label(stmt)}` does not go on")
        elif rounds := range(begin, begin + extent, step):
            if self._at_once(stmt, rounds, threads):
                agent.threads = self._vectors.repeated(threads, stmt.var, rounds)
                yield from self._run(stmt.body, agent)
            elif stmt.kind == "vectorized":
                raise Uncovered(f"`{label(stmt)}` is vectorized, and not followed")
            else:
                yield from self._loops.iterate(stmt, rounds, agent, self._run, noted)
        else:
            self._predicted.skips_loop(agent, stmt)
        agent.threads, agent.loops, agent.covered = threads, loops, covered

    def _at_once(self, stmt: For, rounds: range, threads: Threads) -> bool:
        """Whether iterations of a loop are executed as more threads."""
        count = threads.count * len(rounds)
        if self._setting.at_once(stmt, count):
            return True
        return self._setting.may_fill(stmt, count) and self._statements.fill_apart(
            stmt, self._vectors.repeated(threads, stmt.var, rounds)
        )

    def _while(self, stmt: While, agent: Agent) -> Steps:
        self._predicted.enters(stmt, agent)
        agent.forget_accesses()
        polled = self._slice.operations.polled(stmt)
        if polled is not None and self._is_entered(stmt, agent):
            yield from self._poll(stmt, polled, agent)
            return
        threads, went_round = agent.threads, False
        while True:
            self._statements.header(stmt, agent)
            condition = self._decide(stmt.condition, agent)
            if not isinstance(condition, int):
                break
            if not condition:
                if not went_round:
                    self._predicted.skips_loop(agent, stmt)
                return
            self._tick()
            yield from self._run(stmt.body, agent)
            agent.threads, went_round = threads, True
        self._repeat(stmt, stmt.condition, agent, threads)

    def _is_entered(self, stmt: While, agent: Agent) -> bool:
        """Whether a loop that polls asks at least once, whatever its flag was before."""
        if not waits_once_entered(stmt):
            return True
        entered = self._decide(stmt.condition, agent)
        return isinstance(entered, int) and entered != 0

    def _poll(self, stmt: While, polled: Polled, agent: Agent) -> Steps:
        """A loop that waits for a phase of an mbarrier. What it sets its flag to is not known."""
        call, effect = polled
        self._tick()
        if agent.tallies:
            self._loops.note(call, effect, stmt, agent)
        for store in self._slice.counters_set(stmt.body):
            self.values.store(store, agent.threads)
        yield from self._statements.poll(stmt, polled, agent)
