"""Applies plans to a dump's text, changing nothing but the lines that allocate.

    As = T.alloc_buffer((8192,), "float16", scope="shared.dyn")

becomes a pointer into the arena and a view through it, so every access keeps its spelling:

    As_ptr: T.handle("float16", "shared.dyn") = T.handle_add_byte_offset(buf_dyn_shmem.data, 0)
    As = T.decl_buffer((8192,), "float16", data=As_ptr, scope="shared.dyn")
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from smemreuse.errors import PlanError
from smemreuse.frontend.statements import FunctionText
from smemreuse.frontend.text import Dump, DumpFunction
from smemreuse.model.expr import format_expr
from smemreuse.model.kernel import THREAD_EXTENT, Attr, Buffer, Kernel, walk_statements
from smemreuse.model.sequence import Plan

Planner = Callable[[Kernel, str], Plan]

_ARENA_NAMES = {"shared.dyn": "buf_dyn_shmem", "shared": "buf_shmem"}


@dataclass(frozen=True)
class MergedText:
    """The new source, and a line for each arena that was made."""

    source: str
    summary: tuple[str, ...]


def merge_text(dump: Dump, planner: Planner) -> MergedText:
    """The dump with every scope of two or more buffers merged.

    Raises `PlanError` where the text has no place for the arena, or writes an allocation in a way
    that cannot be replaced by whole lines.
    """
    editor = _Editor(dump.source)
    summary = []
    for function in dump.functions:
        for kernel in function.kernels:
            for scope in kernel.shared_scopes():
                if len(kernel.allocations(scope)) < 2:
                    continue
                plan = planner(kernel, scope)
                editor.apply(function, kernel, plan)
                summary.append(
                    f"{function.name}: {len(plan.buffers)} {scope} buffers of "
                    f"{plan.total_bytes:,} bytes in an arena of {_arena_size(plan)} bytes"
                )
    return MergedText(editor.result(), tuple(summary))


def _arena_size(plan: Plan) -> str:
    return format_expr(plan.arena_expr) if plan.arena_expr else str(plan.arena_bytes)


class _Editor:
    """Line edits of a source text, collected first and made from the end."""

    def __init__(self, source: str):
        self._lines = source.splitlines(keepends=True)
        self._used = set(re.findall(r"\w+", source))
        self._edits: list[tuple[int, int, list[str]]] = []  # from line, to line (0-based), new text

    def result(self) -> str:
        lines = list(self._lines)
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2], reverse=True):
            lines[start:end] = [f"{line}\n" for line in text]
        return "".join(lines)

    def apply(self, function: DumpFunction, kernel: Kernel, plan: Plan) -> None:
        arena = self._fresh(_ARENA_NAMES[plan.scope])
        line, indent = self._arena_place(function.text, kernel, plan)
        size, scope = _arena_size(plan), plan.scope
        self._edits.append(
            (line, line, [f'{indent}{arena} = T.alloc_buffer(({size},), "uint8", scope="{scope}")'])
        )
        for buffer in plan.buffers:
            self._replace(function.text.spans[buffer], buffer, arena, _offset(plan, buffer))

    def _replace(self, node: ast.Assign, buffer: Buffer, arena: str, offset: str) -> None:
        indent = self._whole_line(node)
        pointer = self._fresh(f"{buffer.name}_ptr")
        handle = f'T.handle("{buffer.dtype}", "{buffer.scope}")'
        address = f"T.handle_add_byte_offset({arena}.data, {offset})"
        view = f"{buffer.name} = {_view_call(node, pointer)}"
        new = [f"{indent}{pointer}: {handle} = {address}", f"{indent}{view}"]
        self._edits.append((node.lineno - 1, node.end_lineno or node.lineno, new))

    def _whole_line(self, node: ast.stmt) -> str:
        """The indentation of a statement that has its lines to itself."""
        before = self._lines[node.lineno - 1][: node.col_offset]
        last = self._lines[(node.end_lineno or node.lineno) - 1].encode()
        after = last[node.end_col_offset or 0 :].decode(errors="replace").strip()
        if before.strip() or (after and not after.startswith("#")):
            raise PlanError(f"line {node.lineno}: the allocation shares its line; give it its own")
        return before

    def _arena_place(self, text: FunctionText, kernel: Kernel, plan: Plan) -> tuple[int, str]:
        """The line before which the arena goes, behind the first launch, and its indentation."""
        for stmt in walk_statements(kernel.body):
            if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.line is not None:
                node = text.launches[stmt.line]
                if isinstance(node, ast.With):
                    first = node.body[0]
                    return first.lineno - 1, " " * first.col_offset
                return node.end_lineno or node.lineno, " " * node.col_offset
        spans = sorted(
            (text.spans[buffer] for buffer in plan.buffers), key=lambda node: node.lineno
        )
        if min(node.col_offset for node in spans) != spans[0].col_offset:
            raise PlanError(f"{kernel.name} launches no threads, so there is no place for an arena")
        return spans[0].lineno - 1, " " * spans[0].col_offset

    def _fresh(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self._used:
            count += 1
            candidate = f"{name}_{count}"
        self._used.add(candidate)
        return candidate


def _offset(plan: Plan, buffer: Buffer) -> str:
    if buffer in plan.symbolic_offsets:
        return format_expr(plan.symbolic_offsets[buffer])
    return str(plan.offsets.get(buffer, 0))  # a buffer that nothing touches disturbs nobody at 0


def _view_call(node: ast.Assign, pointer: str) -> str:
    """`T.decl_buffer(...)` with the arguments of the `T.alloc_buffer(...)` that it replaces."""
    call = node.value
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    keywords = [keyword for keyword in call.keywords if keyword.arg != "annotations"]
    data = ast.keyword(arg="data", value=ast.Name(id=pointer, ctx=ast.Load()))
    func = ast.Attribute(value=call.func.value, attr="decl_buffer", ctx=ast.Load())
    text = ast.unparse(ast.Call(func=func, args=call.args, keywords=[data, *keywords]))
    return text if '"' in text else text.replace("'", '"')
