"""Whether threads have the same value, or surely others, without knowing the values.

A value is written as a sum: what is known of it as a number, and the rest, of which a hash is kept
for each thread. Threads with the same rest differ as their numbers do. Two hashes that are the same
by accident would hide a difference; of 64 bits they are not.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.effects import Answer
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.semantics.table import effect_of

Valuing = Callable[[Expr, Threads], Value]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_WIDE: tuple[Expr, ...] = tuple(
    map(Const, ("int32", "int64", "uint32", "uint64", "float32", "float64"))
)
"""What is cast to one of these tells integers apart as far as threads and indices go."""


@dataclass(frozen=True)
class Form:
    """A number for each thread, and the hash of what is added to it, 0 for nothing."""

    rest: np.ndarray
    number: np.ndarray

    def plus(self, other: Form, sign: int) -> Form:
        rest = self.rest + other.rest if sign > 0 else self.rest - other.rest
        return Form(rest, self.number + sign * other.number)

    @property
    def is_number(self) -> bool:
        return not self.rest.any()

    def mixed(self) -> np.ndarray:
        """One number of both."""
        return _mix(self.rest * _ODD + self.number.astype(np.uint64))


def _mix(hashed: np.ndarray) -> np.ndarray:
    found: np.ndarray = (hashed ^ (hashed >> _SHIFT)) * _ODD
    return found


class Forms:
    """The forms of expressions for some threads. `changing` is the global memory that the kernel
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

    def __call__(self, expr: Expr) -> Form | None:
        """None where nobody knows which threads have the same value."""
        value = self._values(expr, self._threads)
        if value is not None:
            number = np.broadcast_to(np.asarray(value, dtype=np.int64), (self._threads.count,))
            return Form(np.zeros(self._threads.count, np.uint64), number)
        if isinstance(expr, Load):
            return self._loaded(expr)
        if isinstance(expr, Call):
            return self._computed(expr)
        if isinstance(expr, Const) or expr in self._uniform:
            return self._made("value", (), repr(expr))
        if isinstance(expr, Pointer):
            return self._made("address", (), str(id(expr.buffer.storage)))
        return None

    def of_operands(self, call: Call) -> Form | None:
        """What an operation does, if it does the same wherever its operands are the same."""
        return self._made(call.op, call.args, "")

    def _loaded(self, load: Load) -> Form | None:
        storage = load.buffer.storage
        if load.buffer.scope != "global" or storage in self._changing:
            return None
        return self._made("element", load.indices, f"{storage.name} {id(storage)}")

    def _computed(self, call: Call) -> Form | None:
        if call.op == "broadcast":
            return self(call.args[0])
        if call.op == "cast" and len(call.args) == 2 and call.args[0] in _WIDE:
            return self(call.args[1])
        if call.op in ("add", "sub") and len(call.args) == 2:
            one, two = map(self, call.args)
            sign = 1 if call.op == "add" else -1
            return None if one is None or two is None else one.plus(two, sign)
        effect = effect_of(call)
        if effect.hands_on or (effect.answer is not Answer.SAME and not _is_address(call)):
            return None
        return self._made(call.op, call.args, "")

    def _made(self, kind: str, operands: tuple[Expr, ...], name: str) -> Form | None:
        """What comes out alike where the operands are."""
        seed = np.uint64(zlib.crc32(f"{kind} {name} {len(operands)}".encode()) + 1)
        rest = np.full(self._threads.count, seed * np.uint64(0x1B873593), np.uint64)
        for operand in operands:
            form = self(operand)
            if form is None:
                return None
            rest = _mix(rest + form.mixed())
        return Form(rest | np.uint64(1), np.zeros(self._threads.count, np.int64))


def _is_address(call: Call) -> bool:
    """Whether it is the address of memory that threads have in common."""
    own = (one for one in call.args if isinstance(one, Pointer))
    in_common = not any(one.buffer.scope.startswith("local") for one in own)
    return effect_of(call).address and in_common
