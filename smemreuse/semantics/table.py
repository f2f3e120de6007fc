"""Looking operations up in the table of effects, which is closed: what has no row is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, walk
from smemreuse.ir.kernel import Block, Evaluate, Stmt, nodes_of, walk_statements
from smemreuse.semantics.effects import (
    UNSAID,
    Answer,
    Effect,
    Group,
    Leaving,
    Meeting,
    Signal,
    unknown_effect,
)
from smemreuse.semantics.foreign import FOREIGN, foreign_effect, is_over_at_return
from smemreuse.semantics.rows import lookup
from smemreuse.semantics.rows.forms import TWO_BLOCKS
from smemreuse.semantics.unseen_barriers import may_poll, why_it_may_meet

BLOCK_BARRIER = Call("tvm_storage_sync", (Const("shared"),))
"""The barrier that all threads of a block meet at, as TIR writes it."""


def effect_of(call: Call) -> Effect:
    """The effect of an operation, by its row.

    An operation without a row, or in a form that its row does not know, may do anything to its
    operands at any later time; `unknown` then says why.
    """
    if not isinstance(call.row, Effect):
        object.__setattr__(call, "row", _looked_up(call))
    assert isinstance(call.row, Effect)
    return call.row


def _looked_up(call: Call) -> Effect:
    """The effect that this operation's row gives for this form of call; unknown without a row."""
    row = lookup(call.op)
    effect = row(call) if callable(row) else row
    if effect is not None:
        if TWO_BLOCKS in call.annotations:
            effect = replace(effect, remote=True)
        return _in_this_form(call, effect)
    if call.op in FOREIGN:
        may_wait = may_poll(call) or not is_over_at_return(call)
        return replace(foreign_effect(call), may_meet=why_it_may_meet(call), may_wait=may_wait)
    if row is None:
        return unknown_effect(f"`{call.op}` has no row in the table of effects")
    return unknown_effect(f"`{call.op}` is not known in this form")


def is_foreign(call: Call) -> bool:
    """Whether a function written in CUDA is called that has no row."""
    if call.op not in FOREIGN:
        return False
    row = lookup(call.op)
    return (row(call) if callable(row) else row) is None


def _in_this_form(call: Call, effect: Effect) -> Effect:
    """The effect, or an unknown one of the same engine if its row does not allow so many
    operands.
    """
    if effect.arity is None or len(call.args) in effect.arity:
        return effect
    reason = f"`{call.op}` is not known with {len(call.args)} operands"
    swizzles = effect.may_swizzle
    return replace(effect, operands=(), handed_on=True, swizzles=swizzles, unknown=reason)


def varies_by_thread(call: Call) -> bool:
    """Whether threads that hand in the same operands may get different results."""
    return effect_of(call).answer is Answer.VARIES


# What statements and blocks do ------------------------------------------------------------------


def evaluated_call(stmt: Stmt) -> Call | None:
    """The operation that an `Evaluate` statement consists of."""
    if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
        return stmt.value
    return None


def evaluated_effect(stmt: Stmt) -> Effect | None:
    """The effect of the operation that an `Evaluate` statement consists of."""
    call = evaluated_call(stmt)
    return None if call is None else effect_of(call)


def calls_of(stmt: Stmt) -> Iterator[Call]:
    """Every operation that a statement itself carries out, those inside others too."""
    return (node for node in nodes_of(stmt) if isinstance(node, Call))


def written_operands(call: Call) -> Iterator[Expr]:
    """The operands in locals or registers that an operation writes."""
    count = len(call.args)
    return (call.args[at] for at in effect_of(call).writes_locals if -count <= at < count)


def any_effect(block: Block, holds: Callable[[Effect], bool]) -> bool:
    """Whether a statement of a block, or one inside it, evaluates an operation of that kind."""
    effects = map(evaluated_effect, walk_statements(block))
    return any(effect is not None and holds(effect) for effect in effects)


def leaving(stmt: Stmt) -> Leaving | None:
    """Where a thread goes on after a statement, if not with the next one."""
    effect = evaluated_effect(stmt)
    return None if effect is None else effect.leaves


def leaves(stmt: Stmt) -> bool:
    """Whether a statement, or one inside it, may cut a loop or the kernel short."""
    return any_effect((stmt,), lambda effect: effect.leaves is not None)


