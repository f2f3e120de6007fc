"""`lint`: turns the checker's machine on a kernel as it is, without a plan.

Every shared buffer lies at a place of its own and is its own partner. So the history with its
vector clocks finds races, the engines' queues missing waits, the lattice of values reads of what
no thread has written, the proxies missing fences, and the barriers' phases deadlocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.audit import BarrierStage, applied_layout, barriers_follow, inseparable_arena
from smemreuse.checker.budget import BUDGET, OF_CASES, Work
from smemreuse.checker.errors import Stuck, Uncovered
from smemreuse.checker.execution.setting import Setting, remembered_of
from smemreuse.checker.execution.unfollowed import unfollowed
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.predicted.prediction import Prediction, view_of
from smemreuse.checker.separation.reach import Reaches
from smemreuse.checker.slice import ProgramSlice, operations_of
from smemreuse.checker.verdict.check import DEFAULT_BUDGET, MAX_BUFFER
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.expr import Call, Var
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Allocate,
    Bind,
    Block,
    Buffer,
    Declare,
    Kernel,
    Stmt,
    nodes_of,
    unique_names,
    walk_statements,
)
from smemreuse.ir.launch import AXES, UnknownThreads, launches, tag_of, thread_axes
from smemreuse.linter.accumulators import Accumulators
from smemreuse.linter.collected import Key, LintContext
from smemreuse.linter.discarded import is_discarded
from smemreuse.linter.guards import Guards
from smemreuse.linter.origins import with_origins
from smemreuse.linter.together import any_together, divided
from smemreuse.linter.traces import HazardTraces
from smemreuse.linter.undeclared import with_declarations
from smemreuse.results.hazards import Hazard, HazardKind, LintReport
from smemreuse.results.preconditions import Preconditions
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.declarations import taken_on_trust
from smemreuse.semantics.matrix_operands import precise_operands
from smemreuse.semantics.pointers import let_parts, views_beyond
from smemreuse.semantics.undeclared import handed_to_undeclared

OF_LINT = 2_000_000_000
"""Units of work for one kernel."""


@dataclass(frozen=True)
class Apart:
    """A kernel whose merged buffers were separated, to lint each on its own.

    It also has what could not be separated, and the bytes that merged buffers are declared to have.
    """

    kernel: Kernel
    doubts: tuple[str, ...] = ()
    declared: Mapping[Buffer, int] = field(default_factory=dict)


def lint(kernel: Kernel, barriers: BarrierStage = BarrierStage.AUTO) -> LintReport:
    """The hazards of a kernel: of each shared buffer with itself, whatever is merged.

    Merged buffers are separated first. Whether they may share their bytes is for `check` to say.
    """
    return lint_apart(taken_apart(kernel), barriers_follow(kernel, barriers))


def lint_apart(apart: Apart, follow: bool, work: Work | None = None) -> LintReport:
    """The hazards of a kernel whose buffers are separate.

    `follow` tells whether a later pass inserts barriers. `work` is a budget shared by several
    kernels.
    """
    whole, doubts = apart.kernel, [*apart.doubts]
    accesses = KernelAccesses.of(whole.body)
    names = unique_names(whole.allocations())
    used = {one.buffer for found in accesses.by_statement.values() for one in found}
    sizes = {}
    for buffer in whole.allocations():
        if buffer.scope not in SHARED_SCOPES:
            continue
        if buffer.size is not None and buffer.size <= MAX_BUFFER:
            sizes[buffer] = apart.declared.get(buffer, buffer.size)
        elif buffer in used:
            doubts.append(f"the size of {names[buffer]} is not followed")
    doubts += [
        f"{view.name}, a view of {names[buffer]}, is larger than that"
        for view, buffer in views_beyond(whole.body, accesses.pointers)
        if buffer in sizes
    ]
    subject = _LintSubject(whole, sizes, names, accesses, follow, work)
    found, reasons, assumed = _traced(subject)
    unknown = tuple(dict.fromkeys((*doubts, *reasons)))
    assumed = (*assumed, *taken_on_trust(whole.body))
    return LintReport(whole.name, follow, with_origins(found, whole), unknown, assumed)


def grounds_of(kernel: Kernel, barriers: BarrierStage = BarrierStage.AUTO) -> Preconditions:
    """The preconditions of a sound plan: what lint finds of a kernel, found once."""
    return facts_of(kernel).ask(_grounds, barriers)


def _grounds(facts: KernelFacts, barriers: BarrierStage) -> Preconditions:
    return Preconditions(lint(facts.kernel, barriers))


def taken_apart(kernel: Kernel) -> Apart:
    """The kernel with its merged buffers separated; the kernel itself where nothing is merged."""
    found = Apart(kernel)
    for scope in kernel.shared_scopes():
        applied = applied_layout(found.kernel, scope)
        if applied is not None:
            doubts = (*found.doubts, *applied.beyond)
            found = Apart(applied.kernel, doubts, {**found.declared, **applied.declared})
        elif inseparable_arena(found.kernel, scope) is not None:
            doubt = f"the buffers merged in {scope} cannot be told apart"
            found = replace(found, doubts=(*found.doubts, doubt))
    return found


def counterparts(apart: Kernel, kernel: Kernel) -> dict[Stmt, Stmt] | None:
    """The statements of a kernel that act, by those of the same kernel taken apart; None where the
    two do not match."""
    allocating = (Allocate, Bind, Declare)
    theirs, ours = (
        [stmt for stmt in walk_statements(one.body) if not isinstance(stmt, allocating)]
        for one in (apart, kernel)
    )
    return dict(zip(theirs, ours, strict=True)) if len(theirs) == len(ours) else None


@dataclass(frozen=True)
class _LintSubject:
    """A kernel to be traced: bytes and names of its shared buffers, its accesses, and the work
    budget.
    """

    kernel: Kernel
    sizes: Mapping[Buffer, int]
    names: Mapping[Buffer, str]
    accesses: KernelAccesses
    barriers_follow: bool
    work: Work | None


def _traced(subject: _LintSubject) -> tuple[tuple[Hazard, ...], tuple[str, ...], tuple[str, ...]]:
    """The hazards that the traces find, the reasons why they are incomplete, and their assumptions.

    If a hazard is only possible, a second trace splits the cases of conditions on data.
    """
    kernel, accesses = subject.kernel, subject.accesses
    operations = operations_of(kernel)
    precise = precise_operands(kernel.body, accesses.by_statement, accesses.pointers)
    registers = Accumulators.of(kernel.body, precise)
    guards = Guards(registers.added_to(precise))
    layout = ByteLayout.alone({**subject.sizes, **registers.sizes}, subject.names)
    program_slice = ProgramSlice(
        kernel.body, set(layout.partners), guards.accesses, operations, accesses.by_statement
    )
    reasons = tuple(dict.fromkeys(unfollowed(program_slice)))
    needs_trace = layout.partners or _orders(program_slice)
    has_collectives = any_together(kernel.body)
    if reasons or not (needs_trace or has_collectives):
        return (), reasons, ()
    try:
        remembered = remembered_of(kernel)
        axes = thread_axes(kernel.body)
    except UnknownThreads as reason:
        return (), (str(reason),), ()
    parts: dict[Key, Hazard] = {}
    if has_collectives:
        reaches = Reaches(kernel.body, operations, axes)
        of_groups = divided(kernel.body, reaches, axes, subject.sizes, accesses.pointers)
        for stmt, buffers, hazard in of_groups:
            key = (hazard.kind, stmt, buffers)
            if key not in parts or hazard.certain > parts[key].certain:
                parts[key] = hazard
    if not needs_trace:
        return tuple(parts.values()), (), ()

    unwritten: dict[Buffer, np.ndarray] = {}

    def traced(work: Work, *, every_case: bool = False) -> Traced:
        known = LintContext(
            kernel.body,
            guards.accesses,
            guards,
            remembered.vectors,
            program_slice.written | program_slice.escaped,
            _of_the_block(kernel, operations.turning),
            frozenset(registers.sizes),
            unwritten=unwritten,
        )

        def run() -> None:
            prediction = None
            if subject.barriers_follow:  # within one buffer: which are merged is not known
                view = view_of(kernel, accesses.pointers)
                prediction = Prediction.of(kernel.body, view, operations, {}, {}, work)
            setting = Setting(
                program_slice,
                layout,
                axes,
                budget=DEFAULT_BUDGET,
                work=work,
                remembered=remembered,
                every_case=every_case,
                prediction=prediction,
            )
            HazardTraces(setting, known).run(kernel.body)

        return _found_by(run, known)

    found, reasons, assumed = traced(Work(OF_LINT, subject.work))
    too_long = any(reason.startswith(BUDGET) for reason in reasons)
    if not too_long and any(not one.certain for one in found.values()):
        # What is decided twice by the same data may not go two ways.
        cases, unclear, more = traced(Work(OF_CASES, subject.work), every_case=True)
        if not unclear:
            certain = {key: one for key, one in found.items() if one.certain}
            found, reasons, assumed = (
                {**cases, **certain},
                (),
                tuple(dict.fromkeys((*assumed, *more))),
            )
    sure = {key: one for key, one in found.items() if one.certain}
    found = _without_discarded({**found, **parts, **sure}, unwritten, kernel.body, accesses, axes)
    told = with_declarations(found, handed_to_undeclared(accesses.by_statement))
    hazards = sorted(told.values(), key=lambda one: (not one.certain, one.site.line or 0))
    return tuple(hazards), reasons, assumed


def _without_discarded(
    hazards: dict[Key, Hazard],
    unwritten: Mapping[Buffer, np.ndarray],
    body: Block,
    accesses: KernelAccesses,
    axes: Mapping[str, int],
) -> dict[Key, Hazard]:
    """The hazards without reads of unwritten bytes that decide nothing."""
    reads = {key[2] for key in hazards if key[0] is HazardKind.UNINITIALISED_READ}
    harmless = {
        buffers
        for buffers in reads
        if buffers  # an mbarrier is no contents
        and is_discarded(body, accesses, axes, {one: unwritten[one] for one in buffers})
    }
    return {
        key: one
        for key, one in hazards.items()
        if key[0] is not HazardKind.UNINITIALISED_READ or key[2] not in harmless
    }


Traced = tuple[dict[Key, Hazard], tuple[str, ...], tuple[str, ...]]
"""What was found, what was not followed, and what was assumed."""


def _found_by(run: Callable[[], None], known: LintContext) -> Traced:
    """The hazards of a run, the reasons why it is incomplete, and the assumptions that it makes."""
    reasons: tuple[str, ...] = ()
    try:
        run()
    except Stuck as stuck:
        reasons = () if known.hazards else (str(stuck),)
    except Uncovered as reason:
        reasons = (str(reason),)
    return known.hazards, reasons, tuple(known.assumed)


def _of_the_block(kernel: Kernel, turning: Set[Var]) -> frozenset[Var]:
    """The variables that are the same for all threads of a block: block indices and parameters."""
    threads = {one.var for one in launches(kernel.body) if tag_of(one) in AXES}
    named, inside = set(), set()
    for stmt in walk_statements(kernel.body):
        for node in nodes_of(stmt):
            if isinstance(node, Var):
                named.add(node)
            elif isinstance(node, Call):
                parts = let_parts(node)
                inside |= set() if parts is None else {parts[0]}
    return frozenset(named - inside - turning - threads)


def _orders(program_slice: ProgramSlice) -> bool:
    """Whether there are barriers in a kernel without shared buffers."""
    return program_slice.synchronizes(program_slice.body)
