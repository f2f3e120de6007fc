"""Applies a plan to a live function: one arena per launch, every buffer a pointer into it.

Each `AllocBuffer` goes, and `buffer.data` is bound to `handle_add_byte_offset(arena, offset)` at
the head of the kernel, as TileLang's own pass does; every access stays as it is. Thread-sync and
fence insertion come later in the pipeline and see the aliases through those bindings (rule 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilelang import tvm

from smemreuse.compilers.build import TirBuilder
from smemreuse.compilers.live import LiveVisitor
from smemreuse.errors import BackendError
from smemreuse.ir.expr import Const, Var
from smemreuse.ir.kernel import THREAD_EXTENT, Buffer
from smemreuse.planner.linear_scan import ARENA_ALIGNMENT
from smemreuse.planner.problem import align_up
from smemreuse.results.plan import Plan

tirx = tvm.tirx

ARENA_NAMES = {"shared.dyn": "buf_dyn_shmem", "shared": "buf_shmem"}


def apply_plans(func: Any, visitor: LiveVisitor, plans: Sequence[Sequence[Plan]]) -> Any:
    """`func` with its plans applied: one sequence of plans for each launch, in program order.

    `visitor` is the one that read `func`; it knows which data variable each buffer came from.
    Raises `BackendError` when the function does not have as many launches as there are plans.
    """
    data_vars = {buffer: var for var, buffer in visitor.allocated.items()}
    merged = {data_vars[buffer] for launch in plans for plan in launch for buffer in plan.buffers}
    prologues = [
        [stmt for plan in launch for stmt in _prologue(plan, data_vars, visitor.vars)]
        for launch in plans
    ]
    body, placed = _insert(_without_allocations(func.body, merged), prologues, 0)
    if placed != len(prologues):
        raise BackendError(f"found {placed} thread launches for {len(prologues)} kernels")
    return func.with_body(body)


def _without_allocations(body: Any, merged: set[Any]) -> Any:
    def drop(node: Any) -> Any:
        return tirx.Evaluate(0) if node.buffer.data in merged else None

    return tirx.stmt_functor.ir_transform(body, None, drop, ["tirx.AllocBuffer"])


def _prologue(
    plan: Plan, data_vars: Mapping[Buffer, Any], variables: Mapping[Any, Var]
) -> list[Any]:
    """The arena's allocation and the pointers into it, in order of offset."""
    name = ARENA_NAMES[plan.scope]
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("uint8"), plan.scope)
    arena = tirx.Var(name, pointer)
    build = TirBuilder(tirx, variables).build
    size = build(plan.arena_expr or Const(align_up(plan.arena_bytes, ARENA_ALIGNMENT)))
    buffer = tirx.decl_buffer((size,), "uint8", name=name, data=arena, scope=plan.scope)
    binds = [
        tirx.Bind(
            data_vars[buffer],
            tirx.call_intrin("handle", _ADD_OFFSET, arena, build(plan.offset_of(buffer))),
        )
        for buffer in plan.in_order()
    ]
    return [tirx.AllocBuffer(buffer), *binds]


_ADD_OFFSET = "tirx.handle_add_byte_offset"


def _insert(stmt: Any, prologues: Sequence[Sequence[Any]], index: int) -> tuple[Any, int]:
    """Puts the prologues at the head of the outermost launches; gives the number placed so far."""
    if isinstance(stmt, tirx.SeqStmt):
        children = []
        for child in stmt.seq:
            child, index = _insert(child, prologues, index)
            children.append(child)
        return tirx.SeqStmt(children), index
    if isinstance(stmt, tirx.AttrStmt):
        if stmt.attr_key != THREAD_EXTENT:
            body, index = _insert(stmt.body, prologues, index)
        elif index < len(prologues):
            body, index = _sequence(prologues[index], stmt.body), index + 1
        else:
            body, index = stmt.body, index + 1
        return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body), index
    if isinstance(stmt, tirx.IfThenElse):
        then, index = _insert(stmt.then_case, prologues, index)
        orelse = stmt.else_case
        if orelse is not None:
            orelse, index = _insert(orelse, prologues, index)
        return tirx.IfThenElse(stmt.condition, then, orelse), index
    return stmt, index


def _sequence(prologue: Sequence[Any], body: Any) -> Any:
    rest = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
    return tirx.SeqStmt([*prologue, *rest])
