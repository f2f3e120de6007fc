"""`check_plan`: static rules, then the byte trace for one thread block of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from smemreuse.checker.budget import OF_CHECK, OF_SECOND_LOOK, STATEMENT, Work, work_of
from smemreuse.checker.errors import BoundReached, Stuck, Uncovered
from smemreuse.checker.execution.setting import Setting, remembered_of
from smemreuse.checker.execution.traces import TraceOutcome, Traces
from smemreuse.checker.execution.unfollowed import unfollowed
from smemreuse.checker.guarded import guarded
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.events import AccessEvent
from smemreuse.checker.machine.findings import PairFinding
from smemreuse.checker.operations import operations_of
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.separation import Separation
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.verdict.deadlock import (
    MAY_DEADLOCK,
    MAY_WAIT_FOR_EVER,
    WAITS_FOR_EVER,
    deadlock,
    without_barriers,
)
from smemreuse.checker.verdict.static import static_violations, underaligned
from smemreuse.ir.kernel import Buffer, Kernel, Stmt, unique_names
from smemreuse.ir.launch import UnknownThreads, thread_axes
from smemreuse.results.verdict import BARRIERS_FOLLOW, SOUND, UNPROVED, UNSOUND, Verdict, Violation
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.declarations import taken_on_trust
from smemreuse.semantics.pointers import views_beyond
from smemreuse.versions import version_of

DEFAULT_BUDGET = 20_000
"""Statements that one trace may execute."""

MAX_BUFFER = 1 << 20
"""Bytes of a buffer that are followed; no GPU has as many in the shared memory of a block."""


def check_plan(
    kernel: Kernel,
    scope: str,
    offsets: Mapping[Buffer, int],
    arena: int,
    alignments: Mapping[Buffer, int],
    *,
    assume_barriers: bool = True,
    budget: int = DEFAULT_BUDGET,
    accesses: KernelAccesses | None = None,
    work: Work | None = None,
    bounded: bool = False,
    optimistic: bool = False,
) -> Verdict:
    """The verdict on a plan, offsets in bytes, for the buffers of one storage scope.

    `assume_barriers` is for IR in which barriers are yet to be inserted by a pass that sees the
    aliases, as in TileLang; without it every barrier must be in the kernel already. `accesses` are
    those of the kernel, if they have been computed already. `budget` is how many statements one
    trace may execute, `work` is the budget for all plans of the kernel together.

    A `bounded` check stops early: it refutes most unsound plans quickly; where it finds nothing and
    has not seen everything, the verdict has `stopped_early`. Its `open_pairs` are then those that
    it doubts: it has not seen whether their fault needs one condition on data to go two ways. An
    `optimistic` check assumes that the pass inserts a barrier between all accesses that it
    compares. That is no proof: the caller has to check again once the barriers are there.
    """
    accesses = accesses or KernelAccesses.of(kernel.body)
    names = unique_names(kernel.allocations(scope))
    static = tuple(static_violations(offsets, alignments, names, arena))
    if static:
        return Verdict(UNSOUND, static)
    unplaced = _unplaced(kernel, scope, offsets, accesses)
    if unplaced:
        return Verdict(UNPROVED, (), unplaced)
    sizes = {buffer: buffer.size or 0 for buffer in offsets}
    layout = ByteLayout(offsets, sizes, names)
    beyond = (
        *underaligned(scope, alignments, names, version_of(kernel)),
        *(
            f"{view.name}, a view of {names[buffer]}, is larger than that"
            for view, buffer in views_beyond(kernel.body, accesses.pointers)
            if buffer in offsets
        ),
    )
    if not layout.partners:
        return Verdict(UNPROVED, (), beyond) if beyond else Verdict(SOUND)
    most = Work(OF_CHECK, work or work_of(kernel))
    setup = _Setup(accesses, assume_barriers, budget, most, bounded, optimistic)
    try:
        prediction = _prediction(kernel, scope, layout, setup)
    except (UnknownThreads, Uncovered) as reason:
        return Verdict(UNPROVED, (), (*beyond, str(reason)))
    # An optimistic verdict is not final: the plan is judged again with its barriers.
    shared = None if prediction is None or optimistic else prediction.shared_number()
    beyond = beyond if shared is None else (*beyond, str(shared))
    separation = Separation(
        kernel, setup.accesses.by_statement, operations_of(kernel), setup.work, prediction
    )
    remaining = separation.remaining(layout)
    findings, traced = _traces(kernel, remaining, setup, prediction)
    stuck: tuple[Violation, ...] = ()
    if not assume_barriers and separation.waits.for_outside and not findings:
        if traced.is_stuck or not remaining.partners:
            stuck, traced = _deadlocked(kernel, layout, setup)
    open_pairs = _open_pairs(remaining, findings, traced)
    uncovered = (*beyond, *traced.reasons)
    certain = (*stuck, *(finding.violation for finding in findings if finding.certain))
    possible = tuple(finding.violation for finding in findings if not finding.certain)
    following = (BARRIERS_FOLLOW,) if assume_barriers else ()
    assumptions = (*following, *taken_on_trust(kernel.body))
    if certain:
        return Verdict(UNSOUND, certain, uncovered, assumptions, open_pairs)
    if possible or uncovered:
        early = traced.stopped_early
        return Verdict(UNPROVED, possible, uncovered, assumptions, open_pairs, early)
    waits = None if prediction is None or optimistic else separation.waits.hidden
    if waits is not None:
        alone = check_plan(
            *(kernel, scope, offsets, arena, alignments),
            assume_barriers=False,
            budget=budget,
            accesses=accesses,
            work=work,
            bounded=bounded,
        )
        if not alone.sound:
            return _behind_barriers(alone, waits, assumptions)
    most.ended_in_proof()
    return Verdict(SOUND, (), (), assumptions)


def _deadlocked(
    kernel: Kernel, layout: ByteLayout, setup: _Setup
) -> tuple[tuple[Violation, ...], _Uncovered]:
    """Whether all threads go on with the barriers of the kernel, of which some may be there for the
    plan: how it is violated if they do not, or what is not known of it."""
    _, followed = _traces(kernel, layout, setup, None)
    if followed.is_stuck:
        free = without_barriers(kernel)
        accesses = KernelAccesses.of(free.body)
        work = Work(OF_SECOND_LOOK, setup.work)
        _, alone = _traces(free, layout, replace(setup, accesses=accesses, work=work), None)
        if not alone.reasons:
            return deadlock(layout), _Uncovered({})
    why = tuple(f"{MAY_DEADLOCK}: {one}" for one in followed.reasons[:1])
    return (), _Uncovered({}, why, followed.stopped_early)


def _behind_barriers(alone: Verdict, waits: Stmt, assumptions: tuple[str, ...]) -> Verdict:
    """The verdict on a plan that holds only with barriers which a later pass puts in, where some
    threads may wait for what others do behind them: `alone` is the one without these."""
    why = f"{MAY_WAIT_FOR_EVER} {AccessEvent(waits, ())}"
    return replace(
        alone, verdict=UNPROVED, violations=(), uncovered=(why,), assumptions=assumptions
    )


@dataclass(frozen=True)
class _Uncovered:
    """Why something is not covered: by buffer, or (`whole`) for the plan as a whole.

    `is_stuck`: all threads wait. `may_part`: a barrier may come between branches that different
    threads take. `doubted`: the pairs of which a bounded check left open whether they are wrong.
    """

    buffers: Mapping[Buffer, str]
    whole: tuple[str, ...] = ()
    stopped_early: bool = False
    is_stuck: bool = False
    may_part: bool = False
    doubted: frozenset[frozenset[Buffer]] = frozenset()

    @property
    def reasons(self) -> tuple[str, ...]:
        return (*self.whole, *self.buffers.values())


def _open_pairs(
    layout: ByteLayout, findings: Sequence[PairFinding], uncovered: _Uncovered
) -> frozenset[frozenset[Buffer]]:
    """The pairs of buffers that keep a plan from being proved; every pair of a buffer where it is
    not known which one is to blame. That a check was bounded is no pair's fault."""
    blamed = set(uncovered.buffers)
    blamed |= layout.partners.keys() if uncovered.whole and not uncovered.stopped_early else set()
    pairs = {*uncovered.doubted, *(finding.pair for finding in findings)}
    blamed |= {one for pair in pairs if len(pair) == 1 for one in pair}
    pairs |= {frozenset((one, two)) for one in blamed for two in layout.partners.get(one, ())}
    return frozenset(pair for pair in pairs if len(pair) == 2)


