"""Reads that may find anything, of bytes that nobody has written or in a race, and decide nothing.

A product of 16 rows of which a kernel needs one (a decoding step with a batch of one) loads the
others, too, and never looks at what comes of them. As MemorySanitizer does (Stepanov and
Serebryany, CGO 2015), this follows the unwritten bytes as poison, from shared memory to registers
and back, through `ldmatrix`, `mma`, bindings and arithmetic, until they decide something: an
address, a branch, what goes to global memory, or an operation that is not followed. Where they
never do, the reads are no hazard. Of a read that races the value is poisoned, not the bytes: other
threads may read what is there in good order.

Sets that only grow, in all iterations and whatever the order, miss nothing: poison is kept of each
byte of shared memory, and of each byte of a local and of each variable by thread.
`semantics.fragments` has which lane of a warp holds which row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from smemreuse.ir.access import Access
from smemreuse.ir.expr import CHOICES, Call, Const, Expr, Load, Pointer, Var, walk
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    THREAD_EXTENT,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Stmt,
    Store,
    While,
    element_bits,
    expressions_of,
    nested_blocks,
    walk_statements,
)
from smemreuse.ir.launch import tag_of
from smemreuse.linter.doubtful import Sources
from smemreuse.linter.poison import BlocksAlike, Decides, Poison, is_whole_warps, where
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess
from smemreuse.semantics.effects import LANES, Answer
from smemreuse.semantics.elements import flat_index, lanes_of
from smemreuse.semantics.evaluate import Threads, all_threads, axis_index, evaluate
from smemreuse.semantics.fragments import LoadedMatrices, MultipliedMatrices, fragments_of
from smemreuse.semantics.pointers import (
    Address,
    Pointers,
    address_of,
    element_address,
    let_parts,
)
from smemreuse.semantics.table import effect_of, evaluated_call

MAX_ROUNDS = 512
"""Iterations of a loop that are visited one by one; of a longer one the number is not known."""

MAX_VISITS = 20_000
"""Statements that are visited in all."""

_ROW = 16  # bytes of a row of `ldmatrix`


def is_discarded(
    body: Block,
    accesses: KernelAccesses,
    axes: Mapping[str, int],
    sources: Sources,
    named: NamedIn | None = None,
) -> bool:
    """Whether values decide nothing that a kernel does, for blocks with these extents of their
    axes. `named` keeps from one answer to the next what the kernel's statements name."""
    threads = all_threads(axes)
    if threads.count % LANES:
        return False
    try:
        _Flow(body, accesses, axes, sources, named or NamedIn(accesses)).spread(threads)
    except Decides:
        return False
    return True


class NamedIn:
    """The buffers and variables that each statement of a kernel names, or one inside it."""

    def __init__(self, accesses: KernelAccesses):
        self._accesses, self._pointers = accesses.by_statement, accesses.pointers
        self._known: dict[Stmt, frozenset[Buffer | Var]] = {}

    def __call__(self, stmt: Stmt) -> frozenset[Buffer | Var]:
        known = self._known.get(stmt)
        if known is None:
            inside = (self(one) for block in nested_blocks(stmt) for one in block)
            known = self._known[stmt] = frozenset(self._itself(stmt)).union(*inside)
        return known

    def _itself(self, stmt: Stmt) -> Iterator[Buffer | Var]:
        yield from (one.buffer for one in self._accesses.get(stmt, ()))
        for expr in expressions_of(stmt):
            for node in walk(expr):
                if isinstance(node, (Load, Pointer)):
                    yield from self._pointers.of_buffer(node.buffer)
                elif isinstance(node, Var):
                    yield node
                    yield from self._pointers.of_variable(node)


