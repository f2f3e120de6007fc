"""Access trees as TVMScript.

Written from TVM's own printer (`src/tirx/script/printer/*.cc`), not from the reader: it folds
`base + lanes * stride` only where TVM does, writes an `AttrStmt` at the end of a block as a plain
statement, and collapses perfect nests into `T.grid`.
"""

from __future__ import annotations

import random

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import (
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
    Kernel,
    Stmt,
    Store,
    While,
)

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
