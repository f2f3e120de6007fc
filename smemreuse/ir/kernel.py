"""The access tree: a kernel's buffers, statements and scopes, free of any compiler.

Both frontends end here. The statements keep TIR's nesting (the statement form of `T.attr` and
`T.launch_thread` encloses the rest of its block), so that whatever walks them sees what TVM's own
visitors see. Statements compare by identity: TVM keys its events by statement too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from smemreuse.errors import InputError
from smemreuse.ir.expr import Call, Const, Expr, Var, walk
from smemreuse.ir.memo import KernelMemo
from smemreuse.ir.source import Located

DYNAMIC_SCOPE = "shared.dyn"
SHARED_SCOPES = ("shared", DYNAMIC_SCOPE)
"""The scopes whose allocations may be merged. Barriers and tensor memory never are (rule 8)."""

TVM_ALIGNMENT = 64
"""Bytes: TVM's `data_alignment` of a buffer for which no other was requested.

Apache TVM gives it to such a buffer, merged or not; in TileLang it says nothing.
"""

UNSTATED = "unstated"
"""The version of a kernel that no reader made."""

_DTYPE = re.compile(
    r"(?:custom\[(?P<custom>\w+)\](?P<bits>\d{1,4})?"
    r"|(?P<scalar>[a-z]+?(?P<width>\d{1,4})?"  # int8
    r"(?:_e\d+m\d+(?:b\d+)?(?:[a-z]*?|_unpacked))?))"  # float8: _e4m3fn, _e4m3b11fnuz
    r"(?:x(?P<lanes>\d{1,9}))?",
    re.ASCII,
)
_PACKED_4BIT = ("int4", "uint4", "float4_e2m1fn")
_LOOSE = re.compile(r"u?int[1235-7](x\d+)?", re.ASCII)
_UNSAID = {"bool": 8, "handle": 64, "tfloat32": 32, "float4_e2m1_unpacked": 8}
"""Bits of types that do not say them, or say what only registers hold. TileLang's printer leaves
the number of `custom[float4_e2m1_unpacked]8` out; its elements take a byte each."""
_MAX_BYTES = 2**63 - 1


MAX_FOLLOWED = 1 << 22
"""Bytes that are followed one by one; no GPU has as many in the shared memory of a block."""


@lru_cache(maxsize=256)
def element_bits(dtype: str) -> int:
    """Bits that one element of `dtype` takes in shared memory, all its lanes together.

    Scalars take whole bytes, except the 4-bit types, of which two are stored in a byte. Raises
    `InputError` for a type that is not understood, such as a `custom[..]` that a user registered.
    """
    match = _DTYPE.fullmatch(dtype)
    if match is None:
        raise _unknown_type(dtype)
    name, lanes = match["custom"] or match["scalar"], int(match["lanes"] or 1)
    if name in _PACKED_4BIT:
        return 4 * lanes
    bits = _UNSAID.get(name) or match["bits" if match["custom"] else "width"]
    if bits is None:
        raise _unknown_type(dtype)
    return -(-int(bits) // 8) * 8 * lanes


@lru_cache(maxsize=256)
def is_laid_out(dtype: str) -> bool:
    """Whether the byte of each element is known. Of integers of 1, 2, 3, 5, 6 or 7 bits some code
    generators keep several in a byte: `element_bits` is the most that one takes."""
    return _LOOSE.fullmatch(dtype) is None


def _unknown_type(dtype: str) -> InputError:
    shown = dtype if len(dtype) <= 40 else dtype[:37] + "..."
    return InputError(f"unknown element type {shown!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A buffer: an allocation if `data` is None, otherwise a view of another one or of a handle.

    `shape` counts elements of `dtype`. `line` is the 1-based source line where the dump has one.
    `alignment` is TIR's `data_alignment` in bytes, where it is not TVM's default.
    """

    name: str
    dtype: str
    shape: tuple[Expr, ...]
    scope: str
    data: Buffer | Var | None = None
    elem_offset: Expr = Const(0)
    line: int | None = None
    alignment: int | None = None
    _size: int | None = field(default=None, init=False, repr=False)

    @property
    def storage(self) -> Buffer | Var:
        """The allocation, or the handle variable, whose bytes this buffer names."""
        return self if self.data is None else root_storage(self.data)

    @property
    def holds_mbarriers(self) -> bool:
        """Whether its scope says that its elements are mbarriers."""
        return "barrier" in self.scope

    @property
    def is_placeholder(self) -> bool:
        """Whether the allocation itself has no bytes, as Apache TVM's `SMEMPool`.

        Only its views show its use; the kernel states elsewhere how many bytes follow it.
        """
        return self.data is None and self.scope in SHARED_SCOPES and Const(0) in self.shape

    @property
    def size(self) -> int | None:
        """Bytes, or None when the shape is symbolic or says nothing (rule 9)."""
        if self._size is None:
            object.__setattr__(self, "_size", self._find_size())
        return self._size

    def _find_size(self) -> int | None:
        if self.is_placeholder:
            return None
        extents = [extent.value for extent in self.shape if isinstance(extent, Const)]
        if len(extents) != len(self.shape):
            return None
        if not all(isinstance(extent, int) and extent >= 0 for extent in extents):
            raise InputError(f"buffer {self.name} has a negative or non-integer extent")
        size = -(-math.prod(int(extent) for extent in extents) * element_bits(self.dtype) // 8)
        if size > _MAX_BYTES:
            raise InputError(f"buffer {self.name} asks for more than 2^63 bytes")
        return size

    @property
    def size_expr(self) -> Expr:
        """Bytes as an expression, also where the shape is symbolic."""
        if self.size is not None:
            return Const(self.size)
        if self.is_placeholder:
            return UNKNOWN_SIZE
        elements: Expr = Const(1)
        for extent in self.shape:
            elements = extent if elements == Const(1) else Call("mul", (elements, extent))
        bits = element_bits(self.dtype)
        if bits % 8 == 0:
            return Call("mul", (elements, Const(bits // 8)))
        return Call("ceildiv", (Call("mul", (elements, Const(bits))), Const(8)))


UNKNOWN_SIZE: Expr = Call("unknown_size", ())
"""The bytes of an allocation that does not say how many it has."""

ANYWHERE: Expr = Call("unknown_offset", ())
"""The offset of a view whose strides are not row-major: it may begin, and so be, anywhere."""


def is_row_major(shape: tuple[Expr, ...], strides: tuple[Expr, ...]) -> bool:
    """Whether `strides`, in elements, are those of a compact buffer; none given means so."""
    if not strides:
        return True
    if len(strides) != len(shape):
        return False
    expected: int | None = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if expected is None or stride != Const(expected):
            return False
        if isinstance(extent, Const) and isinstance(extent.value, int):
            expected *= extent.value
        else:
            expected = None
    return True


def root_storage(data: Buffer | Var) -> Buffer | Var:
    """Follows views down to the allocation or handle that owns the bytes."""
    while isinstance(data, Buffer) and data.data is not None:
        data = data.data
    return data


class _Remembering(Located):
    """A statement, which never changes, keeps the expressions found in it, and where it is from."""

    __slots__ = ("_nodes",)
    _nodes: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Allocate(_Remembering):
    buffer: Buffer
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Declare(_Remembering):
    """A view comes into being; touches nothing by itself."""

    buffer: Buffer
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bind(_Remembering):
    """`var = value` for the rest of the block.

    `may_be_address` is False where the variable's type is known and is no handle.
    """

    var: Var
    value: Expr
    line: int | None = None
    may_be_address: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Store(_Remembering):
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    predicate: Expr | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(_Remembering):
    value: Expr
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class For(_Remembering):
    """`for var in range(begin, begin + extent, step)`; `kind` is TIR's name for the loop."""

    var: Var
    begin: Expr
    extent: Expr
    step: Expr
    kind: str
    body: Block
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class While(_Remembering):
    condition: Expr
    body: Block
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class If(_Remembering):
    condition: Expr
    then: Block
    orelse: Block = ()
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Attr(_Remembering):
    """An annotation over `body`. For a thread axis, `var` is it and `node` its tag."""

    key: str
    node: Expr
    value: Expr
    body: Block
    var: Var | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Assert(_Remembering):
    condition: Expr
    body: Block = ()
    line: int | None = None


Stmt: TypeAlias = "Allocate | Declare | Bind | Store | Evaluate | For | While | If | Attr | Assert"
Block: TypeAlias = tuple[Stmt, ...]

THREAD_EXTENT = "thread_extent"
VIRTUAL_THREAD = "virtual_thread"
WARP_SPECIALIZATION = "kWarpSpecializationScope"


_LEAVES = frozenset({Allocate, Declare, Bind, Store, Evaluate})
"""Statements with no block inside."""


def nested_blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks directly inside a statement, in program order."""
    if isinstance(stmt, If):
        return (stmt.then, stmt.orelse)
    if isinstance(stmt, (For, While, Attr, Assert)):
        return (stmt.body,)
    return ()


def with_blocks(stmt: Stmt, made: Callable[[Block], Block]) -> Stmt:
    """The statement with what is `made` of each block directly inside it; itself if it has none."""
    if isinstance(stmt, If):
        return replace(stmt, then=made(stmt.then), orelse=made(stmt.orelse))
    if isinstance(stmt, (For, While, Attr, Assert)):
        return replace(stmt, body=made(stmt.body))
    return stmt


def rounds_of(loop: For) -> Expr:
    """What decides how often a loop goes round."""
    return Call("tuple", (loop.extent, loop.step))


def walk_statements(block: Block) -> Iterator[Stmt]:
    """Every statement of a block in program order; a scope comes before the statements
    inside it.
    """
    pending = [*reversed(block)]
    while pending:
        stmt = pending.pop()
        yield stmt
        if type(stmt) not in _LEAVES:  # most are: it is asked everywhere
            for inner in reversed(nested_blocks(stmt)):
                pending.extend(reversed(inner))


def expressions_of(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that a statement itself evaluates, without those of nested blocks."""
    if isinstance(stmt, Store):
        found = (stmt.value, *stmt.indices)
        return found if stmt.predicate is None else (*found, stmt.predicate)
    if isinstance(stmt, (Evaluate, Bind, Attr)):
        return (stmt.value,)
    if isinstance(stmt, For):
        return (stmt.begin, stmt.extent, stmt.step)
    if isinstance(stmt, (While, If, Assert)):
        return (stmt.condition,)
    return ()


def nodes_of(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of `expressions_of` and everything below them, parents first."""
    try:
        return stmt._nodes
    except AttributeError:
        found = tuple(node for expr in expressions_of(stmt) for node in walk(expr))
        object.__setattr__(stmt, "_nodes", found)
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kernel:
    """One device kernel: its statements and the function attributes that planning needs.

    `version` is the key of the compiler version that it comes from, for `smemreuse.versions`.
    `memo` keeps what was worked out of it.
    """

    name: str
    body: Block
    attrs: Mapping[str, object] = field(default_factory=dict)
    version: str = UNSTATED
    memo: KernelMemo = field(default_factory=KernelMemo, init=False)

    def __repr__(self) -> str:
        """One line: the name, and how many buffers it has in each shared scope."""
        scopes = (f"{len(self.allocations(one))} in {one}" for one in self.shared_scopes())
        return f"Kernel({self.name}: {', '.join(scopes) or 'no shared buffers'})"

    def allocations(self, scope: str | None = None) -> tuple[Buffer, ...]:
        """Buffers allocated in the kernel in program order, of one storage scope or of all."""
        found = self.memo.once(Allocate, self._allocated)
        return tuple(one for one in found if scope in (None, one.scope))

    def _allocated(self) -> tuple[Buffer, ...]:
        statements = walk_statements(self.body)
        return tuple(stmt.buffer for stmt in statements if isinstance(stmt, Allocate))

    def shared_scopes(self) -> tuple[str, ...]:
        """The mergeable scopes that the kernel allocates in, in a fixed order."""
        used = {buffer.scope for buffer in self.allocations()}
        return tuple(scope for scope in SHARED_SCOPES if scope in used)


def unique_names(buffers: tuple[Buffer, ...]) -> dict[Buffer, str]:
    """A distinct name for each buffer: the second `workspace` becomes `workspace#1`, and so on."""
    names: dict[Buffer, str] = {}
    taken: set[str] = set()
    for buffer in buffers:
        name, count = buffer.name, 0
        while name in taken:
            count += 1
            name = f"{buffer.name}#{count}"
        taken.add(name)
        names[buffer] = name
    return names
