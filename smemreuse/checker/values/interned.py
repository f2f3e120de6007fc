"""Interned expressions: what follows from the form of an expression, computed once for each.

Expressions that are written alike have one and the same `InternedExpr`. Whatever follows from one
alone is kept with it, so that the traces of a kernel ask for it again at no cost.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.values.linear import cancelled
from smemreuse.ir.expr import Call, Const, Expr, Load, Var, children, walk
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Threads, dtype_of, evaluate, is_integer, wraps
from smemreuse.semantics.formulas import as_condition, is_condition, operands_of, stored_as
from smemreuse.semantics.table import varies_by_thread

MAX_NODES = 1 << 10
"""The longest expression that is written out."""

ONE = Threads(np.arange(1))
"""A thread of which nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class InternedExpr:
    """The one object for all equal expressions: one of them, and its nodes."""

    expr: Expr
    size: int
    inside: tuple[InternedExpr, ...] = ()


Leaf = Var | Load
"""What an expression is made of that is no arithmetic."""


@dataclass(frozen=True, slots=True)
class ExprInputs:
    """What an expression asks for. `leaves` are what its value follows from, by arithmetic alone;
    None where there is more to it, or it is too long."""

    variables: frozenset[Var]
    outside: tuple[Var, ...]
    """The variables that are not in a place that is loaded from."""
    loads: tuple[Load, ...]
    """What is loaded, without what only says from where."""
    binds: bool
    """Whether it has variables of its own."""
    leaves: tuple[Leaf, ...] | None
    all_loads: tuple[Load, ...]
    varies: bool
    """Whether threads with the same operands may get different results."""


class InternTable:
    """The forms of a kernel's expressions, and of those made of them."""

    def __init__(self) -> None:
        self._of: dict[Expr, InternedExpr] = {}
        self._alike: dict[Hashable, InternedExpr] = {}
        self._readings: dict[Expr, ExprInputs] = {}
        self._made: dict[tuple[object, ...], InternedExpr | None] = {}
        self._parts: dict[InternedExpr, tuple[InternedExpr, ...]] = {}
        self._wrapping: dict[InternedExpr, bool] = {}
        self._numbers: dict[tuple[object, ...], int | None] = {}
        self._whole: dict[Buffer, Buffer | Var | None] = {}
        self.attained: dict[frozenset[tuple[InternedExpr, int]], bool] = {}
        """For expressions and a number each whether there are data for which they are these
        (`values.attainable`)."""

    # Interned expressions -----------------------------------------------------------------------

    def __call__(self, expr: Expr) -> InternedExpr:
        """The form of an expression."""
        if isinstance(expr, Const):  # 1, 1.0 and True are equal, and not alike
            kind = (type(expr.value).__name__, expr.dtype)
            return self._same(("number", *kind, expr.value), expr, ())
        known = self._of.get(expr)
        if known is None:
            known = self._of[expr] = self._new(expr)
        return known

    def _new(self, expr: Expr) -> InternedExpr:
        if isinstance(expr, Load) and expr.predicate is None:
            return self.load(expr, tuple(map(self, expr.indices)))
        if isinstance(expr, Call):
            return self.call(expr, tuple(map(self, expr.args)))
        return self._same((expr,), expr, ())

    def load(self, like: Load, indices: tuple[InternedExpr, ...]) -> InternedExpr:
        """A load from the same buffer, at another place."""
        known = self._alike.get((Load, like.buffer, *indices))
        if known is not None:
            return known
        expr = Load(like.buffer, tuple(one.expr for one in indices))
        return self._same((Load, like.buffer, *indices), expr, indices)

    def call(self, like: Call, args: tuple[InternedExpr, ...]) -> InternedExpr:
        """The same operator, applied to others."""
        key = _key(like.op, args)
        known = self._alike.get(key)
        if known is not None:
            return known
        expr = Call(like.op, tuple(one.expr for one in args), like.annotations)
        number = cancelled(expr, lambda one: {self(one): 1})
        if number is not None:
            known = self._alike[key] = self(number)
            return known
        return self._same(key, expr, args)

    def _same(self, key: Hashable, expr: Expr, inside: tuple[InternedExpr, ...]) -> InternedExpr:
        known = self._alike.get(key)
        if known is None:
            size = 1 + sum(one.size for one in inside)
            known = self._alike[key] = InternedExpr(expr, size, inside)
            if not isinstance(expr, Const):
                self._of[known.expr] = known
        return known

    def parts(self, form: InternedExpr) -> tuple[InternedExpr, ...]:
        """A form and all in it, each once."""
        known = self._parts.get(form)
        if known is None:
            found = dict.fromkeys(_nodes(form))
            known = self._parts[form] = tuple(found)
        return known

    def wraps(self, form: InternedExpr) -> bool:
        """Whether there is something unsigned in an expression."""
        known = self._wrapping.get(form)
        if known is None:
            known = self._wrapping[form] = wraps(form.expr)
        return known

    def condition(self, form: InternedExpr) -> InternedExpr:
        """The same condition, worth 0 or 1."""
        return form if is_condition(form.expr) else self._new(as_condition(form.expr))

    def stored(self, dtype: str, form: InternedExpr) -> InternedExpr:
        """What is there when a value has been stored in an element of a type."""
        expr = stored_as(dtype, form.expr)
        return form if expr is form.expr else self._new(expr)

    def number(
        self, form: InternedExpr, given: Sequence[tuple[InternedExpr, int]] = ()
    ) -> int | None:
        """The value of an expression where that of others is given; None if that does not tell."""
        key = (form, *given)
        if key not in self._numbers:
            numbers: dict[InternedExpr, Expr] = {
                one: Const(value, dtype_of(one.expr)) for one, value in given
            }
            value = evaluate(replaced(form, numbers), ONE)
            self._numbers[key] = value if isinstance(value, int) else None
        return self._numbers[key]

    def whole(self, buffer: Buffer) -> Buffer | Var | None:
        """Whose elements a local names, as they were allocated; None for a view of others."""
        if buffer not in self._whole:
            self._whole[buffer] = buffer.storage if is_whole(buffer) else None
        return self._whole[buffer]

    # What expressions ask for -------------------------------------------------------------------

    def reading(self, expr: Expr) -> ExprInputs:
        """What an expression asks for."""
        known = self._readings.get(expr)
        if known is None:
            known = self._readings[expr] = _reading(expr)
        return known

    def made(self, expr: Expr, leaves: tuple[InternedExpr, ...]) -> InternedExpr | None:
        """An expression with others in place of its leaves, in their order; None if it is too
        long."""
        key = (expr, *leaves)
        if key not in self._made:
            form = self._with(expr, iter(leaves))
            self._made[key] = form if form.size <= MAX_NODES else None
        return self._made[key]

    def _with(self, expr: Expr, leaves: Iterator[InternedExpr]) -> InternedExpr:
        if isinstance(expr, (Var, Load)):
            return next(leaves)
        operands = operands_of(expr) if isinstance(expr, Call) else None
        if operands is None or not isinstance(expr, Call):
            return self(expr)
        types = expr.args[: len(expr.args) - len(operands)]
        found = [self._with(operand, leaves) for operand in operands]
        return self.call(expr, (*map(self, types), *found))


