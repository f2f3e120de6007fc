"""Mends the kernels of a dump: its text with lines put in, and nothing else changed."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.edits import LineEdits
from smemreuse.compilers.text.reader import Dump, DumpFunction, parse_dump
from smemreuse.errors import PlanError
from smemreuse.ir.expr import Const, Expr, Load, format_expr
from smemreuse.linter import lint
from smemreuse.mender import mend
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Edit, Guard, Inserted, Mending, Removal

INDENT = "    "
CHANGED = "lint finds {}, not {}, in the text after the fixes were inserted"


@dataclass(frozen=True)
class MendedText:
    """The dump with its mends in, and what came of each kernel, in order."""

    dump: Dump
    mendings: tuple[Mending, ...]


def mend_text(dump: Dump, barriers: BarrierStage = BarrierStage.AUTO) -> MendedText:
    """The dump with the least put in that makes its kernels clean; see `mender.mend`.

    The text is read and linted again. Where a mend cannot be written, or is not what was found,
    that kernel stays as it is, and its mending says so.
    """
    found = [(one, mend(kernel, barriers)) for one in dump.functions for kernel in one.kernels]
    while True:
        written, doubts = _written(dump, found)
        if written is not None:
            doubts = _unlike(written, [mending for _, mending in found])
        if written is not None and not doubts:
            return MendedText(written, tuple(mending for _, mending in found))
        found = [
            (function, mending.taken_back(doubts[number]) if number in doubts else mending)
            for number, (function, mending) in enumerate(found)
        ]


def _written(
    dump: Dump, found: Sequence[tuple[DumpFunction, Mending]]
) -> tuple[Dump | None, dict[int, str]]:
    """The dump with all mends in; None, and why, by the number of the kernel, where one cannot be
    written."""
    return with_edits(dump, [(function, mending.edits) for function, mending in found])


def with_edits(
    dump: Dump, edits: Sequence[tuple[DumpFunction, Sequence[Edit]]]
) -> tuple[Dump | None, dict[int, str]]:
    """The dump with the edits of each kernel made; None, and why, by the number of the kernel,
    where one cannot be written."""
    if not any(each for _, each in edits):
        return dump, {}
    writer, doubts = _StatementEditor(dump.source), {}
    for number, (function, each) in enumerate(edits):
        try:
            for one in each:
                writer.add(function, one)
        except PlanError as error:
            doubts[number] = str(error)
    if doubts:
        return None, doubts
    writer.edit()
    return parse_dump(writer.result(), dump.file), {}


def _unlike(dump: Dump, mendings: Sequence[Mending]) -> dict[int, str]:
    """Of which kernels that were mended lint finds something else in the text than was to be."""
    doubts = {}
    for number, (kernel, mending) in enumerate(zip(dump.kernels, mendings, strict=True)):
        if not mending.mends:
            continue
        later = mending.before.barriers_follow
        found = lint(kernel, BarrierStage.LATER if later else BarrierStage.PRESENT)
        if _without_lines(found) != _without_lines(mending.after):
            doubts[number] = CHANGED.format(found.status, mending.after.status)
    return doubts


def _without_lines(report: LintReport) -> tuple[object, ...]:
    """What two reports on one kernel have in common, wherever its lines are."""
    hazards = sorted((one.kind.value, one.certain, one.buffers) for one in report.hazards)
    return report.status, hazards, report.unknown


class _StatementEditor(LineEdits):
    """Puts statements and branches into a source text, each on a line of its own."""

    def __init__(self, source: str):
        super().__init__(source)
        self._added: list[tuple[int, bool, str, list[str]]] = []

    def add(self, function: DumpFunction, edit: Edit) -> None:
        """Raises `PlanError` where the text has no line for it."""
        node = _node_at(function, edit.anchor.line)
        indent = self.indent(node)
        if indent is None or self.lines[node.lineno - 1].lstrip().startswith("elif"):
            raise PlanError("no line can be put in there; write one statement on each, and no elif")
        begin, end = node.lineno - 1, node.end_lineno or node.lineno
        if isinstance(edit, Removal):
            self.replace(begin, end, [f"{indent}{_prefix(function)}.evaluate(0)"])
            return
        if isinstance(edit, Guard):
            inside = [INDENT + line.rstrip("\r\n") for line in self.lines[begin:end]]
            self.replace(begin, end, [f"{indent}if {format_expr(edit.condition)}:", *inside])
            return
        prefix = _prefix(function)
        texts = [self._text(function, one, prefix) for one in edit.inserted]
        line = end if edit.after else begin
        self._added.append((line, edit.after, indent, [indent + text for text in texts]))

    def edit(self) -> None:
        """Of what is put in at one line, the end of what comes before it is first."""
        at: dict[int, list[str]] = {}
        for line, _, _, texts in sorted(
            self._added, key=lambda one: (one[0], not one[1], -len(one[2]))
        ):
            at.setdefault(line, []).extend(texts)
        for line, texts in at.items():
            self.replace(line, line, texts)

    def _text(self, function: DumpFunction, inserted: Inserted, prefix: str) -> str:
        if inserted.copied is None:
            return script_of(inserted, prefix)
        node = _node_at(function, inserted.copied.line)
        if node.end_lineno != node.lineno:
            raise PlanError("what would be written once more has several lines; give it one")
        return str(self.lines[node.lineno - 1].strip())


def script_of(inserted: Inserted, prefix: str) -> str:
    """An operation as TVMScript, under the name that means `T` in the file."""
    operands = ", ".join(_operand(one, prefix) for one in inserted.call.args)
    return f"{prefix}.{inserted.call.op}({operands})"


def _operand(expr: Expr, prefix: str) -> str:
    if isinstance(expr, Const):
        if isinstance(expr.value, bool):
            return f"{prefix}.bool({expr.value})"
        return json.dumps(expr.value)
    if isinstance(expr, Load):
        return format_expr(expr)
    raise PlanError(f"`{format_expr(expr)}` is not written")


def _prefix(function: DumpFunction) -> str:
    """The `T` of the file: most of its calls are of it; some are of buffers, as `A.view(64)`."""
    called = Counter(
        ast.unparse(node.func).partition(".")[0]
        for statement in function.text.nodes
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    if not called:
        raise PlanError("the text has no call that shows how operations are written")
    return called.most_common(1)[0][0]


def _node_at(function: DumpFunction, line: int | None) -> ast.stmt:
    """The outermost statement that begins at a line."""
    for node in _statements(function.text.nodes):
        if node.lineno == line:
            return node
    raise PlanError("the text has no line for a statement")


def _statements(nodes: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in nodes:
        yield node
        for block in ("body", "orelse"):
            yield from _statements(getattr(node, block, []))
