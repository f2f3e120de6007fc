"""Matrix descriptors: values that stand for bytes of shared memory without an address (rule 1).

An operation describes a buffer in a local, and a matrix instruction later reads what its operands
describe. In between a descriptor may be copied, bound to a variable, or advanced to a stage. Which
locals and variables may hold which descriptor is a flow-insensitive fixpoint, so that what is
stored through one name is found under all its aliases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.layout import ByteIndices
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Load, Pointer, Var, walk
from smemreuse.ir.kernel import Bind, Block, Buffer, For, Stmt, Store, walk_statements
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect
from smemreuse.semantics.elements import addressed_element
from smemreuse.semantics.pointers import let_parts
from smemreuse.semantics.table import calls_of, effect_of, written_operands

Holder = Buffer | Var
"""A local, by its storage, or a variable."""


class Holders:
    """Which locals and variables may hold which descriptors, and which descriptors escape.

    A descriptor is named by the local in which it is made. `accesses` are those of all statements.
    """

    def __init__(self, body: Block, accesses: Mapping[Stmt, Iterable[MemoryAccess]]):
        self._described: dict[Holder, set[Buffer]] = {}
        for found in accesses.values():
            for access in found:
                if access.descriptor is not None:
                    self._described.setdefault(access.descriptor, set()).add(access.buffer)
        self._held: dict[Holder, set[Holder]] = {one: {one} for one in self._described}
        self._handed: dict[Holder, str] = {}
        self._in_expr: dict[Expr, set[Holder]] = {}
        self._settled = False
        if self._held:
            self._follow(body)
        self._settled = True

    def in_expr(self, expr: Expr) -> set[Holder]:
        """The descriptors that may be in a value, or where an address leads."""
        if not self._held:
            return set()
        found = self._in_expr.get(expr)
        if found is None:
            found = set().union(*(self._held.get(holder, ()) for holder in _named(expr)))
            if self._settled:
                self._in_expr[expr] = found
        return found

    def read_in(self, block: Block) -> set[Buffer]:
        """The buffers that a block, or one inside it, may read by what describes them."""
        found: set[Buffer] = set()
        if self._held:
            for stmt in walk_statements(block):
                for call in calls_of(stmt):
                    if effect_of(call).reads_described:
                        for made in self.in_expr(call):
                            found |= self._described[made]
        return found

    def lost(self, made: Holder) -> str:
        """Why a descriptor may be read by unknown operations; empty if it does not escape."""
        return self._handed.get(made, "")

    def _follow(self, body: Block) -> None:
        statements = list(walk_statements(body))
        before = -1
        while before != (before := sum(map(len, self._held.values()))):
            for stmt in statements:
                for target, expr in _moves(stmt):
                    self._give(target, self.in_expr(expr))
        for stmt in statements:
            for call in calls_of(stmt):
                reason = _not_understood(call, effect_of(call))
                if reason:
                    for argument in call.args:
                        for made in self.in_expr(argument):
                            self._handed.setdefault(made, reason)
            if isinstance(stmt, Store) and not stmt.buffer.scope.startswith("local"):
                for made in self.in_expr(stmt.value):
                    self._handed.setdefault(made, f"a descriptor is kept in {stmt.buffer.name}")

    def _give(self, holder: Holder, made: set[Holder]) -> None:
        if made:
            self._held.setdefault(holder, set()).update(made)


def _named(expr: Expr) -> Iterator[Holder]:
    for node in walk(expr):
        if isinstance(node, (Load, Pointer)):
            yield node.buffer.storage
        elif isinstance(node, Var):
            yield node


def _moves(stmt: Stmt) -> Iterator[tuple[Holder, Expr]]:
    """Pairs of a holder and an expression whose descriptors flow into it; aliases both ways."""
    if isinstance(stmt, Store):
        yield stmt.buffer.storage, stmt.value
        for local in _addressed(stmt.value):
            yield local, Load(stmt.buffer, ())
    elif isinstance(stmt, For):
        yield stmt.var, stmt.begin
    elif isinstance(stmt, Bind):
        yield stmt.var, stmt.value
        for local in _addressed(stmt.value):
            yield local, stmt.var
    for call in calls_of(stmt):
        parts = let_parts(call)
        if parts is not None:
            yield parts[0], parts[1]
        if effect_of(call).reads_described:
            continue  # what it makes of the bytes is no descriptor
        for operand in written_operands(call):
            for holder in _named(operand):
                yield holder, call


def _addressed(expr: Expr) -> Iterator[Holder]:
    """The locals whose address is in a value, so that it leads to them."""
    for node in walk(expr):
        element = addressed_element(node)
        if isinstance(node, Pointer):
            yield node.buffer.storage
        elif element is not None:
            yield element.buffer.storage


def _not_understood(call: Call, effect: Effect) -> str:
    """Why the use of a descriptor operand by an operation is unknown; empty if it is known."""
    if effect.unknown:
        return effect.unknown
    if effect.handed_on or effect.by_reference:
        return f"`{call.op}` may do anything with a descriptor"
    writes = any(operand.access is not Access.READ for operand in effect.operands)
    if writes and not effect.reads_described:
        return f"`{call.op}` may keep a descriptor in memory"
    return ""


@dataclass
class Descriptors:
    """The bytes that each descriptor stands for, whatever it was made of last."""

    bytes: dict[Holder, dict[Buffer, ByteIndices]] = field(default_factory=dict)

    def copy(self) -> Descriptors:
        return Descriptors({made: dict(where) for made, where in self.bytes.items()})

    def describe(self, made: Holder, buffer: Buffer, where: ByteIndices) -> None:
        """Adds bytes of a buffer to those that a descriptor may stand for."""
        described = self.bytes.setdefault(made, {})
        known = described.get(buffer)
        if known is None or known is where:
            described[buffer] = where
        elif not np.isin(where, known).all():
            described[buffer] = np.union1d(known, where)

    def joined(self, other: Descriptors) -> Descriptors:
        """The join after a branch: each stands for the bytes of both sides."""
        twin = self.copy()
        for made, described in other.bytes.items():
            for buffer, where in described.items():
                twin.describe(made, buffer, where)
        return twin

    def described_by(self, made: Iterable[Holder]) -> Iterator[tuple[Buffer, ByteIndices]]:
        """The bytes that some descriptors stand for."""
        for one in made:
            yield from self.bytes.get(one, {}).items()
