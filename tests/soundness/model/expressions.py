"""Expressions as functions of the machine's state, for some threads at once.

A value is an array of int64: rows or 1, threads or 1, lanes. Floats are kept as whole numbers. An
address is the number of a buffer and an offset in bytes, in one number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, walk
from smemreuse.ir.kernel import Buffer, Store, element_bits
from tests.soundness.model.modes import IllDefined, NotModelled
from tests.soundness.model.operators import OPERATORS
from tests.soundness.model.program import Action, Ids, Program, shared_buffers

if TYPE_CHECKING:
    from tests.soundness.model.machine import Machine

Fn: TypeAlias = "Callable[[Machine, Ids], np.ndarray]"

BUFFER = 1 << 32
"""Bytes from a buffer's address to that of the next."""

MAX_BOUND = 64


def whole(value: int) -> np.ndarray:
    return np.full((1, 1, 1), value, dtype=np.int64)


@dataclass(eq=False)
class Element:
    """One of a buffer in shared memory: where it is, and how many bytes it has."""

    number: int | None
    """The buffer's; None if a pointer tells it."""
    offset: Fn
    """In bytes, or the whole address."""
    size: int
    dtype: np.dtype[np.signedinteger] | np.dtype[np.unsignedinteger]
    is_static: bool


def storage_type(dtype: str) -> np.dtype:
    size = element_bits(dtype) // 8
    if size not in (1, 2, 4, 8) or element_bits(dtype) % 8:
        raise NotModelled(f"elements of {dtype}")
    sign = "i" if dtype.startswith("int") or size == 8 else "u"
    return np.dtype(f"<{sign}{size}")


