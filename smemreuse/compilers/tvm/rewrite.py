"""Applies a plan to a live function: one arena for each launch, every buffer a view into it.

Each `AllocBuffer` goes, and at the head of its launch stands
`DeclBuffer(buffer, data=reinterpret(address_of(arena[offset])))`; every access stays as it is.
`ThreadSync` has run before and does not run again, so the barriers that the plan needs are put in
here (rule 6).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tvm_ffi

from smemreuse.compilers.build import TirBuilder
from smemreuse.compilers.live import LiveVisitor
from smemreuse.compilers.rewrite import ARENA_NAMES, LiveRewriter
from smemreuse.compilers.tvm.visitor import TIR, tirx
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Stmt
from smemreuse.planner.linear_scan import ARENA_ALIGNMENT
from smemreuse.planner.problem import align_up
from smemreuse.results.plan import Plan

VOLATILE = f"{TIR}.volatile"


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
    nodes = {buffer: node for node, buffer in visitor.allocated.items()}
    builder = TirBuilder(tirx, visitor.vars, inside=_defined_in(func.body))
    rewriter = LiveRewriter(
        tirx,
        before={visitor.places[stmt]: [_barrier()] for stmt in barriers},
        merged={nodes[buffer] for launch in plans for plan in launch for buffer in plan.buffers},
        prologues=[
            [stmt for plan in launch for stmt in _arena(plan, nodes, builder)] for launch in plans
        ],
    )
    return rewriter.rewritten(func)


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


def _arena(plan: Plan, nodes: Mapping[Buffer, Any], builder: TirBuilder) -> list[Any]:
    """The arena's allocation and the views into it, in order of offset."""
    size = plan.arena_expr or Const(align_up(plan.arena_bytes, ARENA_ALIGNMENT))
    arena = tirx.decl_buffer(
        (builder.build(size),),
        "uint8",
        ARENA_NAMES[plan.scope],
        scope=plan.scope,
        data_alignment=max([ARENA_ALIGNMENT, *plan.alignments.values()]),
    )
    views = []
    for buffer in plan.in_order():
        node = nodes[buffer]
        offset = builder.build(plan.offset_of(buffer))
        address = tirx.address_of(tirx.BufferLoad(arena, [offset]))
        views.append(tirx.DeclBuffer(node, data=tirx.reinterpret(node.data.ty, address)))
    return [tirx.AllocBuffer(arena), *views]


def _barrier() -> Any:
    whole_block = (tirx.IntImm("bool", 0), tirx.IntImm("int32", -1))
    return tirx.Evaluate(
        tirx.call_intrin("void", f"{TIR}.tvm_storage_sync", "shared", *whole_block)
    )
