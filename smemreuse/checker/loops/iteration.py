"""Executes the iterations of loops, and tallies what they do to mbarriers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.loops.endless import OpenCondition
from smemreuse.checker.loops.fast_forward import FastForwardPoint, leave_out
from smemreuse.checker.loops.loop_runs import LoopRun, LoopsOfBlock
from smemreuse.checker.loops.parities import Parities
from smemreuse.checker.loops.periods import Periods, Window
from smemreuse.checker.machine.agent import Agent, Steps
from smemreuse.checker.machine.signals import ARRIVALS
from smemreuse.checker.machine.state import State
from smemreuse.checker.machine.tallies import LoopTally
from smemreuse.checker.values.cases import LARGE, SEEN
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.quotients import Edges
from smemreuse.checker.values.round_conditions import RoundCondition
from smemreuse.checker.values.unknowns import Begin, Length
from smemreuse.ir.expr import Call, Load, same
from smemreuse.ir.kernel import Attr, Bind, Block, For, If, Stmt, While
from smemreuse.ir.labels import label
from smemreuse.semantics.effects import Effect, Group, Meeting, Signal
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.semantics.table import counted, effect_of, mbarrier_operand

MAX_SEEN = 128
"""Iterations after which a loop of unknown length should have been seen to repeat itself."""

AT_ONCE = 16
"""Iterations up to which a loop with mbarriers in it is not fast-forwarded: an arm that stops lets
the others catch up, while a producer that is ahead of them has filled more of its stages."""


class Loops:
    """The loops of a trace."""

    def __init__(
        self,
        periods: Periods,
        parities: Parities,
        state: State,
        values: Values,
        block: LoopsOfBlock,
        is_case: Callable[[If | For], bool],
    ):
        """`is_case`: whether a branch or a loop that data decide is split into cases."""
        self._block = block
        self._is_case = is_case
        self._slice = values.program_slice
        self._periods = periods
        self._state = state
        self._values = values
        self._parities = parities
        self._joined: set[Stmt] = set()

    def iterate(
        self,
        stmt: For,
        rounds: range,
        agent: Agent,
        run: Callable[[Block, Agent], Steps],
        noted: LoopRun | None = None,
    ) -> Steps:
        """Executes the iterations of a loop one by one; periodic ones may be left out."""
        window, threads = None, agent.threads
        if len(rounds) > AT_ONCE or not self._slice.signals(stmt):
            if agent.covered and self._block.deciding(stmt):
                threads = self._block.here(threads)
            window = self._periods.window(stmt, rounds, threads, self._state.counters)
        yield from self._iterate(stmt, rounds, window, None, agent, run, noted)

    def begin(self, stmt: For, begin: Value, step: Value, agent: Agent) -> Begin | None:
        """Where a loop begins that goes on by ones, and is the same for all threads; None for any
        other one."""
        if not isinstance(step, int) or step != 1:
            return None
        if begin is not None:
            return begin if isinstance(begin, int) else None
        written = self._values.unknowns.written(stmt.begin, agent.threads)
        return None if written is None else written.form

    def length(self, stmt: For, begin: Begin, agent: Agent) -> Length | None:
        """The length of a loop in this case; None if its period is unknown."""
        window = self._endless(stmt, begin, agent.threads)
        if window is None or self._edges(stmt, begin, window, agent.threads) is None:
            return None
        return self._values.unknowns.length(stmt.extent, agent.threads)

    def _endless(self, stmt: For, begin: Begin, threads: Threads) -> Window | None:
        known = begin if isinstance(begin, int) else None
        return self._periods.endless(stmt, known, threads, self._state.counters)

    def _edges(self, stmt: For, begin: Begin, window: Window, threads: Threads) -> Edges | None:
        """How many first and last iterations of a loop of unknown length are not periodic for
        conditions that its length decides (`values.quotients`); None if that is not known of an
        open one."""
        found, joined = Edges(), set[Stmt]()
        for one in window.open:
            asked = RoundCondition(one.condition, stmt, begin, one.bound, one.ranges, threads)
            edges = self._edges_of(asked, one.stmt)
            if edges is not None:
                found |= edges
            elif not (self._is_unknown(one, threads) or asked.stays_open(self._values.unknowns)):
                return None
            elif self._is_case(one.stmt):
                if self._slice.waits(one.stmt) or not self._slice.signals(one.stmt):
                    return None
                joined.add(one.stmt)
        self._joined |= joined
        return found

    def _edges_of(self, asked: RoundCondition, branch: If) -> Edges | None:
        """Those of a part of a branch's condition, or of all of it: `k < a and k < b` may be known
        where neither of the two is."""
        for part in dict.fromkeys((asked.condition, branch.condition)):
            edges = replace(asked, condition=part).edges(self._values.unknowns)
            if edges is not None:
                self._values.unknowns.settle(branch.condition, part)
                return edges
        return None

    def _is_unknown(self, one: OpenCondition, threads: Threads) -> bool:
        """Whether something that a condition loads is not known, and therefore the condition is
        not: a branch that is no case then goes both ways in every iteration."""
        return any(
            isinstance(leaf, Load) and self._values(leaf, threads) is None
            for leaf in self._values.vectors.interned.reading(one.condition).leaves or ()
        )

    def go_through(
        self,
        stmt: For,
        begin: Begin,
        length: Length,
        agent: Agent,
        run: Callable[[Block, Agent], Steps],
    ) -> Steps:
        """Runs the iterations of a loop of which it is given for this case how many it has."""
        first = begin if isinstance(begin, int) else 0
        rounds, window = range(first, first + length.rounds), None
        if len(rounds) > LARGE // 2:
            endless = self._endless(stmt, begin, agent.threads)
            assert endless is not None
            edges = self._edges(stmt, begin, endless, agent.threads)
            assert edges is not None
            first_whole = max(endless.first, edges.head)
            window = replace(endless, first=first_whole, end=len(rounds) - edges.tail)
        yield from self._iterate(stmt, rounds, window, length, agent, run, begin=begin)

    def _iterate(
        self,
        stmt: For,
        rounds: range,
        window: Window | None,
        length: Length | None,
        agent: Agent,
        run: Callable[[Block, Agent], Steps],
        noted: LoopRun | None = None,
        begin: Begin = 0,
    ) -> Steps:
        """Executes iterations; `rounds` count from 0 where data decide what the variable is at the
        `begin`."""
        threads, loops, outer = agent.threads, agent.loops, agent.tallies
        tally, at, unknowns = LoopTally(), 0, self._values.unknowns
        least = 0 if window is None else window.period  # iterations that can be left out
        since, is_long = unknowns.now, len(rounds) > LARGE // 2 and length is not None
        while at < len(rounds):
            if is_long and window is not None and at > window.first + MAX_SEEN:
                raise Uncovered(f"`{label(stmt)}` does not repeat itself")
            if window is not None and at == window.first:
                since = unknowns.now  # what was assumed of iterations before is theirs alone
            if window is not None and at - window.first >= SEEN * window.period:
                pause = FastForwardPoint(
                    window,
                    at,
                    tally.latest(window.period),
                    noted,
                    stmt,
                    None if length is None else length.key,
                    tally.turned(window.period) if window.turns else {},
                )
                if unknowns.is_uneven(since, threads):
                    pause.tally.clear = False
                if at + least <= window.end and not self.leave_out([pause]):
                    yield [pause]
                least = max(least, pause.unit)
                if pause.skip:
                    agent.forget_accesses()
                    if noted is not None:
                        noted.leave(pause)
                    if length is not None:
                        tail = len(rounds) - window.end
                        seen = window.first + tail - length.more
                        unknowns.case.need(length.key, seen, pause.alike)
                        is_long = False
                    at += pause.skip
                    self._go_on(pause, at, threads, outer)
                    continue
            if window is not None:
                tally.begin()
                agent.tallies = (*outer, tally)
            if isinstance(begin, int):
                agent.threads, name = threads.bind(stmt.var, rounds[at]), stmt.var.name
            else:
                self._values.unknowns.begin_round(stmt, begin, at, threads)
                agent.threads, name = threads.bind(stmt.var, None), f"{stmt.var.name} - begin"
            agent.loops = (*loops, (name, rounds[at]))
            agent.timestamps.begin_round(stmt)
            yield from run(stmt.body, agent)
            at += 1
        agent.tallies = outer

    def leave_out(self, points: Sequence[FastForwardPoint]) -> bool:
        """Sets how many iterations loops that are stopped together leave out."""
        return leave_out(
            points,
            lambda slot: self._state.barriers[slot].expected,
            lambda slot, loops: self._parities.are_relative(slot[0], loops),
        )

    def _go_on(
        self, pause: FastForwardPoint, at: int, threads: Threads, outer: Sequence[LoopTally]
    ) -> None:
        """Updates tallies and counters as if the iterations left out had been executed."""
        for loop in outer:
            loop.rounds[-1].add(pause.tally, pause.skip // pause.window.period)
        for local, values in pause.window.counters.items():
            self._state.counters.set(*local, threads.ids, int(values[at]))
        for storage in pause.window.stored:  # what was loaded then is not what was loaded last
            self._state.memo.forget(storage, threads.ids)

    def joins(self, stmt: Stmt) -> bool:
        """Whether a branch with signals to mbarriers goes both ways in each iteration: no length
        tells in which iterations it goes which way."""
        return stmt in self._joined

    def joined_with(self, block: Block) -> Block:
        """The first of some statements, a branch that goes both ways, and those after it up to the
        last one on the same condition; nothing between decides, orders or accesses anything."""
        first, end = block[0], 0
        assert isinstance(first, If)
        for at, stmt in enumerate(block):
            if (
                stmt in self._joined
                and isinstance(stmt, If)
                and same(stmt.condition, first.condition)
            ):
                end = at + 1
            elif self._slice(stmt) or isinstance(stmt, (Bind, Attr)):
                break
        return block[:end]

    def leave_open(self, stmt: If | For | While, agent: Agent) -> None:
        """Marks the tallies of the loops around a statement as unknown: it may use mbarriers."""
        for loop in agent.tallies if self._slice.signals(stmt) else ():
            loop.rounds[-1].clear = False

    def note(self, call: Call, effect: Effect, stmt: Stmt, agent: Agent) -> None:
        """Notes for the loops around an operation what it does to mbarriers."""
        threads = agent.threads
        for loop in agent.tallies:
            if effect.mbarrier is not None:
                self._signal(call, effect, stmt, threads, loop)
            elif effect.meeting is not None and self._others_come(call, effect.meeting, agent):
                loop.rounds[-1].clear = False

    def note_within(self, call: Call, agent: Agent) -> None:
        """Notes for the loops around an operation whether others come to the barriers inside it."""
        if any(self._others_come(call, one, agent) for one in effect_of(call).within):
            for loop in agent.tallies:
                loop.rounds[-1].clear = False

    def _others_come(self, call: Call, meeting: Meeting, agent: Agent) -> bool:
        """Whether a barrier is for more threads than these: it then matters how often they come."""
        if meeting.group in (Group.WARP, Group.NOBODY):
            return False
        count = counted(call, meeting) if meeting.group is Group.NAMED else None
        everyone = len(self._values.vectors.everyone)
        expected = everyone if count is None else self._values(count, agent.threads)
        return expected != agent.threads.count

    def _signal(
        self, call: Call, effect: Effect, stmt: Stmt, threads: Threads, loop: LoopTally
    ) -> None:
        assert effect.mbarrier is not None
        now, signal, at = loop.rounds[-1], effect.signals, effect.mbarrier.count
        slot = self._values.slot(mbarrier_operand(call, effect), threads)
        known = at is not None and at < len(call.args)
        count = self._values(call.args[at], threads) if at is not None and known else None
        if signal is Signal.COMPLETE_WITH_BYTES:
            count = self._slice.load_bytes.get(stmt)
        arrives = signal in ARRIVALS
        if slot is None or (at is not None and not isinstance(count, int)):
            now.clear = False
            return
        number = count if isinstance(count, int) else 1
        if signal is Signal.WAIT:
            loop.wait(slot, number % 2)
        elif signal is Signal.COMPLETE_WITH_BYTES:
            now.due[slot] -= number * threads.count
        elif signal in (Signal.EXPECT, Signal.ARRIVE_AND_EXPECT):
            now.due[slot] += number * threads.count
        elif not arrives and signal is not Signal.HOLD_FOR_COPIES:
            now.clear = False
        if arrives:
            times = number if signal is Signal.ARRIVE else 1
            now.arrivals[slot] += times * threads.count
