"""Mends live functions: on the IR that has its barriers and fences, so that none is put in twice.

A function is read anew, statement by statement, and written back with what is put in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tilelang import tvm

from smemreuse.audit import BarrierStage
from smemreuse.compilers.functions import SourceNamer
from smemreuse.compilers.rewrite import LiveRewriter
from smemreuse.compilers.tilelang.visitor import TIR, TirVisitor, tirx
from smemreuse.errors import BackendError
from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Buffer, Kernel, Stmt
from smemreuse.linter import lint
from smemreuse.mender import mend, trim
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Edit, Guard, Inserted, Mending, Removal
from smemreuse.results.trimming import Trimming

CONDITIONS = {"eq": tirx.EQ, "floordiv": tirx.FloorDiv}
NAMESPACES = ("tl", TIR)


@dataclass
class Synchronized:
    """A live function that has all its barriers and fences.

    `merged` gives the buffers that our plans have made pointers into an arena, as for the visitor;
    `sources` writes into the statements of its kernels where they come from.
    """

    name: str
    func: Any
    merged: Mapping[Any, Buffer]
    sources: SourceNamer | None = None

    @cached_property
    def reader(self) -> TirVisitor:
        return TirVisitor(self.merged)

    @cached_property
    def kernels(self) -> list[Kernel]:
        found = self.reader.kernels(self.name, self.func)
        if self.sources is not None:
            self.sources(self.reader, found)
        return found

    def report(self, launch: int) -> LintReport:
        """The hazards of one of its kernels."""
        return lint(self.kernels[launch], BarrierStage.PRESENT)

    def mended(self) -> tuple[Synchronized, tuple[Mending, ...]]:
        """The function with the least put in that makes its kernels clean, and what came of each.

        What was written is read and linted again; where that finds something else than was to be,
        nothing is put in.
        """
        found = tuple(mend(kernel, BarrierStage.PRESENT) for kernel in self.kernels)
        edits = [one for mending in found for one in mending.edits]
        if not edits:
            return self, found
        written = MendWriter(self.func, self.reader).written(edits)
        again = replace(self, func=written)
        hazards = [again.report(launch).hazards for launch in range(len(found))]
        if list(map(_kinds, hazards)) != [_kinds(one.after.hazards) for one in found]:
            doubt = "lint finds something else in the function after the fixes were inserted"
            return self, tuple(one.taken_back(doubt) for one in found)
        return again, found

    def trimmed(self, accepted: Callable[[Any], bool]) -> tuple[Synchronized, tuple[Trimming, ...]]:
        """The function without the barriers and fences that its kernels do not need, and what came
        of each. `accepted` says of a function whether the plans of its buffers hold there."""
        found: list[Trimming] = []
        taken: list[Removal] = []
        for kernel in self.kernels:
            before = tuple(taken)

            def holds(removals: tuple[Removal, ...], before: tuple[Removal, ...] = before) -> bool:
                return accepted(self._without((*before, *removals)))

            found.append(trim(kernel, BarrierStage.PRESENT, holds))
            taken += found[-1].removals
        return (replace(self, func=self._without(taken)) if taken else self), tuple(found)

    def _without(self, removals: Sequence[Removal]) -> Any:
        return MendWriter(self.func, self.reader).written(removals)


def _kinds(hazards: Sequence[Any]) -> list[tuple[str, bool, tuple[str, ...]]]:
    return sorted((one.kind.value, one.certain, one.buffers) for one in hazards)


class MendWriter:
    """Puts what mends or delays a function into it, at the places at which `reader` read
    statements."""

    def __init__(self, func: Any, reader: TirVisitor):
        self._func = func
        self._reader = reader
        self._buffers = {buffer: node for node, buffer in reader.live_buffers.items()}
        self._variables = {var: node for node, var in reader.vars.items()}

    def written(
        self,
        edits: Sequence[Edit],
        more: Mapping[tuple[int, bool], Sequence[Any]] | None = None,
        prologues: Sequence[Sequence[Any]] | None = None,
    ) -> Any:
        """The function with these edits. Raises `BackendError` where one cannot be made.

        `more` are statements of TileLang's own, by the place that they are before, or after if
        True; `prologues` those at the head of each launch.
        """
        beside: dict[bool, dict[int, list[Any]]] = {False: {}, True: {}}
        for (place, after), nodes in (more or {}).items():
            beside[after][place] = [*nodes]
        guards: dict[int, Any] = {}
        removed: set[int] = set()
        for one in edits:
            place = self._reader.places[one.anchor]
            if isinstance(one, Guard):
                guards[place] = self._condition(one.condition)
            elif isinstance(one, Removal):
                removed.add(place)
            else:
                beside[one.after].setdefault(place, []).extend(map(self._made, one.inserted))
        rewriter = LiveRewriter(
            tirx,
            before=beside[False],
            after=beside[True],
            guards=guards,
            removed=removed,
            prologues=prologues,
        )
        return rewriter.rewritten(self._func)

    def place(self, stmt: Stmt) -> int:
        """The number of a statement that `reader` has read."""
        return self._reader.places[stmt]

    def variable(self, var: Var) -> Any:
        """TileLang's own variable. Raises `BackendError` where it is not one of the function."""
        if var not in self._variables:
            raise BackendError(f"`{var}` is no variable of the function")
        return self._variables[var]

    def _condition(self, expr: Expr) -> Any:
        """The condition of a guard, as the mender makes it of a variable and constants."""
        if isinstance(expr, Call) and expr.op in CONDITIONS:
            return CONDITIONS[expr.op](*map(self._condition, expr.args))
        if isinstance(expr, Var):
            return self._variables[expr]
        if isinstance(expr, Const):
            return tirx.IntImm("int32", expr.value)
        raise BackendError(f"`{expr}` is not written")

    def _made(self, inserted: Inserted) -> Any:
        if inserted.copied is not None:
            return self._reader.nodes[self._reader.places[inserted.copied]]
        operands = [self._operand(one) for one in inserted.call.args]
        return tirx.Evaluate(tirx.call_intrin("handle", _operator(inserted.call.op), *operands))

    def _operand(self, expr: Expr) -> Any:
        if isinstance(expr, Const):
            return tirx.IntImm("bool", expr.value) if isinstance(expr.value, bool) else expr.value
        if isinstance(expr, Load) and all(isinstance(one, Const) for one in expr.indices):
            indices = [tirx.IntImm("int32", one.value) for one in expr.indices]  # type: ignore[union-attr]
            return tirx.BufferLoad(self._buffers[expr.buffer], indices)
        raise BackendError(f"`{expr}` is not written")


def _operator(name: str) -> Any:
    """The operator that TVMScript prints by a name."""
    for namespace in NAMESPACES:
        full = f"{namespace}.{name}"
        if full in _OPERATORS:
            return tvm.ir.Op.get(full)
    raise BackendError(f"TileLang has no operator {name}")


_OPERATORS = frozenset(str(name) for name in tvm.ir.Op.list_op_names())
