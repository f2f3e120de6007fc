"""Reads what defines names: assignments, allocations, views, variables, and parameters."""

from __future__ import annotations

import ast
import re

from smemreuse.compilers.text.allocations import LegacyAllocations
from smemreuse.compilers.text.buffers import is_allocation, need
from smemreuse.compilers.text.expressions import Value, fail, of_type, script_name
from smemreuse.compilers.text.names import NameTable
from smemreuse.compilers.text.symbols import declared_variable, sizes_by_name, variable_dtype
from smemreuse.ir.expr import Call, Const, Expr, Pointer, Var, same
from smemreuse.ir.kernel import Allocate, Bind, Buffer, Declare, Stmt
from smemreuse.ir.types import NO_INTEGER, integer_type
from smemreuse.semantics.evaluate import dtype_of

LEGACY_ALLOCATIONS = ("allocate", "allocate_const")
_HANDLE_TYPES = ("handle", "ptr", "buffer_var")
_VIEWS = ("decl_buffer", "Buffer", "buffer_decl", "match_buffer")
_TYPED_CALLS = ("call_extern", "call_pure_extern", "call_intrin", "call_pure_intrin")


class DefinitionReader:
    """Reads definitions into a table of names, and gives the statements that they make."""

    def __init__(self, names: NameTable, legacy: LegacyAllocations):
        self.spans: dict[Buffer, ast.Assign] = {}
        self._names = names
        self._prefixes = names.prefixes
        self._expr = names.expr
        self._buffers = names.buffers
        self._legacy = legacy
        self._env_threads: dict[Var, str] = {}
        self._let: dict[Var, Expr] = {}
        # Named, as the subject of an attribute, before the allocation, which is in its block;
        # whatever follows means the allocation, also after the block.
        self._unallocated: set[Value] = set()

    def parameter(self, argument: ast.arg) -> None:
        """A parameter of the function: a buffer if its type says so."""
        self._names.give(argument.arg, self._parameter(argument))

    def _parameter(self, argument: ast.arg) -> Value:
        annotation = argument.annotation
        if isinstance(annotation, ast.Subscript):  # T.Buffer[(64,), "float32"], of 2022
            annotation = _as_call(annotation)
        if isinstance(annotation, ast.Call):
            if script_name(annotation.func, self._prefixes) in ("Buffer", "Tensor"):
                call, sizes = sizes_by_name(annotation, self._prefixes)
                self._names.give_symbols(sizes)
                return self._buffers.parameter(argument.arg, call)
        stated = script_name(annotation, self._prefixes) if annotation is not None else None
        return self._names.symbol(argument.arg) or Var(argument.arg, variable_dtype(stated or ""))

    def thread_axis(self, axis: ast.expr, target: ast.expr | None, extent: Expr) -> tuple[str, Var]:
        """The tag and the variable of an axis: `"threadIdx.x"`, the variable of one used earlier,
        or `T.iter_var(tx, T.Range(0, 32), "ThreadIndex", "threadIdx.x")` of 2022."""
        if isinstance(axis, ast.Call) and script_name(axis.func, self._prefixes) == "iter_var":
            need(axis, 4)
            var = self._expr.value(axis.args[0])
            if isinstance(var, Var):
                return (self._buffers.string(axis.args[3]), var)
        if isinstance(axis, ast.Name):
            var = self._names.lookup(axis)
            if isinstance(var, Var):
                return (self._env_threads.get(var, _tag_by_name(axis.id)), var)
        tag = self._buffers.string(axis)
        dtype = dtype_of(extent)
        return (tag, self._names.new_var(target, dtype) if target is not None else Var(tag, dtype))

    def assign(self, target: ast.expr, node: ast.Assign) -> list[Stmt]:
        """`target = value`, where the target is a name or a tuple of names."""
        value = node.value
        name = script_name(value.func, self._prefixes) if isinstance(value, ast.Call) else None
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
        return [
            Bind(self._names.new_var(one, dtype_of(value)), value, call.lineno, False)
            for one, value in pairs
        ]

    def _define_name(self, target: ast.expr, value: ast.expr, node: ast.Assign) -> list[Stmt]:
        if isinstance(value, ast.Call) and isinstance(target, ast.Name):
            name = script_name(value.func, self._prefixes) or ""
            special = self._definition(target, name, value, node)
            if special is not None:
                return special
            view = self._method_view(target, value)
            if view is not None:
                return view
        bound = self._expr.value(value)
        if isinstance(bound, Buffer):
            self._names.define(target, bound)
            return []
        var = self._names.new_var(target, dtype_of(bound))
        return [Bind(var, bound, node.lineno, _may_be_address(bound))]

    def _method_view(self, target: ast.Name, call: ast.Call) -> list[Stmt] | None:
        """`V = As.view(..)`."""
        func = call.func
        if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)):
            return None
        if func.attr != "view" or not self._names.defines(func.value.id):
            return None
        source = self._names.lookup(func.value)
        if not isinstance(source, Buffer):
            return None
        view = self._buffers.resized(target.id, source, call)
        self._names.define(target, view)
        return [Declare(view, call.lineno)]

    def _definition(
        self, target: ast.Name, name: str, call: ast.Call, node: ast.stmt
    ) -> list[Stmt] | None:
        """The definitions that are no `Bind`: buffers, and variables that the printer declares."""
        made = self._buffer_definition(target, name, call, node)
        return made if made is not None else self._variable_definition(target, name, call)

    def _buffer_definition(
        self, target: ast.Name, name: str, call: ast.Call, node: ast.stmt
    ) -> list[Stmt] | None:
        if is_allocation(name, call):
            buffer = self._buffers.allocation(target.id, call)
            if self._names.defines(target.id) and self._names.lookup(target) in self._unallocated:
                self._names.redefine(target.id, buffer)
            self._names.define(target, buffer)
            if isinstance(node, ast.Assign):
                self.spans[buffer] = node
            return [Allocate(buffer, node.lineno)]
        if name in LEGACY_ALLOCATIONS:
            return self._legacy_allocation(target, name, call)
        if name in _VIEWS:
            before, view = self._buffers.view(target.id, name, call)
            if name == "Buffer" and isinstance(view.data, Var) and view.data.name == target.id:
                self._unallocated.add(view)
            self._names.define(target, view)
            return [*before, Declare(view, call.lineno)]
        return None

    def _variable_definition(
        self, target: ast.Name, name: str, call: ast.Call
    ) -> list[Stmt] | None:
        if name == "env_thread":
            need(call, 1)
            tag = self._buffers.string(call.args[0])
            given = [*call.args[1:], *(one.value for one in call.keywords if one.arg == "dtype")]
            dtype = variable_dtype(self._buffers.string(given[0])) if given else ""
            self._env_threads[self._names.new_var(target, dtype)] = tag
            return []
        if name in _HANDLE_TYPES:
            self._names.define(target, self._names.handle(target.id, call.lineno))
            return []
        declared = declared_variable(target.id, call, self._prefixes)
        if declared is None:
            return None
        self._names.define(target, self._names.symbol(target.id) or declared)
        return []

    def _legacy_allocation(self, target: ast.Name, kind: str, call: ast.Call) -> list[Stmt]:
        """`X = T.allocate(..)`: a handle, which may have been declared, and viewed, before."""
        declared = self._names.lookup(target) if self._names.defines(target.id) else None
        if self._legacy.makes(declared, call):
            assert isinstance(declared, Buffer)
            return [Allocate(declared, call.lineno)]
        buffer = self._buffers.legacy_allocation(target.id, kind, call, call.lineno)
        if isinstance(declared, Var) and self._legacy.is_unknown(declared):
            self._names.define(target, buffer)
            return [Allocate(buffer, call.lineno), Bind(declared, Pointer(buffer), call.lineno)]
        self._names.define(target, buffer)
        return [Allocate(buffer, call.lineno)]

    def annotated(self, node: ast.AnnAssign) -> list[Stmt]:
        """`x: T.int32 = value`, or a variable or a handle that is only declared."""
        if node.value is None:
            if isinstance(node.target, ast.Name) and self._names_handle(node.annotation):
                self._names.define(node.target, self._names.handle(node.target.id, node.lineno))
            else:
                self._names.new_var(node.target, variable_dtype(self._type_name(node.annotation)))
            return []
        value = self._expr.read(node.value)
        is_handle = self._names_handle(node.annotation)
        stated = self._type_name(node.annotation)
        kind, given = integer_type(stated or NO_INTEGER), integer_type(dtype_of(value))
        if kind is not None and given is not None and not given.is_within(kind):
            value = of_type(value, stated)
        dtype = dtype_of(value) if kind is None else variable_dtype(stated)
        var = self._names.new_var(node.target, dtype)
        return [Bind(var, value, node.lineno, is_handle)]

    def _type_name(self, annotation: ast.expr) -> str:
        """`uint32` of `T.uint32` and of `T.let[T.uint32]`; nothing for what is not a plain type."""
        if isinstance(annotation, ast.Subscript):
            annotation = annotation.slice
        return script_name(annotation, self._prefixes) or ""

    def _names_handle(self, annotation: ast.expr) -> bool:
        """Whether a type is a pointer's, as far as it is understood."""
        func = annotation.func if isinstance(annotation, ast.Call) else annotation
        name = script_name(func, self._prefixes)
        return name is None or name in _HANDLE_TYPES

    def of_with(
        self, name: str | None, call: ast.Call, target: ast.expr | None, node: ast.With
    ) -> list[Stmt] | None:
        """`with T.allocate(..) as X`, and what else TVM before 2026 defined for a block alone."""
        if name in ("LetStmt", "let"):
            return [self.let(target, call)]
        if name is None or name not in (*LEGACY_ALLOCATIONS, *_VIEWS):
            return None
        if not isinstance(target, ast.Name):
            fail(node, f"`with {ast.unparse(call.func)}(..)` gives no name")
        return self._buffer_definition(target, name, call, node)

    def let(self, target: ast.expr | None, call: ast.Call) -> Bind:
        """`T.let(x, value)` of 2022, x declared before, and `T.LetStmt(value[, var=x]) as x`."""
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        named = given.get("var") or (call.args[0] if len(call.args) == 2 else None)
        if not call.args or (named is None and target is None):
            fail(call, f"`{ast.unparse(call.func)}` needs a variable and a value")
        value = self._expr.read(call.args[-1])
        if named is None:
            assert target is not None
            made = self._names.new_var(target, dtype_of(value))
            return Bind(made, value, call.lineno, _may_be_address(value))
        var = self._expr.read(named)
        if not isinstance(var, Var):
            fail(call, f"`{ast.unparse(named)}` is no variable")
        if var in self._let and not same(self._let[var], value):
            fail(call, f"{var.name} is bound twice, to other values; give each its own variable")
        self._let[var] = value
        if target is not None:
            self._names.define(target, var)
        return Bind(var, value, call.lineno, _may_be_address(value))


def _tag_by_name(name: str) -> str:
    """`threadIdx.x` for `threadIdx_x`, as the printer calls an axis's variable; else the name,
    which is no tag."""
    return re.sub(r"^((?:thread|block)Idx)_([xyz])(?:_\d+)?$", r"\1.\2", name)


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
