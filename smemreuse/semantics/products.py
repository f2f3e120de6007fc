"""Which shared buffers the products of matrices are made of, and how their operands come there.

A product of tensor cores waits for both of its operands. So one buffer cannot be done with before
the other one begins, unless it waits in registers meanwhile: `ldmatrix` copies an operand there
anyway, and wgmma takes its first matrix from there, but never its second one.

Statements are followed once in program order. What a buffer holds is made of whatever was stored
to it so far; indices make nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Bind, Block, Buffer, Stmt, Store, walk_statements
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.pointers import Pointers
from smemreuse.semantics.table import calls_of, effect_of, written_operands

Place = Buffer | Var
"""An allocation, or a scalar that holds a value or an address."""
Made = frozenset[Buffer]
"""Shared buffers that something is made of."""

_NOTHING: Made = frozenset()


class Ahead(Enum):
    """How one buffer can be done with before another one begins; a larger value is harder."""

    FREELY = 0
    """Nothing needs both at once."""

    IN_REGISTERS = 1
    """A product needs both; this one is copied to registers anyway."""

    AS_FIRST_MATRIX = 2
    """A wgmma needs both; it can take this one, its first matrix, from registers."""

    NEVER = 3
    """A product needs both in memory, or this one is made of the other."""


@dataclass
class Products:
    """What the products of a kernel need together, by pairs of shared buffers.

    `ahead` has, for a buffer and another one, how the first can be done with before the second
    begins; pairs that are not there are free.
    """

    ahead: dict[tuple[Buffer, Buffer], Ahead] = field(default_factory=dict)

    @staticmethod
    def of(
        body: Block, accesses: Mapping[Stmt, tuple[MemoryAccess, ...]], pointers: Pointers
    ) -> Products:
        """The products of a kernel's body; `accesses` are those of its statements."""
        walk = _ProductWalk(accesses, pointers)
        for stmt in walk_statements(body):
            walk.statement(stmt)
        return walk.found

    def before(self, one: Buffer, two: Buffer) -> Ahead:
        """How `one` can be done with before `two` begins."""
        return self.ahead.get((one, two), Ahead.FREELY)

    def needs(self, one: Buffer, two: Buffer, how: Ahead) -> None:
        """Some product lets `one` be done with before `two` begins in this way at best."""
        if one is not two:
            known = self.before(one, two)
            self.ahead[one, two] = max(known, how, key=lambda each: each.value)


class _ProductWalk:
    """Statements in their order. `_copied` is what a place holds without having been multiplied,
    `_made` all that it is made of."""

    def __init__(
        self, accesses: Mapping[Stmt, tuple[MemoryAccess, ...]], pointers: Pointers
    ) -> None:
        self.found = Products()
        self._accesses = accesses
        self._pointers = pointers
        self._copied: dict[Place, Made] = {}
        self._made: dict[Place, Made] = {}

    def statement(self, stmt: Stmt) -> None:
        """Follows what a statement stores, binds or multiplies."""
        if isinstance(stmt, Store):
            self._flows(stmt.buffer.storage, self._named(stmt.value))
        elif isinstance(stmt, Bind):
            self._flows(stmt.var, self._named(stmt.value))
        for call in calls_of(stmt):
            effect = effect_of(call)
            if effect.matrices is not None:
                self._product(call, effect, effect.matrices)
            elif effect.writes_locals or effect.operands:
                self._call(stmt, call)

    def _call(self, stmt: Stmt, call: Call) -> None:
        """A copy between memory and registers, or whatever writes what it is handed."""
        written = {one for operand in written_operands(call) for one in self._places(operand)}
        written |= {
            one.buffer
            for one in self._accesses.get(stmt, ())
            if one.node is call or one.access is Access.WRITE
            if one.access is not Access.READ and one.named
        }
        read = [one for operand in call.args for one in self._places(operand) if one not in written]
        for target in written:
            self._flows(target, read)

    def _product(self, call: Call, effect: Effect, matrices: tuple[int, int]) -> None:
        if max(matrices) >= len(call.args):
            return
        sides = [self._named(call.args[at]) for at in matrices]
        for at, (own, other) in enumerate([(sides[0], sides[1]), (sides[1], sides[0])]):
            how = _how(effect, call.args[matrices[at]], is_first=at == 0)
            for one in self._union(self._copied, own):
                for two in self._union(self._made, other):
                    self.found.needs(one, two, how)
        of_both = self._union(self._made, [one for side in sides for one in side])
        for operand in written_operands(call):
            for place in self._places(operand):
                self._made[place] = self._made.get(place, _NOTHING) | of_both

    def _flows(self, target: Place, read: list[Place]) -> None:
        """Adds what was read to what a place is made of."""
        made, copied = self._union(self._made, read), self._union(self._copied, read)
        if _is_shared(target):
            assert isinstance(target, Buffer)
            for one in made:
                self.found.needs(target, one, Ahead.NEVER)
        self._made[target] = self._made.get(target, _NOTHING) | made
        self._copied[target] = self._copied.get(target, _NOTHING) | copied

    def _union(self, known: Mapping[Place, Made], places: list[Place]) -> Made:
        """What places hold: a shared buffer itself, and what it is made of where all counts."""
        found: set[Buffer] = set()
        for one in places:
            if isinstance(one, Buffer) and _is_shared(one):
                found.add(one)
                found |= self._made.get(one, _NOTHING) if known is self._made else _NOTHING
            else:
                found |= known.get(one, _NOTHING)
        return frozenset(found)

    def _named(self, expr: Expr) -> list[Place]:
        """The places whose contents or addresses an expression names, but for those in indices."""
        return [*self._places(expr)]

    def _places(self, expr: Expr) -> Iterator[Place]:
        pending = [expr]
        while pending:
            node = pending.pop()
            if isinstance(node, (Load, Pointer)):
                yield from self._pointers.of_buffer(node.buffer) or (node.buffer.storage,)
            elif isinstance(node, Var):
                yield from self._pointers.of_variable(node) or (node,)
            elif isinstance(node, Call):
                pending.extend(node.args)


def _how(effect: Effect, operand: Expr, *, is_first: bool) -> Ahead:
    """How what an operand is copied from can be done with before the other one begins."""
    if isinstance(operand, (Load, Pointer)):
        scope = operand.buffer.scope
        if scope.startswith("local") and not scope.startswith("local.descriptor"):
            return Ahead.IN_REGISTERS
    if effect.engine is Engine.WGMMA and is_first:
        return Ahead.AS_FIRST_MATRIX
    return Ahead.NEVER


def _is_shared(place: Place) -> bool:
    return isinstance(place, Buffer) and place.scope.startswith("shared")
