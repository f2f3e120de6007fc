"""The bytes that a wgmma reads by its descriptors, where the statements around it tell them.

A descriptor names all of a buffer, and is moved on to a stage before it is used. Where all that is
done to it stands in one sequence of statements, as TileLang writes it, the operand's first byte is
an expression, and how far it reaches follows from the instruction's shape and the layout. By the
PTX ISA's "Strides" and "Matrix descriptor" of `wgmma.mma_async`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, constant, walk
from smemreuse.ir.kernel import (
    Block,
    Buffer,
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
from smemreuse.semantics.accesses import Footprint, MemoryAccess
from smemreuse.semantics.effects import Engine, Proxy
from smemreuse.semantics.pointers import Pointers, address_of
from smemreuse.semantics.rows.forms import text_at
from smemreuse.semantics.table import calls_of, evaluated_call, written_operands

Accesses = Mapping[Stmt, tuple[MemoryAccess, ...]]
Local = Buffer | Var
"""The local in which a descriptor is kept, by its storage."""

LEAST = 16
"""Bytes at an operand's beginning that are surely read, whatever the swizzle: it leaves those of
the first row where they are."""

_MAKES, _MOVES = "initialize_wgmma_descriptor", "increase_descriptor_offset"
_SWIZZLED_ROWS = {1: 128, 2: 64, 3: 32}
"""Bytes of a row of the swizzled atom, which has eight, by the descriptor's layout."""


@dataclass(frozen=True)
class Use:
    """A wgmma operand that is given by a descriptor.

    It has the descriptor's position in the call (an offset in units of 16 bytes follows), the
    operand that says whether k runs fastest, and which side of the instruction the other dimension
    is. In a sparse matrix one of `kept` elements is stored along k; the other operand has `times`
    as many bytes.
    """

    at: int
    major: int
    side: str
    kept: int = 1
    times: int = 1


_USES: dict[str, tuple[Use, ...]] = {
    "ptx_wgmma_ss": (Use(6, 1, "m"), Use(8, 2, "n")),
    "ptx_wgmma_rs": (Use(7, 1, "n"),),
    "ptx_wgmma_sp_ss": (Use(6, 1, "m", kept=2), Use(11, 2, "n", times=2)),
    "ptx_wgmma_sp_rs": (Use(10, 1, "n", times=2),),
}

SHAPE = re.compile(r"m(?P<m>\d{1,3})n(?P<n>\d{1,3})k(?P<k>\d{1,3})", re.ASCII)
"""The sides of an instruction that multiplies matrices: `m64n128k16`."""
_BYTES_OF_K = 32
"""Of every instruction: 16 elements of 2 bytes, 32 of 1, 8 of 4."""

FRAGMENT_BYTES = 64 * _BYTES_OF_K // 128
"""Of the first matrix of a wgmma, which has 64 rows, in each of 128 threads."""


@dataclass(frozen=True)
class Described:
    """Where a descriptor begins (bytes of its buffer, an expression), and its layout: the bytes of
    a swizzled row, and the two strides."""

    buffer: Buffer
    start: Expr
    row: int
    leading: int
    stride: int


def precise_operands(body: Block, accesses: Accesses, pointers: Pointers) -> Accesses:
    """The accesses, with the reads of wgmma operands at the statements that execute them.

    Each operand has its first bytes (certain) and the range in which it lies. A descriptor whose
    use is not understood stands for all of its buffer.
    """
    search = _DescriptorWalk(pointers)
    search.block(body, {})
    found: dict[Stmt, tuple[MemoryAccess, ...]] = {}
    for stmt, known in accesses.items():
        kept = [one for one in known if one.descriptor is None or one.descriptor in search.unknown]
        for local, access in search.reads.get(stmt, ()):
            if local not in search.unknown:
                kept.append(access)
        found[stmt] = tuple(kept)
    return found


