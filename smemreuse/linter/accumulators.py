"""What wgmma leaves in registers: there when its group has been waited for, and not before.

An accumulator whose every group is closed and waited for right after it needs no more. Of others
it is followed like shared memory who touches it when: a byte for each thread stands for all that
the thread has of it.

So are registers that a wgmma reads, its first matrix, which must stay as they are until then. Of
these each thread has bytes of its own, one behind the other's: while one part is multiplied, the
next may be filled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from smemreuse.checker.verdict.check import MAX_BUFFER
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, constant, walk
from smemreuse.ir.kernel import (
    Assert,
    Attr,
    Block,
    Buffer,
    Stmt,
    Store,
    nested_blocks,
    nodes_of,
    walk_statements,
)
from smemreuse.ir.launch import AXES, UnknownThreads, launches, stride_of, tag_of, thread_axes
from smemreuse.semantics.accesses import Footprint, MemoryAccess
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.matrix_operands import FRAGMENT_BYTES, fragments_in_registers
from smemreuse.semantics.table import (
    calls_of,
    effect_of,
    evaluated_call,
    evaluated_effect,
    written_operands,
)

Accesses = Mapping[Stmt, tuple[MemoryAccess, ...]]


@dataclass
class Accumulators:
    """The accumulators to be followed, and the matrices in registers, each with the bytes that
    stand for it, and the accesses to them by their statements."""

    sizes: dict[Buffer, int] = field(default_factory=dict)
    accesses: dict[Stmt, tuple[MemoryAccess, ...]] = field(default_factory=dict)

    @staticmethod
    def of(body: Block, known: Accesses) -> Accumulators:
        """Those of a kernel that have to be followed; none if its threads are not known. `known`
        are the accesses of its statements, to registers too.
        """
        search = _AccumulatorScan()
        search.followed |= search.block(body).targets
        buffers = frozenset(search.followed & _touched_at_all(body))
        if not buffers:
            return Accumulators()
        try:
            axes = thread_axes(body)
        except UnknownThreads:
            return Accumulators()
        thread, threads = _thread(body, axes), math.prod(axes.values())
        accumulators = frozenset(chain.from_iterable(map(targets_of, walk_statements(body))))
        sizes = dict.fromkeys(buffers & accumulators, threads)
        rest = frozenset() if thread is None else buffers - accumulators
        matrices = {one: one.size for one in rest if one.size and one.size * threads <= MAX_BUFFER}
        sizes |= {buffer: size * threads for buffer, size in matrices.items()}
        found = {}
        for stmt in walk_statements(body):
            accesses = (
                *_accesses(stmt, buffers & accumulators, Footprint(thread, 1)),
                *_of_matrices(stmt, known.get(stmt, ()), matrices, thread),
            )
            if accesses:
                found[stmt] = accesses
        return Accumulators(sizes, found)

    def added_to(self, accesses: Accesses) -> Accesses:
        """The given accesses to shared memory together with those to the accumulators.

        A multiplication's own access to its registers is replaced: no proxy leads to them.
        """
        if not self.sizes:
            return accesses
        found = dict(accesses)
        for stmt, more in self.accesses.items():
            others = (one for one in found.get(stmt, ()) if one.buffer not in self.sizes)
            found[stmt] = (*others, *more)
        return found


@dataclass
class _OpenGroups:
    """The accumulators of wgmmas without a wait so far, with the matrices that these read from
    registers, and those of them in committed groups (`closed`).
    """

    targets: set[Buffer] = field(default_factory=set)
    closed: set[Buffer] = field(default_factory=set)


class _AccumulatorScan:
    """Finds the accumulators, and matrices in registers, that a statement touches while one of
    their wgmmas may be in flight.
    """

    def __init__(self) -> None:
        self.followed: set[Buffer] = set()

    def block(self, block: Block) -> _OpenGroups:
        """Scans a block; returns the groups that are still open at its end."""
        open_ = _OpenGroups()
        for stmt in _flat(block):
            inner = [self.block(one) for one in nested_blocks(stmt)]
            if inner:
                self._touch(open_, (one for part in nested_blocks(stmt) for one in part))
                for part in inner:
                    open_.targets |= part.targets
                    open_.closed -= part.targets
                if any(part.targets for part in inner):  # perhaps round a loop
                    self._touch(_OpenGroups(_all(inner)), (stmt,))
            else:
                self._leaf(stmt, open_)
        return open_

    def _leaf(self, stmt: Stmt, open_: _OpenGroups) -> None:
        """Updates the open groups by a statement without nested blocks: multiply, commit,
        or wait.
        """
        self._touch(open_, (stmt,))
        targets = {*targets_of(stmt), *(one for one, _ in fragments_in_registers(stmt))}
        open_.targets |= targets
        open_.closed -= targets
        effect = evaluated_effect(stmt)
        if effect is None:
            return
        if effect.commits is Engine.WGMMA:
            open_.closed = set(open_.targets)
        if effect.waits is not None and effect.waits.engine is Engine.WGMMA:
            call = evaluated_call(stmt)
            if call is not None and _waits_for_all(call, effect):
                open_.targets -= open_.closed
                open_.closed = set()

    def _touch(self, open_: _OpenGroups, stmts: Iterable[Stmt]) -> None:
        if open_.targets:
            for stmt in walk_statements(tuple(stmts)):
                self.followed |= open_.targets & set(_touched(stmt))


def _flat(block: Block) -> Iterator[Stmt]:
    """The statements of a block, and in place of annotations those that they are around."""
    for stmt in block:
        if isinstance(stmt, (Attr, Assert)):
            yield from _flat(stmt.body)
        else:
            yield stmt


def _all(parts: Iterable[_OpenGroups]) -> set[Buffer]:
    return set().union(*(part.targets for part in parts))


def _waits_for_all(call: Call, effect: Effect) -> bool:
    keep = effect.waits.keep if effect.waits is not None else None
    if keep is None or keep >= len(call.args):
        return effect.waits is None or not effect.waits.left
    return constant(call.args[keep]) == 0


def targets_of(stmt: Stmt) -> Iterator[Buffer]:
    """The accumulators of a statement that multiplies asynchronously."""
    for call in calls_of(stmt):
        effect = effect_of(call)
        if effect.engine is Engine.WGMMA and effect.reads_described:
            found = [one for operand in written_operands(call) for one in _storages(operand)]
            # In TIR's own form, with the type first, everything stands one further on.
            yield from found or (one for operand in call.args for one in _storages(operand))


def _storages(expr: Expr) -> Iterator[Buffer]:
    """The registers that an expression points to."""
    for node in walk(expr):
        if isinstance(node, Pointer) and isinstance(node.buffer.storage, Buffer):
            if node.buffer.scope == "local":
                yield node.buffer.storage


def _touched(stmt: Stmt) -> Iterator[Buffer]:
    """The locals that a statement itself reads or sets, if it is no multiplication."""
    if any(targets_of(stmt)):
        return
    if isinstance(stmt, Store) and isinstance(stmt.buffer.storage, Buffer):
        yield stmt.buffer.storage
    for node in nodes_of(stmt):
        if isinstance(node, Load) and isinstance(node.buffer.storage, Buffer):
            yield node.buffer.storage
        elif isinstance(node, Call) and _works_on_registers(effect_of(node)):
            for operand in node.args:
                yield from _storages(operand)


def _works_on_registers(effect: Effect) -> bool:
    return bool(effect.writes_locals or effect.operands)


def _touched_at_all(body: Block) -> set[Buffer]:
    return {one for stmt in walk_statements(body) for one in _touched(stmt)}


def _accesses(stmt: Stmt, buffers: frozenset[Buffer], where: Footprint) -> Iterator[MemoryAccess]:
    """The accesses of a statement to accumulators, as accesses to the bytes that stand for them."""
    for buffer in dict.fromkeys(targets_of(stmt)):
        if buffer in buffers:
            yield MemoryAccess(buffer, Access.WRITE, where, stmt, engine=Engine.WGMMA)
    sets = stmt.buffer.storage if isinstance(stmt, Store) else None
    for buffer in dict.fromkeys(_touched(stmt)):
        if buffer in buffers:
            access = Access.WRITE if buffer is sets else Access.READ
            yield MemoryAccess(buffer, access, where, stmt)


def _of_matrices(
    stmt: Stmt, known: Iterable[MemoryAccess], sizes: Mapping[Buffer, int], thread: Expr | None
) -> Iterator[MemoryAccess]:
    """The accesses of a statement to matrices in registers, of which each thread has as many bytes
    as `sizes` say."""
    if thread is None:
        return

    def of_thread(buffer: Buffer, start: Expr) -> Expr:
        return Call("add", (Call("mul", (thread, Const(sizes[buffer]))), start))

    read = [(buffer, start) for buffer, start in fragments_in_registers(stmt) if buffer in sizes]
    for buffer, start in read:
        where = Footprint(of_thread(buffer, start), FRAGMENT_BYTES)
        yield MemoryAccess(buffer, Access.READ, where, stmt, engine=Engine.WGMMA)
    for one in known:
        if one.buffer in sizes and not read:
            begin = one.footprint.start
            where = (
                Footprint(of_thread(one.buffer, Const(0)), sizes[one.buffer])
                if begin is None
                else replace(one.footprint, start=of_thread(one.buffer, begin))
            )
            yield MemoryAccess(one.buffer, one.access, where, one.node, one.certain)


def _thread(body: Block, axes: Mapping[str, int]) -> Expr | None:
    """The number of a thread in its block; None where its axes have not one name each."""
    found: Expr = Const(0)
    named: set[str] = set()
    for launch in launches(body):
        tag = tag_of(launch)
        if tag not in AXES:
            continue
        if launch.var is None or tag in named:
            return None
        named.add(tag)
        digit = Call("mul", (launch.var, Const(stride_of(tag, axes))))
        found = digit if found == Const(0) else Call("add", (found, digit))
    return found
