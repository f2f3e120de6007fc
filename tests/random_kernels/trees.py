"""Random access trees: anything that a lowered kernel may have in it, or what a `Grammar` leaves.

A tree is made the way a lowered kernel is: every name is defined before it is used and is visible
only in its block, so that it can be printed as TVMScript, or built from a compiler's own objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    WARP_SPECIALIZATION,
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
    Kernel,
    Stmt,
    Store,
    While,
    element_bits,
)
from tests.random_kernels.choices import Grower, Pick

MAX_DEPTH = 4
MAX_ALLOCATIONS = 10
"""In a launch of a module for a compiler."""

_LEAVES = ("store", "store", "store", "evaluate", "evaluate", "alloc", "view", "bind")
_SCOPES = ("for", "for", "if", "attr", "while")
_SAME_SIZE = {8: "uint8", 16: "uint16", 32: "uint32", 64: "uint64", 128: "uint32x4"}
"""Types for views, by the bits of an element."""


@dataclass(frozen=True)
class Grammar:
    """What a tree may have in it.

    In one for a compiler's own merge (`is_opaque`), every value is a call of what it is computed
    from, about which nothing is known, and every other access is made at index 0: Apache TVM's
    pass adds a buffer's offset to the index, where it can be read back. Buffers have names of their
    own there. `least_bytes` and `least_extent` are a buffer's.
    """

    dtypes: tuple[str, ...]
    scopes: tuple[str, ...]
    statements: tuple[str, ...] = (*_LEAVES, *_SCOPES)
    loops: tuple[str, ...] = ("serial",)
    attributes: tuple[str, ...] = ("extern_scope", "pragma")
    addresses: tuple[str, ...] = ("access_ptr", "access_ptr", "address_of", "pointer")
    alignments: tuple[int | None, ...] = (None,)
    least_bytes: int = 1
    least_extent: int = 1
    binds_pointers: bool = True
    is_opaque: bool = True


ANYTHING = Grammar(
    dtypes=("float32", "float16", "uint8", "float8_e4m3fn", "float4_e2m1fn", "int4", "float16x8"),
    scopes=(
        "shared.dyn",
        "shared.dyn",
        "shared.dyn",
        "shared",
        "shared.barrier",
        "local",
        "global",
    ),
    statements=(*_LEAVES, *_SCOPES, "specialize", "assert"),
    loops=("serial", "parallel", "unrolled", "vectorized", "thread_binding"),
    attributes=(THREAD_EXTENT, "virtual_thread", "extern_scope", "lexical_alloc_scope", "pragma"),
    addresses=("access_ptr", "address_of", "pointer", "handle"),
    is_opaque=False,
)

COMPILED_DTYPES = (
    *("int8", "float8_e4m3fn", "float16", "bfloat16", "int32", "float32", "float64"),
    *("float16x2", "float16x8", "float32x4"),
)
_EXTENTS = (1, 2, 3, 16, 17, 100, 128, 500, 512, 1024, 4096, 8192)


@dataclass
class _Names:
    """What is visible in a block. Variables have names of their own; buffer names are reused."""

    buffers: list[Buffer] = field(default_factory=list)
    scalars: list[Var] = field(default_factory=list)
    handles: list[Var] = field(default_factory=list)

    def inside(self, *scalars: Var) -> _Names:
        return _Names(list(self.buffers), [*self.scalars, *scalars], list(self.handles))


class _Tree(Grower):
    """One launch in the making; `scopes` are those of its buffers."""

    def __init__(self, pick: Pick, grammar: Grammar, scopes: tuple[str, ...], launch: str = ""):
        super().__init__(pick)
        self._grammar = grammar
        self._scopes = scopes
        self._launch = launch
        self._allocated = 0

    def maybe(self) -> bool:
        return self.pick(0, 1) == 1

    # Expressions

    def scalar(self, names: _Names, depth: int = 0) -> Expr:
        if self._grammar.is_opaque:
            return self.opaque(names, depth=depth)
        kinds = ("const", "var", "var", "binary", "load", "call")
        kind = self.one_of(kinds if depth < 2 else kinds[:3])
        if kind == "var" and names.scalars:
            return self.one_of(names.scalars)
        if kind == "binary":
            op = self.one_of(("add", "sub", "mul", "floordiv", "floormod", "bitwise_xor"))
            return Call(op, (self.scalar(names, depth + 1), self.scalar(names, depth + 1)))
        if kind == "load" and names.buffers:
            return self.load(names, depth + 1)
        if kind == "call":
            return self.call(names, depth + 1)
        return Const(self.pick(0, 99))

    def opaque(self, names: _Names, dtype: str = "int32", least: int = 0, depth: int = 0) -> Call:
        """A call that is handed some buffers, or what is in them."""
        handed = (self.mention(names, depth) for _ in range(self.pick(least, 3)))
        return Call("call_extern", (Const(dtype), Const("f"), *handed))

    def mention(self, names: _Names, depth: int) -> Expr:
        return self.load(names, depth) if self.maybe() else self.address(names, depth)

    def call(self, names: _Names, depth: int) -> Expr:
        op = self.one_of(("max", "cast", "if_then_else", "let", "broadcast", "exp", "not"))
        if op == "not":
            return Call(op, (self.condition(names, depth),))
        args: tuple[Expr, ...] = (self.scalar(names, depth),)
        if op == "cast":
            args = (Const("float16"), *args)
        elif op == "broadcast":
            args = (*args, Const(4))
        elif op != "exp":
            args = (*args, self.scalar(names, depth))
        if op == "if_then_else":
            args = (self.condition(names, depth), *args)
        elif op == "let":
            args = (self.var("let"), *args)
        return Call(op, args)

    def condition(self, names: _Names, depth: int = 0) -> Expr:
        op = self.one_of(("lt", "le", "eq", "ne", "gt", "ge"))
        if self._grammar.is_opaque:
            return Call(op, (self.now_and_then(names), Const(0)))
        test = Call(op, (self.scalar(names, depth + 1), self.scalar(names, depth + 1)))
        if depth < 2 and self.pick(0, 3) == 0:
            return Call(self.one_of(("and", "or")), (test, self.condition(names, depth + 1)))
        return test

    def now_and_then(self, names: _Names) -> Call:
        """A call that is mostly handed nothing."""
        handed = [self.mention(names, 1)] if self.pick(0, 3) == 0 else []
        return Call("call_extern", (Const("int32"), Const("f"), *handed))

    def index(self, names: _Names, depth: int) -> Expr:
        if self._grammar.is_opaque:
            computed = depth == 0 and self.pick(0, 5) == 0
            return self.opaque(names, least=1, depth=depth + 1) if computed else Const(0)
        if self.pick(0, 3) == 0:
            stride, lanes = self.pick(1, 3), self.pick(2, 8)
            return Call("ramp", (self.scalar(names, depth + 1), Const(stride), Const(lanes)))
        return self.scalar(names, depth + 1)

    def indices(self, buffer: Buffer, names: _Names, depth: int = 0) -> tuple[Expr, ...]:
        return tuple(self.index(names, depth) for _ in buffer.shape)

    def predicate(self, names: _Names) -> Expr | None:
        some = not self._grammar.is_opaque and self.pick(0, 5) == 0
        return self.condition(names, 2) if some else None

    def load(self, names: _Names, depth: int) -> Load:
        buffer = self.one_of(names.buffers)
        predicate = self.predicate(names)
        return Load(buffer, self.indices(buffer, names, depth), predicate)

    def address(self, names: _Names, depth: int = 0) -> Expr:
        kind = self.one_of(self._grammar.addresses)
        if kind == "handle" and names.handles:
            return self.one_of(names.handles)
        buffer = self.one_of(names.buffers)
        if kind == "address_of":
            part = self.index if self._grammar.is_opaque else self.scalar
            load = Load(buffer, tuple(part(names, max(depth, 2)) for _ in buffer.shape))
            return Call("address_of", (load,))
        if kind == "access_ptr":
            annotation = Call("type_annotation", (Const(buffer.dtype),))
            begin = Const(0) if self._grammar.is_opaque else self.scalar(names, 1)
            parts = (begin, Const(16), Const(self.pick(1, 3)))
            return Call("tvm_access_ptr", (annotation, Pointer(buffer), *parts))
        return Pointer(buffer)

    # Statements

    def block(self, names: _Names, depth: int, least: int = 0, most: int = 5) -> Block:
        names = names.inside()
        count = self.pick(max(least, int(self._grammar.is_opaque)), most)
        return tuple(self.statement(names, depth) for _ in range(count))

    def statement(self, names: _Names, depth: int) -> Stmt:
        """One statement, with the names that it brings added to `names`."""
        kind = self.one_of([*self._kinds(depth)])
        if kind == "alloc" or (not names.buffers and kind in _LEAVES):
            return self.allocate(names)
        if kind == "store":
            buffer = self.one_of(names.buffers)
            predicate = self.predicate(names)
            indices = self.indices(buffer, names, int(self._grammar.is_opaque))
            is_opaque = self._grammar.is_opaque
            value = self.opaque(names, buffer.dtype) if is_opaque else self.scalar(names)
            return Store(buffer, indices, value, predicate)
        if kind == "evaluate":
            return Evaluate(self.effect(names))
        if kind == "view":
            return self.view(names)
        if kind == "bind":
            return self.bind(names)
        return self.scope(kind, names, depth)

    def _kinds(self, depth: int) -> Iterator[str]:
        for kind in self._grammar.statements:
            if kind not in _LEAVES and depth >= MAX_DEPTH:
                continue
            if self._grammar.is_opaque:
                # What is bound beside an allocation, Apache TVM's pass mostly does not compile.
                if kind == "bind" and depth == 1:
                    continue
                if kind == "alloc" and self._allocated >= MAX_ALLOCATIONS:
                    continue
            yield kind

    def effect(self, names: _Names) -> Expr:
        if self._grammar.is_opaque:
            return self.opaque(names, least=1)
        kind = self.one_of(("ptx_cp_async", "call_extern", "tvm_storage_sync", "scalar"))
        if kind == "scalar":
            return self.scalar(names)
        if kind == "tvm_storage_sync":
            return Call(kind, (Const("shared"),))
        first = (Const("int32"), Const("f")) if kind == "call_extern" else ()
        return Call(kind, (*first, self.address(names), self.address(names), self.scalar(names)))

    def allocate(self, names: _Names) -> Allocate:
        grammar = self._grammar
        dtype, scope = self.one_of(grammar.dtypes), self.one_of(self._scopes)
        self._allocated += 1
        if grammar.is_opaque:
            least = max(grammar.least_extent, -(-grammar.least_bytes * 8 // element_bits(dtype)))
            extent = self.one_of(_EXTENTS) if self.maybe() else self.pick(1, _EXTENTS[-1])
            shape = (Const(max(least, extent)),)
            # Names break ties, so they are not in order.
            name = f"{self.one_of('abc')}{self._launch}{self._allocated}"
            alignment = self.one_of(grammar.alignments)
            buffer = Buffer(name, dtype, shape, scope, alignment=alignment)
        else:
            extents = (Const(self.pick(1, 40)) for _ in range(self.pick(1, 2)))
            buffer = Buffer(_free_name(names), dtype, tuple(extents), scope)
        names.buffers.append(buffer)
        return Allocate(buffer)

    def view(self, names: _Names) -> Declare:
        """A view of a buffer, or of what a handle points to."""
        seen = self.one_of(names.buffers)
        of: Buffer | Var = seen
        dtype = _SAME_SIZE.get(element_bits(seen.dtype), seen.dtype)
        if self._grammar.is_opaque:
            of = seen.storage
            name, shape = f"{seen.name.removesuffix('_v')}_v", seen.shape
        else:
            if names.handles and self.maybe():
                of = self.one_of(names.handles)
            name, shape = _free_name(names), (Const(self.pick(1, 9)),)
        view = Buffer(name, dtype, shape, seen.scope, of)
        names.buffers.append(view)
        return Declare(view)

    def bind(self, names: _Names) -> Bind:
        if self._grammar.binds_pointers and self.maybe():
            bind = Bind(self.var("p"), self.address(names))
            names.handles.append(bind.var)
            return bind
        bind = Bind(self.var("v"), self.scalar(names))
        names.scalars.append(bind.var)
        return bind

    def scope(self, kind: str, names: _Names, depth: int) -> Stmt:
        if kind == "for":
            return self.loop(names, depth)
        if kind == "while":
            return While(self.condition(names), self.block(names, depth + 1))
        if kind == "assert":
            return Assert(self.condition(names))
        if kind == "specialize":
            arms = self.branch(names, depth + 1)
            return Attr(WARP_SPECIALIZATION, Const(0), Const(0), (arms,))
        if kind == "attr":
            key = self.one_of(self._grammar.attributes)
            if key == THREAD_EXTENT:
                return self.thread_axis("threadIdx.x", names, depth)
            body = self.block(names, depth + 1)
            value = Const(0) if self._grammar.is_opaque else self.scalar(names, 1)
            return Attr(key, Const(0), value, body)
        return self.branch(names, depth)

    def loop(self, names: _Names, depth: int) -> For:
        var = self.var("i")
        bounds: tuple[Expr, Expr, Expr] = (Const(0), Const(4), Const(1))
        if self._grammar.is_opaque:
            if self.pick(0, 3) == 0:
                bounds = (Const(0), self.opaque(names, least=1, depth=1), Const(1))
        elif self.pick(0, 3) == 0:
            bounds = (self.scalar(names, 1), Const(self.pick(1, 9)), Const(self.pick(1, 3)))
        else:
            bounds = (Const(0), self.scalar(names, 1), Const(1))
        kind = self.one_of(self._grammar.loops)
        return For(var, *bounds, kind, self.block(names.inside(var), depth + 1))

    def branch(self, names: _Names, depth: int) -> If:
        then = self.block(names, depth + 1)
        orelse = self.block(names, depth + 1) if self.maybe() else ()
        return If(self.condition(names), then, orelse)

    def thread_axis(self, tag: str, names: _Names, depth: int) -> Attr:
        var = self.var("t")
        body = self.block(names.inside(var), depth + 1, least=3 if depth == 0 else 1)
        return Attr(THREAD_EXTENT, Const(tag), Const(self.pick(1, 128)), body, var)


def _free_name(names: _Names) -> str:
    """The first name that nothing visible has, so sibling blocks use the same names."""
    taken = {buffer.name for buffer in names.buffers}
    return next(name for name in (f"b{i}" for i in range(1000)) if name not in taken)


def grow_tree(pick: Pick, *, launched: bool | None = None) -> Kernel:
    """A kernel as lowering leaves it; `launched` asks for, or forbids, an outermost launch."""
    tree = _Tree(pick, ANYTHING, ANYTHING.scopes)
    names = _Names()
    allocations = tuple(tree.allocate(names) for _ in range(tree.pick(1, 4)))
    if launched is None:
        launched = tree.maybe()
    if not launched:
        return Kernel("main", (*allocations, *tree.block(names, 1)))
    return Kernel("main", (*allocations, tree.thread_axis("blockIdx.x", names, 0)))


@st.composite
def trees(draw: st.DrawFn, *, launched: bool | None = None) -> Kernel:
    """`grow_tree` out of hypothesis' choices."""
    return grow_tree(lambda low, high: draw(st.integers(low, high)), launched=launched)


def grow_module(pick: Pick, grammar: Grammar) -> tuple[Kernel, ...]:
    """One to three launches, each with two to ten buffers of one of the grammar's scopes."""
    found = []
    for number in range((1, 1, 2, 3)[pick(0, 3)]):
        scope = grammar.scopes[pick(0, len(grammar.scopes) - 1)]
        tree = _Tree(pick, grammar, (scope,), "xyz"[number])
        names = _Names()
        body: Block = tuple(tree.allocate(names) for _ in range(tree.pick(2, 6)))
        body += tree.block(names, 1, most=9)
        found.append(launch(body, f"f{number}"))
    return tuple(found)


def launch(body: Block, name: str) -> Kernel:
    """`body` on two blocks of 128 threads."""
    for tag, extent in (("threadIdx.x", 128), ("blockIdx.x", 2)):
        body = (Attr(THREAD_EXTENT, Const(tag), Const(extent), body, Var(f"{tag[0]}x")),)
    return Kernel(name, body)
