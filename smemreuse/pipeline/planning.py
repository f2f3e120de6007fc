"""Kernel in, plan out: joins analysis, packer and checker. The one place that knows all three."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from smemreuse.analysis.alignment import MIN_ALIGNMENT, alignments
from smemreuse.analysis.handovers import Handovers
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.baselines.apache_events import stock_alignments, stock_model
from smemreuse.baselines.tilelang_live import aggressive_live_ranges
from smemreuse.errors import PlanError
from smemreuse.ir.expr import Call, Const, Expr
from smemreuse.ir.kernel import Buffer, Kernel, unique_names
from smemreuse.pipeline.judging import judge
from smemreuse.planner import (
    PACKERS,
    Event,
    Placement,
    Problem,
    least_sharing,
    validate,
    with_conflicts,
    without_reuse,
)
from smemreuse.planner.linear_scan import ARENA_ALIGNMENT
from smemreuse.planner.problem import align_up
from smemreuse.policies.attribution import POLICIES
from smemreuse.policies.dataflow import Dataflow, Pair, dataflow
from smemreuse.results.sequence import Linearization, LiveRange, Plan, StmtEntry
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from smemreuse.semantics.table import waits_for_phase
from smemreuse.targets.architectures import (
    ARCHITECTURES,
    DEFAULT_ARCH,
    WARP,
    Architecture,
    target_architecture,
    threads_of,
)
from smemreuse.targets.blocks import block_memory

POLICY_NAMES = (*POLICIES, "dataflow")
"""Attribution rules, and the proved combination of them, which is the default."""

KEPT = "outer's sharing is kept, though the checker can neither prove nor refute it"
"""The one exception to applying only what is proved, so that no kernel grows: what the compiler
does by default, in a kernel whose arms are ordered by mbarriers that cannot be followed."""

TRACED = "arms are ordered by mbarriers (rule 4)"
"""On plans that the checker's trace proves, where the static rules would not."""

FAILS = "Apache TVM's pass does not compile this: "
"""Begins the notes on kernels for which the stock pass has no plan; ours of it is a guess then."""

STOCK_TVM = ("outer", "tvm")
"""The policy and packer that together reproduce the merge pass of Apache TVM 0.27."""

OBJECTIVES = ("bytes", "occupancy", "none")
"""`bytes`: the smallest arena. `none`: buffers side by side, nothing is reused. `occupancy`: as
little sharing as leaves the most blocks on each SM that shared memory and threads allow."""


class PlanOptions(TypedDict):
    """What `plan_kernel` is told beside the kernel."""

    policy: str
    packer: str
    objective: str


class Attempt(PlanOptions, total=False):
    """Options to try; `cautious` does without what only the checker's trace proves."""

    cautious: bool


def plan_kernel(
    kernel: Kernel,
    scope: str,
    *,
    policy: str = "dataflow",
    packer: str = "best",
    objective: str = "bytes",
    arch: Architecture | None = None,
    cautious: bool = False,
) -> Plan:
    """Plans the merged allocation of one kernel and storage scope.

    With packer `tilelang`, policies `outer` and `inner` get the live ranges of TileLang's pass, by
    default and with its aggressive option.
    With policy `outer`, packer `tvm` gets what Apache TVM's pass sees, its blind spots included,
    and the plan is that pass's, even where it breaks its own conflicts; the notes say so.
    With policy `dataflow`, `cautious` leaves out what only the checker's trace of mbarriers proves.
    `arch` is what objective `occupancy` is for; by default what the kernel's target says.
    Raises `PlanError` for an unknown policy, packer or objective.
    """
    checked_options(policy, packer, objective)
    planner = _Planner(kernel, scope, packer, objective, arch)
    if (policy, packer) == STOCK_TVM and objective != "none":
        return planner.stock()
    plan = planner.proved(cautious=cautious) if policy == "dataflow" else planner.attributed(policy)
    return planner.for_occupancy(plan) if objective == "occupancy" else plan


def checked_options(policy: str, packer: str, objective: str) -> PlanOptions:
    """Arguments of `plan_kernel`; raises `PlanError` for one that is not known."""
    _known("policy", policy, POLICY_NAMES)
    _known("packer", packer, PACKERS)
    _known("objective", objective, OBJECTIVES)
    return {"policy": policy, "packer": packer, "objective": objective}


