"""Buffers whose bytes a loop uses in turn: the stages of a software pipeline.

A buffer has `n` stages if asynchronous copies fill it and some access in a serial loop begins at
`x % n` times the n-th part of it, where the loop's variable alone decides `x`, or `x` is a local
that the loop counts up: that is how TileLang and TVM print a pipeline, `As[k % 3 * 4096 + ...]`,
and TileLang one that goes on over the tiles of a persistent block. Of others no stages are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from smemreuse.facts import KernelFacts
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Load, constant, variables_in
from smemreuse.ir.kernel import SHARED_SCOPES, Block, Buffer, For, Stmt, Store, nested_blocks
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine


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
    for loop, access in _in_loops(facts, facts.kernel.body, ()):
        if access.buffer in copied and access.buffer not in stages:
            count = _turns(access, loop)
            if count is not None:
                stages[access.buffer] = Stages(count, loop)
    return stages


def _in_loops(
    facts: KernelFacts, block: Block, loops: tuple[For, ...]
) -> Iterator[tuple[For, MemoryAccess]]:
    """Each access with each serial loop around it."""
    for stmt in block:
        for access in facts.accesses.get(stmt, ()):
            for loop in loops:
                yield loop, access
        inside = loops
        if isinstance(stmt, For) and stmt.kind == "serial":
            inside = (*loops, stmt)
        for nested in nested_blocks(stmt):
            yield from _in_loops(facts, nested, inside)


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
