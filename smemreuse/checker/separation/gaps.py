"""Whether all threads meet between what is done to two buffers, on every path (rules 5 and 6).

A dataflow analysis. The state says what may have been done to either buffer since a barrier:
nothing, an access, or an access that only a barrier surely after it orders. For accesses in flight
it keeps, by engine, the least number of groups closed since the last one; that holds for each
thread by itself, whichever path it takes. A join keeps what either side may have done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from smemreuse.checker.separation.ground import Ground
from smemreuse.ir.expr import Call, Expr, constant
from smemreuse.ir.kernel import For, If, Stmt, While
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.table import effect_of, evaluated_call

MANY = 64
"""Groups of which there may as well be more."""

MAX_ROUNDS = 2 * MANY

CLOSED, OPEN, OPEN_TO_ASSUMED = range(3)
"""All threads have met since the last access; or they have not, and a predicted barrier would order
it; or only a barrier in the kernel would."""


@dataclass(frozen=True)
class Flight:
    """An engine at work: how many groups have been closed since the last access, and whether
    threads may have met since the first."""

    engine: Engine
    closed: int = 0
    met: bool = False


@dataclass(frozen=True)
class Since:
    """What has been done to one buffer.

    `flying` are the engines that may be at work on it.
    """

    done: int = CLOSED
    flying: frozenset[Flight] = frozenset()

    @property
    def is_over(self) -> bool:
        """Whether all of it happens before whatever comes now."""
        return self.done == CLOSED and not self.flying

    def joined(self, other: Since) -> Since:
        if self == other:
            return self
        flying: dict[Engine, Flight] = {}
        for one in self.flying | other.flying:
            known = flying.get(one.engine, one)
            closed, met = min(one.closed, known.closed), one.met or known.met
            flying[one.engine] = Flight(one.engine, closed, met)
        return Since(max(self.done, other.done), frozenset(flying.values()))

    def accessed(self, engine: Engine) -> Since:
        """Another access."""
        if engine is Engine.THREAD:
            return replace(self, done=max(self.done, OPEN))
        others = {one for one in self.flying if one.engine is not engine}
        met = any(one.met for one in self.flying - others)
        return replace(self, flying=frozenset({*others, Flight(engine, 0, met)}))

    def met(self, *, sure: bool) -> Since:
        """All threads have met, or a later pass sees to it that they have."""
        return replace(self, done=CLOSED) if sure or self.done == OPEN else self

    def may_have_met(self) -> Since:
        """A barrier may stand here, before what is in flight has been waited for."""
        if not self.flying:
            return self
        return replace(self, flying=frozenset(replace(one, met=True) for one in self.flying))

    def committed(self, engine: Engine) -> Since:
        if not self.flying:
            return self
        flying = frozenset(
            replace(one, closed=min(one.closed + 1, MANY)) if one.engine is engine else one
            for one in self.flying
        )
        return replace(self, flying=flying)

    def waited(self, engine: Engine, keep: int) -> Since:
        """All but the last `keep` groups are over."""
        over = {one for one in self.flying if one.engine is engine and one.closed > keep}
        if not over:
            return self
        met = any(one.met for one in over)
        return Since(max(self.done, OPEN_TO_ASSUMED if met else OPEN), self.flying - over)

    def out_of_an_arm(self) -> Since:
        """After an arm whose threads may have met without the others."""
        return replace(self, done=OPEN_TO_ASSUMED) if self.done == OPEN else self


State = tuple[Since, Since]

BEGIN: State = (Since(), Since())


class Gap(Exception):
    """There may be a path from one buffer's access to the other's without a barrier."""


class Gaps:
    """Looks for gaps between the accesses of two buffers."""

    def __init__(self, ground: Ground):
        self._ground = ground
        self._known: dict[tuple[Stmt, State], State] = {}

    def require_none(self, statements: Sequence[Stmt], goes_round: bool) -> None:
        """Raises `Gap` where there may be one, in statements that may be a loop's body."""
        after = self._sequence(statements, BEGIN)
        if goes_round:
            self._around(statements, after)

    def _sequence(self, statements: Sequence[Stmt], state: State) -> State:
        for stmt in statements:
            is_over = state[0].is_over and state[1].is_over
            if stmt in self._ground.accessed or (not is_over and self._ground.concerns(stmt)):
                before = (stmt, state)
                if before not in self._known:
                    self._known[before] = self._statement(stmt, state)
                state = self._known[before]
        return state

    def _statement(self, stmt: Stmt, state: State) -> State:
        ground = self._ground
        if ground.assumed_before(stmt):
            state = _each(state, lambda since: since.met(sure=False))
        if ground.may_meet(stmt):
            state = _each(state, Since.may_have_met)
        state = self._accessed(stmt, state)
        call = evaluated_call(stmt)
        if isinstance(stmt, If):
            state = self._branch(stmt, state)
        elif isinstance(stmt, (For, While)):
            state = self._loop(stmt, state)
        elif call is not None:
            state = self._operation(stmt, call, effect_of(call), state)
        if ground.assumed_after(stmt):
            state = _each(state, lambda since: since.met(sure=True))
        return state

    def _accessed(self, stmt: Stmt, state: State) -> State:
        for which, engine in self._ground.accesses.get(stmt, ()):
            if not state[1 - which].is_over:
                raise Gap
            accessed = state[which].accessed(engine)
            state = (accessed, state[1]) if which == 0 else (state[0], accessed)
        return state

    def _branch(self, stmt: If, state: State) -> State:
        arms = (self._ground.statements(block) for block in (stmt.then, stmt.orelse))
        then, orelse = (self._sequence(arm, state) for arm in arms)
        after = _joined(then, orelse)
        if stmt in self._ground.accessed and self._ground.meets_in_part(stmt):
            after = _each(after, Since.out_of_an_arm)
        return after

    def _loop(self, stmt: For | While, state: State) -> State:
        body = self._ground.statements(stmt.body)
        after = self._around(body, state)
        surely = isinstance(stmt, For) and min(map(_number, (stmt.extent, stmt.step))) > 0
        return self._sequence(body, after) if surely else after

    def _around(self, body: Sequence[Stmt], state: State) -> State:
        """The fixpoint at the head of a loop."""
        for _ in range(MAX_ROUNDS):
            again = _joined(state, self._sequence(body, state))
            if again == state:
                return state
            state = again
        raise Gap

    def _operation(self, stmt: Stmt, call: Call, effect: Effect, state: State) -> State:
        if stmt in self._ground.barriers:
            state = _each(state, lambda since: since.met(sure=True))
        commits, waits = effect.commits, effect.waits
        if commits is not None:
            state = _each(state, lambda since: since.committed(commits))
        if waits is not None:
            given = waits.keep is not None and waits.keep < len(call.args)
            keep = constant(call.args[waits.keep or 0]) if given else waits.left
            if keep is not None and keep >= 0:
                state = _each(state, lambda since: since.waited(waits.engine, keep))
        return state


def _number(expr: Expr) -> int:
    return constant(expr) or 0


def _each(state: State, change: Callable[[Since], Since]) -> State:
    return change(state[0]), change(state[1])


def _joined(one: State, other: State) -> State:
    return one[0].joined(other[0]), one[1].joined(other[1])