def acceptable(plan: Plan, verdict: Verdict) -> bool:
    """Whether a plan may be applied: it is proved, keeps the compiler's sharing (`KEPT`), or shares
    nothing, which is the kernel as it was."""
    if any(note.startswith(FAILS) for note in plan.notes):
        return False  # it may leave out a buffer that is used
    if verdict.verdict == UNPROVED:
        return KEPT in plan.notes or not plan.sharing_pairs()
    return verdict.sound


def settled(plan: Plan, verdict: Verdict) -> Plan:
    """An acceptable plan as it is reported: without `KEPT` where it was proved after all."""
    if verdict.sound and KEPT in plan.notes:
        return replace(plan, notes=tuple(note for note in plan.notes if note != KEPT))
    return plan


def stock_options(kernel: Kernel) -> PlanOptions:
    """Arguments of `plan_kernel` that give the plan of the default merge of a kernel's compiler."""
    packer = "tvm" if kernel.dialect == "tvm" else "tilelang"
    return {"policy": "outer", "packer": packer, "objective": "bytes"}


def attempts(options: PlanOptions, stock: PlanOptions) -> Iterator[Attempt]:
    """Arguments of `plan_kernel` to try: the wanted ones, more cautious ones, those of the smallest
    arenas, the compiler's own layout; the last shares nothing and always holds."""
    policy, packer, objective = options["policy"], options["packer"], options["objective"]
    if objective != "none":
        for aim in dict.fromkeys((objective, "bytes")):
            for each in dict.fromkeys((policy, "dataflow", "outer")):
                yield {"policy": each, "packer": packer, "objective": aim}
                if each == "dataflow":
                    yield {"policy": each, "packer": packer, "objective": aim, "cautious": True}
        yield {"policy": stock["policy"], "packer": stock["packer"], "objective": "bytes"}
    yield {"policy": policy, "packer": packer, "objective": "none"}


def proposals(
    kernels: Sequence[Kernel],
    scopes: Sequence[Sequence[str]],
    options: PlanOptions,
    stock: PlanOptions,
    arch: Architecture | None = None,
) -> Iterator[list[list[Plan]]]:
    """A plan for each scope of each kernel: the wanted ones, then those of the other `attempts`.

    Those come with the most blocks on an SM first, or for objective `bytes` with the fewest bytes,
    so that no kernel loses to a rejected plan more than can be helped. What was proposed before on
    the same terms is not proposed again, except that the last, without sharing, comes in any case.
    """

    def planned(attempt: Attempt) -> list[list[Plan]]:
        return [
            [_proposed(kernel, scope, attempt, arch) for scope in wanted]
            for kernel, wanted in zip(kernels, scopes, strict=True)
        ]

    def cost(plans: Sequence[Sequence[Plan]]) -> tuple[int, int]:
        if options["objective"] == "bytes":
            return 0, sum(plan.arena_bytes for launch in plans for plan in launch)
        pairs = zip(kernels, plans, strict=True)
        blocks = [_resident_blocks(kernel, launch, arch) or 0 for kernel, launch in pairs]
        return -min(blocks), -sum(blocks)

    first, *others = attempts(options, stock)
    wanted = planned(first)
    yield wanted
    before = [_terms(wanted)]
    rest = sorted(map(planned, others), key=cost)
    for plans in rest:
        terms = _terms(plans)
        if terms not in before or plans is rest[-1]:
            before.append(terms)
            yield plans


def _proposed(kernel: Kernel, scope: str, attempt: Attempt, arch: Architecture | None) -> Plan:
    """The plan of one attempt; TileLang's own layout is `KEPT` where mbarriers may be to blame."""
    plan = plan_kernel(kernel, scope, **attempt, arch=arch)
    made = PlanOptions(policy=plan.policy, packer=plan.packer, objective=plan.objective)
    # Apache TVM's own merge is wrong in too many kernels to be kept on trust.
    is_stock = kernel.dialect != "tvm" and made == stock_options(kernel)
    if is_stock and _uses_mbarriers(kernel) and plan.sharing_pairs():
        return replace(plan, notes=(*plan.notes, KEPT))
    return plan


def _terms(plans: Sequence[Sequence[Plan]]) -> list[tuple[Mapping[Buffer, int], bool]]:
    """Layouts, and whether they may be applied unproved."""
    return [(plan.offsets, KEPT in plan.notes) for launch in plans for plan in launch]


