"""Kernel in, plan out: joins the analysis to a packer. The one place that knows both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smemreuse.analysis.aggressive import aggressive_live_ranges
from smemreuse.analysis.alignment import MIN_ALIGNMENT, alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.analysis.policy import POLICIES
from smemreuse.errors import PlanError
from smemreuse.model.expr import Call, Const, Expr
from smemreuse.model.kernel import Buffer, Kernel, unique_names
from smemreuse.model.sequence import Linearization, LiveRange, Plan
from smemreuse.planner import PACKERS, Problem, validate, without_reuse
from smemreuse.planner.problem import align_up

OBJECTIVES = ("bytes", "none")
"""`bytes`: the smallest arena. `none`: buffers side by side, nothing is reused."""


def plan_kernel(
    kernel: Kernel,
    scope: str,
    *,
    policy: str = "outer",
    packer: str = "best",
    objective: str = "bytes",
) -> Plan:
    """Plans the merged allocation of one kernel and storage scope.

    With policy `inner`, packer `tilelang` gets the live ranges of TileLang's aggressive option.
    Raises `PlanError` for an unknown policy, packer or objective.
    """
    _known("policy", policy, POLICIES)
    _known("packer", packer, PACKERS)
    _known("objective", objective, OBJECTIVES)
    sequence = linearize(kernel, scope, POLICIES[policy])
    if (policy, packer) == ("inner", "tilelang"):
        live = aggressive_live_ranges(kernel.body, sequence)
    else:
        live = live_ranges(sequence.entries)
    return plan_ranges(kernel, scope, live, policy=policy, packer=packer, objective=objective)


def plan_ranges(
    kernel: Kernel,
    scope: str,
    live: Mapping[Buffer, LiveRange],
    *,
    policy: str,
    packer: str,
    objective: str,
) -> Plan:
    """Packs buffers whose live ranges are known; those without one take no bytes."""
    buffers = kernel.allocations(scope)
    names = unique_names(buffers)
    align = alignments(kernel, scope)
    constant = [buffer for buffer in buffers if buffer in live and buffer.size is not None]
    problem = Problem.from_intervals(
        sizes=[buffer.size or 0 for buffer in constant],
        alignments=[align[buffer] for buffer in constant],
        intervals=[(live[buffer].begin, live[buffer].end) for buffer in constant],
        names=[names[buffer] for buffer in constant],
    )
    if objective == "none":
        problem = without_reuse(problem)
    placement = PACKERS[packer](problem)
    validate(problem, placement)
    symbolic = [buffer for buffer in buffers if buffer in live and buffer.size is None]
    symbolic_offsets, arena_expr = _append_symbolic(placement.arena, symbolic, align)
    return Plan(
        scope=scope,
        policy=policy,
        packer=packer,
        objective=objective,
        buffers=buffers,
        alignments=align,
        live=dict(live),
        offsets=dict(zip(constant, placement.offsets, strict=True)),
        symbolic_offsets=symbolic_offsets,
        arena_bytes=placement.arena,
        arena_expr=arena_expr,
        lower_bound_bytes=problem.lower_bound,
    )


def _append_symbolic(
    arena: int, symbolic: Sequence[Buffer], align: Mapping[Buffer, int]
) -> tuple[dict[Buffer, Expr], Expr | None]:
    """Lays buffers of unknown size behind the constant arena, sharing with nothing (rule 9)."""
    if not symbolic:
        return {}, None
    end: Expr = Const(arena)
    offsets: dict[Buffer, Expr] = {}
    for buffer in symbolic:
        offsets[buffer] = _aligned(end, align[buffer])
        end = Call("add", (offsets[buffer], buffer.size_expr))
    return offsets, _aligned(end, MIN_ALIGNMENT)


def _aligned(value: Expr, alignment: int) -> Expr:
    if isinstance(value, Const) and isinstance(value.value, int):
        return Const(align_up(value.value, alignment))
    up = Call("add", (value, Const(alignment - 1)))
    return Call("mul", (Call("floordiv", (up, Const(alignment))), Const(alignment)))


def sequence_of(kernel: Kernel, scope: str, policy: str) -> Linearization:
    """The linear sequence under a policy given by name."""
    _known("policy", policy, POLICIES)
    return linearize(kernel, scope, POLICIES[policy])


def _known(what: str, name: str, choices: Sequence[str] | Mapping[str, object]) -> None:
    if name not in choices:
        raise PlanError(f"unknown {what} {name!r}; choose one of {', '.join(choices)}")
