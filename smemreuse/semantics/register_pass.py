"""How many registers a thread has at launch, where TileLang hands registers from group to group.

Its `AnnotateWarpGroupRegAlloc`, which runs behind the merge, lets a producer's warps give up
registers and the consumers' take them (`setmaxnreg`). For a kernel that does so ptxas gives each
thread what the consumers' take, or as many as the threads divide an SM's registers into. So one
block resides on an SM, however few bytes it takes. For other kernels only ptxas knows.
Re-enacted after the source of TileLang 0.1.15.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from smemreuse.ir.expr import Call, constant
from smemreuse.ir.kernel import (
    WARP_SPECIALIZATION,
    Attr,
    Block,
    If,
    Stmt,
    Store,
    walk_statements,
)
from smemreuse.semantics.rows.registers import ASKS, COPIES, CUSTOM, KEEPS, SETS
from smemreuse.semantics.table import evaluated_call
from smemreuse.targets.architectures import REGISTERS

MOST = 240
"""The most that `setmaxnreg` gives a thread."""

GROUP = 128
_LAYOUTS = {(1, 1), (1, 2), (2, 2), (1, 3)}
"""Groups of producers and of consumers that the pass gives registers to unasked."""


def launch_registers(body: Block, threads: int) -> int | None:
    """Registers of each of so many threads of a block at launch; None where it cannot be told."""
    most = handed_over(body, threads)
    return None if most is None else min(most, REGISTERS // threads // 8 * 8)


def handed_over(body: Block, threads: int) -> int | None:
    """The most registers that a thread takes; None where groups do not hand them over."""
    calls = [call for call in map(evaluated_call, walk_statements(body)) if call is not None]
    own = _largest(calls, SETS)
    if own is not None:
        return own
    attributes = [stmt for stmt in walk_statements(body) if isinstance(stmt, Attr)]
    if any(one.op == KEEPS for one in calls) or any(one.key == CUSTOM for one in attributes):
        return None
    splits = [_split(one) for one in attributes if one.key == WARP_SPECIALIZATION]
    asked = _largest(calls, ASKS)
    if splits and asked is not None:
        return asked
    return MOST if any(_by_default(one, threads) for one in splits) else None


def _largest(calls: Iterable[Call], names: Collection[str]) -> int | None:
    """The largest first operand of the calls of those names."""
    given = [constant(call.args[0]) for call in calls if call.op in names]
    return max((one for one in given if one is not None), default=None)


def _split(attribute: Attr) -> If | None:
    """The statement that parts producers from consumers."""
    return next((one for one in walk_statements(attribute.body) if isinstance(one, If)), None)


def _by_default(split: If | None, threads: int) -> bool:
    """Whether the pass gives out registers where the kernel asks for nothing."""
    if split is None or any(map(_is_copy, walk_statements(split.then))):
        return False
    condition = split.condition
    if not isinstance(condition, Call) or condition.op != "lt":
        return False
    at = constant(condition.args[1])
    return at is not None and (at // GROUP, (threads - at) // GROUP) in _LAYOUTS


def _is_copy(stmt: Stmt) -> bool:
    """Whether threads of a producer carry values themselves."""
    if isinstance(stmt, Store):
        return stmt.buffer.scope != "global"
    call = evaluated_call(stmt)
    return call is not None and call.op in COPIES