def _resident_blocks(
    kernel: Kernel, plans: Iterable[Plan], arch: Architecture | None
) -> int | None:
    """Blocks per SM, as far as shared memory and threads go; 0 for a kernel that cannot run.

    A number of threads that is not known is taken for the smallest, under which shared memory
    alone sets the limit.
    """
    arch = arch or target_architecture(kernel) or ARCHITECTURES[DEFAULT_ARCH]
    return block_memory(kernel, plans).blocks(arch, threads_of(kernel) or WARP)


class _Planner:
    """Makes plans for one kernel and scope with one packer and objective."""

    def __init__(
        self, kernel: Kernel, scope: str, packer: str, objective: str, arch: Architecture | None
    ):
        known = arch or target_architecture(kernel)
        self._arch = known or ARCHITECTURES[DEFAULT_ARCH]
        self._on = f"on {self._arch.name}" + ("" if known else " (assumed)")
        self._kernel = kernel
        self._scope = scope
        self._packer = packer
        self._objective = objective
        self._buffers = kernel.allocations(scope)
        self._align = alignments(kernel, scope)

    def attributed(self, policy: str) -> Plan:
        """The plan of an attribution rule alone."""
        sequence = linearize(self._kernel, self._scope, POLICIES[policy])
        if self._packer == "tilelang":
            live = aggressive_live_ranges(self._kernel.body, sequence)
        else:
            live = live_ranges(sequence.entries)
        return self.pack(live, policy, sequence.entries)

    def stock(self) -> Plan:
        """The plan of Apache TVM's merge pass."""
        model = stock_model(self._kernel, self._scope)
        needed = self._align
        self._align = stock_alignments(self._buffers)
        live = {one: found for one, found in model.live.items() if one not in model.unplaced}
        plan = self.pack(live, "outer", model.entries, order=model.events)
        failures = tuple(FAILS + why for why in model.failures)
        align = {one: max(needed[one], self._align[one]) for one in self._buffers}
        return replace(plan, notes=(*plan.notes, *failures), alignments=align)

    def proved(self, *, cautious: bool = False) -> Plan:
        """The dataflow plan: as tight as can be proved, and never larger than a proved outer plan.

        Where mbarriers may order what static rules cannot (rules 4 and 5), tighter plans are made,
        inner's among them, and kept if the checker proves them; `cautious` does without. Where
        outer's plan is smaller all the same, it is taken
        if the checker proves it, or if it hangs on mbarriers that the checker cannot follow.
        """
        plan = self._from(dataflow(self._kernel, self._scope))
        if self._objective == "none":
            return plan
        if not cautious and _uses_mbarriers(self._kernel):
            plan = self._traced(plan)
        outer = self.attributed("outer")
        if outer.arena_bytes < plan.arena_bytes:
            verdict = judge(self._kernel, outer).verdict
            if verdict == SOUND:
                plan = replace(outer, policy="dataflow", notes=("outer's sharing is proved",))
            elif verdict == UNPROVED and _uses_mbarriers(self._kernel):
                plan = replace(outer, policy="dataflow", notes=(KEPT,))
        return plan

    def _traced(self, plan: Plan) -> Plan:
        """The tightest plan that the checker's trace of the mbarriers proves, if one beats `plan`.

        Inner's may make the arms meet in every round of a loop around them. That stops the loads of
        the next tile, so for occupancy it is taken only where the kernel would not fit otherwise.
        """
        floor = min(self.attributed(policy).lower_bound_bytes for policy in POLICIES)
        if plan.arena_bytes > floor:
            traced = self._from(dataflow(self._kernel, self._scope, ordered_by_trace=True))
            plan = self._if_proved(traced, plan)
        if self._objective == "bytes" or _resident_blocks(self._kernel, [plan], self._arch) == 0:
            plan = self._if_proved(self.attributed("inner"), plan)
        return plan

    def _if_proved(self, tighter: Plan, plan: Plan) -> Plan:
        if tighter.arena_bytes < plan.arena_bytes and judge(self._kernel, tighter).sound:
            return replace(tighter, policy="dataflow", notes=(TRACED,))
        return plan

    def for_occupancy(self, smallest: Plan) -> Plan:
        """The plan with the least sharing that keeps as many blocks on an SM as the smallest does.

        Every shared pair costs barriers, and those stop the prefetch of the next tile; so bytes are
        only shared where that lets the kernel fit or adds a resident block.
        """
        blocks = _resident_blocks(self._kernel, [smallest], self._arch)
        if blocks is None:
            return smallest  # nobody knows how many fit
        if blocks == 0:
            return replace(smallest, notes=(*smallest.notes, f"does not fit {self._on}"))
        constant = list(smallest.offsets)
        problem = self._problem(constant, smallest.live, smallest.concurrent, None)
        handovers = Handovers(self._kernel)
        memory = block_memory(self._kernel, [smallest])
        most = self._arch.largest_for(blocks)
        room = smallest.arena_rounded + memory.growth(self._scope, most)
        placement = least_sharing(
            problem,
            room // ARENA_ALIGNMENT * ARENA_ALIGNMENT,
            lambda one, other: handovers(constant[one], constant[other]),
            PACKERS["best"],  # the others know no conflicts but those of live ranges
        )
        note = f"{blocks} blocks per SM {self._on}, as far as shared memory and threads go"
        if threads_of(self._kernel) is None:
            note = f"at most {blocks} blocks per SM {self._on}; the number of threads is not known"
        return replace(
            smallest,
            offsets=dict(zip(constant, placement.offsets, strict=True)),
            arena_bytes=placement.arena,
            proved=False,
            notes=(*smallest.notes, note),
        )

    def _from(self, found: Dataflow) -> Plan:
        return self.pack(found.live, "dataflow", found.sequence.entries, found.concurrent)

    def pack(
        self,
        live: Mapping[Buffer, LiveRange],
        policy: str,
        entries: Sequence[StmtEntry],
        concurrent: Iterable[Pair] = (),
        order: Iterable[tuple[Buffer, bool]] | None = None,
    ) -> Plan:
        """Packs buffers whose live ranges are known; those without one take no bytes.

        `order` is that of the stock pass, in which the live ranges begin and end.
        """
        concurrent = list(concurrent)
        constant = [one for one in self._buffers if one in live and one.size is not None]
        problem = self._problem(constant, live, concurrent, order)
        placement, notes = self._placed(problem, is_stock=order is not None)
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
            concurrent=frozenset(concurrent),
            offsets=dict(zip(constant, placement.offsets, strict=True)),
            symbolic_offsets=symbolic_offsets,
            arena_bytes=placement.arena,
            arena_expr=arena_expr,
            lower_bound_bytes=problem.lower_bound,
            proved=placement.proved,
            notes=notes,
            entries=entries,
        )

    def _problem(
        self,
        constant: Sequence[Buffer],
        live: Mapping[Buffer, LiveRange],
        concurrent: Iterable[Pair],
        order: Iterable[tuple[Buffer, bool]] | None,
    ) -> Problem:
        """The packing problem of the buffers of constant size, numbered in program order."""
        names = unique_names(self._buffers)
        number = {buffer: index for index, buffer in enumerate(constant)}
        events = None
        if order is not None:
            events = [Event(number[one], begins) for one, begins in order if one in number]
        problem = Problem.from_intervals(
            sizes=[buffer.size or 0 for buffer in constant],
            alignments=[self._align[buffer] for buffer in constant],
            intervals=[(live[buffer].begin, live[buffer].end) for buffer in constant],
            names=[names[buffer] for buffer in constant],
            events=events,
        )
        pairs = [tuple(number[one] for one in pair if one in number) for pair in concurrent]
        problem = with_conflicts(problem, [(a[0], a[1]) for a in pairs if len(a) == 2])
        return without_reuse(problem) if self._objective == "none" else problem

    def _placed(self, problem: Problem, *, is_stock: bool) -> tuple[Placement, tuple[str, ...]]:
        """The packer's placement, or that of `best` where it has none that holds.

        Packer `tvm` may break the problem, as Apache TVM's pass does; the stock plan keeps that.
        Packer `tilelang` knows no conflicts but those of live ranges.
        """
        placement: Placement | None = None
        try:
            placement = PACKERS[self._packer](problem)
            validate(problem, placement)
        except PlanError as broken:
            if self._packer == "best":
                raise
            if is_stock and placement is not None:
                return placement, (f"Apache TVM's pass lays buffers over each other: {broken}",)
            placement = PACKERS["best"](problem)
            validate(problem, placement)
            why = f"packed by `best`, since packer {self._packer!r} fails here: {broken}"
            return placement, (why,)
        return placement, ()


def _uses_mbarriers(kernel: Kernel) -> bool:
    return waits_for_phase(kernel.body)


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