def _unplaced(
    kernel: Kernel, scope: str, offsets: Mapping[Buffer, int], accesses: KernelAccesses
) -> tuple[str, ...]:
    """A reason for each buffer that the kernel uses and the plan does not place."""
    used = {one.buffer for found in accesses.by_statement.values() for one in found}
    return tuple(
        f"the plan gives no place to {buffer.name}, which is used"
        for buffer in (kernel.allocations(scope) if offsets else ())
        if buffer in used and buffer not in offsets and buffer.size is not None
    )


@dataclass(frozen=True)
class _Setup:
    """The parameters of `check_plan` beside the plan; with `every_case` whatever data decide is a
    case. `parts` as in `Setting`."""

    accesses: KernelAccesses
    assume_barriers: bool
    budget: int
    work: Work
    bounded: bool
    optimistic: bool
    every_case: bool = False
    parts: bool = False


def _prediction(kernel: Kernel, scope: str, layout: ByteLayout, setup: _Setup) -> Prediction | None:
    """The barriers that a later pass inserts; None if the kernel has them all."""
    if not setup.assume_barriers:
        return None
    pointers = setup.accesses.pointers
    return Prediction.under(
        kernel, scope, layout, pointers, setup.work, optimistic=setup.optimistic
    )


def _traces(
    kernel: Kernel, layout: ByteLayout, setup: _Setup, prediction: Prediction | None
) -> tuple[list[PairFinding], _Uncovered]:
    """Findings of one trace for each kind of block, and what could not be covered.

    Where all is followed and it is no proof, and data decide several times alike, they are cases:
    what is decided twice by the same data does not go two ways.
    """
    if not layout.partners:
        return [], _Uncovered({})
    operations = operations_of(kernel)
    shared = set(layout.partners)
    try:
        setup.work.do(STATEMENT * operations.count)
    except Uncovered as reason:
        return [], _Uncovered({}, (str(reason),))
    unguarded = setup.accesses.by_statement
    accesses = kernel.memo.once(guarded, lambda: guarded(kernel.body, unguarded))
    program_slice = ProgramSlice(kernel.body, shared, accesses, operations)
    reasons = tuple(dict.fromkeys(unfollowed(program_slice)))
    if reasons:
        return [], _Uncovered({}, reasons)
    findings, uncovered = _traced(kernel, program_slice, layout, setup, prediction)
    if uncovered.may_part and not setup.optimistic:
        findings, uncovered = _parted(
            findings, uncovered, kernel, program_slice, layout, setup, prediction
        )
    is_followed = not uncovered.reasons and not any(one.certain for one in findings)
    if findings and is_followed and program_slice.decides_again():
        each_case = replace(setup, work=Work(OF_SECOND_LOOK, setup.work), every_case=True)
        in_cases, left = _traced(kernel, program_slice, layout, each_case, prediction)
        if not in_cases and left.stopped_early:
            return [], replace(left, doubted=frozenset(finding.pair for finding in findings))
        if not in_cases and not left.reasons:
            return [], left
    return findings, uncovered


