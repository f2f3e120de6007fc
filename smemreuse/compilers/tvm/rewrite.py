"""Applies a plan to a live function: one arena for each launch, every buffer a view into it.

Each `AllocBuffer` goes, and at the head of its launch stands
`DeclBuffer(buffer, data=reinterpret(address_of(arena[offset])))`; every access stays as it is.
`ThreadSync` has run before and does not run again, so the barriers that the plan needs are put in
here (rule 6).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import tvm_ffi
from tvm import tirx

from smemreuse.compilers.build import TirBuilder
from smemreuse.compilers.live import LiveVisitor
from smemreuse.errors import BackendError
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import SHARED_SCOPES, THREAD_EXTENT, Buffer, Stmt
from smemreuse.planner.linear_scan import ARENA_ALIGNMENT
from smemreuse.planner.problem import align_up
from smemreuse.results.plan import Plan

ARENA_NAMES = {"shared.dyn": "buf_dyn_shmem", "shared": "buf_shmem"}
VOLATILE = "tirx.volatile"


def apply_plans(
    func: Any,
    visitor: LiveVisitor,
    plans: Sequence[Sequence[Plan]],
    barriers: Collection[Stmt],
) -> Any:
    """`func` with its plans applied: one sequence of plans for each launch, in program order.

    `visitor` is the one that read `func`; it knows which variable each buffer came from, and the
    places of the statements that a barrier goes before. Raises `BackendError` where the function
    has another number of launches, or an arena's size is not known where it is allocated.
    """
    rewriter = _Rewriter(func, visitor, plans, barriers)
    body = rewriter.statement(func.body)
    if rewriter.launches != len(plans):
        raise BackendError(f"found {rewriter.launches} launches for {len(plans)} kernels")
    return func.with_body(body)


def has_volatile_buffers(func: Any) -> bool:
    """Whether a shared buffer of `func` is marked volatile."""

    def look(node: Any) -> Any:
        if VOLATILE in node.annotations and str(node.buffer.scope()) in SHARED_SCOPES:
            return tvm_ffi.VisitInterrupt(node)
        return None

    return tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, look)) is not None


def _defined_in(body: Any) -> set[Any]:
    """Variables that have no value before the statement that defines them."""
    found: set[Any] = set()
    tvm_ffi.structural_walk(
        body,
        [
            (tirx.stmt.Bind, lambda node: found.add(node.var)),
            (tirx.For, lambda node: found.add(node.loop_var)),
            (tirx.IterVar, lambda node: found.add(node.var)),
        ],
    )
    return found


class _Rewriter:
    """Walks a function in the order in which the visitor walked it, counting statements."""

    def __init__(
        self,
        func: Any,
        visitor: LiveVisitor,
        plans: Sequence[Sequence[Plan]],
        barriers: Collection[Stmt],
    ):
        self.launches = 0
        self._plans = plans
        self._nodes = {buffer: node for node, buffer in visitor.allocated.items()}
        self._merged = {
            self._nodes[buffer] for launch in plans for plan in launch for buffer in plan.buffers
        }
        self._barriers = {visitor.places[stmt] for stmt in barriers}
        self._builder = TirBuilder(tirx, visitor.vars, inside=_defined_in(func.body))
        self._count = 0
        self._inside = False

    def statement(self, node: Any) -> Any:
        if isinstance(node, tirx.SeqStmt):
            return tirx.SeqStmt([self.statement(child) for child in node.seq])
        place, self._count = self._count, self._count + 1
        rewritten = self._rewritten(node)
        if place in self._barriers:
            return tirx.SeqStmt([_barrier(), rewritten])
        return rewritten

    def _rewritten(self, node: Any) -> Any:
        if isinstance(node, tirx.AllocBuffer) and node.buffer in self._merged:
            return tirx.Evaluate(tirx.IntImm("int32", 0))
        if isinstance(node, tirx.AttrStmt):
            body = self._launch(node) if self._is_launch(node) else self.statement(node.body)
            return tirx.AttrStmt(node.node, node.attr_key, node.value, body, node.span)
        if isinstance(node, tirx.For):
            return self._for(node)
        if isinstance(node, tirx.While):
            return tirx.While(node.condition, self.statement(node.body), node.span)
        if isinstance(node, tirx.IfThenElse):
            then = self.statement(node.then_case)
            orelse = None if node.else_case is None else self.statement(node.else_case)
            return tirx.IfThenElse(node.condition, then, orelse, node.span)
        return node

    def _for(self, node: Any) -> Any:
        return tirx.For(
            node.loop_var,
            node.min,
            node.extent,
            node.kind,
            self.statement(node.body),
            node.thread_binding,
            node.annotations,
            node.step,
            node.span,
        )

    def _is_launch(self, node: Any) -> bool:
        return not self._inside and node.attr_key == THREAD_EXTENT

    def _launch(self, node: Any) -> Any:
        """An outermost thread axis: its launch gets the arenas."""
        index, self.launches = self.launches, self.launches + 1
        self._inside = True
        body = self.statement(node.body)
        self._inside = False
        plans = self._plans[index] if index < len(self._plans) else ()
        views = [stmt for plan in plans for stmt in self._arena(plan)]
        rest = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
        return tirx.SeqStmt([*views, *rest]) if views else body

    def _arena(self, plan: Plan) -> list[Any]:
        """The arena's allocation and the views into it, in order of offset."""
        size = plan.arena_expr or Const(align_up(plan.arena_bytes, ARENA_ALIGNMENT))
        arena = tirx.decl_buffer(
            (self._builder.build(size),),
            "uint8",
            ARENA_NAMES[plan.scope],
            scope=plan.scope,
            data_alignment=max([ARENA_ALIGNMENT, *plan.alignments.values()]),
        )
        return [
            tirx.AllocBuffer(arena),
            *(self._view(arena, buffer, plan) for buffer in plan.in_order()),
        ]

    def _view(self, arena: Any, buffer: Buffer, plan: Plan) -> Any:
        node = self._nodes[buffer]
        offset = self._builder.build(plan.offset_of(buffer))
        address = tirx.address_of(tirx.BufferLoad(arena, [offset]))
        return tirx.DeclBuffer(node, data=tirx.reinterpret(node.data.ty, address))


def _barrier() -> Any:
    whole_block = (tirx.IntImm("bool", 0), tirx.IntImm("int32", -1))
    return tirx.Evaluate(tirx.call_intrin("void", "tirx.tvm_storage_sync", "shared", *whole_block))
