"""The names of one printed function, by scope, and what each of them stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from smemreuse.compilers.text.allocations import LegacyAllocations
from smemreuse.compilers.text.buffers import BufferReader
from smemreuse.compilers.text.expressions import (
    ExpressionReader,
    Value,
    excerpt,
    fail,
    script_name,
)
from smemreuse.compilers.text.symbols import OuterNames
from smemreuse.ir.expr import Var


@dataclass(frozen=True)
class Definition:
    """A name, what it stands for, and the statement that defines it."""

    name: str
    value: Value
    node: ast.stmt


class NameTable:
    """The scopes that are open, with readers of expressions and buffers that look names up here.

    A lenient one, for a fragment without a header, takes an undefined name for a handle.
    """

    def __init__(
        self,
        prefixes: frozenset[str],
        legacy: LegacyAllocations,
        outer: OuterNames = MappingProxyType({}),
        *,
        lenient: bool,
    ):
        self.prefixes = prefixes
        self.here: ast.stmt | None = None  # the statement that is read
        self.definitions: list[Definition] = []
        self.expr = ExpressionReader(self)
        self.buffers = BufferReader(self.expr)
        self._legacy = legacy
        self._lenient = lenient
        self._outer = outer
        self._symbols: dict[str, Var] = {}
        self._scopes: list[dict[str, Value]] = [{}]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names that are defined inside end with it."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    @contextmanager
    def block(self, statements: Sequence[ast.stmt]) -> Iterator[None]:
        """The scope of a block of statements."""
        self._legacy.enter(statements)
        try:
            with self.scope():
                yield
        finally:
            self._legacy.leave()

    def lookup(self, node: ast.Name) -> Value:
        for scope in reversed(self._scopes):
            if node.id in scope:
                return scope[node.id]
        outer = self._outer.get(node.id)
        if isinstance(outer, ast.Assign):
            what = f"which line {outer.lineno} makes of `{excerpt(outer.value)}`"
            fail(node, f"the name {node.id!r}, {what}, is not evaluated; write its value there")
        if outer is None and not self._lenient:
            fail(node, f"the name {node.id!r} is used but never defined; is the dump complete?")
        value = self.handle(node.id, node.lineno) if outer is None else outer
        self.give(node.id, value)
        return value

    def give_symbols(self, names: Iterable[str]) -> None:
        """Makes the names of sizes in a signature known: where nothing defines them, the buffers of
        which they are sizes do."""
        for name in names:
            if name not in self._scopes[0] and name not in self._outer:
                self._symbols[name] = Var(name)
                self.give(name, self._symbols[name])

    def symbol(self, name: str) -> Var | None:
        """What a size stands for that the signature named before its definition."""
        return self._symbols.pop(name, None)

    def defines(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)

    def give(self, name: str, value: Value) -> None:
        """Makes a name known everywhere that no statement defines: a parameter, say."""
        self._scopes[0][name] = value

    def define(self, target: ast.expr, value: Value) -> None:
        if not isinstance(target, ast.Name):
            fail(target, f"cannot define `{ast.unparse(target)}`")
        self._scopes[-1][target.id] = value
        if self.here is not None:
            self.definitions.append(Definition(target.id, value, self.here))

    def redefine(self, name: str, value: Value) -> None:
        """Gives a known name another value where it was defined, and in all blocks from there."""
        next(scope for scope in reversed(self._scopes) if name in scope)[name] = value

    def new_var(self, target: ast.expr, dtype: str = "") -> Var:
        var = Var(target.id if isinstance(target, ast.Name) else ast.unparse(target), dtype)
        self.define(target, var)
        return var

    def handle(self, name: str, line: int) -> Value:
        """What a handle stands for that is declared, or first named, in `line`: the allocation
        that is made of it later, if that can be read already, so that views made before are its."""
        call = self._legacy.of_handle(name, line)
        if call is None:
            return Var(name)
        names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
        if not all(map(self.defines, names - self.prefixes)):
            return self._legacy.unknown(Var(name))
        kind = script_name(call.func, self.prefixes) or ""
        buffer = self.buffers.legacy_allocation(name, kind, call, call.lineno)
        return self._legacy.expect(buffer)
