"""Random access trees, the TVMScript text that prints them, and random packing problems.

A tree is made the way a lowered kernel is: every name is defined before it is used and is visible
only in its block, so the printer below can write it as TVMScript and the reader must find the same
tree again. The printer is written from TVM's own (`src/tirx/script/printer/*.cc`), not from the
reader: it folds `base + lanes * stride` only where TVM does, writes an `AttrStmt` at the end of a
block as a plain statement, and collapses perfect nests into `T.grid`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
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
)
from smemreuse.planner import Problem

SCOPES = ("shared.dyn", "shared.dyn", "shared.dyn", "shared", "shared.barrier", "local", "global")
DTYPES = ("float32", "float16", "uint8", "float8_e4m3fn", "float4_e2m1fn", "int4", "float16x8")
LOOP_KINDS = ("serial", "parallel", "unrolled", "vectorized", "thread_binding")
MAX_DEPTH = 4


# Access trees ---------------------------------------------------------------------------------


@dataclass
class _Names:
    """What is visible in a block. Variables have names of their own; buffer names are reused."""

    buffers: list[Buffer] = field(default_factory=list)
    scalars: list[Var] = field(default_factory=list)
    handles: list[Var] = field(default_factory=list)

    def inside(self) -> _Names:
        return _Names(list(self.buffers), list(self.scalars), list(self.handles))

    def buffer_name(self) -> str:
        """The first name that nothing visible has, so sibling blocks use the same names."""
        taken = {buffer.name for buffer in self.buffers}
        return next(name for name in (f"b{i}" for i in range(1000)) if name not in taken)


class _Grower:
    """Grows one tree from a source of choices; hypothesis shrinks what the choices were."""

    def __init__(self, draw: st.DrawFn):
        self._draw = draw
        self._count = 0

    def pick(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def maybe(self) -> bool:
        return self._draw(st.booleans())

    def choose(self, options: Sequence[str]) -> str:
        return options[self.pick(0, len(options) - 1)]

    def var(self, prefix: str) -> Var:
        self._count += 1
        return Var(f"{prefix}{self._count}")

    # Expressions

    def scalar(self, names: _Names, depth: int = 0) -> Expr:
        kinds = ["const", "var", "var", "binary", "load", "call"]
        kind = self.choose(kinds if depth < 2 else kinds[:3])
        if kind == "var" and names.scalars:
            return names.scalars[self.pick(0, len(names.scalars) - 1)]
        if kind == "binary":
            op = self.choose(("add", "sub", "mul", "floordiv", "floormod", "bitwise_xor"))
            return Call(op, (self.scalar(names, depth + 1), self.scalar(names, depth + 1)))
        if kind == "load" and names.buffers:
            return self.load(names, depth + 1)
        if kind == "call":
            return self.call(names, depth + 1)
        return Const(self.pick(0, 99))

    def call(self, names: _Names, depth: int) -> Expr:
        op = self.choose(("max", "cast", "if_then_else", "let", "Broadcast", "exp", "not"))
        first = self.scalar(names, depth)
        if op == "max":
            return Call("max", (first, self.scalar(names, depth)))
        if op == "cast":
            return Call("cast", (Const("float16"), first))
        if op == "if_then_else":
            condition = self.condition(names, depth)
            return Call("if_then_else", (condition, first, self.scalar(names, depth)))
        if op == "let":
            return Call("let", (self.var("let"), first, self.scalar(names, depth)))
        if op == "Broadcast":
            return Call("broadcast", (first, Const(4)))
        if op == "not":
            return Call("not", (self.condition(names, depth),))
        return Call(op, (first,))

    def condition(self, names: _Names, depth: int = 0) -> Expr:
        op = self.choose(("lt", "le", "eq", "ne", "gt", "ge"))
        test = Call(op, (self.scalar(names, depth + 1), self.scalar(names, depth + 1)))
        if depth < 2 and self.pick(0, 3) == 0:
            return Call(self.choose(("and", "or")), (test, self.condition(names, depth + 1)))
        return test

    def index(self, names: _Names, depth: int) -> Expr:
        if self.pick(0, 3) == 0:
            stride, lanes = self.pick(1, 3), self.pick(2, 8)
            return Call("ramp", (self.scalar(names, depth + 1), Const(stride), Const(lanes)))
        return self.scalar(names, depth + 1)

    def indices(self, buffer: Buffer, names: _Names, depth: int = 0) -> tuple[Expr, ...]:
        return tuple(self.index(names, depth) for _ in buffer.shape)

    def buffer(self, names: _Names) -> Buffer:
        return names.buffers[self.pick(0, len(names.buffers) - 1)]

    def load(self, names: _Names, depth: int) -> Load:
        buffer = self.buffer(names)
        predicate = self.condition(names, 2) if self.pick(0, 5) == 0 else None
        return Load(buffer, self.indices(buffer, names, depth), predicate)

    def address(self, names: _Names) -> Expr:
        kind = self.choose(("access_ptr", "address_of", "pointer", "handle"))
        if kind == "handle" and names.handles:
            return names.handles[self.pick(0, len(names.handles) - 1)]
        buffer = self.buffer(names)
        if kind == "address_of":
            load = Load(buffer, tuple(self.scalar(names, 2) for _ in buffer.shape))
            return Call("address_of", (load,))
        if kind == "access_ptr":
            annotation = Call("type_annotation", (Const(buffer.dtype),))
            parts = (self.scalar(names, 1), Const(16), Const(self.pick(1, 3)))
            return Call("tvm_access_ptr", (annotation, Pointer(buffer), *parts))
        return Pointer(buffer)

    # Statements

    def block(self, names: _Names, depth: int, least: int = 0) -> Block:
        names = names.inside()
        result: list[Stmt] = []
        for _ in range(self.pick(least, 5)):
            result.extend(self.statement(names, depth))
        return tuple(result)

    def statement(self, names: _Names, depth: int) -> Iterator[Stmt]:
        """One statement, with the names that it brings added to `names`."""
        leaves = ("store", "store", "store", "evaluate", "evaluate", "alloc", "view", "bind")
        scopes = ("for", "for", "if", "attr", "while", "specialize", "assert")
        kind = self.choose(leaves if depth >= MAX_DEPTH else (*leaves, *scopes))
        if kind == "alloc" or (not names.buffers and kind in ("store", "evaluate", "view", "bind")):
            yield self.allocate(names)
        elif kind == "store":
            buffer = self.buffer(names)
            predicate = self.condition(names, 2) if self.pick(0, 5) == 0 else None
            yield Store(buffer, self.indices(buffer, names), self.scalar(names), predicate)
        elif kind == "evaluate":
            yield Evaluate(self.effect(names))
        elif kind == "view":
            yield self.view(names)
        elif kind == "bind":
            yield self.bind(names)
        else:
            yield self.scope(kind, names, depth)

    def effect(self, names: _Names) -> Expr:
        kind = self.choose(("ptx_cp_async", "call_extern", "tvm_storage_sync", "scalar"))
        if kind == "scalar":
            return self.scalar(names)
        if kind == "tvm_storage_sync":
            return Call(kind, (Const("shared"),))
        first = (Const("int32"), Const("f")) if kind == "call_extern" else ()
        return Call(kind, (*first, self.address(names), self.address(names), self.scalar(names)))

    def allocate(self, names: _Names) -> Allocate:
        dtype, scope = self.choose(DTYPES), self.choose(SCOPES)
        shape = tuple(Const(self.pick(1, 40)) for _ in range(self.pick(1, 2)))
        buffer = Buffer(names.buffer_name(), dtype, shape, scope)
        names.buffers.append(buffer)
        return Allocate(buffer)

    def view(self, names: _Names) -> Declare:
        of: Buffer | Var = self.buffer(names)
        assert isinstance(of, Buffer)
        dtype, scope = of.dtype, of.scope
        if names.handles and self.maybe():
            of = names.handles[self.pick(0, len(names.handles) - 1)]
        view = Buffer(names.buffer_name(), dtype, (Const(self.pick(1, 9)),), scope, of)
        names.buffers.append(view)
        return Declare(view)

    def bind(self, names: _Names) -> Bind:
        if self.maybe():
            bind = Bind(self.var("p"), self.address(names))
            names.handles.append(bind.var)
            return bind
        bind = Bind(self.var("v"), self.scalar(names))
        names.scalars.append(bind.var)
        return bind

    def scope(self, kind: str, names: _Names, depth: int) -> Stmt:
        if kind == "for":
            var = self.var("i")
            bounds: tuple[Expr, Expr, Expr] = (Const(0), self.scalar(names, 1), Const(1))
            if self.pick(0, 3) == 0:
                bounds = (self.scalar(names, 1), Const(self.pick(1, 9)), Const(self.pick(1, 3)))
            inner = names.inside()
            inner.scalars.append(var)
            return For(var, *bounds, self.choose(LOOP_KINDS), self.block(inner, depth + 1))
        if kind == "while":
            return While(self.condition(names), self.block(names, depth + 1))
        if kind == "assert":
            return Assert(self.condition(names))
        if kind == "specialize":
            arms = self.if_statement(names, depth + 1)
            return Attr(WARP_SPECIALIZATION, Const(0), Const(0), (arms,))
        if kind == "attr":
            key = self.choose(
                ("thread_extent", "virtual_thread", "extern_scope", "lexical_alloc_scope", "pragma")
            )
            if key == THREAD_EXTENT:
                return self.thread_axis("threadIdx.x", names, depth)
            body = self.block(names, depth + 1)
            return Attr(key, Const(0), self.scalar(names, 1), body)
        return self.if_statement(names, depth)

    def if_statement(self, names: _Names, depth: int) -> If:
        then = self.block(names, depth + 1)
        orelse = self.block(names, depth + 1) if self.maybe() else ()
        return If(self.condition(names), then, orelse)

    def thread_axis(self, tag: str, names: _Names, depth: int) -> Attr:
        var = self.var("t")
        inner = names.inside()
        inner.scalars.append(var)
        body = self.block(inner, depth + 1, least=3 if depth == 0 else 1)
        return Attr(THREAD_EXTENT, Const(tag), Const(self.pick(1, 128)), body, var)


@st.composite
def kernels(draw: st.DrawFn, *, launched: bool | None = None) -> Kernel:
    """A kernel as lowering leaves it; `launched` asks for, or forbids, an outermost launch."""
    grower = _Grower(draw)
    names = _Names()
    allocations = tuple(grower.allocate(names) for _ in range(grower.pick(1, 4)))
    if launched is None:
        launched = grower.maybe()
    if not launched:
        return Kernel("main", (*allocations, *grower.block(names, 1)))
    return Kernel("main", (*allocations, grower.thread_axis("blockIdx.x", names, 0)))


# Printing -------------------------------------------------------------------------------------

_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "floormod": "%",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "and",
    "or": "or",
}
_SPELLINGS = {
    "add": "Add",
    "sub": "Sub",
    "floordiv": "FloorDiv",
    "floormod": "FloorMod",
    "lt": "LT",
    "cast": "Cast",
    "broadcast": "Broadcast",
    "ramp": "Ramp",
}


def plus(expr: Expr, constant: int) -> Expr:
    """`expr + constant` as TVM's operator makes it: literals fold, nothing is reassociated."""
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return Const(expr.value + constant)
    return Call("add", (expr, Const(constant)))


