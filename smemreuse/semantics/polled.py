"""Loops that ask an mbarrier until a phase is complete: they wait for it, as one operation does.

The answer of `try_wait` or `test_wait` alone is data: a thread that acts on it in any other way
counts as one that has not waited.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.ir.expr import Call, Const, Expr, Load, constant
from smemreuse.ir.kernel import Block, Evaluate, If, Stmt, Store, While
from smemreuse.semantics.effects import Effect, Leaving, Mbarrier, Signal
from smemreuse.semantics.table import calls_of, effect_of, evaluated_call, evaluated_effect

Polled = tuple[Call, Effect]
"""The operation that asks, and its effect as one that waits."""


def polled_wait(stmt: While) -> Polled | None:
    """What a loop waits for that does nothing else; None for any other loop.

    `while not ask(): pass`, `while True: if ask(): break`, that with `done = ask()` before it, and
    `while not done: done = ask()`, which waits if it is entered (`waits_once_entered`). A thread
    goes on when the answer was yes.
    """
    asked = _until(stmt.condition)
    if asked is not None:
        return asked if all(map(_does_nothing, stmt.body)) else None
    if constant(stmt.condition) not in (None, 0):
        return _asked_to_break(stmt.body)
    return _asked_for_flag(stmt)


def waits_once_entered(stmt: While) -> bool:
    """Whether a loop that polls may be passed without having asked: its condition is a flag."""
    return isinstance(_negated(stmt.condition), Load)


def _asking(expr: Expr | None) -> Polled | None:
    """An operation that asks for the phase of a parity, as a wait for it."""
    while isinstance(expr, Call) and expr.op in ("cast", "Cast"):
        expr = expr.args[-1]
    if not isinstance(expr, Call):
        return None
    effect = effect_of(expr)
    if effect.mbarrier is None or effect.signals is not Signal.ASK or effect.unknown:
        return None
    mbarrier = Mbarrier(Signal.WAIT, effect.mbarrier.at, effect.mbarrier.count)
    return expr, replace(effect, mbarrier=mbarrier)


def _negated(condition: Expr) -> Expr | None:
    """What has to come true for a condition to be false: `not x`, `x == 0`."""
    if isinstance(condition, Call) and condition.op == "not":
        return condition.args[0]
    return _beside_zero(condition, "eq")


def _true(condition: Expr) -> Expr:
    """What a condition asks for: `x`, `x != 0`."""
    compared = _beside_zero(condition, "ne")
    return condition if compared is None else compared


def _beside_zero(condition: Expr, op: str) -> Expr | None:
    """What a comparison holds against 0; None for any other expression."""
    if isinstance(condition, Call) and condition.op == op and len(condition.args) == 2:
        for one, other in (condition.args, condition.args[::-1]):
            if isinstance(other, Const) and other.value in (0, False):
                return one
    return None


def _until(condition: Expr) -> Polled | None:
    return _asking(_negated(condition))


def _asked_to_break(body: Block) -> Polled | None:
    """`if ask(): break`, or `done = ask()` and `if done: break`, and nothing else."""
    acting = [stmt for stmt in body if not _does_nothing(stmt)]
    if len(acting) not in (1, 2):
        return None
    *before, branch = acting
    if not isinstance(branch, If) or branch.orelse or len(branch.then) != 1:
        return None
    effect, answer = evaluated_effect(branch.then[0]), _true(branch.condition)
    if effect is None or effect.leaves is not Leaving.BREAK:
        return None
    return _answered_in(before[0], answer) if before else _asking(answer)


def _asked_for_flag(stmt: While) -> Polled | None:
    """`done = ask()`, and nothing else."""
    acting = [one for one in stmt.body if not _does_nothing(one)]
    return _answered_in(acting[0], _negated(stmt.condition)) if len(acting) == 1 else None


def _answered_in(stmt: Stmt, flag: Expr | None) -> Polled | None:
    """What a statement asks whose answer goes to `flag`, an element of a local: by a store, or by
    an instruction that writes it."""
    if not isinstance(flag, Load) or not flag.buffer.scope.startswith("local"):
        return None
    if isinstance(stmt, Store):
        is_flag = stmt.buffer is flag.buffer and _same(stmt.indices, flag.indices)
        return _asking(stmt.value) if is_flag and stmt.predicate is None else None
    call = evaluated_call(stmt)
    polled = _asking(call)
    if call is None or polled is None or polled[1].writes_locals != (0,):
        return None
    to = call.args[0]
    is_flag = isinstance(to, Load) and to.buffer is flag.buffer and _same(to.indices, flag.indices)
    return polled if is_flag else None


def _same(one: tuple[Expr, ...], other: tuple[Expr, ...]) -> bool:
    places = [constant(index) for index in one]
    return None not in places and places == [constant(index) for index in other]


def _does_nothing(stmt: Stmt) -> bool:
    """Whether a statement only takes time."""
    effects = [effect_of(call) for call in calls_of(stmt)]
    return isinstance(stmt, Evaluate) and not any(
        effect.operands or effect.hands_on or effect.follows or effect.unknown for effect in effects
    )
