"""Kernel in, plan out: joins analysis, packer and checker. The one place that knows all three."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from smemreuse.analysis.aggressive import aggressive_live_ranges
from smemreuse.analysis.alignment import MIN_ALIGNMENT, alignments
from smemreuse.analysis.dataflow import Dataflow, Pair, dataflow
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.analysis.policy import POLICIES
from smemreuse.checker import check_plan
from smemreuse.errors import PlanError
from smemreuse.model.expr import Call, Const, Expr
from smemreuse.model.intrinsics import WAIT_PARITY, calls_any
from smemreuse.model.kernel import Buffer, Kernel, unique_names
from smemreuse.model.sequence import Linearization, LiveRange, Plan
from smemreuse.model.verdict import SOUND, UNPROVED, Verdict
from smemreuse.planner import PACKERS, Problem, validate, with_conflicts, without_reuse
from smemreuse.planner.problem import align_up

POLICY_NAMES = (*POLICIES, "dataflow")
"""Attribution rules, and the proved combination of them, which is the default."""

KEPT = "outer's sharing is kept, though the checker can neither prove nor refute it"
"""The one exception to applying only what is proved, so that no kernel grows: what the compiler
does by default, in a kernel whose arms are ordered by mbarriers that cannot be followed."""

OBJECTIVES = ("bytes", "none")
"""`bytes`: the smallest arena. `none`: buffers side by side, nothing is reused."""


def plan_kernel(
    kernel: Kernel,
    scope: str,
    *,
    policy: str = "dataflow",
    packer: str = "best",
    objective: str = "bytes",
) -> Plan:
    """Plans the merged allocation of one kernel and storage scope.

    With policy `inner`, packer `tilelang` gets the live ranges of TileLang's aggressive option.
    Raises `PlanError` for an unknown policy, packer or objective.
    """
    _known("policy", policy, POLICY_NAMES)
    _known("packer", packer, PACKERS)
    _known("objective", objective, OBJECTIVES)
    planner = _Planner(kernel, scope, packer, objective)
    return planner.proved() if policy == "dataflow" else planner.attributed(policy)


def judge(kernel: Kernel, plan: Plan) -> Verdict:
    """The checker's verdict on a plan, before barriers are inserted."""
    offsets = plan.offsets
    return check_plan(kernel, plan.scope, offsets, plan.arena_bytes, plan.alignments)


def acceptable(plan: Plan, verdict: Verdict) -> bool:
    """Whether a plan may be applied: it is proved, or keeps the compiler's sharing (`KEPT`)."""
    if verdict.verdict == UNPROVED:
        return KEPT in plan.notes or plan.objective == "none"
    return verdict.sound


def attempts(policy: str, packer: str, objective: str) -> Iterator[dict[str, str]]:
    """Arguments of `plan_kernel` to try until a plan is acceptable: the wanted ones, then more
    and more cautious ones; the last shares nothing and always holds."""
    if objective != "none":
        for each in dict.fromkeys((policy, "dataflow", "outer")):
            yield {"policy": each, "packer": packer, "objective": objective}
    yield {"policy": policy, "packer": packer, "objective": "none"}


