"""Reads the calls that make buffers: allocations, and views of other buffers or of addresses."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from smemreuse.compilers.text.expressions import ExpressionReader, fail
from smemreuse.errors import InputError
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, constant
from smemreuse.ir.kernel import (
    ANYWHERE,
    SHARED_SCOPES,
    Bind,
    Buffer,
    Stmt,
    element_bits,
    is_row_major,
)

_ALLOCATION = ("shape", "dtype", "scope", "annotations")
_VIEW = ("shape", "dtype", "data", "strides", "elem_offset", "scope")
_MATCH = ("param", *_VIEW)
_STRINGS = ("dtype", "scope")
_PLACED = ("byte_offset", "layout", "axis_separators", "buffer_type", "allocated_addr")
_KEYWORDS = {*_MATCH, *_PLACED, "annotations", "align", "data_alignment", "offset_factor", "name"}
_AS_USUAL = {"layout": ("default",), "buffer_type": ("", "default"), "axis_separators": ()}
"""What changes nothing about where elements are."""
_SCOPE_OF = {"alloc_shared": "shared", "alloc_local": "local"}  # Apache TVM's short spellings
_LEGACY_ALLOCATION = ("shape", "dtype", "scope", "condition", "annotations")
_LEGACY_CONSTANT = ("data", "dtype", "shape")
_MAX_DIMENSIONS = 64

_AT_ITS_BEGIN = Const(0)


def need(call: ast.Call, least: int) -> None:
    """Refuses a call of fewer than `least` positional arguments."""
    if len(call.args) < least:
        fail(call, f"`{ast.unparse(call.func)}` needs {least} arguments, found {len(call.args)}")


def arguments_of(call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call that allocates, by name, without those that are None."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in _SCOPE_OF:
        return {"scope": ast.Constant(_SCOPE_OF[name])} | _described(call, ("shape", "dtype"))
    return _described(call, _ALLOCATION if name == "alloc_buffer" else _VIEW)


def is_allocation(kind: str, call: ast.Call) -> bool:
    """Whether a call makes a buffer of its own; `T.decl_buffer` does if it is given no `data`."""
    if kind == "decl_buffer":
        return "data" not in _parameters(call, _VIEW)
    return kind in ("alloc_buffer", "sblock_alloc_buffer", *_SCOPE_OF)


def _rescaled(count: Expr, old: int, new: int) -> Expr | None:
    """A constant number of elements of `old` bits as one of `new` bits, if it comes out even."""
    value = constant(count)
    if value is None or value * old % new:
        return None
    return Const(value * old // new)


class BufferReader:
    """Makes the model's buffers."""

    def __init__(self, expr: ExpressionReader):
        self._expr = expr

    def allocation(self, name: str, call: ast.Call) -> Buffer:
        """A buffer of its own; raises `InputError` if its size makes no sense."""
        return self._buffer(name, call, arguments_of(call))

    def legacy_allocation(self, name: str, kind: str, call: ast.Call, line: int) -> Buffer:
        """What `T.allocate` or `T.allocate_const` of TVM before 2026 allocates.

        One with a condition counts as if it were always made. A constant's values are not read.
        """
        given = _parameters(call, _LEGACY_ALLOCATION if kind == "allocate" else _LEGACY_CONSTANT)
        given = {"shape" if key == "extents" else key: node for key, node in given.items()}
        if "condition" in given:
            self._expr.read(given["condition"])
        return replace(self._buffer(name, call, given), line=line)

    def resized(self, name: str, source: Buffer, call: ast.Call) -> Buffer:
        """`source.view(shape.., dtype)`: the same bytes with another shape or type."""
        dtype = source.dtype
        extents: list[Expr] = []
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            value = self._expr.value(argument)
            if isinstance(value, Const) and isinstance(value.value, str):
                dtype = value.value
            else:
                extents += self._extents(argument)
        try:
            old, new = element_bits(source.dtype), element_bits(dtype)
        except InputError as error:
            raise error.located(line=call.lineno) from None
        offset, shape = source.elem_offset, tuple(extents)
        if old != new:
            rescaled = _rescaled(offset, old, new), _rescaled(source.shape[-1], old, new)
            if rescaled[0] is None or (not extents and rescaled[1] is None):
                fail(call, f"the view {name} cuts an element in two; declare it as a buffer")
            offset = rescaled[0]
            shape = shape or (*source.shape[:-1], rescaled[1] or Const(0))
        return Buffer(name, dtype, shape or source.shape, source.scope, source, offset, call.lineno)

    def parameter(self, name: str, call: ast.Call) -> Buffer:
        """A buffer that a function is given."""
        return self._buffer(name, call, _described(call, _VIEW), Var(name))

    def view(self, name: str, kind: str, call: ast.Call) -> tuple[list[Stmt], Buffer]:
        """A view of a buffer, of a handle, or of an address that is bound first."""
        if kind == "match_buffer":
            need(call, 1)
        given = _described(call, _MATCH if kind == "match_buffer" else _VIEW)
        before: list[Stmt] = []
        handle = Var(name)
        data: Buffer | Var = handle
        elem_offset: Expr = _AT_ITS_BEGIN
        if "param" in given:
            address, elem_offset = self._region(given["param"])
        else:
            address = self._expr.read(given["data"]) if "data" in given else handle
        if isinstance(address, Pointer):
            data = address.buffer
        elif isinstance(address, Var):
            data = address
        else:
            before = [Bind(handle, address, call.lineno)]
        return before, self._buffer(name, call, given, data, elem_offset)

    def _region(self, node: ast.expr) -> tuple[Expr, Expr]:
        """Address and element offset of what a buffer is matched to: a handle or `As[0:16]`."""
        value = self._expr.read(node)
        if not isinstance(value, Load):
            return value, _AT_ITS_BEGIN
        starts = tuple(_start(index) for index in value.indices)
        address = Call("address_of", (Load(value.buffer, starts),))
        return address, _AT_ITS_BEGIN if len(starts) == 1 else ANYWHERE

    def _buffer(
        self,
        name: str,
        call: ast.Call,
        given: Mapping[str, ast.expr],
        data: Buffer | Var | None = None,
        elem_offset: Expr = _AT_ITS_BEGIN,
    ) -> Buffer:
        if "shape" not in given:
            fail(call, f"buffer {name} has no shape")
        shape = self._extents(given["shape"])
        if len(shape) > _MAX_DIMENSIONS:
            fail(call, f"buffer {name} has more than {_MAX_DIMENSIONS} dimensions")
        dtype = self.string(given["dtype"]) if "dtype" in given else "float32"
        scope = self.string(given["scope"]) if "scope" in given else "global"
        elem_offset = self._offset(call, given, dtype, elem_offset)
        strides = self._strides(call, given, len(shape))
        if not is_row_major(shape, strides) or _is_placed(given):
            elem_offset = ANYWHERE
        if data is None and elem_offset != _AT_ITS_BEGIN and not scope.startswith("tmem"):
            fail(call, f"the allocation {name} is not compact; {_COMPACT}")
        if "allocated_addr" in given and scope in SHARED_SCOPES:
            fail(call, f"the address of {name} is given; dump the kernel before it is")
        alignment = self._alignment(given)
        buffer = Buffer(name, dtype, shape, scope, data, elem_offset, call.lineno, alignment)
        try:
            _check(buffer)
        except InputError as error:
            raise error.located(line=call.lineno) from None
        return buffer

    def _offset(
        self, call: ast.Call, given: Mapping[str, ast.expr], dtype: str, region: Expr
    ) -> Expr:
        """Where a buffer begins, in elements, as `elem_offset=` or `byte_offset=` says."""
        if "byte_offset" not in given:
            return self._expr.read(given["elem_offset"]) if "elem_offset" in given else region
        begin = self._expr.read(given["byte_offset"])
        if "elem_offset" in given and self._expr.read(given["elem_offset"]) != _AT_ITS_BEGIN:
            fail(call, "both `elem_offset=` and `byte_offset=` are given; write one of them")
        try:
            found = _rescaled(begin, 8, element_bits(dtype))
        except InputError as error:
            raise error.located(line=call.lineno) from None
        return ANYWHERE if found is None else found

    def _strides(
        self, call: ast.Call, given: Mapping[str, ast.expr], dimensions: int
    ) -> tuple[Expr, ...]:
        """The strides that are given; none for those of a compact buffer."""
        strides = self._extents(given["strides"]) if "strides" in given else ()
        if strides and len(strides) != dimensions:
            fail(call, f"{len(strides)} strides for {dimensions} dimensions; write one for each")
        return strides

    def _alignment(self, given: Mapping[str, ast.expr]) -> int | None:
        """What TIR calls `data_alignment` and the printer `align`, in bytes; 0 leaves it open."""
        node = given.get("align") or given.get("data_alignment")
        value = self._expr.read(node) if node is not None else None
        if not isinstance(value, Const) or not isinstance(value.value, int) or value.value <= 0:
            return None
        return value.value

    def _extents(self, node: ast.expr) -> tuple[Expr, ...]:
        value = self._expr.read(node)
        return value.args if isinstance(value, Call) and value.op == "tuple" else (value,)

    def string(self, node: ast.expr) -> str:
        """An argument that must be a string, or a type such as `T.float16`."""
        value = self._expr.value(node)
        if not isinstance(value, Const) or not isinstance(value.value, str):
            fail(node, f"expected a string, found `{ast.unparse(node)}`")
        return value.value


