"""Translates the statements of one printed TVMScript function into the access tree.

The printer writes an `AttrStmt` either as a `with` block or, where it is the last of its block, as
a plain statement that encloses the rest. Both become the same nesting here. TVM before 2026 wrote
other statements so too: `T.allocate`, `T.decl_buffer`, `T.LetStmt` and `T.Assert`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from smemreuse.analysis.alignment import recorded_alignments
from smemreuse.compilers.text.allocations import LegacyAllocations
from smemreuse.compilers.text.buffers import need
from smemreuse.compilers.text.definitions import LEGACY_ALLOCATIONS, DefinitionReader
from smemreuse.compilers.text.expressions import difference, fail, script_name
from smemreuse.compilers.text.legacy import store_of, with_waits
from smemreuse.compilers.text.names import Definition, NameTable
from smemreuse.compilers.text.symbols import OuterNames
from smemreuse.compilers.text.whole import check_whole, last_operand, refuse_rest
from smemreuse.errors import InputError
from smemreuse.ir.expr import Call, Const, Expr, Load
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    VIRTUAL_THREAD,
    Assert,
    Attr,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Stmt,
    Store,
    While,
)
from smemreuse.semantics.evaluate import dtype_of
from smemreuse.versions import LEGACY, TILELANG

_LOOP_KINDS = {
    "range": "serial",
    "serial": "serial",
    "parallel": "parallel",
    "unroll": "unrolled",
    "vectorized": "vectorized",
    "thread_binding": "thread_binding",
}
_IGNORED = ("func_attr", "reads", "writes", "sblock_attr", "block_attr", "preflattened_buffer")


@dataclass(frozen=True)
class FunctionText:
    """What reading one function gave: its tree, and where in the source its parts stand."""

    nodes: Sequence[ast.stmt]
    body: Block
    attrs: dict[str, object]
    spans: dict[Buffer, ast.Assign]  # not those of TVM before 2026
    launches: dict[int, ast.stmt]  # by line, for thread launches
    version: str
    definitions: list[Definition]


class StatementReader:
    """Reads the body of one function, or of a fragment without a header."""

    def __init__(
        self,
        nodes: Sequence[ast.stmt],
        prefixes: frozenset[str],
        outer: OuterNames = MappingProxyType({}),
        *,
        lenient: bool,
        version: str = TILELANG,
    ):
        legacy = LegacyAllocations(nodes, prefixes)
        self._prefixes = prefixes
        self._nodes = nodes
        self._version = LEGACY if legacy.found else version
        self._attrs: dict[str, object] = {}
        self._launches: dict[int, ast.stmt] = {}
        self._names = NameTable(prefixes, legacy, outer, lenient=lenient)
        self._definitions = DefinitionReader(self._names, legacy)
        self._expr = self._names.expr
        self._buffers = self._names.buffers

    # Functions and blocks -----------------------------------------------------------------------

    def read(self, parameters: Sequence[ast.arg] = ()) -> FunctionText:
        for parameter in parameters:
            self._definitions.parameter(parameter)
        return FunctionText(
            nodes=self._nodes,
            body=self._block(self._nodes),
            attrs=self._attrs,
            spans=self._definitions.spans,
            launches=self._launches,
            version=self._version,
            definitions=self._names.definitions,
        )

    def _block(self, statements: Sequence[ast.stmt]) -> Block:
        """A block of statements with a name scope of its own."""
        with self._names.block(statements):
            return self._rest(list(statements))

    def _rest(self, statements: list[ast.stmt]) -> Block:
        """Statements up to the end of the block; a statement-form `T.attr` encloses the rest."""
        result: list[Stmt] = []
        for index, node in enumerate(statements):
            self._names.here = node
            check_whole(node, self._prefixes)
            attr = self._attr_statement(node)
            if attr is not None:
                result.append(attr(self._rest(statements[index + 1 :])))
                break
            result.extend(self._statement(node))
        return tuple(result)

    # Attributes ---------------------------------------------------------------------------------

    def _attr_statement(self, node: ast.stmt) -> Callable[[Block], Stmt] | None:
        """What to make of the block after a statement-form `T.attr` or `T.launch_thread`."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._attr_opener(node.value, node.targets[0], node)
        if isinstance(node, ast.Expr):
            return self._attr_opener(node.value, None, node)
        return None

    def _attr_opener(
        self, call: ast.expr, target: ast.expr | None, node: ast.stmt
    ) -> Callable[[Block], Stmt] | None:
        if not isinstance(call, ast.Call):
            return None
        name = script_name(call.func, self._prefixes)
        line = call.lineno
        if name == "launch_thread":
            need(call, 2)
            return self._launched(call.args[0], call.args[1], target, node)
        if name == "attr":
            return self._attributed(call, node)
        if name in ("Assert", "where"):
            need(call, 1)
            condition = self._expr.read(call.args[0])
            if name == "where":  # the predicate of a block
                return lambda body: If(condition, body, (), line)
            return lambda body: Assert(condition, body, line)
        if name == "realize":
            fail(call, "T.realize is of a schedule not lowered yet; dump after StorageFlatten")
        return None

    def _launched(
        self, axis: ast.expr, count: ast.expr, target: ast.expr | None, node: ast.stmt
    ) -> Callable[[Block], Stmt]:
        extent = self._expr.read(count)
        tag, var = self._definitions.thread_axis(axis, target, extent)
        if tag.startswith("vthread"):
            return lambda body: Attr(VIRTUAL_THREAD, Const(tag), extent, body, var, axis.lineno)
        self._launches[axis.lineno] = node
        return lambda body: Attr(THREAD_EXTENT, Const(tag), extent, body, var, axis.lineno)

    def _attributed(self, call: ast.Call, node: ast.stmt) -> Callable[[Block], Stmt]:
        """`T.attr(node, key, value)`, or `T.attr({key: value, ..})`, which are nested in order."""
        if len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
            pairs = zip(call.args[0].keys, call.args[0].values, strict=True)
            given: list[tuple[str, Expr, Expr]] = [
                (self._buffers.string(key), Const(0), self._expr.read(value))
                for key, value in pairs
                if key is not None
            ]
        else:
            need(call, 3)
            axis, key, value = call.args[0], self._buffers.string(call.args[1]), call.args[2]
            if key == THREAD_EXTENT:
                return self._launched(axis, value, None, node)
            given = [(key, self._expr.read(axis), self._expr.read(value))]
        if not given:
            fail(call, f"`{ast.unparse(call)}` says nothing")

        def enclosing(body: Block) -> Stmt:
            stmts = body
            for key, subject, value in reversed(given):
                stmts = (with_waits(Attr(key, subject, value, stmts, None, call.lineno)),)
            return stmts[0]

        return enclosing

    # Statements ---------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> list[Stmt]:
        if isinstance(node, ast.Assign):
            return self._assign(node)
        if isinstance(node, ast.AnnAssign):
            return self._definitions.annotated(node)
        if isinstance(node, ast.Expr):
            return self._expression(node)
        if isinstance(node, ast.For):
            return [self._for(node)]
        if isinstance(node, ast.While):
            return [While(self._expr.read(node.test), self._block(node.body), node.lineno)]
        if isinstance(node, ast.If):
            condition = self._expr.read(node.test)
            return [If(condition, self._block(node.body), self._block(node.orelse), node.lineno)]
        if isinstance(node, ast.With):
            return self._with(node)
        if isinstance(node, ast.Assert):
            return [Assert(self._expr.read(node.test), (), node.lineno)]
        if isinstance(node, ast.Return):
            return [Evaluate(self._expr.read(node.value), node.lineno)] if node.value else []
        if isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom)):
            return []
        if isinstance(node, (ast.Break, ast.Continue)):
            name = type(node).__name__.lower()
            return [Evaluate(Call(f"{name}_loop", ()), node.lineno)]
        fail(node, f"cannot read a `{type(node).__name__}` statement in a kernel")
        return None

    def _assign(self, node: ast.Assign) -> list[Stmt]:
        if len(node.targets) != 1:
            fail(node, "cannot read a chained assignment")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            return [self._store(target, node.value)]
        return self._definitions.assign(target, node)

    def _store(self, target: ast.Subscript, value: ast.expr) -> Store:
        buffer = self._expr.value(target.value)
        if not isinstance(buffer, Buffer):
            fail(target, f"`{ast.unparse(target.value)}` is written to but is not a buffer")
        indices = self._expr.indices(target, buffer)
        last = last_operand(value)
        if isinstance(last, ast.Name) and isinstance(self._expr.value(last), Buffer):
            refuse_rest(last)  # of which an element would be stored
        return Store(buffer, indices, self._expr.read(value), None, target.lineno)

    def _expression(self, node: ast.Expr) -> list[Stmt]:
        call = node.value
        if isinstance(call, ast.Constant):
            return []  # a docstring
        if not isinstance(call, ast.Call):
            return [Evaluate(self._expr.read(call), node.lineno)]
        name = script_name(call.func, self._prefixes)
        if name == "func_attr" and call.args:
            self._attributes(call.args[0])
        if name in _IGNORED:
            return []
        if name == "evaluate" and len(call.args) == 1:
            return [Evaluate(self._expr.read(call.args[0]), node.lineno)]
        if name is None and isinstance(call.func, ast.Attribute) and call.func.attr == "vstore":
            return [self._vstore(call)]
        if name in LEGACY_ALLOCATIONS:
            fail(call, f"`T.{name}(..)` gives no name, so nothing could use it")
        if name == "let" and len(call.args) == 2:
            return [self._definitions.let(None, call)]
        value = self._expr.read(call)
        store = store_of(value, node.lineno) if isinstance(value, Call) else None
        return [store or Evaluate(value, node.lineno)]

    def _attributes(self, node: ast.expr) -> None:
        self._attrs.update(literal_dict(node))
        try:
            recorded_alignments(self._attrs)  # refused here, where the line is known
        except InputError as error:
            raise error.located(line=node.lineno) from None

    def _vstore(self, call: ast.Call) -> Store:
        """A predicated vector store, `buffer.vstore([indices], value, predicate=...)`."""
        need(call, 2)
        load = self._expr.read(call)
        if not isinstance(load, Load):
            fail(call, f"`{ast.unparse(call.func)}` is not a buffer's")
        value = self._expr.read(call.args[1])
        return Store(load.buffer, load.indices, value, load.predicate, call.lineno)

    # Loops and with -----------------------------------------------------------------------------

    def _for(self, node: ast.For) -> For:
        if not isinstance(node.iter, ast.Call):
            fail(node, f"cannot read the loop over `{ast.unparse(node.iter)}`")
        call = node.iter
        is_range = isinstance(call.func, ast.Name) and call.func.id == "range"
        name = "range" if is_range else script_name(call.func, self._prefixes)
        if name == "grid":
            return self._grid(node, call)
        if name not in _LOOP_KINDS:
            fail(node, f"cannot read a loop over `{ast.unparse(call.func)}`")
        args = [self._expr.read(argument) for argument in call.args]
        if not 1 <= len(args) <= 3:
            fail(node, f"a loop takes one to three bounds, not {len(args)}")
        steps = [keyword.value for keyword in call.keywords if keyword.arg == "step"]
        step = self._expr.read(steps[0]) if steps else args[2] if len(args) == 3 else Const(1)
        extent = difference(args[1], args[0]) if len(args) > 1 else args[0]
        with self._names.scope():
            var = self._names.new_var(node.target, dtype_of(Call("add", (args[0], args[-1]))))
            body = self._block(node.body)
        begin = args[0] if len(args) > 1 else Const(0)
        return For(var, begin, extent, step, _LOOP_KINDS[name], body, node.lineno)

    def _grid(self, node: ast.For, call: ast.Call) -> For:
        """`for i, j in T.grid(m, n)` is a nest of serial loops."""
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if len(targets) != len(call.args) or not targets:
            fail(node, f"{len(targets)} loop variables for {len(call.args)} extents")
        extents = [self._expr.read(argument) for argument in call.args]
        with self._names.scope():
            variables = [
                self._names.new_var(target, dtype_of(extent))
                for target, extent in zip(targets, extents, strict=True)
            ]
            body = self._block(node.body)
        for var, extent in reversed(list(zip(variables, extents, strict=True))):
            body = (For(var, Const(0), extent, Const(1), "serial", body, node.lineno),)
        loop = body[0]
        assert isinstance(loop, For)
        return loop

    def _with(self, node: ast.With, index: int = 0) -> list[Stmt]:
        """A `with` from its item `index` on: one with several items is a nest."""
        if index == len(node.items):
            return list(self._block(node.body))
        context, target = node.items[index].context_expr, node.items[index].optional_vars
        with self._names.scope():
            opener = self._attr_opener(context, target, node)
            if opener is not None:
                return [opener(tuple(self._with(node, index + 1)))]
            if isinstance(context, ast.Call):
                name = script_name(context.func, self._prefixes)
                if name in ("sblock", "block", "init"):
                    return self._with(node, index + 1)
                opened = self._definitions.of_with(name, context, target, node)
                if opened is not None:
                    return [*opened, *self._with(node, index + 1)]
        fail(node, f"cannot read `with {ast.unparse(context)}`")
        return None


def literal_dict(node: ast.expr) -> dict[str, object]:
    """The dictionary that `T.func_attr` is given; empty for anything that is none."""
    literal = _literal(node)
    return literal if isinstance(literal, dict) else {}


def _literal(node: ast.expr) -> object:
    """A function attribute's value; calls such as `T.target({...})` give their only argument."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand)
        if isinstance(value, (int, float)):
            return -value
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_literal(key)): _literal(value) for key, value in pairs if key is not None}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(item) for item in node.elts]
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return _literal(node.args[0])
    return ast.unparse(node)
