"""Where barriers were predicted in a kernel, and where TileLang's `ThreadSync` has put them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set

from smemreuse.checker.budget import Work
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Allocate,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    Declare,
    Kernel,
    Stmt,
    nested_blocks,
)
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.table import BLOCK_BARRIER, evaluated_call
from smemreuse.versions.thread_sync.insertion import Inserted

Place = dict[str, bool]
"""The storage scopes of the barriers right before a statement; True where they surely are."""

_WITHOUT_PLACE = (Allocate, Declare, Bind, Attr, Assert)


def outcomes(before: Kernel, behind: Kernel, offsets: Mapping[Buffer, int]) -> Counter[str]:
    """How many barriers were predicted surely, perhaps or not, and are there or not: `sure, there`
    and so on. `offsets` (bytes) are those of buffers that have been merged into one arena. Raises
    `ValueError` where the pass did more than put in barriers and fences."""
    pointers = KernelAccesses.of(before.body).pointers
    prediction = Prediction.of(before, pointers, offsets, Work())
    predicted = [*_places(before.body, prediction.inserted, prediction.view.followed)]
    there = [*_places(behind.body, {}, frozenset())]
    found = Counter[str]()
    for said, real in zip(predicted, there, strict=True):
        for scope in {*said, *real}:
            kind = {True: "sure", False: "perhaps", None: "not predicted"}[said.get(scope)]
            found[f"{kind}, {'there' if scope in real else 'not there'}"] += 1
    return found


def _places(block: Block, inserted: Mapping[str, Inserted], followed: Set[Stmt]) -> Iterator[Place]:
    """That before each statement of a block and after the last, whoever put it there."""
    place: Place = {}
    for stmt in block:
        call = evaluated_call(stmt)
        if call is not None and call.op == BLOCK_BARRIER.op:
            place[str(getattr(call.args[0], "value", ""))] = True
            continue
        if call is not None and "fence" in call.op:
            continue
        place.update({scope: one[stmt] for scope, one in inserted.items() if stmt in one})
        if not isinstance(stmt, _WITHOUT_PLACE):
            yield place
            place = {}
        for inner in nested_blocks(stmt):
            yield from _places(inner, inserted, followed)
        if stmt in followed:
            place[SHARED_SCOPES[0]] = True
    yield place