def returns(block: Block) -> bool:
    """Whether threads may return early in a block."""
    return any_effect(block, lambda effect: effect.returns)


def waits_for_phase(block: Block) -> bool:
    """Whether a phase of an mbarrier is waited for in a block."""
    return any_effect(block, lambda effect: effect.signals is Signal.WAIT)


def waits(stmt: Stmt) -> bool:
    """Whether a statement waits for something asynchronous."""
    effect = evaluated_effect(stmt)
    return effect is not None and (effect.waits is not None or effect.signals is Signal.WAIT)


# Barriers of threads ----------------------------------------------------------------------------


def counted(call: Call, meeting: Meeting) -> Expr | None:
    """The number of threads that meet, if the row or the call states one; None means all.

    Apache TVM writes -1 for all.
    """
    if meeting.threads is not None:
        return Const(meeting.threads)
    if meeting.count is None or meeting.count >= len(call.args):
        return None
    count = call.args[meeting.count]
    return None if count == Const(-1) else count


def may_meet_unseen(call: Call) -> bool:
    """Whether threads may meet inside an operation, and nothing tells of it (rule 12).

    A declaration that does not say counts as one that denies it, and the answer says so.
    """
    effect = effect_of(call)
    return bool(effect.unknown) or effect.may_meet not in ("", UNSAID)


def may_block_unseen(call: Call) -> bool:
    """Whether a thread may wait inside an operation for others, and nothing tells of it; but for
    what a declaration leaves open."""
    return may_meet_unseen(call) or effect_of(call).may_wait


def may_order_unseen(call: Call) -> bool:
    """Whether an operation may order what comes before and after it, and nothing tells of it: by a
    barrier inside, or since a thread waits there. What a declaration leaves open may be so."""
    return may_block_unseen(call) or effect_of(call).may_meet == UNSAID


def is_block_barrier(stmt: Stmt) -> bool:
    """Whether all threads of the block must arrive and wait at this statement.

    A barrier of the cluster or grid counts; a named one only without a number of threads.
    """
    call = evaluated_call(stmt)
    meeting = effect_of(call).meeting if call is not None else None
    if call is None or meeting is None or not (meeting.arrives and meeting.waits):
        return False
    if meeting.group is Group.NAMED:
        return counted(call, meeting) is None
    return meeting.group in (Group.BLOCK, Group.CLUSTER, Group.GRID)


def deciding_operands(call: Call, effect: Effect) -> Iterator[Expr]:
    """The operands that decide which accesses an operation orders, and for which threads."""
    operands = call.args
    places: list[int | None] = []
    if effect.waits is not None:
        places.append(effect.waits.keep)
    if effect.meeting is not None:
        places += [effect.meeting.count, effect.meeting.mask, effect.meeting.identity]
    if effect.mbarrier is not None:
        places.append(effect.mbarrier.count)
        barrier = mbarrier_operand(call, effect)
        if isinstance(barrier, Load):
            yield from barrier.indices
    for place in places:
        if place is not None and place < len(operands):
            yield operands[place]


def mbarrier_operand(call: Call, effect: Effect) -> Expr | None:
    """The operand that is the mbarrier of an operation; None if none is visible."""
    operands = call.args
    if effect.mbarrier is None:
        return None
    at = effect.mbarrier.at
    if isinstance(at, int):
        return operands[at] if -len(operands) <= at < len(operands) else None
    return next(filter(is_mbarrier, operands), None)


def mbarrier_of(stmt: Stmt) -> Expr | None:
    """The mbarrier of a statement's operation, as the statement has it; None if none is visible."""
    operands = (mbarrier_operand(call, effect_of(call)) for call in calls_of(stmt))
    return next((one for one in operands if one is not None), None)


def may_signal(call: Call, effect: Effect) -> bool:
    """Whether an operation may signal its mbarrier in a way that its row does not describe."""
    if not effect.hands_on or (effect.mbarrier is not None and not effect.unknown):
        return False
    return any(
        isinstance(node, (Load, Pointer)) and node.buffer.holds_mbarriers
        for operand in call.args
        for node in walk(operand)
    )


def is_mbarrier(expr: Expr) -> bool:
    """Whether an operand is an element of a buffer of mbarriers."""
    return isinstance(expr, Load) and expr.buffer.holds_mbarriers
