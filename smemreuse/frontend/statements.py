"""Translates the statements of one printed TVMScript function into the access tree.

The printer writes an `AttrStmt` either as a `with` block or, where it is the last of its block, as
a plain statement that encloses the rest. Both become the same nesting here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from smemreuse.errors import InputError
from smemreuse.frontend.attributes import literal_dict
from smemreuse.frontend.expressions import ExpressionReader, Value, fail, script_name
from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.model.kernel import (
    THREAD_EXTENT,
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
_IGNORED = ("func_attr", "reads", "writes", "sblock_attr", "block_attr")


@dataclass
class FunctionText:
    """What reading one function gave: its tree, and where in the source its parts stand."""

    body: Block
    attrs: dict[str, object]
    spans: dict[Buffer, ast.Assign] = field(default_factory=dict)
    launches: dict[int, ast.stmt] = field(default_factory=dict)  # by line, for thread launches


class StatementReader:
    """Reads the body of one function, or of a fragment without a header."""

    def __init__(self, prefixes: frozenset[str], *, lenient: bool):
        self.prefixes = prefixes
        self.text = FunctionText((), {})
        self._lenient = lenient
        self._scopes: list[dict[str, Value]] = [{}]
        self._env_threads: dict[Var, str] = {}
        self._expr = ExpressionReader(self)

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

    def _define(self, target: ast.expr, value: Value) -> None:
        if not isinstance(target, ast.Name):
            fail(target, f"cannot define `{ast.unparse(target)}`")
        self._scopes[-1][target.id] = value

    def _new_var(self, target: ast.expr) -> Var:
        var = Var(target.id if isinstance(target, ast.Name) else ast.unparse(target))
        self._define(target, var)
        return var

    # Functions and blocks -----------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> FunctionText:
        for argument in node.args.args:
            self._scopes[-1][argument.arg] = self._parameter(argument)
        self.text.body = self.block(node.body)
        return self.text

    def fragment(self, statements: Sequence[ast.stmt]) -> FunctionText:
        self.text.body = self.block(statements)
        return self.text

    def _parameter(self, argument: ast.arg) -> Value:
        annotation = argument.annotation
        if isinstance(annotation, ast.Call):
            if script_name(annotation.func, self.prefixes) in ("Buffer", "Tensor"):
                return self._buffer(argument.arg, annotation, data=Var(argument.arg))
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
            self.text.launches[line] = node
            return lambda body: Attr(THREAD_EXTENT, Const(tag), extent, body, var, line)
        if name == "attr":
            self._arity(call, 3)
            key = self._string(call.args[1])
            attr_node, value = self._expr.read(call.args[0]), self._expr.read(call.args[2])
            return lambda body: Attr(key, attr_node, value, body, None, line)
        return None

    def _thread_axis(self, call: ast.Call, target: ast.expr | None) -> tuple[str, Var]:
        """`T.launch_thread("threadIdx.x", n)`; an axis used earlier is given by its variable."""
        self._arity(call, 2)
        axis = call.args[0]
        if isinstance(axis, ast.Name):
            var = self.lookup(axis)
            if isinstance(var, Var):
                return (self._env_threads.get(var, axis.id), var)
        tag = self._string(axis)
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
        return [self._bind(target, bound, node.lineno)]

    def _definition(
        self, target: ast.Name, name: str, call: ast.Call, node: ast.Assign
    ) -> list[Stmt] | None:
        """The definitions that are no `Bind`: buffers, and variables that the printer declares."""
        line = node.lineno
        if name in ("alloc_buffer", "sblock_alloc_buffer"):
            buffer = self._buffer(target.id, call)
            self._define(target, buffer)
            self.text.spans[buffer] = node
            return [Allocate(buffer, line)]
        if name in ("decl_buffer", "Buffer", "match_buffer"):
            return self._declare(target, name, call)
        if name == "allocate":
            fail(call, "T.allocate is of TVM before 2026; this reader takes T.alloc_buffer only")
        if name == "env_thread":
            var = self._new_var(target)
            self._env_threads[var] = self._string(call.args[0])
            return []
        if name in _HANDLE_TYPES or (not call.args and _declares_variable(name)):
            self._new_var(target)
            return []
        return None

    def _annotated(self, node: ast.AnnAssign) -> list[Stmt]:
        if node.value is None:
            self._new_var(node.target)
            return []
        return [self._bind(node.target, self._expr.read(node.value), node.lineno)]

    def _bind(self, target: ast.expr, value: Expr, line: int) -> Bind:
        return Bind(self._new_var(target), value, line)

    def _store(self, target: ast.Subscript, value: ast.expr) -> Store:
        buffer = self._expr.value(target.value)
        if not isinstance(buffer, Buffer):
            fail(target, f"`{ast.unparse(target.value)}` is written to but is not a buffer")
        indices = self._expr.indices(target)
        return Store(buffer, indices, self._expr.read(value), None, target.lineno)

    def _expression(self, node: ast.Expr) -> list[Stmt]:
        call = node.value
        if isinstance(call, ast.Constant):
            return []  # a docstring
        if not isinstance(call, ast.Call):
            return [Evaluate(self._expr.read(call), node.lineno)]
        name = script_name(call.func, self.prefixes)
        if name == "func_attr" and call.args:
            self.text.attrs.update(literal_dict(call.args[0]))
        if name in _IGNORED:
            return []
        if name == "evaluate" and len(call.args) == 1:
            return [Evaluate(self._expr.read(call.args[0]), node.lineno)]
        if name is None and isinstance(call.func, ast.Attribute) and call.func.attr == "vstore":
            return [self._vstore(call)]
        return [Evaluate(self._expr.read(call), node.lineno)]

    def _vstore(self, call: ast.Call) -> Store:
        """A predicated vector store, `buffer.vstore([indices], value, predicate=...)`."""
        self._arity(call, 2)
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
        extent = self._expr.difference(call.args[1], call.args[0]) if len(args) > 1 else args[0]
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

    def _with(self, node: ast.With) -> list[Stmt]:
        if len(node.items) != 1:
            first, rest = node.items[0], node.items[1:]
            inner = ast.With(items=rest, body=node.body, lineno=node.lineno, col_offset=0)
            node = ast.With(items=[first], body=[inner], lineno=node.lineno, col_offset=0)
        context, target = node.items[0].context_expr, node.items[0].optional_vars
        self._scopes.append({})
        try:
            opener = self._attr_opener(context, target, node)
            if opener is not None:
                return [opener(self.block(node.body))]
            name = script_name(context.func, self.prefixes) if isinstance(context, ast.Call) else ""
            if name in ("sblock", "block", "init"):
                return list(self.block(node.body))
        finally:
            self._scopes.pop()
        fail(node, f"cannot read `with {ast.unparse(context)}`")
        return None

    # Buffers ------------------------------------------------------------------------------------

    def _buffer(self, name: str, call: ast.Call, data: Buffer | Var | None = None) -> Buffer:
        """A buffer from the shape, dtype and scope arguments of the call that makes it."""
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        shape_node = call.args[0] if call.args else keywords.get("shape")
        if shape_node is None:
            fail(call, f"buffer {name} has no shape")
        dtype = call.args[1] if len(call.args) > 1 else keywords.get("dtype")
        scope = call.args[2] if len(call.args) > 2 else keywords.get("scope")
        shape = self._expr.read(shape_node)
        extents = shape.args if isinstance(shape, Call) and shape.op == "tuple" else (shape,)
        elem_offset = keywords.get("elem_offset")
        buffer = Buffer(
            name,
            self._string(dtype) if dtype is not None else "float32",
            extents,
            self._string(scope) if scope is not None else "global",
            data,
            self._expr.read(elem_offset) if elem_offset is not None else Const(0),
            call.lineno,
        )
        try:
            _ = buffer.size if data is None else None
        except InputError as error:
            raise error.located(line=call.lineno) from None
        return buffer

    def _declare(self, target: ast.Name, kind: str, call: ast.Call) -> list[Stmt]:
        """A view of another buffer, of a handle, or of an address computed in place."""
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        before: list[Stmt] = []
        handle = Var(target.id)
        data: Buffer | Var = handle
        if "data" in keywords:
            address = self._expr.read(keywords["data"])
            if isinstance(address, Pointer):
                data = address.buffer
            elif isinstance(address, Var):
                data = address
            else:
                before = [Bind(handle, address, call.lineno)]
        if kind == "match_buffer":
            self._arity(call, 1)
            call = ast.copy_location(ast.Call(call.func, call.args[1:], call.keywords), call)
        view = self._buffer(target.id, call, data)
        self._define(target, view)
        return [*before, Declare(view, call.lineno)]

    # Arguments ----------------------------------------------------------------------------------

    def _arity(self, call: ast.Call, least: int) -> None:
        if len(call.args) < least:
            fail(
                call, f"`{ast.unparse(call.func)}` needs {least} arguments, found {len(call.args)}"
            )

    def _string(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        value = self._expr.read(node)
        if isinstance(value, Const) and isinstance(value.value, str):
            return value.value  # T.float16 as a type
        fail(node, f"expected a string, found `{ast.unparse(node)}`")
        return None


def _declares_variable(name: str) -> bool:
    return name.rstrip("0123456789") in ("int", "uint", "float", "bool", "Var", "SizeVar")
