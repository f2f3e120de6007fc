"""Mends live functions: on the IR that has its barriers and fences, so that none is put in twice.

A function is read anew, statement by statement, and written back with what is put in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilelang import tvm

from smemreuse.audit import BarrierStage
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.errors import BackendError, SmemReuseError
from smemreuse.ir.expr import Const, Expr, Load
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.linter import lint
from smemreuse.mender import mend
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Inserted, Insertion, Mending

tirx = tvm.tirx

NAMESPACES = ("tl", "tirx")


@dataclass
class Synchronized:
    """A live function that has all its barriers and fences.

    `merged` gives the buffers that our plans have made pointers into an arena, as for the visitor.
    """

    name: str
    func: Any
    merged: Mapping[Any, Buffer]

    @cached_property
    def reader(self) -> TirVisitor:
        return TirVisitor(self.merged)

    @cached_property
    def kernels(self) -> list[Kernel]:
        return self.reader.kernels(self.name, self.func)

    def report(self, launch: int) -> LintReport:
        """The hazards of one of its kernels."""
        return lint(self.kernels[launch], BarrierStage.PRESENT)

    def mended(self) -> tuple[Synchronized, tuple[Mending, ...]]:
        """The function with the least put in that makes its kernels clean, and what came of each.

        What was written is read and linted again; where that finds something else than was to be,
        nothing is put in.
        """
        found = tuple(mend(kernel, BarrierStage.PRESENT) for kernel in self.kernels)
        insertions = [one for mending in found for one in mending.insertions]
        if not insertions:
            return self, found
        written = Writer(self.func, self.reader).written(insertions)
        again = Synchronized(self.name, written, self.merged)
        told = [again.report(launch).hazards for launch in range(len(found))]
        if list(map(_kinds, told)) != [_kinds(one.after.hazards) for one in found]:
            doubt = "lint finds something else in the function with its mends in"
            return self, tuple(one.taken_back(doubt) for one in found)
        return again, found


def _kinds(hazards: Sequence[Any]) -> list[tuple[str, bool, tuple[str, ...]]]:
    return sorted((one.kind.value, one.certain, one.buffers) for one in hazards)


def mended_or_as_it_is(
    function: Synchronized, warn: Callable[[str], None]
) -> tuple[Synchronized, tuple[Mending, ...]]:
    """As `mended`; a fault of ours must not end a compilation, and is told by `warn`."""
    try:
        found, mendings = function.mended()
    except Exception as error:
        kind = "" if isinstance(error, SmemReuseError) else f"{type(error).__name__}: "
        warn(f"smemreuse: {function.name} is not mended: {kind}{error}")
        return function, ()
    for mending in mendings:
        for one in mending.unmended:
            if one.hazard.certain:
                unmended = f"{one.hazard.kind} is not mended, for {one.why}"
                warn(f"smemreuse: {mending.kernel}: {unmended}")
    return found, mendings


class Writer:
    """Walks a function in the order in which the visitor walked it, counting statements."""

    def __init__(self, func: Any, reader: TirVisitor):
        self._func = func
        self._places = reader.places
        self._variables = {var: node for node, var in reader.vars.items()}
        self._buffers = {buffer: node for node, buffer in reader.live_buffers.items()}
        self._nodes: dict[int, Any] = {}
        self._around: dict[tuple[int, bool], list[Inserted]] = {}
        self._count = 0

    def written(self, insertions: Sequence[Insertion]) -> Any:
        """The function with statements put in. Raises `BackendError` where one cannot be made."""
        self._collect(self._func.body)
        for one in insertions:
            key = (self._places[one.anchor], one.behind)
            self._around.setdefault(key, []).extend(one.inserted)
        self._count = 0
        return self._func.with_body(self._statement(self._func.body))

    def _collect(self, node: Any) -> None:
        """The statements by their places."""
        if node is None:
            return
        if isinstance(node, tirx.SeqStmt):
            for child in node.seq:
                self._collect(child)
            return
        self._nodes[self._count] = node
        self._count += 1
        for inner in _bodies(node):
            self._collect(inner)

    def _statement(self, node: Any) -> Any:
        if node is None:
            return None
        if isinstance(node, tirx.SeqStmt):
            return tirx.SeqStmt([self._statement(child) for child in node.seq])
        place, self._count = self._count, self._count + 1
        rewritten = self._rewritten(node)
        before, behind = (self._around.get((place, side), []) for side in (False, True))
        if not before and not behind:
            return rewritten
        return tirx.SeqStmt([*map(self._made, before), rewritten, *map(self._made, behind)])

    def _rewritten(self, node: Any) -> Any:
        before = self._count
        bodies = [self._statement(inner) for inner in _bodies(node)]
        if not any(before <= place < self._count for place, _ in self._around):
            return node
        if isinstance(node, tirx.For):
            return tirx.For(
                node.loop_var,
                node.min,
                node.extent,
                node.kind,
                bodies[0],
                node.thread_binding,
                node.annotations,
                node.step,
            )
        if isinstance(node, tirx.While):
            return tirx.While(node.condition, bodies[0])
        if isinstance(node, tirx.IfThenElse):
            return tirx.IfThenElse(node.condition, bodies[0], bodies[1])
        return tirx.AttrStmt(node.node, node.attr_key, node.value, bodies[0])

    def _made(self, inserted: Inserted) -> Any:
        if inserted.copied is not None:
            return self._nodes[self._places[inserted.copied]]
        operands = [self._operand(one) for one in inserted.call.args]
        return tirx.Evaluate(tirx.call_intrin("handle", _operator(inserted.call.op), *operands))

    def _operand(self, expr: Expr) -> Any:
        if isinstance(expr, Const):
            return tirx.IntImm("bool", expr.value) if isinstance(expr.value, bool) else expr.value
        if isinstance(expr, Load) and all(isinstance(one, Const) for one in expr.indices):
            indices = [tirx.IntImm("int32", one.value) for one in expr.indices]  # type: ignore[union-attr]
            return tirx.BufferLoad(self._buffers[expr.buffer], indices)
        raise BackendError(f"`{expr}` is not written")


def _bodies(node: Any) -> tuple[Any, ...]:
    """The blocks inside a statement, in the order in which the visitor reads them."""
    if isinstance(node, tirx.IfThenElse):
        return (node.then_case, node.else_case)
    if isinstance(node, (tirx.For, tirx.While, tirx.AttrStmt)):
        return (node.body,)
    return ()


def _operator(name: str) -> Any:
    """The operator that TVMScript prints by a name."""
    for namespace in NAMESPACES:
        full = f"{namespace}.{name}"
        if full in _OPERATORS:
            return tvm.ir.Op.get(full)
    raise BackendError(f"TileLang has no operator {name}")


_OPERATORS = frozenset(str(name) for name in tvm.ir.Op.list_op_names())