def _key(op: str, args: tuple[InternedExpr, ...]) -> Hashable:
    """What equal operations have in common: the smaller of two integers is that in any order."""
    if op in ("min", "max") and all(is_integer(dtype_of(one.expr)) for one in args):
        return op, frozenset(args)
    return op, *args


def is_whole(buffer: Buffer) -> bool:
    """Whether a local is named by its elements as they were allocated, not by a view of others."""
    storage = buffer.storage
    same_type = not isinstance(storage, Buffer) or storage.dtype == buffer.dtype
    return same_type and buffer.elem_offset == Const(0)


def replaced(form: InternedExpr, values: Mapping[InternedExpr, Expr]) -> Expr:
    """An expression with other ones in place of those of these forms."""
    found = values.get(form)
    if found is not None or not form.inside:
        return form.expr if found is None else found
    inside = tuple(replaced(one, values) for one in form.inside)
    if isinstance(form.expr, Load):
        return Load(form.expr.buffer, inside)
    assert isinstance(form.expr, Call)
    return Call(form.expr.op, inside, form.expr.annotations)


def _nodes(form: InternedExpr) -> Iterator[InternedExpr]:
    pending = [form]
    while pending:
        here = pending.pop()
        yield here
        pending.extend(reversed(here.inside))


def _reading(expr: Expr) -> ExprInputs:
    nodes = list(walk(expr))
    outer = list(_outer(expr))
    leaves: list[Leaf] = []
    is_formula = len(nodes) <= MAX_NODES and _find_leaves(expr, leaves)
    return ExprInputs(
        frozenset(node for node in nodes if isinstance(node, Var)),
        tuple(dict.fromkeys(node for node in outer if isinstance(node, Var))),
        tuple(dict.fromkeys(node for node in outer if isinstance(node, Load))),
        any(isinstance(node, Call) and node.op == "let" for node in nodes),
        tuple(leaves) if is_formula else None,
        tuple(dict.fromkeys(node for node in nodes if isinstance(node, Load))),
        any(isinstance(node, Call) and varies_by_thread(node) for node in nodes),
    )


def _outer(expr: Expr) -> Iterator[Expr]:
    """All that is in an expression, but not in a load."""
    pending = [expr]
    while pending:
        here = pending.pop()
        yield here
        if not isinstance(here, Load):
            pending.extend(reversed(children(here)))


def _find_leaves(expr: Expr, leaves: list[Leaf]) -> bool:
    """Whether an expression is arithmetic alone; notes what on, from left to right."""
    if isinstance(expr, (Var, Load)):
        leaves.append(expr)
        return True
    if isinstance(expr, Const):
        return True
    operands = operands_of(expr) if isinstance(expr, Call) else None
    return operands is not None and all(_find_leaves(one, leaves) for one in operands)