class Expressions:
    """Makes functions of a program's expressions; `operations` are carried out inside them."""

    def __init__(self, program: Program, operations: Callable[[Call, Expressions], Action]) -> None:
        self._axes = program.shape.axes
        self._shape = program.shape
        self.program = program
        self._operations = operations
        self._statements = 0
        shared = shared_buffers(program.kernel)
        self.numbers = {one: number for number, one in enumerate(shared)}

    def statement(self) -> int:
        """A number for a statement whose values are seen."""
        self._statements += 1
        return self._statements * 0x1000193

    # Values

    def value(self, expr: Expr) -> Fn:
        fn = self._value(expr)
        if isinstance(expr, Const) or not self.is_static(expr):
            return fn
        known = fn(None, np.arange(self._shape.all_threads))  # type: ignore[arg-type]
        if known.shape[1] == 1:
            return lambda m, ids: known
        return lambda m, ids: known[:, ids]

    def is_static(self, expr: Expr) -> bool:
        """Whether only the thread decides it."""
        return all(
            isinstance(node, Const)
            or (isinstance(node, Var) and self._is_given(node))
            or (isinstance(node, Call) and node.op in OPERATORS)
            for node in walk(expr)
        )

    def _is_given(self, var: Var) -> bool:
        return var in self._axes or var.name in self._shape.arguments

    def _value(self, expr: Expr) -> Fn:
        if isinstance(expr, Const):
            known = whole(int(expr.value) if not isinstance(expr.value, str) else 0)
            return lambda m, ids: known
        if isinstance(expr, Var):
            return self._variable(expr)
        if isinstance(expr, Load):
            return self._load(expr)
        if isinstance(expr, Pointer):
            return self.pointer_to(expr.buffer)
        special = getattr(self, f"_op_{expr.op}", None)
        if special is not None:
            made: Fn = special(expr)
            return made
        if expr.op in OPERATORS:
            return self._operator(expr)
        action = self._operations(expr, self)

        def carried_out(m: Machine, ids: Ids) -> np.ndarray:
            if action(m, ids) is not None:
                raise NotModelled("a wait inside an expression")
            return whole(1)

        return carried_out

    def _operator(self, call: Call) -> Fn:
        apply = OPERATORS[call.op]
        operands = [self.value(arg) for arg in call.args]
        if len(operands) == 2:
            one, two = operands
            return lambda m, ids: np.asarray(apply(one(m, ids), two(m, ids))).astype(
                np.int64, copy=False
            )
        return lambda m, ids: np.asarray(apply(*(each(m, ids) for each in operands))).astype(
            np.int64, copy=False
        )

    def _variable(self, var: Var) -> Fn:
        if var in self._axes:
            axis = self._axes[var][None, :, None]
            return lambda m, ids: axis[:, ids]
        if var.name in self._shape.arguments:
            given = whole(self._shape.arguments[var.name])
            return lambda m, ids: given

        def found(m: Machine, ids: Ids) -> np.ndarray:
            held = m.variables.get(var)
            if held is None:
                raise NotModelled(f"{var.name} is bound nowhere")
            return held[:, ids]

        return found

    # Operators that are no functions of their operands' values

    def _op_cast(self, call: Call) -> Fn:
        operand = self.value(call.args[1])
        assert isinstance(call.args[0], Const)
        dtype = str(call.args[0].value)
        if dtype == "bool":
            return lambda m, ids: (operand(m, ids) != 0).astype(np.int64)
        if not dtype.startswith(("int", "uint")):
            return operand
        kind = np.dtype(dtype)
        return lambda m, ids: operand(m, ids).astype(kind).astype(np.int64)

    def _op_reinterpret(self, call: Call) -> Fn:
        return self.value(call.args[-1])

    def _op_let(self, call: Call) -> Fn:
        var = call.args[0]
        assert isinstance(var, Var)
        value, body = self.value(call.args[1]), self.value(call.args[2])

        def found(m: Machine, ids: Ids) -> np.ndarray:
            m.bind(var, ids, value(m, ids))
            return body(m, ids)

        return found

    def _op_if_then_else(self, call: Call) -> Fn:
        condition, one, other = (self.value(arg) for arg in call.args)

        def found(m: Machine, ids: Ids) -> np.ndarray:
            chosen = m.truth(condition, ids)
            parts = (
                (one(m, ids), other(m, ids))
                if chosen.any() and not chosen.all()
                else (one(m, ids),) * 2
                if chosen.all()
                else (other(m, ids),) * 2
            )
            return np.where(chosen[None, :, None], *parts)

        return found

    _op_select = _op_if_then_else

    def _op_tvm_access_ptr(self, call: Call) -> Fn:
        annotation, data, offset = call.args[:3]
        assert isinstance(annotation, Call)
        assert isinstance(annotation.args[0], Const)
        bits = element_bits(str(annotation.args[0].value))
        base, elements = self.value(data), self.value(offset)
        return lambda m, ids: base(m, ids) + elements(m, ids) * bits // 8

    def _op_address_of(self, call: Call) -> Fn:
        load = call.args[0]
        assert isinstance(load, Load)
        return self.address(load.buffer, load.indices)

    def _op_handle_add_byte_offset(self, call: Call) -> Fn:
        base, offset = (self.value(arg) for arg in call.args)
        return lambda m, ids: base(m, ids) + offset(m, ids)

    def _op_tl_shuffle_elect(self, call: Call) -> Fn:
        """One lane of the first warp, or of every so many threads, by threadIdx.x."""
        assert isinstance(call.args[0], Const)
        group = int(call.args[0].value) // 32
        warp = self._shape.rows // 32
        lane = np.arange(self._shape.all_threads) % self._shape.threads % 32
        chosen = ((warp % group if group else warp) == 0) & (lane == 0)
        known = chosen.astype(np.int64)[None, :, None]
        return lambda m, ids: known[:, ids]

    def _op_block_rank_in_cluster(self, call: Call) -> Fn:
        threads = self._shape.threads
        return lambda m, ids: (ids // threads)[None, :, None]

    # Memory

    def flat_index(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        found: Expr = Const(0)
        for extent, index in zip(buffer.shape, indices, strict=False):
            if found == Const(0):
                found = index
            else:
                found = Call("add", (Call("mul", (found, extent)), index))
        return found

    def pointer_to(self, buffer: Buffer) -> Fn:
        """The address of a buffer's first byte; a view's is computed where it is used."""
        if buffer.data is None:
            if buffer not in self.numbers:
                known = whole(-1)  # in global memory, or a thread's own
                return lambda m, ids: known
            known = whole((self.numbers[buffer] + 1) * BUFFER)
            return lambda m, ids: known
        is_buffer = isinstance(buffer.data, Buffer)
        base = self.pointer_to(buffer.data) if is_buffer else self.value(buffer.data)  # type: ignore[arg-type]
        offset, bits = self.value(buffer.elem_offset), element_bits(buffer.dtype)
        return lambda m, ids: base(m, ids) + offset(m, ids) * bits // 8

    def address(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Fn:
        """The address of an element."""
        bits = element_bits(buffer.dtype)
        base, index = self.pointer_to(buffer), self.value(self.flat_index(buffer, indices))
        return lambda m, ids: base(m, ids) + index(m, ids) * bits // 8

    def element(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Element:
        kind = storage_type(buffer.dtype)
        index = self.flat_index(buffer, indices)
        if buffer.data is None:
            scaled = self.value(Call("mul", (index, Const(kind.itemsize))))
            number = self.numbers[buffer]
            return Element(number, scaled, kind.itemsize, kind, self.is_static(index))
        return Element(None, self.address(buffer, indices), kind.itemsize, kind, False)

    def _load(self, load: Load) -> Fn:
        buffer = load.buffer
        if buffer.scope == "global":
            at = self.value(self.flat_index(buffer, load.indices))
            return lambda m, ids: m.inputs[m.seen.control(at(m, ids)) % len(m.inputs)][None]
        if buffer.scope.startswith("shared"):
            element = self.element(buffer, load.indices)
            return lambda m, ids: m.load(element, ids)
        storage, index = self._own(buffer, load.indices)

        def found(m: Machine, ids: Ids) -> np.ndarray:
            return m.cells(storage)[:, ids[:, None], m.seen.control(index(m, ids))]

        return found

    def _own(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, Fn]:
        """A thread's own buffer, and the element."""
        storage = buffer.storage
        if not isinstance(storage, Buffer):
            raise NotModelled("a pointer to a thread's own memory")
        return storage, self.value(self.flat_index(buffer, indices))

    def store(self, stmt: Store) -> Action:
        """A statement that stores a value."""
        value, put = self.value(stmt.value), self._put(stmt)
        predicate = None if stmt.predicate is None else self.value(stmt.predicate)

        def action(m: Machine, ids: Ids) -> None:
            for part in m.in_parts(ids):
                if predicate is not None:
                    part = part[m.truth(predicate, part)]
                if len(part):
                    put(m, part, value(m, part))

        return action

    def _put(self, stmt: Store) -> Callable[[Machine, Ids, np.ndarray], None]:
        buffer = stmt.buffer
        if buffer.scope == "global":
            number = self.statement()
            return lambda m, ids, value: m.seen.values(ids, value, number)
        if buffer.scope.startswith("shared"):
            element = self.element(buffer, stmt.indices)
            return lambda m, ids, value: m.store(element, ids, value)
        storage, index = self._own(buffer, stmt.indices)

        def put(m: Machine, ids: Ids, value: np.ndarray) -> None:
            m.cells(storage)[:, ids[:, None], m.seen.control(index(m, ids))] = value

        return put

    # Statements

    def action(self, expr: Expr) -> Action:
        """What an evaluated expression does."""
        if (
            isinstance(expr, Call)
            and expr.op not in OPERATORS
            and not hasattr(self, f"_op_{expr.op}")
        ):
            return self._operations(expr, self)
        value = self.value(expr)

        def action(m: Machine, ids: Ids) -> None:
            value(m, ids)

        return action

    def bind(self, var: Var, expr: Expr) -> Action:
        value = self.value(expr)

        def action(m: Machine, ids: Ids) -> None:
            m.bind(var, ids, value(m, ids))

        return action

    def counting(
        self, var: Var, begin: Expr, extent: Expr, step: Expr
    ) -> tuple[Action, Fn, Action]:
        """What begins a loop, asks whether there is another round, and goes on to it."""
        first, length, by = (self.value(one) for one in (begin, extent, step))
        end, pace = Var("end"), Var("step")

        def start(m: Machine, ids: Ids) -> None:
            low, count, stride = (m.seen.control(one(m, ids))[None] for one in (first, length, by))
            if (count > MAX_BOUND).any():
                raise IllDefined("a loop that the test does not need")
            m.bind(var, ids, low)
            m.bind(end, ids, low + count)
            m.bind(pace, ids, stride)

        def inside(m: Machine, ids: Ids) -> np.ndarray:
            known = m.variables
            now, last = known[var][:, ids], known[end][:, ids]
            return np.where(known[pace][:, ids] > 0, now < last, now > last)

        def following(m: Machine, ids: Ids) -> None:
            m.variables[var][:, ids] += m.variables[pace][:, ids]

        return start, inside, following
