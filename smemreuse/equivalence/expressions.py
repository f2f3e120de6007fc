"""The value numbers of expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smemreuse.equivalence.memory import GlobalMemory, GlobalPlaces, Numbering, address, shape_of
from smemreuse.equivalence.program import Storage, Unfollowed, is_global, is_own
from smemreuse.equivalence.terms import Term, chosen, combined, known, made
from smemreuse.equivalence.tiles import Tiles
from smemreuse.ir.expr import CHOICES, Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Buffer
from smemreuse.ir.types import integer_type
from smemreuse.semantics.evaluate import dtype_of
from smemreuse.semantics.integers import BINARY

MOST_AXES = 8
_DIVISIONS = ("floordiv", "floormod", "div", "mod", "ceildiv")
_INDEX_TYPES = ("", "int32", "int64")
"""Whose sums are those of integers: their overflow is undefined."""


@dataclass
class ParallelPoints:
    """The points of the parallel loops around a statement: the extent of each loop, what has to
    hold for a point to take part, and what each point has in registers of its own."""

    extents: tuple[int, ...] = ()
    guards: list[Term] = field(default_factory=list)
    own: dict[Storage, tuple[Term, np.ndarray]] = field(default_factory=dict)
    scratch: set[Storage] = field(default_factory=set)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents + (1,) * (MOST_AXES - len(self.extents)) if self.extents else ()

    def axis(self, extent: int) -> np.ndarray:
        """The values of the innermost loop's variable, along an axis of its own."""
        at = len(self.extents) - 1
        return np.arange(extent).reshape((1,) * at + (extent,) + (1,) * (MOST_AXES - at - 1))


