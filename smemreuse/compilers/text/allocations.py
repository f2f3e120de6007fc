"""Finds which `T.allocate` makes a handle that TVM before 2026 declared, and viewed, before it.

    C_shared = T.handle("float16", "shared.dyn")
    C_shared_1 = T.decl_buffer((1024,), "float16", data=C_shared, scope="shared.dyn")
    ...
    C_shared = T.allocate([1024], "float16", "shared.dyn")

Both lines that define `C_shared` mean one variable, so the view is one of the allocation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from smemreuse.compilers.text.expressions import Value, fail, script_name
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer

_DECLARATIONS = ("handle", "buffer_var")
_OLD_CALLS = ("allocate", "allocate_const", "buffer_decl", "LetStmt")


class LegacyAllocations:
    """The handles and allocations of one function, by name and line."""

    def __init__(self, statements: Sequence[ast.stmt], prefixes: frozenset[str]):
        self.found = False
        self._calls: dict[str, list[tuple[str, ast.Call]]] = {}
        self._block_ends: list[float] = [float("inf")]
        self._expected: dict[Buffer, int] = {}
        self._unknown: set[Var] = set()
        for name, kind, call in _definitions(statements, prefixes):
            self.found |= kind in _OLD_CALLS
            if kind in ("allocate", *_DECLARATIONS):
                self._calls.setdefault(name, []).append((kind, call))

    def enter(self, block: Sequence[ast.stmt]) -> None:
        """A block begins; only an allocation inside it can be that of a handle declared in it."""
        self._block_ends.append(block[-1].end_lineno or 0 if block else 0)

    def leave(self) -> None:
        self._block_ends.pop()

    def of_handle(self, name: str, line: int) -> ast.Call | None:
        """The allocation of a handle that is declared in a line of the innermost open block."""
        later = [
            (kind, call)
            for kind, call in self._calls.get(name, ())
            if line < call.lineno <= self._block_ends[-1]
        ]
        made = []
        for kind, call in later:
            if kind != "allocate":
                break  # another handle of this name
            made.append(call)
        if len(made) > 1:
            lines = " and ".join(str(call.lineno) for call in made[:2])
            fail(made[1], f"the handle {name} is allocated twice, in lines {lines}")
        return made[0] if made else None

    def expect(self, buffer: Buffer) -> Buffer:
        """Notes a buffer whose allocation comes later."""
        self._expected[buffer] = buffer.line or 0
        return buffer

    def makes(self, declared: Value | None, call: ast.Call) -> bool:
        """Whether a call is the allocation that a declared handle was waiting for."""
        if not isinstance(declared, Buffer) or self._expected.get(declared) != call.lineno:
            return False
        del self._expected[declared]
        return True

    def unknown(self, var: Var) -> Var:
        """Notes a handle whose allocation cannot be read where it is declared."""
        self._unknown.add(var)
        return var

    def is_unknown(self, var: Var) -> bool:
        return var in self._unknown


def _definitions(
    statements: Sequence[ast.stmt], prefixes: frozenset[str]
) -> Iterator[tuple[str, str, ast.Call]]:
    """Names defined by a call of TVMScript: name, what is called, and the call, by line."""
    found = []
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                pairs = [(target, node.value) for target in node.targets]
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                pairs = [(node.optional_vars, node.context_expr)]
            else:
                continue
            for target, value in pairs:
                if isinstance(target, ast.Name) and isinstance(value, ast.Call):
                    kind = script_name(value.func, prefixes)
                    if kind is not None:
                        found.append((target.id, kind, value))
    yield from sorted(found, key=lambda each: each[2].lineno)
