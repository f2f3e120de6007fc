"""Translates the statements of one printed TVMScript function into the access tree.

The printer writes an `AttrStmt` either as a `with` block or, where it is the last of its block, as
a plain statement that encloses the rest. Both become the same nesting here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from smemreuse.analysis.alignment import recorded_alignments
from smemreuse.errors import InputError
from smemreuse.frontend.attributes import literal_dict
from smemreuse.frontend.buffers import BufferReader, is_allocation, need
from smemreuse.frontend.expressions import ExpressionReader, Value, difference, fail, script_name
from smemreuse.model.expr import Call, Const, Expr, Load, Var
from smemreuse.model.kernel import (
    THREAD_EXTENT,
    VIRTUAL_THREAD,
    Allocate,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    Declare,
    Evaluate,
    For,
    If,
    Stmt,
    Store,
    While,
)

_LOOP_KINDS = {
    "range": "serial",
    "serial": "serial",
    "parallel": "parallel",
    "unroll": "unrolled",
    "vectorized": "vectorized",
    "thread_binding": "thread_binding",
}
_HANDLE_TYPES = ("handle", "ptr")
_TYPED_CALLS = ("call_extern", "call_pure_extern", "call_intrin", "call_pure_intrin")
_IGNORED = ("func_attr", "reads", "writes", "sblock_attr", "block_attr")


@dataclass(frozen=True)
class Definition:
    """A name, what it stands for, and the statement that defines it."""

    name: str
    value: Value
    node: ast.stmt


@dataclass
class FunctionText:
    """What reading one function gave: its tree, and where in the source its parts stand."""

    nodes: Sequence[ast.stmt]
    body: Block = ()
    attrs: dict[str, object] = field(default_factory=dict)
    spans: dict[Buffer, ast.Assign] = field(default_factory=dict)
    launches: dict[int, ast.stmt] = field(default_factory=dict)  # by line, for thread launches
    definitions: list[Definition] = field(default_factory=list)


class StatementReader:
    """Reads the body of one function, or of a fragment without a header."""

    def __init__(self, prefixes: frozenset[str], *, lenient: bool):
        self.prefixes = prefixes
        self.text = FunctionText(())
        self._here: ast.stmt | None = None
        self._lenient = lenient
        self._scopes: list[dict[str, Value]] = [{}]
        self._env_threads: dict[Var, str] = {}
        self._expr = ExpressionReader(self)
        self._buffers = BufferReader(self._expr)

    # Names --------------------------------------------------------------------------------------

    def lookup(self, node: ast.Name) -> Value:
        for scope in reversed(self._scopes):
            if node.id in scope:
                return scope[node.id]
        if not self._lenient:
            fail(node, f"the name {node.id!r} is used but never defined; is the dump complete?")
        value = Var(node.id)
        self._scopes[0][node.id] = value
        return value

    def defines(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)

    def _define(self, target: ast.expr, value: Value) -> None:
        if not isinstance(target, ast.Name):
            fail(target, f"cannot define `{ast.unparse(target)}`")
        self._scopes[-1][target.id] = value
        if self._here is not None:
            self.text.definitions.append(Definition(target.id, value, self._here))

    def _new_var(self, target: ast.expr) -> Var:
        var = Var(target.id if isinstance(target, ast.Name) else ast.unparse(target))
        self._define(target, var)
        return var

    # Functions and blocks -----------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> FunctionText:
        for argument in node.args.args:
            self._scopes[-1][argument.arg] = self._parameter(argument)
        return self.fragment(node.body)

    def fragment(self, statements: Sequence[ast.stmt]) -> FunctionText:
        self.text.nodes = statements
        self.text.body = self.block(statements)
        return self.text

    def _parameter(self, argument: ast.arg) -> Value:
        annotation = argument.annotation
        if isinstance(annotation, ast.Call):
            if script_name(annotation.func, self.prefixes) in ("Buffer", "Tensor"):
                return self._buffers.parameter(argument.arg, annotation)
        return Var(argument.arg)

    def block(self, statements: Sequence[ast.stmt]) -> Block:
        """A block of statements with a name scope of its own."""
        self._scopes.append({})
        try:
            return self._rest(list(statements))
        finally:
            self._scopes.pop()

    def _rest(self, statements: list[ast.stmt]) -> Block:
        """Statements up to the end of the block; a statement-form `T.attr` takes all behind it."""
        result: list[Stmt] = []
        for index, node in enumerate(statements):
            self._here = node
            attr = self._attr_statement(node)
            if attr is not None:
                result.append(attr(self._rest(statements[index + 1 :])))
                break
            result.extend(self._statement(node))
        return tuple(result)

    # Attributes and thread axes -----------------------------------------------------------------

    def _attr_statement(self, node: ast.stmt) -> Callable[[Block], Attr] | None:
        """What to make of the block behind a statement-form `T.attr` or `T.launch_thread`."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._attr_opener(node.value, node.targets[0], node)
        if isinstance(node, ast.Expr):
            return self._attr_opener(node.value, None, node)
        return None

    def _attr_opener(
        self, call: ast.expr, target: ast.expr | None, node: ast.stmt
    ) -> Callable[[Block], Attr] | None:
        if not isinstance(call, ast.Call):
            return None
        name = script_name(call.func, self.prefixes)
        line = call.lineno
        if name == "launch_thread":
            tag, var = self._thread_axis(call, target)
            extent = self._expr.read(call.args[1])
            if tag.startswith("vthread"):
                return lambda body: Attr(VIRTUAL_THREAD, Const(tag), extent, body, var, line)
            self.text.launches[line] = node
            return lambda body: Attr(THREAD_EXTENT, Const(tag), extent, body, var, line)
        if name == "attr":
            need(call, 3)
            key = self._buffers.string(call.args[1])
            attr_node, value = self._expr.read(call.args[0]), self._expr.read(call.args[2])
            return lambda body: Attr(key, attr_node, value, body, None, line)
        return None

    def _thread_axis(self, call: ast.Call, target: ast.expr | None) -> tuple[str, Var]:
        """`T.launch_thread("threadIdx.x", n)`; an axis used earlier is given by its variable."""
        need(call, 2)
        axis = call.args[0]
        if isinstance(axis, ast.Name):
            var = self.lookup(axis)
            if isinstance(var, Var):
                return (self._env_threads.get(var, axis.id), var)
        tag = self._buffers.string(axis)
        return (tag, self._new_var(target) if target is not None else Var(tag))

    # Statements ---------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> list[Stmt]:
        if isinstance(node, ast.Assign):
            return self._assign(node)
        if isinstance(node, ast.AnnAssign):
            return self._annotated(node)
        if isinstance(node, ast.Expr):
            return self._expression(node)
        if isinstance(node, ast.For):
            return [self._for(node)]
        if isinstance(node, ast.While):
            return [While(self._expr.read(node.test), self.block(node.body), node.lineno)]
        if isinstance(node, ast.If):
            condition = self._expr.read(node.test)
            return [If(condition, self.block(node.body), self.block(node.orelse), node.lineno)]
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
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Subscript):
            return [self._store(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) != len(value.elts):
                fail(node, f"{len(target.elts)} names for {len(value.elts)} values")
            pairs = zip(target.elts, value.elts, strict=True)
            return [stmt for one, rhs in pairs for stmt in self._define_name(one, rhs, node)]
        return self._define_name(target, value, node)

    def _define_name(self, target: ast.expr, value: ast.expr, node: ast.Assign) -> list[Stmt]:
        name = script_name(value.func, self.prefixes) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and name is not None and isinstance(target, ast.Name):
            special = self._definition(target, name, value, node)
            if special is not None:
                return special
        bound = self._expr.value(value)
        if isinstance(bound, Buffer):
            self._define(target, bound)
            return []
        return [Bind(self._new_var(target), bound, node.lineno, _may_be_address(bound))]

    def _definition(
        self, target: ast.Name, name: str, call: ast.Call, node: ast.Assign
    ) -> list[Stmt] | None:
        """The definitions that are no `Bind`: buffers, and variables that the printer declares."""
        if is_allocation(name, call):
            buffer = self._buffers.allocation(target.id, call)
            self._define(target, buffer)
            self.text.spans[buffer] = node
            return [Allocate(buffer, node.lineno)]
        if name in ("decl_buffer", "Buffer", "match_buffer"):
            before, view = self._buffers.view(target.id, name, call)
            self._define(target, view)
            return [*before, Declare(view, call.lineno)]
        if name == "allocate":
            fail(call, "T.allocate is of TVM before 2026; this reader takes T.alloc_buffer only")
        if name == "env_thread":
            need(call, 1)
            tag = self._buffers.string(call.args[0])
            self._env_threads[self._new_var(target)] = tag
            return []
        if name in _HANDLE_TYPES or (not call.args and _declares_variable(name)):
            self._new_var(target)
            return []
        return None

    def _annotated(self, node: ast.AnnAssign) -> list[Stmt]:
        if node.value is None:
            self._new_var(node.target)
            return []
        value = self._expr.read(node.value)
        is_handle = self._names_handle(node.annotation)
        return [Bind(self._new_var(node.target), value, node.lineno, is_handle)]

    def _names_handle(self, annotation: ast.expr) -> bool:
        """Whether a type is a pointer's, as far as it is understood."""
        func = annotation.func if isinstance(annotation, ast.Call) else annotation
        name = script_name(func, self.prefixes)
        return name is None or name in _HANDLE_TYPES

    def _store(self, target: ast.Subscript, value: ast.expr) -> Store:
        buffer = self._expr.value(target.value)
        if not isinstance(buffer, Buffer):
            fail(target, f"`{ast.unparse(target.value)}` is written to but is not a buffer")
        indices = self._expr.indices(target, buffer)
        return Store(buffer, indices, self._expr.read(value), None, target.lineno)

    def _expression(self, node: ast.Expr) -> list[Stmt]:
        call = node.value
        if isinstance(call, ast.Constant):
            return []  # a docstring
        if not isinstance(call, ast.Call):
            return [Evaluate(self._expr.read(call), node.lineno)]
        name = script_name(call.func, self.prefixes)
        if name == "func_attr" and call.args:
            self._attributes(call.args[0])
        if name in _IGNORED:
            return []
        if name == "evaluate" and len(call.args) == 1:
            return [Evaluate(self._expr.read(call.args[0]), node.lineno)]
        if name is None and isinstance(call.func, ast.Attribute) and call.func.attr == "vstore":
            return [self._vstore(call)]
        return [Evaluate(self._expr.read(call), node.lineno)]

    def _attributes(self, node: ast.expr) -> None:
        self.text.attrs.update(literal_dict(node))
        try:
            recorded_alignments(self.text.attrs)  # refused here, where the line is known
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
        name = "range" if is_range else script_name(call.func, self.prefixes)
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
        self._scopes.append({})
        var = self._new_var(node.target)
        body = self.block(node.body)
        self._scopes.pop()
        begin = args[0] if len(args) > 1 else Const(0)
        return For(var, begin, extent, step, _LOOP_KINDS[name], body, node.lineno)

    def _grid(self, node: ast.For, call: ast.Call) -> For:
        """`for i, j in T.grid(m, n)` is a nest of serial loops."""
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if len(targets) != len(call.args) or not targets:
            fail(node, f"{len(targets)} loop variables for {len(call.args)} extents")
        extents = [self._expr.read(argument) for argument in call.args]
        self._scopes.append({})
        variables = [self._new_var(target) for target in targets]
        body = self.block(node.body)
        self._scopes.pop()
        for var, extent in reversed(list(zip(variables, extents, strict=True))):
            body = (For(var, Const(0), extent, Const(1), "serial", body, node.lineno),)
        loop = body[0]
        assert isinstance(loop, For)
        return loop

    def _with(self, node: ast.With, index: int = 0) -> list[Stmt]:
        """A `with` from its item `index` on: one with several items is a nest."""
        if index == len(node.items):
            return list(self.block(node.body))
        context, target = node.items[index].context_expr, node.items[index].optional_vars
        self._scopes.append({})
        try:
            opener = self._attr_opener(context, target, node)
            if opener is not None:
                return [opener(tuple(self._with(node, index + 1)))]
            name = script_name(context.func, self.prefixes) if isinstance(context, ast.Call) else ""
            if name in ("sblock", "block", "init"):
                return self._with(node, index + 1)
        finally:
            self._scopes.pop()
        fail(node, f"cannot read `with {ast.unparse(context)}`")
        return None


def _may_be_address(value: Expr) -> bool:
    """False for a call that says that it gives back a number: `call_extern("float32", ...)`."""
    if not isinstance(value, Call) or value.op not in _TYPED_CALLS or not value.args:
        return True
    dtype = value.args[0]
    return not isinstance(dtype, Const) or dtype.value == "handle"


def _declares_variable(name: str) -> bool:
    return name.rstrip("0123456789") in ("int", "uint", "float", "bool", "Var", "SizeVar")
