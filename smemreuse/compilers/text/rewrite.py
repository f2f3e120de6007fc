"""Applies plans to a dump's text, changing nothing but the lines that allocate.

    As = T.alloc_buffer((8192,), "float16", scope="shared.dyn")

becomes a pointer into the arena and a view through it, so every access keeps its spelling:

    As_ptr: T.handle("float16", "shared.dyn") = T.handle_add_byte_offset(buf_dyn_shmem.data, 0)
    As = T.decl_buffer((8192,), "float16", data=As_ptr, scope="shared.dyn")

Apache TVM's parser takes no such pointer; its views are of `T.reinterpret(.., T.address_of(..))`.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from smemreuse.compilers.rewrite import ARENA_NAMES
from smemreuse.compilers.text.buffers import arguments_of
from smemreuse.compilers.text.edits import LineEdits
from smemreuse.compilers.text.insertion import InsertionPoints
from smemreuse.compilers.text.reader import Dump, DumpFunction
from smemreuse.compilers.text.script import write_script
from smemreuse.compilers.text.statements import FunctionText, literal_dict
from smemreuse.errors import PlanError
from smemreuse.ir.expr import Const, Expr
from smemreuse.ir.kernel import THREAD_EXTENT, Attr, Buffer, Kernel, walk_statements
from smemreuse.pipeline.judging import barriers_with
from smemreuse.results.plan import Plan
from smemreuse.versions import Version, version_of

Planner = Callable[[Kernel, str], Plan]


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
                _refuse_legacy_allocations(function, kernel, scope)
                _refuse_shared_allocations(function, kernel, scope)
                _refuse_volatile_allocations(function, kernel, scope)
                plan = planner(kernel, scope)
                try:
                    editor.apply(function.text, kernel, plan)
                    added = editor.add_barriers(function.text, kernel, plan)
                except PlanError as error:
                    raise error.located(line=plan.buffers[0].line) from None
                barriers = f"; {added} barrier{'s' * (added > 1)} inserted" if added else ""
                summary.append(f"{function.name}: {_summary(plan, scope)}{barriers}")
    return MergedText(editor.result(), tuple(summary))


def _summary(plan: Plan, scope: str) -> str:
    """How many bytes the buffers of a scope take, and what that gains."""
    buffers, apart = f"{len(plan.buffers)} {scope} buffers", f"{plan.total_bytes:,} bytes"
    if not plan.sharing_pairs():
        return f"{buffers} take {plan.arena_text} bytes as before; no two of them share bytes"
    if plan.arena_bytes >= plan.total_bytes:
        return f"{buffers} take {plan.arena_text} bytes, no fewer than side by side"
    return f"{buffers}, {apart} side by side -> {plan.arena_text} bytes merged"


def _refuse_legacy_allocations(function: DumpFunction, kernel: Kernel, scope: str) -> None:
    """The pointers that are written here cannot be written in place of `T.allocate`, whose name is
    a handle that views may use before it."""
    for buffer in kernel.allocations(scope):
        if buffer not in function.text.spans:
            raise PlanError(
                f"{buffer.name} is allocated as in TVM before 2026, which `apply` does not write; "
                "`plan` gives the offsets",
                line=buffer.line,
            )


def _refuse_shared_allocations(function: DumpFunction, kernel: Kernel, scope: str) -> None:
    """Each kernel has an arena of its own, so none may be made for what another one uses too."""
    for other in function.kernels:
        for buffer in other.allocations(scope) if other is not kernel else ():
            if buffer in kernel.allocations(scope):
                raise PlanError(
                    f"{buffer.name} is used by {kernel.name} and {other.name}; allocate it in each",
                    line=buffer.line,
                )


def _refuse_volatile_allocations(function: DumpFunction, kernel: Kernel, scope: str) -> None:
    """A view does not carry `volatile` on, by which warps count on each other without a barrier."""
    for buffer in kernel.allocations(scope):
        given = arguments_of(_allocating_call(function.text.spans[buffer])).get("annotations")
        if given is not None and any(key.endswith("volatile") for key in literal_dict(given)):
            raise PlanError(
                f"{buffer.name} is volatile, which no view of an arena can be; `plan` gives the "
                "offsets",
                line=buffer.line,
            )


def _arena_size(plan: Plan) -> Expr:
    return plan.arena_expr or Const(plan.arena_bytes)


class _Editor(LineEdits):
    """Writes the allocations of a source text anew."""

    def __init__(self, source: str):
        super().__init__(source)
        # Names that differ in the form of their letters are one to Python.
        self._used = set(re.findall(r"\w+", unicodedata.normalize("NFKC", source)))

    def apply(self, text: FunctionText, kernel: Kernel, plan: Plan) -> None:
        arena = self._fresh(ARENA_NAMES[plan.scope])
        places = InsertionPoints(text)
        for buffer in plan.buffers:
            offset = plan.offset_of(buffer)
            if not places.sees(places.before(text.spans[buffer]), [offset]):
                raise PlanError(
                    f"the place of {buffer.name} is made of a size that is hidden, or not known "
                    "yet, where it is allocated; rename what hides it, or allocate it later",
                    line=buffer.line,
                )
            self._replace(text.spans[buffer], buffer, arena, offset, version_of(kernel))
        prefix = _script_prefix(_allocating_call(text.spans[plan.buffers[0]]))
        size = write_script(_arena_size(plan), prefix)
        make = f'{arena} = {prefix}.alloc_buffer(({size},), "uint8", scope="{plan.scope}")'
        line, indent = self._arena_place(places, text, kernel, plan)
        self.replace(line, line, [indent + make])

    def add_barriers(self, text: FunctionText, kernel: Kernel, plan: Plan) -> int:
        """Puts in the barriers that a plan needs (rule 6), each on a line; gives their number."""
        before = barriers_with(kernel, plan.offsets)
        prefix = _script_prefix(_allocating_call(text.spans[plan.buffers[0]]))
        beginning = Counter(node.lineno for node in _statements(text.nodes)) if before else {}
        for stmt in before:
            line = (stmt.line or 0) - 1
            if beginning.get(line + 1) != 1:
                raise PlanError(
                    "a barrier belongs before one of the statements of a line; give each its own",
                    line=stmt.line,
                )
            indent = self.lines[line][: -len(self.lines[line].lstrip())]
            if self.lines[line].lstrip().startswith("elif"):
                raise PlanError("a barrier belongs before this `elif`; write `else:` and `if`")
            self.replace(line, line, [f'{indent}{prefix}.tvm_storage_sync("shared")'])
        return len(before)

    def _replace(
        self, node: ast.Assign, buffer: Buffer, arena: str, offset: Expr, version: Version
    ) -> None:
        indent = self._whole_line(node)
        call = _allocating_call(node)
        prefix = _script_prefix(call)
        handle = f'{prefix}.handle("{buffer.dtype}", "{buffer.scope}")'
        place = write_script(offset, prefix)
        if version.merges_into_views:
            address = f"{prefix}.address_of({arena}[{place}])"
            view = _view_call(call, f"{prefix}.reinterpret({handle}.ty, {address})")
            new = [f"{indent}{buffer.name} = {view}"]
        else:
            pointer = self._fresh(f"{buffer.name}_ptr")
            address = f"{prefix}.handle_add_byte_offset({arena}.data, {place})"
            view = f"{buffer.name} = {_view_call(call, pointer)}"
            new = [f"{indent}{pointer}: {handle} = {address}", f"{indent}{view}"]
        self.replace(node.lineno - 1, node.end_lineno or node.lineno, new)

    def _whole_line(self, node: ast.Assign) -> str:
        """The indentation of an allocation that has its lines to itself."""
        last = self.lines[(node.end_lineno or node.lineno) - 1].encode()
        after = last[node.end_col_offset or 0 :].decode(errors="replace").strip()
        indent = self.indent(node)
        if indent is None or (after and not after.startswith("#")):
            raise PlanError("the allocation shares its line; give it its own", line=node.lineno)
        return indent

    def _arena_place(
        self, places: InsertionPoints, text: FunctionText, kernel: Kernel, plan: Plan
    ) -> tuple[int, str]:
        """The line before which the arena goes, with its indentation."""
        allocations = [text.spans[buffer] for buffer in plan.buffers]
        for place in places.candidates(_launch(text, kernel), allocations):
            indent = self.indent(place.node)
            if indent is not None and places.sees(place, [_arena_size(plan)]):
                return place.node.lineno - 1, indent
        raise PlanError(
            f"no place for an arena in {kernel.name}: its size is not known before the first "
            "allocation; move the allocations after what their sizes are made of",
            line=min(node.lineno for node in allocations),
        )

    def _fresh(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self._used:
            count += 1
            candidate = f"{name}_{count}"
        self._used.add(candidate)
        return candidate


def _statements(nodes: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    return (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.stmt))


def _launch(text: FunctionText, kernel: Kernel) -> ast.stmt | None:
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.line is not None:
            return text.launches[stmt.line]
    return None


def _allocating_call(node: ast.Assign) -> ast.Call:
    if not isinstance(node.value, ast.Call):
        raise PlanError("several definitions in one statement; split it", line=node.lineno)
    return node.value


def _script_prefix(call: ast.Call) -> str:
    """The `T` of the file, from a call of it."""
    return ast.unparse(call.func).partition(".")[0]


def _view_call(call: ast.Call, pointer: str) -> str:
    """`T.decl_buffer(...)` of a pointer, with the arguments of the `T.alloc_buffer(...)`."""
    given = arguments_of(call)
    given.pop("annotations", None)
    positional = [given.pop(name) for name in ("shape", "dtype") if name in given]
    data = ast.keyword(arg="data", value=ast.parse(pointer, mode="eval").body)
    keywords = [ast.keyword(arg=name, value=value) for name, value in given.items()]
    func = ast.Name(id=f"{_script_prefix(call)}.decl_buffer", ctx=ast.Load())
    text = ast.unparse(ast.Call(func=func, args=positional, keywords=[data, *keywords]))
    return text if '"' in text else text.replace("'", '"')