def _parted(
    findings: list[PairFinding],
    uncovered: _Uncovered,
    kernel: Kernel,
    program_slice: ProgramSlice,
    layout: ByteLayout,
    setup: _Setup,
    prediction: Prediction | None,
) -> tuple[list[PairFinding], _Uncovered]:
    """What holds of findings if the pass may put a barrier between branches that wait for each
    other. With it the kernel hangs: what is wrong without it stays wrong. Or it does not, and what
    is wrong without it may be in order."""
    work = Work(OF_SECOND_LOOK, setup.work)
    _, with_barriers = _traced(
        *(kernel, program_slice, layout, replace(setup, work=work, parts=True), prediction)
    )
    if not with_barriers.is_stuck:
        return [replace(one, certain=False) for one in findings], uncovered
    if findings:
        return findings, uncovered
    return findings, replace(uncovered, whole=(*uncovered.whole, WAITS_FOR_EVER))


def _traced(
    kernel: Kernel,
    program_slice: ProgramSlice,
    layout: ByteLayout,
    setup: _Setup,
    prediction: Prediction | None,
) -> tuple[list[PairFinding], _Uncovered]:
    """As `_traces`, of a slice, once."""
    outcome, setting = TraceOutcome(), None
    try:
        setting = Setting(
            program_slice,
            layout,
            thread_axes(kernel.body),
            budget=setup.budget,
            work=setup.work,
            remembered=remembered_of(kernel),
            every_case=setup.every_case,
            prediction=prediction,
            parts=setup.parts,
        )
        for buffer in layout.partners:
            if layout.sizes[buffer] > MAX_BUFFER:
                raise Uncovered(f"{layout.names[buffer]} is too large to be followed")
        traces = Traces(setting, bounded=setup.bounded)
        outcome = traces.outcome
        traces.run(kernel.body)
    except (Uncovered, UnknownThreads) as reason:
        left = _Uncovered(
            outcome.left,
            (str(reason),),
            isinstance(reason, BoundReached),
            isinstance(reason, Stuck),
        )
    else:
        left = _Uncovered(outcome.left)
    may_part = setting is not None and setting.may_part
    return list(outcome.findings.values()), replace(left, may_part=may_part)
