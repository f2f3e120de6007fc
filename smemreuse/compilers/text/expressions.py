"""Translates the expressions of printed TVMScript, given as Python `ast`, into the model.

Nothing is evaluated: names are looked up in a table that is given, operators map to TIR's,
and a call that is not known stays a call by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NoReturn, Protocol, TypeAlias

from smemreuse.compilers.text.legacy import modern, with_type
from smemreuse.errors import InputError
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, literal, same
from smemreuse.ir.kernel import Buffer
from smemreuse.ir.types import integer_type
from smemreuse.semantics.evaluate import is_unsigned
from smemreuse.semantics.integers import within

Value: TypeAlias = Buffer | Expr


class NameLookup(Protocol):
    """What the expression reader asks of the table of names."""

    prefixes: frozenset[str]

    def lookup(self, node: ast.Name) -> Value: ...

    def defines(self, name: str) -> bool: ...


_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
    ast.Invert: "bitwise_not",
}

BINARY_NODES = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "LT": "lt",
    "LE": "le",
    "GT": "gt",
    "GE": "ge",
    "EQ": "eq",
    "NE": "ne",
    "And": "and",
    "Or": "or",
    "Min": "min",
    "Max": "max",
}
"""TIR's nodes of two operands, by the name that the model uses; the printer has all as calls."""

# Script names of other TIR nodes that the printer spells as calls.
_NODE_NAMES = {
    **BINARY_NODES,
    "truncdiv": "div",
    "truncmod": "mod",
    "Not": "not",
    "Ramp": "ramp",
    "Broadcast": "broadcast",
    "Select": "select",
    "Cast": "cast",
    "Shuffle": "shuffle",
}

_LITERAL_TYPES = ("int", "uint", "float", "bfloat", "tfloat", "bool", "boolean")
_NARROW_FLOATS = ("float8_", "float6_", "float4_")

# How many operands TIR has for what is read into its parts later, by the model's names.
_ARITY = {
    **{name: 2 for kind, name in _OPERATORS.items() if kind not in (ast.Not, ast.Invert)},
    **dict.fromkeys(("mod", "min", "max", "cast", "broadcast", "handle_add_byte_offset"), 2),
    **dict.fromkeys(("ramp", "select", "if_then_else"), 3),
    **dict.fromkeys(("not", "address_of"), 1),
    "tvm_access_ptr": 5,
}


def fail(node: ast.AST, message: str) -> NoReturn:
    """Raises the error that names the line of `node`."""
    raise InputError(message, line=getattr(node, "lineno", None))


def script_name(func: ast.expr, prefixes: frozenset[str]) -> str | None:
    """`tvm_access_ptr` for `T.tvm_access_ptr`; None for anything that is not `T.something`."""
    parts = []
    while isinstance(func, ast.Attribute):
        parts.append(func.attr)
        func = func.value
    if isinstance(func, ast.Name) and func.id in prefixes and parts:
        return ".".join(reversed(parts))
    return None