class _Flow:
    """Where values may have come to that depend on those of some sources."""

    def __init__(
        self,
        body: Block,
        accesses: KernelAccesses,
        axes: Mapping[str, int],
        sources: Sources,
        named: NamedIn,
    ):
        self._body, self._axes = body, axes
        self._poison = Poison(sources.unwritten, axes)
        self._racing, self._blocks = sources.reads, BlocksAlike(sources.blocks)
        self._accesses, self._pointers = accesses.by_statement, accesses.pointers
        reading = {stmt for stmt, _ in sources.reads}
        self._reading = {
            one
            for one in (walk_statements(body) if reading else ())
            if not reading.isdisjoint(walk_statements((one,)))
        }
        self._named = named
        self._visits = 0

    def spread(self, threads: Threads) -> None:
        """Goes over the kernel until no more is poisoned. Raises `Decides`."""
        while self._poison.grew:
            self._poison.grew = False
            self._block(self._body, threads)

    # Statements ---------------------------------------------------------------------------------

    def _block(self, block: Block, threads: Threads) -> None:
        for stmt in block:
            if isinstance(stmt, Bind) or self._is_reached(stmt):
                threads = self._statement(stmt, threads)

    def _statement(self, stmt: Stmt, threads: Threads) -> Threads:
        """Visits a statement; the threads are those after it, with what it binds."""
        self._visits += 1
        if threads.count == 0:
            return threads
        if self._visits > MAX_VISITS:
            raise Decides
        if isinstance(stmt, Bind):
            poisoned = self._value(stmt.value, stmt, threads)
            self._poison.add_variable(stmt.var, where(threads, poisoned, True))
            return threads.bind(stmt.var, evaluate(stmt.value, threads))
        if isinstance(stmt, Store):
            self._store(stmt, threads)
        elif isinstance(stmt, Evaluate):
            self._evaluate(stmt, threads)
        else:
            self._nested(stmt, threads)
        return threads

    def _nested(self, stmt: Stmt, threads: Threads) -> None:
        for expr in expressions_of(stmt):
            self._no_poison(expr, stmt, threads)
        if isinstance(stmt, If):
            holds = self._blocks.evaluate(stmt.condition, threads)
            for block, way in ((stmt.then, True), (stmt.orelse, False)):
                self._block(block, threads if holds is None else where(threads, holds, way))
        elif isinstance(stmt, For):
            for number in _rounds(stmt, threads):
                self._block(stmt.body, threads.bind(stmt.var, number))
        elif isinstance(stmt, Attr):
            if stmt.key == THREAD_EXTENT and stmt.var is not None:
                threads = threads.bind(stmt.var, axis_index(tag_of(stmt), self._axes, threads))
            self._block(stmt.body, threads)
        elif isinstance(stmt, (While, Assert)):
            self._block(stmt.body, threads)

    def _store(self, stmt: Store, threads: Threads) -> None:
        for index in (*stmt.indices, *((stmt.predicate,) if stmt.predicate is not None else ())):
            self._no_poison(index, stmt, threads)
        poisoned = self._value(stmt.value, stmt, threads)
        if not poisoned.any():
            return
        target = [one for one in self._accesses.get(stmt, ()) if one.node is stmt]
        writers = where(threads, poisoned, True)
        if stmt.buffer.scope.startswith("local"):
            place = _place(stmt, self._pointers)
            self._poison.add_local(place, _vector_bytes(stmt), writers)
        elif target and stmt.buffer.scope in SHARED_SCOPES:
            for access in target:
                self._poison.add_shared(access.buffer, access.footprint, writers)
        else:
            raise Decides  # it goes to global memory, or nobody knows where

    def _evaluate(self, stmt: Evaluate, threads: Threads) -> None:
        call = evaluated_call(stmt)
        found = None if call is None or not is_whole_warps(threads) else fragments_of(call)
        if isinstance(found, LoadedMatrices):
            self._load_matrices(stmt, found, threads)
        elif isinstance(found, MultipliedMatrices):
            self._multiply(found, threads)
        else:
            self._no_poison(stmt.value, stmt, threads)

    # Tensor cores -------------------------------------------------------------------------------

    def _load_matrices(self, stmt: Stmt, loaded: LoadedMatrices, threads: Threads) -> None:
        """Each 8 lanes name the rows of a matrix."""
        source = next(self._reads(stmt), None)
        if source is None:
            return
        if source.footprint.start is not None:
            self._no_poison(source.footprint.start, stmt, threads)
        transposed = evaluate(loaded.transposed, threads)
        target = address_of(loaded.target, self._pointers)
        if target is None or not isinstance(transposed, int):
            raise Decides
        rows = self._poison.in_shared(source.buffer, source.footprint, _ROW, threads)
        rows = rows.reshape(-1, LANES, _ROW)
        for matrix in range(loaded.number):
            bytes_ = rows[:, 8 * matrix : 8 * matrix + 8]  # warps, rows, bytes
            if transposed:
                pairs = np.asarray(bytes_.reshape(-1, 8, 8, 2).any(axis=3))  # warps, rows, columns
                each = np.swapaxes(pairs, 1, 2).reshape(-1, 8, 4, 2).any(axis=3)
            else:
                each = bytes_.reshape(-1, 8, 4, 4).any(axis=3)  # warps, rows, lanes of the row
            lanes = where(threads, each.reshape(-1), True)
            self._poison.add_local(_moved(target, 4 * matrix), 4, lanes)

    def _multiply(self, made: MultipliedMatrices, threads: Threads) -> None:
        one, two, product = map(self._registers, (made.first, made.second, made.product))
        bits = element_bits(one.buffer.dtype)
        row = made.k * bits // 8  # bytes
        if row % 16 or bits > 32:
            raise Decides
        a = self._poison.in_registers(one, row // 2, threads).reshape(-1, 8, 4, row // 8, 4)
        b = self._poison.in_registers(two, row // 4, threads).reshape(-1, LANES * row // 4)
        half = 2 * element_bits(product.buffer.dtype) // 8  # two elements of each row
        registers = np.asarray(a.any(axis=(2, 4)))  # warps, groups, registers
        for way in (0, 1):
            rows = registers[:, :, way::2].any(axis=2) | b.any(axis=1, keepdims=True)
            lanes = where(threads, rows.repeat(4, axis=1).reshape(-1), True)
            self._poison.add_local(_moved(product, way * half), half, lanes)

    def _registers(self, operand: tuple[Expr, Expr]) -> Address:
        pointer, elements = operand
        place = address_of(pointer, self._pointers)
        if place is None or not place.buffer.scope.startswith("local"):
            raise Decides
        more = Call("mul", (elements, Const(element_bits(place.buffer.dtype) // 8)))
        return Address(place.buffer, Call("add", (place.offset, more)))

    # Values -------------------------------------------------------------------------------------

    def _no_poison(self, expr: Expr, stmt: Stmt, threads: Threads) -> None:
        if self._value(expr, stmt, threads).any():
            raise Decides

    def _value(self, expr: Expr, stmt: Stmt, threads: Threads) -> np.ndarray:
        """For which threads a value depends on poison. Raises `Decides` where it decides what is
        loaded, or reaches what is not followed."""
        none = np.zeros(threads.count, dtype=bool)
        if isinstance(expr, Load):
            for index in expr.indices:
                self._no_poison(index, stmt, threads)
            return self._loaded(expr, stmt, threads)
        if isinstance(expr, Pointer):
            if self._is_read(expr.buffer, stmt):
                raise Decides
            return none
        if isinstance(expr, Var):
            return self._poison.in_variable(expr, threads)
        if not isinstance(expr, Call):
            return none
        if expr.op in CHOICES and len(expr.args) == 3:
            self._no_poison(expr.args[0], stmt, threads)
            return self._chosen(expr, stmt, threads)
        parts, found = let_parts(expr), none
        for operand in expr.args:
            found = found | self._value(operand, stmt, threads)
            if parts is not None and operand is parts[1]:
                self._poison.add_variable(parts[0], where(threads, found, True))
        effect = effect_of(expr)
        if found.any() and (effect.hands_on or effect.answer is not Answer.SAME):
            raise Decides  # another thread may get it
        return found

    def _chosen(self, choice: Call, stmt: Stmt, threads: Threads) -> np.ndarray:
        one, two = (self._value(operand, stmt, threads) for operand in choice.args[1:])
        holds = self._blocks.evaluate(choice.args[0], threads)
        return one | two if holds is None else np.where(np.asarray(holds) != 0, one, two)

    def _loaded(self, load: Load, stmt: Stmt, threads: Threads) -> np.ndarray:
        found = np.zeros(threads.count, dtype=bool)
        for buffer in self._pointers.of_buffer(load.buffer):
            if (stmt, buffer) in self._racing:
                found = found | self._racing[stmt, buffer][threads.ids]
        if not self._may_be_poisoned(load.buffer):
            return found
        if load.buffer.scope.startswith("local"):
            place = _place(load, self._pointers)
            if place is None:
                raise Decides
            bytes_ = self._poison.in_registers(place, _vector_bytes(load), threads)
            return found | np.asarray(bytes_.any(axis=1))
        access = next((one for one in self._reads(stmt) if one.node is load), None)
        if access is None:
            raise Decides
        footprint = access.footprint
        for run in range(footprint.count):
            at = run * footprint.stride
            run_of = self._poison.in_shared(access.buffer, footprint, footprint.size, threads, at)
            found |= run_of.any(axis=1)
        return found

    # What is poisoned ---------------------------------------------------------------------------

    def _reads(self, stmt: Stmt) -> Iterator[MemoryAccess]:
        for access in self._accesses.get(stmt, ()):
            if access.access is Access.READ and access.buffer in self._poison.shared:
                yield access

    def _may_be_poisoned(self, buffer: Buffer) -> bool:
        places = self._pointers.of_buffer(buffer)
        return any(self._poison.is_in(one) for one in places)

    def _is_read(self, buffer: Buffer, stmt: Stmt) -> bool:
        """Whether a statement may read what is poisoned in a buffer that it has the address of."""
        places = self._pointers.of_buffer(buffer)
        if any(one in self._poison.local for one in places):
            return True
        accesses = [one for one in self._accesses.get(stmt, ()) if one.buffer in places]
        writes = bool(accesses) and all(one.access is Access.WRITE for one in accesses)
        return not writes and any(one in self._poison.shared for one in places)

    def _is_reached(self, stmt: Stmt) -> bool:
        """Whether a statement, or one inside, names what is poisoned so far, or reads in a race."""
        if stmt in self._reading:
            return True
        return any(self._poison.is_in(one) for one in self._named(stmt))


def _rounds(loop: For, threads: Threads) -> Sequence[int | None]:
    """What the variable of a loop is in its iterations; None for one of which it is not known."""
    numbers = [evaluate(expr, threads) for expr in (loop.begin, loop.extent, loop.step)]
    begin, extent, step = (one if isinstance(one, int) else 0 for one in numbers)
    if not all(isinstance(one, int) for one in numbers) or not step or extent > MAX_ROUNDS:
        return (None,)
    return range(begin, begin + extent, step)


def _moved(place: Address, more: int) -> Address:
    return Address(place.buffer, Call("add", (place.offset, Const(more))))


def _place(access: Load | Store, pointers: Pointers) -> Address | None:
    """Where an element begins, or a vector of elements that follow one another."""
    return element_address(Load(access.buffer, access.indices), pointers)


def _vector_bytes(access: Load | Store) -> int:
    index, bits = flat_index(access.buffer, access.indices), element_bits(access.buffer.dtype)
    if not isinstance(index, Call) or index.op != "ramp":
        return -(-bits // 8)
    lanes = lanes_of(index)
    if lanes is None or index.args[1] != Const(1):
        raise Decides
    return -(-lanes * bits // 8)