def fragments_in_registers(stmt: Stmt) -> Iterator[tuple[Buffer, Expr]]:
    """The registers that a wgmma reads, each with the first byte of `FRAGMENT_BYTES`; where its
    shape tells that they are as many, and the pointer is that of all of them.
    """
    call = evaluated_call(stmt)
    if call is None or call.op != "ptx_wgmma_rs":
        return
    shape, pointer, offset = SHAPE.match(text_at(call, 0) or ""), call.args[5], call.args[6]
    if shape is None or not isinstance(pointer, Pointer) or pointer.buffer.scope != "local":
        return
    storage, bits = pointer.buffer.storage, element_bits(pointer.buffer.dtype)
    if isinstance(storage, Buffer) and bits * int(shape["k"]) == 8 * _BYTES_OF_K:
        yield storage, Call("mul", (offset, Const(bits // 8)))


def described_bytes(call: Call) -> int:
    """The bytes that a wgmma reads from shared memory by its descriptors; 0 for anything else."""
    match = SHAPE.match(text_at(call, 0) or "")
    if match is None:
        return 0
    uses = _USES.get(call.op, ())
    return sum(int(match[one.side]) * _BYTES_OF_K * one.times for one in uses)


class _DescriptorWalk:
    """Walks the statements with the known layout of each descriptor.

    `reads` collects the bytes that wgmmas read through descriptors, `unknown` the descriptors that
    are used in a way that is not understood. The methods return the descriptors they understood.
    """

    def __init__(self, pointers: Pointers):
        self._pointers = pointers
        self.unknown: set[Local] = set()
        self.reads: dict[Stmt, list[tuple[Local, MemoryAccess]]] = {}

    def block(self, block: Block, known: dict[Local, Described]) -> None:
        """Visits a block; what a scope changes is unknown in it and after it."""
        for stmt in block:
            inner = nested_blocks(stmt)
            if isinstance(stmt, (For, While, If)):
                _forget_in(known, inner)
            for part in inner:
                self.block(part, dict(known))
            _forget_in(known, inner)
            self._statement(stmt, known)

    def _statement(self, stmt: Stmt, known: dict[Local, Described]) -> None:
        """Applies a statement that makes, moves or reads descriptors; forgets what others
        change.
        """
        call = evaluated_call(stmt)
        understood: set[Local] = set()
        if call is not None and call.op == _MAKES:
            understood = self._made(call, known)
        elif call is not None and call.op == _MOVES:
            understood = _moved(call, known)
        elif call is not None and call.op in _USES:
            understood = self._used(stmt, call, known)
        for expr in (*expressions_of(stmt), *_target(stmt)):
            self.unknown |= {one for one in _locals_in(expr) if one not in understood}
        _forget(known, _changed(stmt) - understood)

    def _made(self, call: Call, known: dict[Local, Described]) -> set[Local]:
        """Records the layout of a newly initialized descriptor, if its operands are constants."""
        local = _element(call.args[0]) if len(call.args) == 5 else None
        place = address_of(call.args[1], self._pointers) if local is not None else None
        if local is None or place is None:
            return set()
        layout, leading, stride = map(constant, call.args[2:])
        row = _SWIZZLED_ROWS.get(-1 if layout is None else layout)
        if row is None or leading is None or stride is None:
            return set()
        known[local] = Described(place.buffer, place.offset, row, 16 * leading, 16 * stride)
        return {local}

    def _used(self, stmt: Stmt, call: Call, known: dict[Local, Described]) -> set[Local]:
        """Records the bytes that a wgmma reads through its known descriptors."""
        shape = SHAPE.fullmatch(text_at(call, 0) or "")
        understood: set[Local] = set()
        for use in _USES[call.op]:
            at = use.at
            if shape is None or at + 1 >= len(call.args) or not isinstance(call.args[at], Pointer):
                return understood
            local = _storage(call.args[at])
            k_runs_fastest = constant(call.args[use.major])
            described = known.get(local)
            if described is None or k_runs_fastest is None or int(shape["k"]) == 0:
                continue
            start = _sum(described.start, _in_bytes(call.args[at + 1]))
            across, k = int(shape[use.side]), int(shape["k"]) // use.kept
            reach = _reach(described, across, k, bool(k_runs_fastest), use.times * _BYTES_OF_K)
            understood.add(local)
            found = self.reads.setdefault(stmt, [])
            found += [(local, one) for one in _accesses(described, start, reach, call)]
        return understood


def _accesses(
    described: Described, start: Expr, reach: int, call: Call
) -> tuple[MemoryAccess, MemoryAccess]:
    """The reads of an operand: its first bytes for certain, and `reach` bytes that it may touch."""
    first = Call("sub", (start, Call("floormod", (start, Const(described.row)))))
    whole = MemoryAccess(
        described.buffer,
        Access.READ,
        Footprint(first, reach),
        call,
        certain=False,
        engine=Engine.WGMMA,
        proxy=Proxy.ASYNC,
    )
    return whole, replace(whole, footprint=Footprint(start, LEAST), certain=True)


def _reach(described: Described, side: int, k: int, k_runs_fastest: bool, of_k: int) -> int:
    """The number of bytes in which an operand lies: atoms of eight rows, with strides between them.

    The operand has `side` rows, and `of_k` bytes along k.
    """
    atom = 8 * described.row
    if k_runs_fastest:
        return (side // 8 - 1) * described.stride + atom
    in_row = described.row * k // of_k
    across = -(-side // in_row) - 1
    return across * described.leading + (k // 8 - 1) * described.stride + atom


# Parts of statements ----------------------------------------------------------------------------


def _moved(call: Call, known: dict[Local, Described]) -> set[Local]:
    """Adds the offset of a call to the start of the descriptor that it moves, if that is known."""
    local = _element(call.args[0]) if len(call.args) == 2 else None
    if local is None or local not in known:
        return set()
    before = known[local]
    known[local] = replace(before, start=_sum(before.start, call.args[1]))
    return {local}


def _element(expr: Expr) -> Local | None:
    """The local whose only descriptor an operand is."""
    is_first = isinstance(expr, Load) and expr.indices == (Const(0),) and _is_kept(expr.buffer)
    return expr.buffer.storage if isinstance(expr, Load) and is_first else None


def _storage(pointer: Expr) -> Local:
    assert isinstance(pointer, Pointer)
    return pointer.buffer.storage


def _is_kept(buffer: Buffer) -> bool:
    return buffer.scope.startswith("local.descriptor")


def _locals_in(expr: Expr) -> set[Local]:
    """The descriptors (local storages) that an expression names."""
    return {
        node.buffer.storage
        for node in walk(expr)
        if isinstance(node, (Load, Pointer)) and _is_kept(node.buffer)
    }


def _target(stmt: Stmt) -> tuple[Expr, ...]:
    return (Pointer(stmt.buffer),) if isinstance(stmt, Store) else ()


def _changed(stmt: Stmt) -> set[Local]:
    """The locals that a statement itself may set."""
    if isinstance(stmt, Store):
        return {stmt.buffer.storage}
    found: set[Local] = set()
    for call in calls_of(stmt):
        for operand in written_operands(call):
            nodes = walk(operand)
            found |= {one.buffer.storage for one in nodes if isinstance(one, (Load, Pointer))}
    return found


def _forget_in(known: dict[Local, Described], blocks: tuple[Block, ...]) -> None:
    """Drops from `known` the descriptors that any statement of these blocks may change."""
    if blocks:
        _forget(
            known, set().union(*(_changed(one) for part in blocks for one in walk_statements(part)))
        )


def _forget(known: dict[Local, Described], changed: set[Local]) -> None:
    for local, described in list(known.items()):
        loaded = {one.buffer.storage for one in walk(described.start) if isinstance(one, Load)}
        if local in changed or loaded & changed:
            del known[local]


def _sum(one: Expr, other: Expr) -> Expr:
    if constant(one) == 0:
        return other
    return one if constant(other) == 0 else Call("add", (one, other))


def _in_bytes(units: Expr) -> Expr:
    """An offset in units of 16 bytes, as bytes."""
    if isinstance(units, Call) and units.op == "shift_right" and constant(units.args[1]) == 4:
        inner = units.args[0]
        return Call("sub", (inner, Call("floormod", (inner, Const(16)))))
    return Call("mul", (units, Const(16)))