class ExpressionReader:
    """Reads expressions; `names` resolves identifiers and says which prefix means TVMScript."""

    def __init__(self, names: NameLookup):
        self._names = names

    def read(self, node: ast.expr) -> Expr:
        """The model's expression for a node that must be a scalar, a vector or an address."""
        value = self.value(node)
        return Pointer(value) if isinstance(value, Buffer) else value

    def value(self, node: ast.expr) -> Value:
        """As `read`, but a bare buffer name gives the buffer itself."""
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name):
            return self._names.lookup(node)
        if isinstance(node, ast.BinOp):
            return Call(
                self._operator(node.op, node), (self.read(node.left), self.read(node.right))
            )
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            return self._chain(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            return Call("tuple", tuple(self.read(item) for item in node.elts))
        if isinstance(node, ast.Dict):
            return Call("dict", tuple(self.read(item) for item in node.values))
        if isinstance(node, ast.Lambda):
            return Call("lambda", ())  # reducers and index maps: no memory access of their own
        fail(node, f"cannot read the expression `{excerpt(node)}`")

    def _constant(self, node: ast.Constant) -> Const:
        if node.value is None:
            return Const("None")
        if isinstance(node.value, bool):
            return Const(int(node.value))
        if isinstance(node.value, (int, float, str)):
            return Const(node.value)
        fail(node, f"cannot read the literal {excerpt(node)}")

    def _operator(self, op: ast.AST, node: ast.expr) -> str:
        name = _OPERATORS.get(type(op))
        if name is None:
            fail(node, f"TVMScript has no operator for `{excerpt(node)}`")
        return name

    def _unary(self, node: ast.UnaryOp) -> Expr:
        operand = self.read(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(node.op, ast.USub):
            if isinstance(operand, Const) and not isinstance(operand.value, str):
                if not is_unsigned(operand):
                    return Const(-operand.value, operand.dtype)
            return Call("sub", (Const(0), operand))
        return Call(self._operator(node.op, node), (operand,))

    def _chain(self, node: ast.BoolOp) -> Expr:
        """`a and b and c` is `(a and b) and c`: TIR's logical operators take two operands."""
        name = self._operator(node.op, node)
        result = self.read(node.values[0])
        for operand in node.values[1:]:
            result = Call(name, (result, self.read(operand)))
        return result

    def _compare(self, node: ast.Compare) -> Expr:
        if len(node.ops) != 1:
            fail(node, f"chained comparison `{excerpt(node)}`: write it with `and`")
        left, right = self.read(node.left), self.read(node.comparators[0])
        return Call(self._operator(node.ops[0], node), (left, right))

    def _subscript(self, node: ast.Subscript) -> Expr:
        if isinstance(node.value, ast.Attribute):  # A.strides[0]
            return Call("subscript", (self.read(node.value), *self._items(node)))
        table = node.value if isinstance(node.value, ast.Subscript) else node
        if isinstance(table.value, ast.Name) and table.value.id == "metadata":
            return Const(excerpt(table))  # metadata["..."][0]
        target = self.value(node.value)
        if not isinstance(target, Buffer):
            fail(node, f"`{excerpt(node.value)}` is indexed but is not a buffer")
        return Load(target, self.indices(node, target))

    def indices(self, node: ast.Subscript, buffer: Buffer) -> tuple[Expr, ...]:
        """The indices of a buffer access, one for each dimension."""
        return _one_for_each_dimension(node, buffer, self._items(node))

    def _items(self, node: ast.Subscript) -> tuple[Expr, ...]:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return tuple(
            self._slice(part) if isinstance(part, ast.Slice) else self.read(part) for part in parts
        )

    def _slice(self, node: ast.Slice) -> Expr:
        """`base:base + lanes * stride:stride`, the printer's form of a ramp."""
        if node.lower is None or node.upper is None:
            fail(node, "a slice of a buffer needs both ends")
        base = self.read(node.lower)
        stride = self.read(node.step) if node.step is not None else Const(1)
        extent = difference(self.read(node.upper), base)
        if isinstance(extent, Const) and isinstance(extent.value, int):
            if isinstance(stride, Const) and isinstance(stride.value, int) and stride.value:
                return Call("ramp", (base, stride, Const(extent.value // stride.value)))
        return Call("ramp", (base, stride, Call("floordiv", (extent, stride))))

    def _attribute(self, node: ast.Attribute) -> Value:
        name = script_name(node, self._names.prefixes)
        if name is not None:
            return Const(name)  # a type used as a value, such as T.float32
        if node.attr == "ty" and isinstance(node.value, ast.Call):
            made = script_name(node.value.func, self._names.prefixes)
            if made == "handle":
                return Const(excerpt(node))  # T.handle("float32", "shared.dyn").ty
        if isinstance(node.value, ast.Name):
            target = self._names.lookup(node.value)
            if isinstance(target, Buffer):
                if node.attr == "data":
                    return Pointer(target)
                if node.attr == "elem_offset":
                    return target.elem_offset
                return Call(node.attr, (Const(target.name),))
        return Call("attribute", (Const(excerpt(node)), *self._receiver(node.value)))

    def _call(self, node: ast.Call) -> Expr:
        name = script_name(node.func, self._names.prefixes)
        if name is None:
            return self._method(node)
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            fail(node, f"cannot read the starred argument of `{excerpt(node)}`")
        if name == "Let":
            return self._let(node)
        op = _NODE_NAMES.get(name, name)
        arguments = self._arguments(op, node)
        if len(arguments) == 1 and _is_type(name):
            return of_type(arguments[0], name)
        if len(arguments) != _ARITY.get(op, len(arguments)):
            fail(node, f"T.{name} needs {_ARITY[op]} arguments, found {len(arguments)}")
        try:
            return modern(Call(op, arguments, _annotations(node)))
        except InputError as error:
            raise error.located(line=node.lineno) from None

    def _arguments(self, op: str, node: ast.Call) -> tuple[Expr, ...]:
        """A call's arguments; TVM of 2022 gave every call its type as `dtype=`, which says
        nothing where the number of operands is known."""
        arguments = tuple(self.read(argument) for argument in node.args)
        for keyword in node.keywords:
            if keyword.arg != "dtype":
                arguments = (*arguments, self.read(keyword.value))
            elif len(arguments) != _ARITY.get(op):
                arguments = with_type(op, arguments, self.read(keyword.value))
        return arguments

    def _let(self, node: ast.Call) -> Expr:
        """`T.Let(body, where={var: value})`, as the arguments of TIR's node: var, value, body."""
        where = next((keyword.value for keyword in node.keywords if keyword.arg == "where"), None)
        if not isinstance(where, ast.Dict) or len(where.keys) != 1 or len(node.args) != 1:
            fail(node, "T.Let needs a body and `where={var: value}`")
        variable = where.keys[0]
        if variable is None:
            fail(node, "T.Let needs a variable")
        value = self.read(where.values[0])
        return Call("let", (self.read(variable), value, self.read(node.args[0])))

    def _method(self, node: ast.Call) -> Expr:
        """`buffer.vload(...)`, or a call of another function of the module."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("vload", "vstore"):
            if isinstance(node.func.value, ast.Name):
                target = self._names.lookup(node.func.value)
                if isinstance(target, Buffer) and node.args:
                    return self.vload(target, node)
        if not isinstance(node.func, (ast.Attribute, ast.Name)):
            fail(node, f"cannot read the call of `{excerpt(node.func)}`")
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        operands = (*self._receiver(node.func), *map(self.read, arguments))
        return Call("call_global", (Const(name), *operands))

    def _receiver(self, node: ast.expr) -> tuple[Expr, ...]:
        """What a method is called on: nothing where it is the name of a module or a function."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name) and not self._names.defines(node.id):
            return ()
        return (self.read(node),)

    def vload(self, buffer: Buffer, node: ast.Call) -> Load:
        """A predicated vector load, `buffer.vload([indices], predicate=...)`."""
        indices = _one_for_each_dimension(node, buffer, self._index_list(node.args[0]))
        predicate = next(
            (self.read(keyword.value) for keyword in node.keywords if keyword.arg == "predicate"),
            None,
        )
        return Load(buffer, indices, predicate)

    def _index_list(self, node: ast.expr) -> tuple[Expr, ...]:
        """Indices given as a list, as `vload` and `vstore` take them."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple(self.read(item) for item in node.elts)
        return (self.read(node),)


def _annotations(node: ast.Call) -> tuple[str, ...]:
    """The names of what a call is annotated with, which printers write as keywords."""
    names = (keyword.arg for keyword in node.keywords)
    return tuple(name for name in names if name and name != "dtype")


def _one_for_each_dimension(
    node: ast.expr, buffer: Buffer, indices: tuple[Expr, ...]
) -> tuple[Expr, ...]:
    if len(indices) != len(buffer.shape):
        found = f"{len(indices)} indices for {len(buffer.shape)} dimensions"
        fail(node, f"buffer {buffer.name} is accessed with {found}")
    return indices


def of_type(value: Expr, name: str) -> Expr:
    """`T.uint32(5)` and `T.float16(0.0)` are literals, `T.uint32(x)` is a cast."""
    dtype = "bool" if name == "boolean" else name
    if not isinstance(value, Const) or (value.dtype and not _has_place(value, dtype)):
        return Call("cast", (Const(dtype), value))
    if isinstance(value.value, int) and integer_type(dtype) is None:
        return Const(float(value.value)) if "float" in dtype else value
    return literal(value.value, dtype) if isinstance(value.value, int) else value


def _has_place(number: Const, dtype: str) -> bool:
    """Whether a type holds the value of an integer literal."""
    kind = integer_type(dtype)
    return isinstance(number.value, int) and kind is not None and within(number.value, kind)


def _is_type(name: str) -> bool:
    return name.rstrip("0123456789") in _LITERAL_TYPES or name.startswith(_NARROW_FLOATS)


def difference(upper: Expr, lower: Expr) -> Expr:
    """`upper - lower`, exact where the printer wrote `upper` as `lower + constant`."""
    rest, constant = _split_constant(upper)
    base, offset = _split_constant(lower)
    if rest is base or (rest is not None and base is not None and same(rest, base)):
        if constant >= offset or not (is_unsigned(upper) or is_unsigned(lower)):
            return Const(constant - offset)
    return Call("sub", (upper, lower))


def _split_constant(expr: Expr) -> tuple[Expr | None, int]:
    """`(x, c)` for `x + c`, `(None, c)` for a literal, `(expr, 0)` for anything else."""
    constant = 0
    while isinstance(expr, Call) and expr.op in ("add", "sub") and len(expr.args) == 2:
        term = expr.args[1]
        if not isinstance(term, Const) or not isinstance(term.value, int):
            break
        constant += term.value if expr.op == "add" else -term.value
        expr = expr.args[0]
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return (None, constant + expr.value)
    return (expr, constant)


def excerpt(node: ast.AST) -> str:
    """A node's text on a line, cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
