"""Applies a plan to a live function: one arena per launch, every buffer a pointer into it.

Each `AllocBuffer` goes, and `buffer.data` is bound to `handle_add_byte_offset(arena, offset)` at
the head of the kernel, as TileLang's own pass does; every access stays as it is. Thread-sync and
fence insertion come later in the pipeline and see the aliases through those bindings (rule 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tilelang import tvm

from smemreuse.compilers.build import TirBuilder
from smemreuse.compilers.live import LiveVisitor
from smemreuse.compilers.rewrite import ARENA_NAMES, LiveRewriter
from smemreuse.compilers.tilelang.visitor import IN_SEQUENCE, TIR, tirx
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import THREAD_EXTENT, Buffer
from smemreuse.planner.linear_scan import ARENA_ALIGNMENT
from smemreuse.planner.problem import align_up
from smemreuse.results.plan import Plan


def apply_plans(func: Any, visitor: LiveVisitor, plans: Sequence[Sequence[Plan]]) -> Any:
    """`func` with its plans applied: one sequence of plans for each launch, in program order.

    `visitor` is the one that read `func`; it knows which data variable each buffer came from.
    Raises `BackendError` when the function does not have as many launches as there are plans, or
    an arena's size is not known where it is allocated.
    """
    data_vars = {buffer: var for var, buffer in visitor.allocated.items()}
    is_symbolic = any(plan.arena_expr is not None for launch in plans for plan in launch)
    inside = _defined_in_launches(func.body) if is_symbolic else frozenset()
    builder = TirBuilder(tirx, visitor.vars, inside)
    rewriter = LiveRewriter(
        tirx,
        nested=not IN_SEQUENCE,
        merged={
            data_vars[buffer] for launch in plans for plan in launch for buffer in plan.buffers
        },
        key=lambda buffer: buffer.data,
        prologues=[
            [stmt for plan in launch for stmt in _prologue(plan, data_vars, builder)]
            for launch in plans
        ],
    )
    return rewriter.rewritten(func)


def with_plain_conditions(func: Any, merged: Iterable[Any]) -> Any:
    """The function with what a branch asks of merged buffers, by their data variables, put into a
    variable first.

    Where pointers are bound around what uses them, TileLang's `Simplify` puts what they are
    bound to into the conditions that it tries to prove, and fails on buffers there.
    """
    if IN_SEQUENCE:
        return func
    pointers = list(merged)

    def plain(branch: Any) -> Any:
        read: list[Any] = []

        def visit(node: Any) -> None:
            if isinstance(node, tirx.BufferLoad):
                read.append(node.buffer.data)

        tirx.stmt_functor.post_order_visit(branch.condition, visit)
        if not any(one.same_as(pointer) for one in read for pointer in pointers):
            return branch
        asked = tirx.Var("condition", branch.condition.dtype)
        kept = tirx.IfThenElse(asked, branch.then_case, branch.else_case)
        return tirx.LetStmt(asked, branch.condition, kept)

    body = tirx.stmt_functor.ir_transform(func.body, None, plain, [f"{TIR}.IfThenElse"])
    return func.with_body(body)


def _defined_in_launches(body: Any) -> set[Any]:
    """Variables that have no value yet where a launch begins, its axes included."""
    launches: list[Any] = []
    found: set[Any] = set()

    def look(node: Any) -> None:
        if isinstance(node, tirx.AttrStmt) and node.attr_key == THREAD_EXTENT:
            launches.append(node)

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Bind if IN_SEQUENCE else tirx.LetStmt):
            found.add(node.var)
        elif isinstance(node, tirx.For):
            found.add(node.loop_var)

    tirx.stmt_functor.post_order_visit(body, look)
    for launch in launches:
        found.add(launch.node.var)
        tirx.stmt_functor.post_order_visit(launch.body, visit)
    return found


def _prologue(plan: Plan, data_vars: Mapping[Buffer, Any], builder: TirBuilder) -> list[Any]:
    """The arena's allocation and the pointers into it, in order of offset."""
    name = ARENA_NAMES[plan.scope]
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("uint8"), plan.scope)
    arena = tirx.Var(name, pointer)
    build = builder.build
    size = build(plan.arena_expr or Const(align_up(plan.arena_bytes, ARENA_ALIGNMENT)))
    places = [
        (
            data_vars[buffer],
            tirx.call_intrin("handle", _ADD_OFFSET, arena, build(plan.offset_of(buffer))),
        )
        for buffer in plan.in_order()
    ]
    if not IN_SEQUENCE:
        always = tirx.IntImm("bool", 1)
        allocated = partial(tirx.Allocate, arena, "uint8", [size], always)
        return [allocated, *(partial(tirx.LetStmt, *each) for each in places)]
    buffer = tirx.decl_buffer((size,), "uint8", name=name, data=arena, scope=plan.scope)
    return [tirx.AllocBuffer(buffer), *(tirx.Bind(*each) for each in places)]


_ADD_OFFSET = f"{TIR}.handle_add_byte_offset"
