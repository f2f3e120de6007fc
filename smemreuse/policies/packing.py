"""Buffers and when they are live in, a plan out: between policies, which know kernels, and packers,
which know sizes, alignments and conflicts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from smemreuse.analysis.alignment import MIN_ALIGNMENT
from smemreuse.errors import PlanError
from smemreuse.ir.expr import Call, Const, Expr
from smemreuse.ir.kernel import Buffer, unique_names
from smemreuse.planner import (
    PACKERS,
    PASSES,
    Event,
    Placement,
    Problem,
    validate,
    with_conflicts,
    without_reuse,
)
from smemreuse.planner.problem import align_up
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import PackerFallback, Provenance
from smemreuse.results.sequence import LiveRange, StmtEntry

Pair = frozenset[Buffer]


@dataclass(frozen=True)
class Liveness:
    """When the bytes of one storage scope's buffers are taken, as a policy or a compiler has it.

    `buffers` are all allocations in program order; those without a live range take no bytes.
    `alignments` are bytes. `live` counts positions of `entries`. `concurrent` are pairs that must
    not share though their ranges do not overlap. `events` is the exact order in which ranges begin
    (True) and end, where a compiler's pass has one of its own.
    """

    scope: str
    buffers: Sequence[Buffer]
    alignments: Mapping[Buffer, int]
    live: Mapping[Buffer, LiveRange]
    entries: Sequence[StmtEntry]
    concurrent: Sequence[Pair] = ()
    events: Sequence[tuple[Buffer, bool]] | None = None
    taken: Mapping[Buffer, int] = field(default_factory=dict)

    @staticmethod
    def of_plan(plan: Plan) -> Liveness:
        """What a plan was made of, to place its buffers anew."""
        return Liveness(
            plan.scope, plan.buffers, plan.alignments, plan.live, plan.entries, [*plan.concurrent]
        )

    @property
    def constant(self) -> list[Buffer]:
        """The live buffers of constant size, which are those that are packed."""
        return [one for one in self.buffers if one in self.live and one.size is not None]

    @property
    def symbolic(self) -> list[Buffer]:
        """The live buffers whose size is not known."""
        return [one for one in self.buffers if one in self.live and one.size is None]

    def problem(self) -> Problem:
        """The packing problem of the constant buffers, numbered in that order."""
        constant, names = self.constant, unique_names(tuple(self.buffers))
        number = {buffer: index for index, buffer in enumerate(constant)}
        events = None
        if self.events is not None:
            events = [Event(number[one], begins) for one, begins in self.events if one in number]
        problem = Problem.from_intervals(
            sizes=[self.taken.get(buffer, buffer.size or 0) for buffer in constant],
            alignments=[self.alignments[buffer] for buffer in constant],
            intervals=[(self.live[buffer].begin, self.live[buffer].end) for buffer in constant],
            names=[names[buffer] for buffer in constant],
            events=events,
        )
        pairs = [tuple(number[one] for one in pair if one in number) for pair in self.concurrent]
        return with_conflicts(problem, [(a[0], a[1]) for a in pairs if len(a) == 2])


def packed(
    found: Liveness,
    provenance: Provenance,
    *,
    keeps_overlap: bool = False,
    own: str | None = None,
) -> Plan:
    """The plan of the packer that `provenance` names, or of `best` where it has none that holds.

    Objective `none` puts all side by side. `keeps_overlap` takes the packer's layout even where it
    breaks the conflicts that it was given, as a compiler's pass does. `own`, one of `PASSES`, packs
    in place of that packer.
    """
    problem = found.problem()
    if provenance.objective == "none":
        problem = without_reuse(problem)
    placement, provenance = _placed(problem, provenance, own, keeps_overlap=keeps_overlap)
    symbolic_offsets, arena_expr = _append_symbolic(
        placement.arena, found.symbolic, found.alignments
    )
    return Plan(
        scope=found.scope,
        provenance=provenance,
        buffers=found.buffers,
        alignments=found.alignments,
        live=dict(found.live),
        concurrent=frozenset(found.concurrent),
        offsets=dict(zip(found.constant, placement.offsets, strict=True)),
        symbolic_offsets=symbolic_offsets,
        arena_bytes=placement.arena,
        arena_expr=arena_expr,
        lower_bound_bytes=problem.lower_bound,
        proved=placement.proved,
        entries=found.entries,
    )


def _placed(
    problem: Problem, provenance: Provenance, own: str | None, *, keeps_overlap: bool
) -> tuple[Placement, Provenance]:
    """The packer's placement, and the provenance that tells what happened to it.

    A packer may not know all conflicts, or break them. Then the placement of `best` is used and
    recorded as fallback, or with `keeps_overlap` the broken one is kept and the overlap recorded.
    """
    placement: Placement | None = None
    try:
        packer = PACKERS[provenance.packer] if own is None else PASSES[own]
        placement = packer(problem)
        validate(problem, placement)
    except PlanError as broken:
        if provenance.packer == "best":
            raise
        if keeps_overlap and placement is not None:
            return placement, replace(provenance, overlap=str(broken))
        placement = PACKERS["best"](problem)
        validate(problem, placement)
        fallback = PackerFallback(failed=provenance.packer, used="best", why=str(broken))
        return placement, replace(provenance, fallback=fallback)
    return placement, provenance


def _append_symbolic(
    arena: int, symbolic: Sequence[Buffer], align: Mapping[Buffer, int]
) -> tuple[dict[Buffer, Expr], Expr | None]:
    """Lays buffers of unknown size after the constant arena, sharing with nothing (rule 9)."""
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