class Expressions:
    """What expressions are worth, in the memory of `tiles` and for the points of parallel loops."""

    def __init__(self, names: Numbering) -> None:
        self.names = names
        self.tiles = Tiles(names)
        self.values: dict[Var, Term] = {}
        self.points = ParallelPoints()
        self.early: list[dict[Storage, GlobalMemory]] = []
        """Global memory as loads that run ahead see it, for each pipelined loop around."""
        self._runs_ahead = False
        self._types: dict[Expr, str] = {}

    def value(self, expr: Expr) -> Term:
        if isinstance(expr, Const):
            if isinstance(expr.value, int):
                return known(expr.value)
            return made("constant", (combined(repr(expr.value), ()),))
        if isinstance(expr, Var):
            found = self.values.get(expr)
            return made("variable", (self.names.of(expr),)) if found is None else found
        if isinstance(expr, Load):
            return self._loaded(expr)
        if isinstance(expr, Call):
            return self._computed(expr)
        raise Unfollowed("an address is used as a value")

    def cast(self, value: Term, source: str, target: str) -> Term:
        """A value in another type."""
        if source == target:
            return value
        number, kind = value.known, integer_type(target)
        if number is not None and kind is not None and integer_type(source) is not None:
            if ((number >= kind.least) & (number <= kind.most)).all():
                return value
        return made(f"cast {target}", (value,))

    # Calls --------------------------------------------------------------------------------------

    def _computed(self, call: Call) -> Term:
        if call.op in CHOICES and len(call.args) == 3:
            return chosen(*map(self.value, call.args))
        if call.op == "cast" and len(call.args) == 2 and isinstance(call.args[0], Const):
            source = self._type(call.args[1])
            return self.cast(self.value(call.args[1]), source, str(call.args[0].value))
        operands = [self.value(one) for one in call.args]
        if len(operands) == 2 and call.op in BINARY:
            found = self._arithmetic(call, *operands)
            if found is not None:
                return found
        if call.op in ("and", "or", "not"):
            found = _logical(call.op, operands)
            if found is not None:
                return found
        return made(call.op, operands)

    def _arithmetic(self, call: Call, one: Term, two: Term) -> Term | None:
        """The sum or product of integers, or what an operator makes of known ones; None for what
        nothing is known of."""
        types = [self._type(arg) for arg in call.args]
        if any(dtype not in _INDEX_TYPES for dtype in types):
            return None
        left, right = one.known, two.known
        if call.op == "add":
            return one.plus(two)
        if call.op == "sub":
            return one.plus(two, -1)
        if call.op == "mul" and (left is not None or right is not None):
            return one.times(right) if right is not None else two.times(np.asarray(left))
        if left is None or right is None or (call.op in _DIVISIONS and (right == 0).any()):
            return None
        function: Callable[[Any, Any], Any] = BINARY[call.op]
        return known(np.asarray(function(left, right)).astype(np.int64))

    def _type(self, expr: Expr) -> str:
        """The integer type of an expression, as `dtype_of`; of a load that of its buffer."""
        if isinstance(expr, Load):
            return expr.buffer.dtype
        if isinstance(expr, Const):  # literals of different types are equal
            return dtype_of(expr)
        found = self._types.get(expr)
        if found is None:
            found = self._types[expr] = dtype_of(expr)
        return found

    # Loads --------------------------------------------------------------------------------------

    def _loaded(self, load: Load) -> Term:
        if load.predicate is not None:
            raise Unfollowed(f"a load of {load.buffer.name} has a predicate")
        indices = tuple(map(self.value, load.indices))
        if is_global(load.buffer):
            return self.global_memory(load.buffer).read(self.address(load.buffer, indices))
        at = self.place(load.buffer, indices)
        if is_own(load.buffer) and load.buffer.storage in self.points.scratch:
            return self._own(load.buffer, at)
        number = at.known
        if number is not None:
            return self.tiles.read(load.buffer, number)
        return made("element", (self.tiles.read_whole(load.buffer), at))

    def _own(self, buffer: Buffer, at: Term) -> Term:
        """What each point has put into a register of its own. Raises `Unfollowed` for what it has
        not: which point shares it depends on the layout."""
        known_at, found = at.known, self.points.own.get(buffer.storage)
        if found is None or known_at is None:
            raise Unfollowed(f"points of a parallel loop hand {buffer.name} on")
        values, written = found
        if values.rest.shape[:-1] != self.points.shape:
            raise Unfollowed(f"{buffer.name} is used in loops of other points")
        where = np.broadcast_to(known_at, self.points.shape)[..., None]
        if not np.take_along_axis(written, where, -1).all():
            raise Unfollowed(f"points of a parallel loop hand {buffer.name} on")
        rest = np.take_along_axis(values.rest, where, -1)[..., 0]
        return Term(rest, np.take_along_axis(values.number, where, -1)[..., 0])

    def place(self, buffer: Buffer, indices: tuple[Term, ...]) -> Term:
        """The place of an element in the row of its tile."""
        found, shape = known(0), shape_of(buffer)
        if len(indices) != len(shape):
            raise Unfollowed(f"{buffer.name} is accessed with other dimensions than it has")
        for index, extent in zip(indices, shape, strict=True):
            number = index.known
            if number is not None and ((number < 0) | (number >= extent)).any():
                index = Term(
                    index.rest, np.where((number < 0) | (number >= extent), 1 << 40, number)
                )
            found = found.times(np.asarray(extent)).plus(index)
        return found

    def address(self, buffer: Buffer, indices: tuple[Term, ...]) -> GlobalPlaces:
        self.known_view(buffer)
        return address(buffer, indices, self.names.of(buffer.storage))

    def known_view(self, buffer: Buffer) -> None:
        """Raises `Unfollowed` for memory that goes by the indices of more than one buffer."""
        first = self.tiles.buffers.setdefault(buffer.storage, buffer)
        if first.dtype != buffer.dtype or first.shape != buffer.shape:
            raise Unfollowed(f"{buffer.name} is another view of {first.name}")

    def global_memory(self, buffer: Buffer) -> GlobalMemory:
        """A buffer in global memory; for a load that runs ahead as it was then."""
        state: dict[Storage, GlobalMemory] = self.tiles.state.globals
        if self._runs_ahead and self.early:
            state = self.early[0]
        found = state.get(buffer.storage)
        return self.initial(buffer.storage) if found is None else found

    def initial(self, storage: Storage) -> GlobalMemory:
        return GlobalMemory(combined("global", (self.names.of(storage),)))

    @contextmanager
    def running_ahead(self) -> Iterator[None]:
        """Within, global memory is read as by loads that run ahead."""
        self._runs_ahead = True
        try:
            yield
        finally:
            self._runs_ahead = False


def _logical(op: str, operands: list[Term]) -> Term | None:
    numbers = [one.known for one in operands]
    truths = [np.asarray(one) != 0 for one in numbers if one is not None]
    if len(truths) != len(numbers):
        return None
    if op == "not":
        return known((~truths[0]).astype(np.int64))
    joined = truths[0] & truths[1] if op == "and" else truths[0] | truths[1]
    return known(joined.astype(np.int64))