def _parameters(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    """The arguments of a call by name, without those that are None."""
    given = dict(zip(names, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return {
        name: node
        for name, node in given.items()
        if not (isinstance(node, ast.Constant) and node.value is None)
    }


def _described(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    """The arguments of a call that describes a buffer. Raises `InputError` for those that are not
    understood: versions of TVM differ in what comes third or later without a name."""
    what = f"`{ast.unparse(call.func)}`"
    for keyword in call.keywords:
        if keyword.arg not in _KEYWORDS:
            fail(call, f"{what} has `{keyword.arg}=`, which is not known; write it without")
    for place, node in enumerate(call.args):
        name = names[place] if place < len(names) else ""
        is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
        is_clear = place < 2 + (names is _MATCH) or name not in (*_STRINGS, "annotations", "")
        is_type = name == "dtype"
        if not (is_clear or is_type or is_string or isinstance(node, ast.Dict)) or not name:
            fail(call, f"argument {place + 1} of {what} is not clear; give it by name")
    return _parameters(call, names)


def _is_placed(given: Mapping[str, ast.expr]) -> bool:
    """Whether elements lie elsewhere than shape and strides say."""
    return any(
        name in given and not _is_usual(given[name], usual) for name, usual in _AS_USUAL.items()
    )


def _is_usual(node: ast.expr, usual: tuple[str, ...]) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return not node.elts
    return isinstance(node, ast.Constant) and node.value in usual


_COMPACT = "allocate it compact, its padding in the shape, and declare a view that is not"


def _check(buffer: Buffer) -> None:
    """Raises `InputError` for a size, or a type in shared memory, that makes no sense."""
    storage = buffer.storage
    if isinstance(storage, Buffer) and storage.scope.startswith("shared"):
        element_bits(buffer.dtype)
    if storage is buffer:
        _ = buffer.size


def _start(index: Expr) -> Expr:
    return index.args[0] if isinstance(index, Call) and index.op == "ramp" else index
