"""Value numbering by thread: which threads surely have the same value, and which surely others.

A value is written as a sum: what is known of it as a number, and the rest, of which a hash is kept
for each thread. Threads with the same rest differ as their numbers do. Two hashes that are the same
by accident would hide a difference; of 64 bits they are not. From this follows whether threads that
write to one byte in one statement write the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Stmt, Store
from smemreuse.ir.types import NO_INTEGER, integer_type
from smemreuse.semantics.effects import Answer, Engine
from smemreuse.semantics.evaluate import Threads, Value, dtype_of
from smemreuse.semantics.table import effect_of, evaluated_call, evaluated_effect

Valuing = Callable[[Expr, Threads], Value]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_EXACT = {"float32": 1 << 24, "float64": 1 << 53}
"""Integers below tell as many numbers of the type apart."""
_FAR = 1 << 31
"""What differs by less differs in any type of 32 bits or more, wrapped or not."""


@dataclass(frozen=True)
class ValueNumber:
    """A value as a sum: a known number for each thread, and the hash of the rest (0 if there is
    none).
    """

    rest: np.ndarray
    number: np.ndarray

    def plus(self, other: ValueNumber, sign: int) -> ValueNumber:
        rest = self.rest + other.rest if sign > 0 else self.rest - other.rest
        return ValueNumber(rest, self.number + sign * other.number)

    @property
    def is_number(self) -> bool:
        return not self.rest.any()

    def mixed(self) -> np.ndarray:
        """One number of both."""
        return _mix(self.rest * _ODD + self.number.astype(np.uint64))


def _mix(hashed: np.ndarray) -> np.ndarray:
    found: np.ndarray = (hashed ^ (hashed >> _SHIFT)) * _ODD
    return found


class ValueNumbering:
    """The numbers of expressions for some threads. `changing` is the global memory that the kernel
    may write, `uniform` are variables that are the same for all threads."""

    def __init__(
        self,
        threads: Threads,
        values: Valuing,
        changing: Set[Buffer | Var],
        uniform: Set[Var],
    ):
        self._threads = threads
        self._values = values
        self._changing = changing
        self._uniform = uniform
        self._storages: dict[Buffer | Var, int] = {}

    def __call__(self, expr: Expr) -> ValueNumber | None:
        """None where it is not known which threads have the same value."""
        value = self._values(expr, self._threads)
        if value is not None:
            number = np.broadcast_to(np.asarray(value, dtype=np.int64), (self._threads.count,))
            return ValueNumber(np.zeros(self._threads.count, np.uint64), number)
        if isinstance(expr, Load):
            return self._loaded(expr)
        if isinstance(expr, Call):
            return self._computed(expr)
        if isinstance(expr, Const) or expr in self._uniform:
            return self._made("value", (), repr(expr))
        if isinstance(expr, Pointer):
            return self._made("address", (), self._storage(expr.buffer))
        return None

    def of_operands(self, call: Call) -> ValueNumber | None:
        """What an operation does, if it does the same wherever its operands are the same."""
        return self._made(call.op, call.args, "")

    def _loaded(self, load: Load) -> ValueNumber | None:
        if load.buffer.scope != "global" or load.buffer.storage in self._changing:
            return None
        return self._made("element", load.indices, self._storage(load.buffer))

    def _storage(self, buffer: Buffer) -> str:
        """The memory of a buffer, as text to hash: its name and a number, the same in every run."""
        storage = buffer.storage
        number = self._storages.setdefault(storage, len(self._storages))
        return f"{storage.name} {number}"

    def _computed(self, call: Call) -> ValueNumber | None:
        """The number of an operation's result: a sum exactly, else the hash of operation and
        operands.
        """
        if call.op == "broadcast":
            return self(call.args[0])
        if call.op == "cast" and len(call.args) == 2 and isinstance(call.args[0], Const):
            value = self(call.args[1])
            if value is not None and _tells_apart(call.args[1], value, str(call.args[0].value)):
                return value
        if call.op in ("add", "sub") and len(call.args) == 2 and not _is_narrow(dtype_of(call)):
            one, two = map(self, call.args)
            sign = 1 if call.op == "add" else -1
            found = None if one is None or two is None else one.plus(two, sign)
            if found is None or _within(found.number, _FAR):
                return found
        effect = effect_of(call)
        if effect.hands_on or (effect.answer is not Answer.SAME and not _is_address(call)):
            return None
        return self._made(call.op, call.args, "")

    def _made(self, kind: str, operands: tuple[Expr, ...], name: str) -> ValueNumber | None:
        """The value number of an operation: equal for equal operands."""
        seed = np.uint64(zlib.crc32(f"{kind} {name} {len(operands)}".encode()) + 1)
        rest = np.full(self._threads.count, seed * np.uint64(0x1B873593), np.uint64)
        for operand in operands:
            value = self(operand)
            if value is None:
                return None
            rest = _mix(rest + value.mixed())
        return ValueNumber(rest | np.uint64(1), np.zeros(self._threads.count, np.int64))


def _tells_apart(operand: Expr, value: ValueNumber, dtype: str) -> bool:
    """Whether numbers of an operand that differ still do in another type."""
    kind = integer_type(dtype)
    if kind is None:
        return _within(value.number, _EXACT.get(dtype, 0))
    return kind.bits >= 32 and dtype_of(operand) != NO_INTEGER and _within(value.number, _FAR)


def _is_narrow(dtype: str) -> bool:
    kind = integer_type(dtype)
    return kind is not None and kind.bits < 32


def _within(number: np.ndarray, most: int) -> bool:
    return bool((np.abs(number) < most).all())


def _is_address(call: Call) -> bool:
    """Whether it is the address of memory that threads have in common."""
    own = (one for one in call.args if isinstance(one, Pointer))
    in_common = not any(one.buffer.scope.startswith("local") for one in own)
    return effect_of(call).address and in_common


# Threads that write to one byte ----------------------------------------------------------------


@dataclass(frozen=True)
class SharedWrite:
    """How threads write to one byte: a pair of them, or all writers (None), and a byte if one is
    known.

    `differ` tells that their values certainly differ.
    """

    byte: int | None = None
    threads: tuple[int | None, ...] = (None,)
    differ: bool = False


SAME, UNKNOWN = SharedWrite(), SharedWrite()
"""Threads that write to one byte write the same; or nothing is known of the values, and each is
written to the same place as the others."""


def stores(stmt: Stmt) -> bool:
    """Whether a statement stores by itself: its threads, or asynchronous copies of theirs."""
    if isinstance(stmt, Store):
        return stmt.buffer.scope in SHARED_SCOPES
    effect = evaluated_effect(stmt)
    return effect is not None and effect.engine is Engine.CP_ASYNC


def stored_by(stmt: Stmt, numbers: ValueNumbering) -> ValueNumber | None:
    """The value number that a statement stores; of a copy to one place, that of its
    source address.
    """
    if isinstance(stmt, Store):
        return numbers(stmt.value)
    call = evaluated_call(stmt)
    return None if call is None else numbers.of_operands(call)


def writes_to_same_byte(traced: TracedAccess, value: ValueNumber | None) -> SharedWrite:
    """Whether threads that write to the same byte in one statement write the same value.

    `value` numbers the values that they store. The result is `SAME`, `UNKNOWN`, or a pair of
    threads whose values may differ (`differ`: certainly do) and the byte.
    """
    footprint = traced.footprint
    if traced.starts is None:
        return SharedWrite()
    if traced.by_warp:
        return _same_tiles(traced)
    if footprint is None or (footprint.count != 1 and footprint.stride != footprint.size):
        return UNKNOWN
    size = footprint.count * footprint.size
    starts = np.broadcast_to(np.asarray(traced.starts), (len(traced.ids),))
    if value is None or len(value.number) != len(starts):
        return _overlapping(starts, traced.ids, size) or UNKNOWN
    order = np.lexsort((value.number, value.rest, starts))
    at, rest, number, ids = starts[order], value.rest[order], value.number[order], traced.ids[order]
    one_place = (at[1:] == at[:-1]) & (ids[1:] != ids[:-1])
    for apart, differ in (
        (one_place & (rest[1:] == rest[:-1]) & (number[1:] != number[:-1]), True),
        (one_place & (rest[1:] != rest[:-1]), False),
    ):
        if apart.any():
            index = int(np.argmax(apart))
            pair = (int(ids[index]), int(ids[index + 1]))
            # Hashes have no meaningful order, so the lower thread comes first.
            pair = pair if differ else (min(pair), max(pair))
            return SharedWrite(int(at[index]), pair, differ)
    return _overlapping(starts, traced.ids, size) or SAME


def _same_tiles(traced: TracedAccess) -> SharedWrite:
    """Whether warps that each write a tile, as one access of all lanes, write the same bytes.

    `SAME` if the tiles of all warps are disjoint, `UNKNOWN` if some coincide as a whole, which may
    store the same values; else tiles overlap in part, and the values may differ.
    """
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
    return SharedWrite()


def _overlapping(starts: np.ndarray, ids: np.ndarray, size: int) -> SharedWrite | None:
    """Two threads whose bytes overlap only in part, where equal values prove nothing; None if no
    two do.
    """
    order = np.argsort(starts, kind="stable")
    at, who = starts[order], ids[order]
    apart = (at[1:] > at[:-1]) & (at[1:] < at[:-1] + size) & (who[1:] != who[:-1])
    if not apart.any():
        return None
    index = int(np.argmax(apart))
    return SharedWrite(int(at[index + 1]), (int(who[index]), int(who[index + 1])))
