"""Turns live TIR objects into the access tree, whichever compiler they come from.

The compilers share the names of TIR's nodes, and little else: how a buffer is represented, where a
type stands and what a call carries is left to a subclass beside each backend. Nodes are known by
the names of their classes, so that nothing here imports a compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from smemreuse.compilers.text.expressions import BINARY_NODES
from smemreuse.compilers.text.kernels import split_kernels
from smemreuse.errors import BackendError
from smemreuse.ir.expr import Call, Const, Expr, Pointer, Var, literal
from smemreuse.ir.kernel import (
    ANYWHERE,
    SHARED_SCOPES,
    TVM_ALIGNMENT,
    Allocate,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    is_row_major,
)
from smemreuse.versions import Version

_BINARY = {
    **BINARY_NODES,
    "Mod": "mod",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "LShift": "shift_left",
    "RShift": "shift_right",
}
_LOOP_KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")
_DTYPE_FIRST, _DTYPE_LAST = 1, 2  # where the printer writes a call's type, if it does


def kernels_of(mod: Any, visitor: type[LiveVisitor]) -> list[Kernel]:
    """The device kernels of a live module, functions in the order of their names."""
    functions = {str(var.name_hint): func for var, func in mod.functions.items()}
    return [
        kernel
        for name in sorted(functions)
        if type(functions[name]).__name__ == "PrimFunc"
        for kernel in visitor().kernels(name, functions[name])
    ]


class LiveVisitor:
    """One function's conversion. Variables keep their identity, names may repeat.

    `visit_X` makes the statement, the block or the expression of a node of class X. A subclass has
    those of allocations, declarations and loads.
    """

    version: Version

    def __init__(self, merged: Mapping[Any, Buffer] | None = None) -> None:
        """`merged` gives the buffers that a plan has made pointers into an arena, by the variables
        that hold their addresses; they are read as the allocations that they were."""
        self.allocated: dict[Any, Buffer] = dict(merged or {})
        self.vars: dict[Any, Var] = {}
        self.places: dict[Stmt, int] = {}  # statements by their number in the order of the walk
        self.nodes: list[Any] = []  # the statements' nodes, by that number
        self._op_names: dict[Any, tuple[str, int]] = {}
        self._read: dict[Any, list[Block]] = {}  # what was read, by its node
        self._earlier: dict[Any, list[Block]] = {}  # the same of an earlier reading, not met yet

    def kernels(self, name: str, func: Any) -> list[Kernel]:
        attrs = {str(key): _plain(value) for key, value in (func.attrs or {}).items()}
        return split_kernels(name, self.block(func.body), attrs, self.version.key)

    def again(self) -> LiveVisitor:
        """A visitor for what passes have made of the function that this one has read.

        Nodes never change, so one that is still there need not be read again, where a subclass says
        so: it stands for the same statements, each as often as before.
        """
        return type(self)(self.allocated)

    # What differs between the compilers ---------------------------------------------------------

    def buffer(self, node: Any) -> Buffer:
        """The model's buffer for the one that an access names."""
        raise NotImplementedError

    def dtype(self, node: Any) -> str:
        """The element type of an expression, as TVMScript writes it."""
        raise NotImplementedError

    def call_extras(self, node: Any) -> dict[str, Expr]:
        """What a call carries beside its arguments, in the printer's order, by its name; what has
        none goes by the empty one."""
        raise NotImplementedError

    def is_handle(self, var: Any) -> bool:
        raise NotImplementedError

    def is_laid_out_otherwise(self, described: Any) -> bool:
        """Whether the elements of a buffer lie elsewhere than its shape and its strides say."""
        raise NotImplementedError

    def bound_allocation(self, node: Any) -> Buffer | None:
        """The buffer that a merge has replaced by this binding, when reading a merged function."""
        return None

    # Statements ---------------------------------------------------------------------------------

    def block(self, node: Any) -> Block:
        if node is None:
            return ()
        if type(node).__name__ == "SeqStmt":
            return tuple(stmt for child in node.seq for stmt in self.block(child))
        earlier = self._earlier.get(node)
        if earlier:
            return earlier.pop(0)
        place = len(self.nodes)
        self.nodes.append(node)
        stmt = self._visit(node, "statement")
        block: Block = stmt if isinstance(stmt, tuple) else (stmt,)
        for stmt in block:  # what follows a statement that is its body has a place already
            self.places.setdefault(stmt, place)
        self._read.setdefault(node, []).append(block)
        return block

    def _visit(self, node: Any, what: str) -> Any:
        """What the method for a kind of node makes of it. Raises `BackendError` where none is."""
        kind = type(node).__name__
        visit = getattr(self, f"visit_{kind}", None)
        if visit is None:
            raise BackendError(f"unknown TIR {what} {kind}")
        return visit(node)

    def visit_Break(self, node: Any) -> Stmt:
        """`break`, `continue` and `return` as the calls that they are in other printed forms."""
        return Evaluate(Call(_LEAVING[type(node).__name__], ()))

    visit_Continue = visit_Return = visit_Break

    def visit_Bind(self, node: Any) -> Stmt:
        merged = self.bound_allocation(node)
        if merged is not None:
            return Allocate(merged)
        value = self.expr(node.value)
        return Bind(self.var(node.var), value, may_be_address=self.is_handle(node.var))

    def visit_BufferStore(self, node: Any) -> Stmt:
        indices = tuple(map(self.expr, node.indices))
        return Store(self.buffer(node.buffer), indices, self.expr(node.value), self.predicate(node))

    def predicate(self, node: Any) -> Expr | None:
        predicate = getattr(node, "predicate", None)
        return self.expr(predicate) if predicate is not None else None

    def visit_Evaluate(self, node: Any) -> Stmt:
        return Evaluate(self.expr(node.value))

    def visit_For(self, node: Any) -> Stmt:
        step = getattr(node, "step", None)
        begin, extent = self.expr(node.min), self.expr(node.extent)
        kind = _LOOP_KINDS[int(node.kind)]
        width = Const(1) if step is None else self.expr(step)
        return For(self.var(node.loop_var), begin, extent, width, kind, self.block(node.body))

    def visit_While(self, node: Any) -> Stmt:
        return While(self.expr(node.condition), self.block(node.body))

    def visit_IfThenElse(self, node: Any) -> Stmt:
        then, orelse = self.block(node.then_case), self.block(node.else_case)
        return If(self.expr(node.condition), then, orelse)

    def visit_AttrStmt(self, node: Any) -> Stmt:
        var = None
        if type(node.node).__name__ == "IterVar":
            subject: Expr = Const(str(node.node.thread_tag))
            var = self.var(node.node.var)
        else:
            subject = self.attr_subject(node.node)
        value = self.expr(node.value)
        return Attr(str(node.attr_key), subject, value, self.block(node.body), var)

    def attr_subject(self, node: Any) -> Expr:
        """The subject of an attribute may be any object; only expressions matter here."""
        kind = type(node).__name__
        is_known = kind in _FIELDS or hasattr(self, f"visit_{kind}")
        return self.expr(node) if is_known else Const(str(node))

    def visit_AssertStmt(self, node: Any) -> Stmt:
        return Assert(self.expr(node.condition))

    # Buffers and variables ----------------------------------------------------------------------

    def var(self, var: Any) -> Var:
        known = self.vars.get(var)
        if known is None:
            dtype = self.dtype(var)
            known = self.vars[var] = Var(str(var.name), "" if dtype == "int32" else dtype)
        return known

    def make_buffer(
        self, name: str, described: Any, scope: str, data: Buffer | Var | None, dtype: str
    ) -> Buffer:
        """A buffer from an object that has a shape, strides and an offset in elements."""
        shape = tuple(map(self.expr, described.shape))
        strides = tuple(map(self.expr, described.strides))
        elem_offset = described.elem_offset
        offset = self.expr(elem_offset) if elem_offset is not None else Const(0)
        if not is_row_major(shape, strides) or self.is_laid_out_otherwise(described):
            offset = ANYWHERE
        if data is None and offset != Const(0) and scope in SHARED_SCOPES:
            raise BackendError(f"the allocation {name} is not compact")
        aligned = int(described.data_alignment)
        alignment = None if aligned in (0, TVM_ALIGNMENT) else aligned  # as the printer has it
        return Buffer(name, dtype, shape, scope, data, offset, alignment=alignment)

    # Expressions --------------------------------------------------------------------------------

    def expr(self, node: Any) -> Expr:
        if isinstance(node, (int, float)):
            return Const(node)
        kind = type(node).__name__
        if kind in _FIELDS:
            name, fields = _FIELDS[kind]
            return Call(name, tuple(self.expr(getattr(node, field)) for field in fields))
        expr: Expr = self._visit(node, "expression")
        return expr

    def visit_IntImm(self, node: Any) -> Expr:
        return literal(int(node.value), self.dtype(node))

    def visit_FloatImm(self, node: Any) -> Expr:
        value = node.value
        return Const(value if isinstance(value, (int, float)) else str(value))

    visit_StringImm = visit_FloatImm

    def visit_Var(self, node: Any) -> Expr:
        allocation = self.allocated.get(node)
        return Pointer(allocation) if allocation is not None else self.var(node)

    def visit_SizeVar(self, node: Any) -> Expr:
        return self.visit_Var(node)

    def visit_Call(self, node: Any) -> Expr:
        args = [self.expr(argument) for argument in node.args]
        if type(node.op).__name__ != "Op":
            return Call("call_global", (Const(str(node.op.name_hint)), *args))
        name, location = self._op_name(node.op)
        if location == _DTYPE_FIRST:
            args.insert(0, Const(self.dtype(node)))
        elif location == _DTYPE_LAST:
            args.append(Const(self.dtype(node)))
        extras = self.call_extras(node)
        return Call(name, (*args, *extras.values()), tuple(filter(None, extras)))

    def _op_name(self, op: Any) -> tuple[str, int]:
        """The name that TVMScript prints for an operator, and where it puts the result type."""
        known = self._op_names.get(op)
        if known is None:
            name = op.get_attr("TScriptPrinterName") or op.name
            location = op.get_attr("TScriptDtypePrintLocation")
            known = self._op_names[op] = (str(name), int(location or 0))
        return known

    def visit_Cast(self, node: Any) -> Expr:
        return Call("cast", (Const(self.dtype(node)), self.expr(node.value)))

    def visit_Shuffle(self, node: Any) -> Expr:
        groups = (node.vectors, node.indices)
        return Call("shuffle", tuple(Call("tuple", tuple(map(self.expr, one))) for one in groups))


def _plain(value: Any) -> object:
    """An attribute's value as plain Python; objects that planning does not need as their text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if type(value).__name__ in ("IntImm", "FloatImm", "StringImm"):
        return value.value
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (int, float, str)) else str(value)


_LEAVING = {"Break": "break_loop", "Continue": "continue_loop", "Return": "return"}

# Operators whose operands are plain fields.
_FIELDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    **{kind: (name, ("a", "b")) for kind, name in _BINARY.items()},
    "Not": ("not", ("a",)),
    "BitwiseNot": ("bitwise_not", ("a",)),
    "Select": ("select", ("condition", "true_value", "false_value")),
    "Ramp": ("ramp", ("base", "stride", "lanes")),
    "Broadcast": ("broadcast", ("value", "lanes")),
    "Let": ("let", ("var", "value", "body")),
}
