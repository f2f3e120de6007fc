"""Buffers whose bytes a loop uses in turn: the stages of a software pipeline.

A buffer has `n` stages if asynchronous copies fill it and some access in a serial loop begins at
`x % n` times the n-th part of it, where the loop's variable alone decides `x`, or `x` is a local
that the loop counts up: that is how TileLang and TVM print a pipeline, `As[k % 3 * 4096 + ...]`,
and TileLang one that goes on over the tiles of a persistent block. Where a loop has no more rounds
than stages the remainder is left out: there each access has to be in such a loop, at `k` times the
n-th part, or in one that moves a descriptor by so much. Of others no stages are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from smemreuse.facts import KernelFacts
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Load, constant, variables_in
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Block,
    Buffer,
    Evaluate,
    For,
    Stmt,
    Store,
    nested_blocks,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine

Located: TypeAlias = "tuple[MemoryAccess, tuple[For, ...]]"
"""An access, and the serial loops around it."""


@dataclass(frozen=True)
class Stages:
    """The number of stages of a buffer, and the loop that uses them in turn."""

    count: int
    loop: For


def stages_of(facts: KernelFacts) -> Mapping[Buffer, Stages]:
    """The stages of each buffer that a pipelined loop uses in turn, in program order."""
    copied = {
        access.buffer
        for found in facts.accesses.values()
        for access in found
        if access.engine is not Engine.THREAD
        and access.access is not Access.READ
        and access.buffer.scope in SHARED_SCOPES
    }
    stages: dict[Buffer, Stages] = {}
    accesses = list(_with_loops(facts, facts.kernel.body, ()))
    for access, loops in accesses:
        for loop in loops:
            if access.buffer in copied and access.buffer not in stages:
                count = _turns(access, loop)
                if count is not None:
                    stages[access.buffer] = Stages(count, loop)
    rest = copied - stages.keys()
    return {**stages, **_of_short_loops(accesses, rest)}


def _of_short_loops(accesses: Sequence[Located], buffers: set[Buffer]) -> Mapping[Buffer, Stages]:
    """The stages of buffers of which each round of a loop has a part for itself."""
    used: dict[Buffer, list[Stages | None]] = {}
    for access, loops in accesses:
        if access.buffer in buffers:
            used.setdefault(access.buffer, []).append(_own_part(access, loops))
    found = {}
    for buffer, parts in used.items():
        counts = {None if one is None else one.count for one in parts}
        first = parts[0]
        if len(parts) > 1 and first is not None and len(counts) == 1:
            found[buffer] = first
    return found


def _own_part(access: MemoryAccess, loops: tuple[For, ...]) -> Stages | None:
    """The stages, if each round of a serial loop takes the next part of the buffer, and it has no
    more rounds than there are parts."""
    size, start = access.buffer.size, access.footprint.start
    for loop in reversed(loops):
        terms = _terms(start, 1) if start is not None else _moves_in(loop)
        for term, factor in terms:
            if term != loop.var or not size or factor <= 0 or size % factor:
                continue
            count, rounds = size // factor, constant(loop.extent)
            if count > 1 and (rounds is None or rounds <= count):
                return Stages(count, loop)
    return None


def _moves_in(loop: For) -> Iterator[tuple[Expr, int]]:
    """The multiples of its variable by which calls in a loop move what they are handed."""
    for stmt in _own(loop):
        if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
            for argument in stmt.value.args:
                if isinstance(argument, Call) and argument.op == "mul":
                    yield from _terms(argument, 1)


def _with_loops(facts: KernelFacts, block: Block, loops: tuple[For, ...]) -> Iterator[Located]:
    """Each access, and the serial loops around it."""
    for stmt in block:
        yield from ((access, loops) for access in facts.accesses.get(stmt, ()))
        inside = loops
        if isinstance(stmt, For) and stmt.kind == "serial":
            inside = (*loops, stmt)
        for nested in nested_blocks(stmt):
            yield from _with_loops(facts, nested, inside)


def _turns(access: MemoryAccess, loop: For) -> int | None:
    """The number `n` if the access takes the next of `n` equal parts of the buffer in
    each round.
    """
    size, start = access.buffer.size, access.footprint.start
    if not size or start is None:
        return None
    for term, factor in _terms(start, 1):
        if isinstance(term, Call) and term.op in ("floormod", "mod"):
            count = constant(term.args[1])
            if count and count > 1 and count * factor == size and _turns_with(term.args[0], loop):
                return count
    return None


def _turns_with(number: Expr, loop: For) -> bool:
    """Whether a number is another one in each round: the loop's variable decides it, or it is a
    local that the loop sets, and no serial loop inside."""
    if isinstance(number, Load) and number.buffer.scope.startswith("local"):
        storage = number.buffer.storage
        return any(isinstance(one, Store) and one.buffer.storage is storage for one in _own(loop))
    return variables_in(number) == {loop.var}


def _own(loop: For) -> Iterator[Stmt]:
    """The statements in a loop, without those of serial loops inside."""
    pending = [*loop.body]
    while pending:
        stmt = pending.pop()
        yield stmt
        if not (isinstance(stmt, For) and stmt.kind == "serial"):
            pending.extend(one for block in nested_blocks(stmt) for one in block)


def _terms(expr: Expr, factor: int) -> Iterator[tuple[Expr, int]]:
    """The terms of a sum, each with its constant factor."""
    if isinstance(expr, Call) and expr.op == "add":
        for part in expr.args:
            yield from _terms(part, factor)
    elif isinstance(expr, Call) and expr.op == "mul":
        times = constant(expr.args[1])
        if times is None:
            yield expr, factor
        else:
            yield from _terms(expr.args[0], factor * times)
    else:
        yield expr, factor