class _Planner:
    """Makes plans for one kernel and scope with one packer and objective."""

    def __init__(self, kernel: Kernel, scope: str, packer: str, objective: str):
        self._kernel = kernel
        self._scope = scope
        self._packer = packer
        self._objective = objective
        self._buffers = kernel.allocations(scope)
        self._align = alignments(kernel, scope)

    def attributed(self, policy: str) -> Plan:
        """The plan of an attribution rule alone."""
        sequence = linearize(self._kernel, self._scope, POLICIES[policy])
        if (policy, self._packer) == ("inner", "tilelang"):
            live = aggressive_live_ranges(self._kernel.body, sequence)
        else:
            live = live_ranges(sequence.entries)
        return self.pack(live, policy)

    def proved(self) -> Plan:
        """The dataflow plan: as tight as can be proved, and never larger than a proved outer plan.

        Where mbarriers may order what static rules cannot (rules 4 and 5), a tighter plan is made
        and kept if the checker proves it. Where outer's plan is smaller all the same, it is taken
        if the checker proves it, or if it hangs on mbarriers that the checker cannot follow.
        """
        plan = self._from(dataflow(self._kernel, self._scope))
        if self._objective == "none":
            return plan
        floor = min(self.attributed(policy).lower_bound_bytes for policy in POLICIES)
        if plan.arena_bytes > floor:
            traced = self._from(dataflow(self._kernel, self._scope, ordered_by_trace=True))
            if traced.arena_bytes < plan.arena_bytes and judge(self._kernel, traced).sound:
                plan = replace(traced, notes=("arms are ordered by mbarriers (rule 4)",))
        outer = self.attributed("outer")
        if outer.arena_bytes < plan.arena_bytes:
            verdict = judge(self._kernel, outer).verdict
            if verdict == SOUND:
                plan = replace(outer, policy="dataflow", notes=("outer's sharing is proved",))
            elif verdict == UNPROVED and _uses_mbarriers(self._kernel):
                plan = replace(outer, policy="dataflow", notes=(KEPT,))
        return plan

    def _from(self, found: Dataflow) -> Plan:
        return self.pack(found.live, "dataflow", found.concurrent)

    def pack(
        self, live: Mapping[Buffer, LiveRange], policy: str, concurrent: Iterable[Pair] = ()
    ) -> Plan:
        """Packs buffers whose live ranges are known; those without one take no bytes."""
        names = unique_names(self._buffers)
        constant = [one for one in self._buffers if one in live and one.size is not None]
        problem = Problem.from_intervals(
            sizes=[buffer.size or 0 for buffer in constant],
            alignments=[self._align[buffer] for buffer in constant],
            intervals=[(live[buffer].begin, live[buffer].end) for buffer in constant],
            names=[names[buffer] for buffer in constant],
        )
        number = {buffer: index for index, buffer in enumerate(constant)}
        pairs = [tuple(number[one] for one in pair if one in number) for pair in concurrent]
        problem = with_conflicts(problem, [(a[0], a[1]) for a in pairs if len(a) == 2])
        if self._objective == "none":
            problem = without_reuse(problem)
        placement = PACKERS[self._packer](problem)
        validate(problem, placement)
        symbolic = [one for one in self._buffers if one in live and one.size is None]
        symbolic_offsets, arena_expr = _append_symbolic(placement.arena, symbolic, self._align)
        return Plan(
            scope=self._scope,
            policy=policy,
            packer=self._packer,
            objective=self._objective,
            buffers=self._buffers,
            alignments=self._align,
            live=dict(live),
            offsets=dict(zip(constant, placement.offsets, strict=True)),
            symbolic_offsets=symbolic_offsets,
            arena_bytes=placement.arena,
            arena_expr=arena_expr,
            lower_bound_bytes=problem.lower_bound,
        )


def _uses_mbarriers(kernel: Kernel) -> bool:
    return calls_any(kernel.body, (WAIT_PARITY,))


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


def sequence_of(
    kernel: Kernel, scope: str, policy: str
) -> tuple[Linearization, Mapping[Buffer, LiveRange]]:
    """The linear sequence under a policy given by name, and the live ranges on it.

    The dataflow policy's ranges lie on inner's sequence, wider than inner's where a rule asks.
    """
    _known("policy", policy, POLICY_NAMES)
    if policy == "dataflow":
        found = dataflow(kernel, scope)
        return found.sequence, found.live
    sequence = linearize(kernel, scope, POLICIES[policy])
    return sequence, live_ranges(sequence.entries)


def _known(what: str, name: str, choices: Sequence[str] | Mapping[str, object]) -> None:
    if name not in choices:
        raise PlanError(f"unknown {what} {name!r}; choose one of {', '.join(choices)}")