class Printer:
    """Writes a kernel as TVMScript; `choices` decides between equivalent spellings."""

    def __init__(self, choices: random.Random | None = None, prefix: str = "T"):
        self._choices = choices or random.Random(0)
        self._t = prefix
        self._declared: list[str] = []
        self._plain = False

    def module(self, kernel: Kernel) -> str:
        """A whole dump: header, a host function and the kernel."""
        t = self._t
        body = self.lines(kernel.body)
        lines = [
            "# from tvm.script import ir as I",
            f"# from tvm.script import tirx as {t}",
            "",
            "@I.ir_module",
            "class Module:",
            f"    @{t}.prim_func",
            f"    def host(A: {t}.handle):",
            f"        Module.{kernel.name}(A)",
            "",
            f"    @{t}.prim_func(private=True)",
            f"    def {kernel.name}():",
        ]
        return "\n".join(lines + _indented(_indented([*self._declared, *body]))) + "\n"

    def _flip(self) -> bool:
        return not self._plain and self._choices.random() < 0.5

    def _bounds(self, begin: Expr, extent: int) -> tuple[str, str]:
        """Both ends of a range, alike spelled where they are the same, as by one printer."""
        before, self._plain = self._plain, True
        texts = (self.expr(begin), self.expr(plus(begin, extent)))
        self._plain = before
        return texts

    def lines(self, block: Block) -> list[str]:
        result: list[str] = []
        for index, stmt in enumerate(block):
            if isinstance(stmt, Attr) and index == len(block) - 1 and self._flip():
                opener, target = self._attr(stmt)
                result.append(f"{target} = {opener}" if target else opener)
                result.extend(self.lines(stmt.body))
                return result or ["pass"]
            result.extend(self._statement(stmt))
        return result or ["pass"]

    def _statement(self, stmt: Stmt) -> list[str]:
        t, text = self._t, self.expr
        if isinstance(stmt, Allocate):
            return [f"{stmt.buffer.name} = {t}.alloc_buffer({self._buffer(stmt.buffer)})"]
        if isinstance(stmt, Declare):
            return [f"{stmt.buffer.name} = {t}.decl_buffer({self._buffer(stmt.buffer)})"]
        if isinstance(stmt, Bind):
            annotation = f'{t}.handle("float16")' if stmt.var.name[0] == "p" else f"{t}.int32"
            return [f"{stmt.var.name}: {annotation} = {text(stmt.value)}"]
        if isinstance(stmt, Store):
            if stmt.predicate is not None:
                indices = ", ".join(map(text, stmt.indices))
                parts = f"[{indices}], {text(stmt.value)}, predicate={text(stmt.predicate)}"
                return [f"{stmt.buffer.name}.vstore({parts})"]
            return [f"{stmt.buffer.name}[{self._indices(stmt.indices)}] = {text(stmt.value)}"]
        if isinstance(stmt, Evaluate):
            value = text(stmt.value)
            return [value if isinstance(stmt.value, Call) else f"{t}.evaluate({value})"]
        if isinstance(stmt, For):
            return self._for(stmt)
        if isinstance(stmt, While):
            return [f"while {text(stmt.condition)}:", *_indented(self.lines(stmt.body))]
        if isinstance(stmt, If):
            return self._if(stmt, "if")
        if isinstance(stmt, Assert):
            return [f'assert {text(stmt.condition)}, ("RuntimeError", ["no"])']
        opener, target = self._attr(stmt)
        end = f" as {target}:" if target else ":"
        return [f"with {opener}{end}", *_indented(self.lines(stmt.body))]

    def _attr(self, stmt: Attr) -> tuple[str, str | None]:
        t = self._t
        if stmt.key != THREAD_EXTENT or stmt.var is None:
            return f'{t}.attr({self.expr(stmt.node)}, "{stmt.key}", {self.expr(stmt.value)})', None
        tag, extent = self.expr(stmt.node), self.expr(stmt.value)
        if self._flip():
            self._declared.append(f"{stmt.var.name} = {t}.env_thread({tag})")
            return f"{t}.launch_thread({stmt.var.name}, {extent})", None
        return f"{t}.launch_thread({tag}, {extent})", stmt.var.name

    def _if(self, stmt: If, keyword: str) -> list[str]:
        lines = [f"{keyword} {self.expr(stmt.condition)}:", *_indented(self.lines(stmt.then))]
        if len(stmt.orelse) == 1 and isinstance(stmt.orelse[0], If) and self._flip():
            return lines + self._if(stmt.orelse[0], "elif")
        if stmt.orelse:
            lines += ["else:", *_indented(self.lines(stmt.orelse))]
        return lines

    def _for(self, stmt: For) -> list[str]:
        nest = self._nest(stmt)
        if len(nest) > 1 and self._flip():
            variables = ", ".join(loop.var.name for loop in nest)
            extents = ", ".join(self.expr(loop.extent) for loop in nest)
            header = f"for {variables} in {self._t}.grid({extents}):"
            return [header, *_indented(self.lines(nest[-1].body))]
        trivial = stmt.begin == Const(0) and stmt.step == Const(1)
        args = [self.expr(stmt.extent)]
        if not trivial:
            assert isinstance(stmt.extent, Const)
            assert isinstance(stmt.extent.value, int)
            args = [*self._bounds(stmt.begin, stmt.extent.value)]
        name = f"{self._t}.{stmt.kind.replace('unrolled', 'unroll')}"
        annotated = self._flip()
        if stmt.kind == "serial" and not annotated:
            name = "range"
        if stmt.kind == "thread_binding":
            args.append('thread="threadIdx.y"')
        if name != "range" and annotated:
            args.append('annotations={"num_stages": 2}')
        if stmt.step != Const(1):
            step = self.expr(stmt.step)
            args.append(step if name == "range" else f"step={step}")
        header = f"for {stmt.var.name} in {name}({', '.join(args)}):"
        return [header, *_indented(self.lines(stmt.body))]

    def _nest(self, loop: For) -> list[For]:
        """Perfectly nested plain loops whose extents do not use an outer loop's variable."""
        nest: list[For] = []
        inner: Stmt = loop
        while (
            isinstance(inner, For)
            and (inner.kind, inner.begin, inner.step) == ("serial", Const(0), Const(1))
            and isinstance(inner.extent, Const)
        ):
            nest.append(inner)
            if len(inner.body) != 1:
                break
            inner = inner.body[0]
        return nest

    def _buffer(self, buffer: Buffer) -> str:
        shape = "".join(f"{self.expr(extent)}, " for extent in buffer.shape).rstrip(" ")
        parts = [f"({shape})"]
        if buffer.dtype != "float32":
            parts.append(f'"{buffer.dtype}"')
        if isinstance(buffer.data, Buffer):
            parts.append(f"data={buffer.data.name}.data")
        elif buffer.data is not None:
            parts.append(f"data={buffer.data.name}")
        if buffer.scope != "global":
            parts.append(f'scope="{buffer.scope}"')
        return ", ".join(parts)

    def _indices(self, indices: tuple[Expr, ...]) -> str:
        return ", ".join(map(self._index, indices))

    def _index(self, index: Expr) -> str:
        if isinstance(index, Call) and index.op == "ramp":
            base, stride, lanes = index.args
            assert isinstance(stride, Const)
            assert isinstance(stride.value, int)
            assert isinstance(lanes, Const)
            assert isinstance(lanes.value, int)
            text = ":".join(self._bounds(base, stride.value * lanes.value))
            return text if stride.value == 1 else f"{text}:{stride.value}"
        return self.expr(index)

    def expr(self, expr: Expr) -> str:
        """An expression; operators are bracketed, so that no precedence can be misread."""
        t = self._t
        if isinstance(expr, Const):
            if expr.value == 1 and self._flip():
                return f"{t}.bool(True)"
            if isinstance(expr.value, int) and self._flip():
                return f"{t}.int64({expr.value})"
            return f'"{expr.value}"' if isinstance(expr.value, str) else repr(expr.value)
        if isinstance(expr, Var):
            return expr.name
        if isinstance(expr, Pointer):
            return f"{expr.buffer.name}.data"
        if isinstance(expr, Load):
            if expr.predicate is not None:
                indices = ", ".join(map(self.expr, expr.indices))
                return (
                    f"{expr.buffer.name}.vload([{indices}], predicate={self.expr(expr.predicate)})"
                )
            return f"{expr.buffer.name}[{self._indices(expr.indices)}]"
        if expr.op == "let":
            var, value, body = expr.args
            assert isinstance(var, Var)
            self._declared.append(f"{var.name} = {t}.int32()")
            return f"{t}.Let({self.expr(body)}, where={{{var.name}: {self.expr(value)}}})"
        if expr.op == "not":
            return f"(not {self.expr(expr.args[0])})"
        args = [self.expr(arg) for arg in expr.args]
        if expr.op in _SYMBOLS and not (expr.op in _SPELLINGS and self._flip()):
            return f"({args[0]} {_SYMBOLS[expr.op]} {args[1]})"
        return f"{t}.{_SPELLINGS.get(expr.op, expr.op)}({', '.join(args)})"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


# Packing problems -----------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn, *, most: int = 10, largest: int = 2**40) -> Problem:
    """An interval problem with anything that a kernel may ask for, and names that may repeat."""
    count = draw(st.integers(0, most))
    sizes = draw(
        st.lists(
            st.one_of(st.integers(0, 64), st.integers(0, largest), st.sampled_from((0, 16, 4096))),
            min_size=count,
            max_size=count,
        )
    )
    alignments = [2 ** draw(st.integers(0, 10)) for _ in range(count)]
    intervals = []
    for _ in range(count):
        begin = draw(st.integers(0, 12))
        intervals.append((begin, begin + draw(st.integers(1, 8))))
    names = [draw(st.sampled_from(("As", "Bs", "workspace"))) for _ in range(count)]
    return Problem.from_intervals(sizes, alignments, intervals, names)
