"""Threads that write to one byte in one statement: whether they write the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.machine.traced import TracedAccess
from smemreuse.ir.kernel import SHARED_SCOPES, Stmt, Store
from smemreuse.linter.value_forms import Form, Forms
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import evaluated_call, evaluated_effect


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


def stores(stmt: Stmt) -> bool:
    """Whether a statement stores, by itself, what can be told: threads, or copies of theirs."""
    if isinstance(stmt, Store):
        return stmt.buffer.scope in SHARED_SCOPES
    effect = evaluated_effect(stmt)
    return effect is not None and effect.engine is Engine.CP_ASYNC


def stored_by(stmt: Stmt, forms: Forms) -> Form | None:
    """What it stores; of copies to one place, where they are from stands for that."""
    if isinstance(stmt, Store):
        return forms(stmt.value)
    call = evaluated_call(stmt)
    return None if call is None else forms.of_operands(call)


def meeting_in_one(traced: TracedAccess, form: Form | None) -> Together:
    """How threads meet that write to one byte."""
    footprint = traced.footprint
    if traced.starts is None:
        return Together()
    if traced.by_warp:
        return _of_warps(traced)
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


def _of_warps(traced: TracedAccess) -> Together:
    """As `meeting_in_one`, of tiles that each warp writes: whole ones may be alike."""
    starts = np.broadcast_to(np.asarray(traced.starts), (len(traced.ids),))
    tiles = np.unique(np.stack([traced.ids // 32, starts]), axis=1)[1]
    assert traced.footprint is not None
    runs = np.arange(traced.footprint.count) * traced.footprint.stride
    each = (runs[:, None] + np.arange(traced.footprint.size)).ravel()
    if len(np.unique(tiles[:, None] + each)) == len(tiles) * len(each):
        return SAME
    apart = np.unique(tiles)
    if len(np.unique(apart[:, None] + each)) == len(apart) * len(each):
        return UNKNOWN
    return Together()


def _overlapping(starts: np.ndarray, ids: np.ndarray, size: int) -> Together | None:
    """Threads whose bytes are the same in part: no values that several hold alike."""
    order = np.argsort(starts, kind="stable")
    at, who = starts[order], ids[order]
    apart = (at[1:] > at[:-1]) & (at[1:] < at[:-1] + size) & (who[1:] != who[:-1])
    if not apart.any():
        return None
    index = int(np.argmax(apart))
    return Together(int(at[index + 1]), (int(who[index]), int(who[index + 1])))
