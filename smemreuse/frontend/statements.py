"""Translates the statements of one printed TVMScript function into the access tree.

The printer writes an `AttrStmt` either as a `with` block or, where it is the last of its block, as
a plain statement that encloses the rest. Both become the same nesting here. TVM before 2026 wrote
other statements so too: `T.allocate`, `T.decl_buffer`, `T.LetStmt` and `T.Assert`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from smemreuse.analysis.alignment import recorded_alignments
from smemreuse.errors import InputError
from smemreuse.frontend.allocations import LegacyAllocations
from smemreuse.frontend.attributes import literal_dict
from smemreuse.frontend.buffers import BufferReader, is_allocation, need
from smemreuse.frontend.expressions import ExpressionReader, Value, difference, fail, script_name
from smemreuse.frontend.legacy import store_of, with_waits
from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var
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
_HANDLE_TYPES = ("handle", "ptr", "buffer_var")
_VARIABLES = ("var", "Var", "SizeVar")
_VIEWS = ("decl_buffer", "Buffer", "buffer_decl", "match_buffer")
_LEGACY_ALLOCATIONS = ("allocate", "allocate_const")
_TYPED_CALLS = ("call_extern", "call_pure_extern", "call_intrin", "call_pure_intrin")
_IGNORED = ("func_attr", "reads", "writes", "sblock_attr", "block_attr", "preflattened_buffer")


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
    spans: dict[Buffer, ast.Assign] = field(default_factory=dict)  # not those of TVM before 2026
    launches: dict[int, ast.stmt] = field(default_factory=dict)  # by line, for thread launches
    is_legacy: bool = False
    definitions: list[Definition] = field(default_factory=list)


class StatementReader:
    """Reads the body of one function, or of a fragment without a header."""

    def __init__(self, prefixes: frozenset[str], *, lenient: bool, is_legacy: bool = False):
        self.prefixes = prefixes
        self.text = FunctionText((), is_legacy=is_legacy)
        self._here: ast.stmt | None = None
        self._lenient = lenient
        self._scopes: list[dict[str, Value]] = [{}]
        self._env_threads: dict[Var, str] = {}
        self._expr = ExpressionReader(self)
        self._buffers = BufferReader(self._expr)
        self._legacy = LegacyAllocations((), prefixes)

    # Names --------------------------------------------------------------------------------------

    def lookup(self, node: ast.Name) -> Value:
        for scope in reversed(self._scopes):
            if node.id in scope:
                return scope[node.id]
        if not self._lenient:
            fail(node, f"the name {node.id!r} is used but never defined; is the dump complete?")
        value = self._handle(node.id, node.lineno)
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

    def _handle(self, name: str, line: int) -> Value:
        """What a handle stands for that is declared, or first named, in `line`: the allocation
        that is made of it later, if that can be read already, so that views made before are its."""
        call = self._legacy.of_handle(name, line)
        if call is None:
            return Var(name)
        names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
        if not all(map(self.defines, names - self.prefixes)):
            return self._legacy.unknown(Var(name))
        kind = script_name(call.func, self.prefixes) or ""
        buffer = self._buffers.legacy_allocation(name, kind, call, call.lineno)
        return self._legacy.expect(buffer)

    # Functions and blocks -----------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> FunctionText:
        for argument in node.args.args:
            self._scopes[-1][argument.arg] = self._parameter(argument)
        return self.fragment(node.body)

    def fragment(self, statements: Sequence[ast.stmt]) -> FunctionText:
        self.text.nodes = statements
        self._legacy = LegacyAllocations(statements, self.prefixes)
        self.text.is_legacy |= self._legacy.found
        self.text.body = self.block(statements)
        return self.text

    def _parameter(self, argument: ast.arg) -> Value:
        annotation = argument.annotation
        if isinstance(annotation, ast.Call):
            if script_name(annotation.func, self.prefixes) in ("Buffer", "Tensor"):
                return self._buffers.parameter(argument.arg, annotation)
        if isinstance(annotation, ast.Subscript):  # T.Buffer[(64,), "float32"], of 2022
            if script_name(annotation.value, self.prefixes) == "Buffer":
                return self._buffers.parameter(argument.arg, _as_call(annotation))
        return Var(argument.arg)

    def block(self, statements: Sequence[ast.stmt]) -> Block:
        """A block of statements with a name scope of its own."""
        self._scopes.append({})
        self._legacy.enter(statements)
        try:
            return self._rest(list(statements))
        finally:
            self._legacy.leave()
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

    def _attr_statement(self, node: ast.stmt) -> Callable[[Block], Stmt] | None:
        """What to make of the block behind a statement-form `T.attr` or `T.launch_thread`."""
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
            return lambda body: with_waits(Attr(key, attr_node, value, body, None, line))
        if name in ("Assert", "where"):
            need(call, 1)
            condition = self._expr.read(call.args[0])
            if name == "where":  # the predicate of a block
                return lambda body: If(condition, body, (), line)
            return lambda body: Assert(condition, body, line)
        if name == "realize":
            fail(call, "T.realize is of a schedule not lowered yet; dump after StorageFlatten")
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
        name = script_name(value.func, self.prefixes) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and name is not None and name.startswith("axis."):
            return self._block_axes(target, value)
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) != len(value.elts):
                fail(node, f"{len(target.elts)} names for {len(value.elts)} values")
            pairs = zip(target.elts, value.elts, strict=True)
            return [stmt for one, rhs in pairs for stmt in self._define_name(one, rhs, node)]
        return self._define_name(target, value, node)

    def _block_axes(self, target: ast.expr, call: ast.Call) -> list[Stmt]:
        """`vi = T.axis.spatial(64, i)` and `vi, vj = T.axis.remap("SR", [i, j])`."""
        need(call, 2)
        values = [call.args[1]]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if isinstance(values[0], (ast.List, ast.Tuple)):
            values = values[0].elts
        if len(targets) != len(values):
            fail(call, f"{len(targets)} names for {len(values)} values")
        read = list(map(self._expr.read, values))
        pairs = zip(targets, read, strict=True)
        return [Bind(self._new_var(one), value, call.lineno, False) for one, value in pairs]

    def _define_name(self, target: ast.expr, value: ast.expr, node: ast.Assign) -> list[Stmt]:
        if isinstance(value, ast.Call) and isinstance(target, ast.Name):
            name = script_name(value.func, self.prefixes)
            special = self._definition(target, name, value, node) if name is not None else None
            if special is not None:
                return special
            view = self._method_view(target, value)
            if view is not None:
                return view
        bound = self._expr.value(value)
        if isinstance(bound, Buffer):
            self._define(target, bound)
            return []
        return [Bind(self._new_var(target), bound, node.lineno, _may_be_address(bound))]

    def _method_view(self, target: ast.Name, call: ast.Call) -> list[Stmt] | None:
        """`V = As.view(..)`."""
        func = call.func
        if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)):
            return None
        if func.attr != "view" or not self.defines(func.value.id):
            return None
        source = self.lookup(func.value)
        if not isinstance(source, Buffer):
            return None
        view = self._buffers.resized(target.id, source, call)
        self._define(target, view)
        return [Declare(view, call.lineno)]

    def _definition(
        self, target: ast.Name, name: str, call: ast.Call, node: ast.stmt
    ) -> list[Stmt] | None:
        """The definitions that are no `Bind`: buffers, and variables that the printer declares."""
        if is_allocation(name, call):
            buffer = self._buffers.allocation(target.id, call)
            self._define(target, buffer)
            if isinstance(node, ast.Assign):
                self.text.spans[buffer] = node
            return [Allocate(buffer, node.lineno)]
        if name in _LEGACY_ALLOCATIONS:
            return self._legacy_allocation(target, name, call)
        if name in _VIEWS:
            before, view = self._buffers.view(target.id, name, call)
            self._define(target, view)
            return [*before, Declare(view, call.lineno)]
        if name == "env_thread":
            need(call, 1)
            tag = self._buffers.string(call.args[0])
            self._env_threads[self._new_var(target)] = tag
            return []
        if name in _HANDLE_TYPES:
            self._define(target, self._handle(target.id, call.lineno))
            return []
        if name in _VARIABLES or (not call.args and _declares_variable(name)):
            self._new_var(target)
            return []
        return None

    def _legacy_allocation(self, target: ast.Name, kind: str, call: ast.Call) -> list[Stmt]:
        """`X = T.allocate(..)`: a handle, which may have been declared, and viewed, before."""
        declared = self.lookup(target) if self.defines(target.id) else None
        if self._legacy.makes(declared, call):
            assert isinstance(declared, Buffer)
            return [Allocate(declared, call.lineno)]
        buffer = self._buffers.legacy_allocation(target.id, kind, call, call.lineno)
        if isinstance(declared, Var) and self._legacy.is_unknown(declared):
            self._define(target, buffer)
            return [Allocate(buffer, call.lineno), Bind(declared, Pointer(buffer), call.lineno)]
        self._define(target, buffer)
        return [Allocate(buffer, call.lineno)]

    def _annotated(self, node: ast.AnnAssign) -> list[Stmt]:
        if node.value is None:
            if isinstance(node.target, ast.Name) and self._names_handle(node.annotation):
                self._define(node.target, self._handle(node.target.id, node.lineno))
            else:
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
        if name in _LEGACY_ALLOCATIONS:
            fail(call, f"`T.{name}(..)` gives no name, so nothing could use it")
        if name == "let" and len(call.args) == 2:
            return [self._let(None, call)]
        value = self._expr.read(call)
        store = store_of(value, node.lineno) if isinstance(value, Call) else None
        return [store or Evaluate(value, node.lineno)]

    def _let(self, target: ast.expr | None, call: ast.Call) -> Bind:
        """`T.let(x, value)` of 2022, x declared before, and `T.LetStmt(value[, var=x]) as x`."""
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        named = given.get("var") or (call.args[0] if len(call.args) == 2 else None)
        if not call.args or (named is None and target is None):
            fail(call, f"`{ast.unparse(call.func)}` needs a variable and a value")
        value = self._expr.read(call.args[-1])
        if named is None:
            assert target is not None
            return Bind(self._new_var(target), value, call.lineno, _may_be_address(value))
        var = self._expr.read(named)
        if not isinstance(var, Var):
            fail(call, f"`{ast.unparse(named)}` is no variable")
        if target is not None:
            self._define(target, var)
        return Bind(var, value, call.lineno, _may_be_address(value))

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
            if name is not None and isinstance(context, ast.Call):
                opened = self._with_definition(name, context, target, node)
                if opened is not None:
                    return [*opened, *self._with(node, index + 1)]
        finally:
            self._scopes.pop()
        fail(node, f"cannot read `with {ast.unparse(context)}`")
        return None

    def _with_definition(
        self, name: str, call: ast.Call, target: ast.expr | None, node: ast.With
    ) -> list[Stmt] | None:
        """`with T.allocate(..) as X`, and what else TVM before 2026 defined for a block alone."""
        if name in ("LetStmt", "let"):
            return [self._let(target, call)]
        if name not in (*_LEGACY_ALLOCATIONS, *_VIEWS):
            return None
        if not isinstance(target, ast.Name):
            fail(node, f"`with {ast.unparse(call.func)}(..)` gives no name")
        return self._definition(target, name, call, node)


def _as_call(annotation: ast.Subscript) -> ast.Call:
    """`T.Buffer[(64,), "int8"]` as `T.Buffer((64,), "int8")`; `T.Buffer[64, 64]` is a shape."""
    inside = annotation.slice
    args: list[ast.expr] = [inside]
    if isinstance(inside, ast.Tuple) and len(inside.elts) == 2:
        shape, dtype = inside.elts
        is_type = isinstance(dtype, ast.Constant) and isinstance(dtype.value, str)
        if is_type or isinstance(shape, (ast.Tuple, ast.List)):
            args = inside.elts
    return ast.copy_location(ast.Call(annotation.value, args, []), annotation)


def _may_be_address(value: Expr) -> bool:
    """False for a call that says that it gives back a number: `call_extern("float32", ...)`."""
    if not isinstance(value, Call) or value.op not in _TYPED_CALLS or not value.args:
        return True
    dtype = value.args[0]
    return not isinstance(dtype, Const) or dtype.value == "handle"


def _declares_variable(name: str) -> bool:
    return name.rstrip("0123456789") in ("int", "uint", "float", "bool", "Var", "SizeVar")
