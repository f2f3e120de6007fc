"""Threads that write to one byte in one statement: whether they write the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.expr import Call, Expr
from smemreuse.ir.kernel import SHARED_SCOPES, Stmt, Store
from smemreuse.linter.value_forms import Form
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import effect_of, evaluated_call


@dataclass(frozen=True)
class Together:
    """Two threads, or all that write (None), and a byte if one is known. `differ`: their values
    surely do."""

    byte: int | None = None
    threads: tuple[int | None, ...] = (None,)
    differ: bool = False


SAME, UNKNOWN = Together(), Together()
"""Whoever writes to one byte writes the same; or it is values of which nothing is known, each to
the same place as the others."""


def stored_by(stmt: Stmt) -> Expr | None:
    """What a statement stores: of a copy the place that it is from stands for that."""
    if isinstance(stmt, Store):
        return stmt.value if stmt.buffer.scope in SHARED_SCOPES else None
    call = evaluated_call(stmt)
    if call is None or effect_of(call).engine is not Engine.CP_ASYNC or len(call.args) < 2:
        return None
    source = call.args[1]
    if isinstance(source, Call) and source.op == "tvm_access_ptr" and len(source.args) > 2:
        return source.args[2]
    return source if effect_of(call).operands else None


def meeting_in_one(traced: TracedAccess, form: Form | None) -> Together:
    """How threads meet that write to one byte."""
    footprint = traced.footprint
    if traced.starts is None:
        return Together()
    if footprint is None or (footprint.count != 1 and footprint.stride != footprint.size):
        return UNKNOWN
    size = footprint.count * footprint.size
    starts = np.broadcast_to(np.asarray(traced.starts), (len(traced.ids),))
    if form is None or len(form.number) != len(starts):
        return _overlapping(starts, traced.ids, size) or UNKNOWN
    order = np.lexsort((form.number, form.rest, starts))
    at, rest, number, ids = starts[order], form.rest[order], form.number[order], traced.ids[order]
    one_place = (at[1:] == at[:-1]) & (ids[1:] != ids[:-1])
    for apart, differ in (
        (one_place & (rest[1:] == rest[:-1]) & (number[1:] != number[:-1]), True),
        (one_place & (rest[1:] != rest[:-1]), False),
    ):
        if apart.any():
            index = int(np.argmax(apart))
            pair = (int(ids[index]), int(ids[index + 1]))
            return Together(int(at[index]), pair, differ)
    return _overlapping(starts, traced.ids, size) or SAME


def _overlapping(starts: np.ndarray, ids: np.ndarray, size: int) -> Together | None:
    """Threads whose bytes are the same in part: no values that several hold alike."""
    order = np.argsort(starts, kind="stable")
    at, who = starts[order], ids[order]
    apart = (at[1:] > at[:-1]) & (at[1:] < at[:-1] + size) & (who[1:] != who[:-1])
    if not apart.any():
        return None
    index = int(np.argmax(apart))
    return Together(int(at[index + 1]), (int(who[index]), int(who[index + 1])))
