"""The traces of one lint: what they share, how many there are, and what follows of their findings.

A first run follows every kind of thread block, and joins what data decide. What is only possible is
looked at case by case, and then for inputs that may show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from smemreuse.checker.budget import BUDGET, OF_CASES, Work
from smemreuse.checker.errors import Stuck, Uncovered
from smemreuse.checker.execution.setting import Setting, remembered_of
from smemreuse.checker.execution.unfollowed import unfollowed
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.operations import operations_of
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.separation.reach import Reaches
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.given import NOTHING_GIVEN, GivenInputs
from smemreuse.checker.verdict.check import DEFAULT_BUDGET
from smemreuse.ir.expr import Call, Var
from smemreuse.ir.kernel import Buffer, Kernel, nodes_of, walk_statements
from smemreuse.ir.launch import UnknownThreads, thread_axes, thread_indices
from smemreuse.linter.accumulators import Accumulators
from smemreuse.linter.barriers import numbered_alike
from smemreuse.linter.collected import RACED, Key, LintContext
from smemreuse.linter.discarded import NamedIn, is_discarded
from smemreuse.linter.doubtful import DoubtfulReads, Sources
from smemreuse.linter.guards import Guards
from smemreuse.linter.harmless import harmless
from smemreuse.linter.held_up import held_up
from smemreuse.linter.inputs import Deciding
from smemreuse.linter.together import any_together, divided
from smemreuse.linter.traces import HazardTraces
from smemreuse.results.hazards import AssumedAt, Hazard, HazardKind
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.matrix_operands import precise_operands
from smemreuse.semantics.pointers import let_parts
from smemreuse.versions.thread_sync.branch_barriers import SharedNumber

OF_LINT = 1_500_000_000
"""Units of work for one kernel."""

OF_INPUTS = 600_000_000
"""Units for all the inputs that are tried for it."""


@dataclass(frozen=True)
class LintSubject:
    """A kernel to be traced: bytes and names of its shared buffers, its accesses, whether a later
    pass inserts barriers, and the budget it has with others, if any."""

    kernel: Kernel
    sizes: Mapping[Buffer, int]
    names: Mapping[Buffer, str]
    accesses: KernelAccesses
    barriers_follow: bool
    work: Work | None


Hazards = dict[Key, Hazard]


@dataclass(frozen=True)
class LintFindings:
    """What was found, the reasons why it is not all, and what was assumed.

    `doubtful` are the reads of which it may not matter; `is_cut_short`: what some thread blocks do
    was not looked at, since of others something was found.
    """

    hazards: Hazards = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    assumed: tuple[AssumedAt, ...] = ()
    doubtful: tuple[DoubtfulReads, ...] = ()
    is_cut_short: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether nothing is left that may be or not."""
        return not self.reasons and all(one.certain for one in self.hazards.values())

    @property
    def certain(self) -> Hazards:
        return {key: one for key, one in self.hazards.items() if one.certain}


class LintRuns:
    """The runs of one kernel, and what they share."""

    def __init__(self, subject: LintSubject):
        kernel, accesses = subject.kernel, subject.accesses
        self._subject = subject
        self._kernel = kernel
        self._operations = operations_of(kernel)
        precise = precise_operands(kernel.body, accesses.by_statement, accesses.pointers)
        self._may_part, self._named = False, NamedIn(accesses)
        self._prediction: Prediction | None = None
        self._shared: SharedNumber | None = None
        self._registers = Accumulators.of(kernel.body, precise)
        self._guards = Guards(kernel.body, self._registers.added_to(precise))
        sizes = {**subject.sizes, **self._registers.sizes}
        self._layout = ByteLayout.alone(sizes, subject.names)
        self._slice = ProgramSlice(
            kernel.body,
            set(self._layout.partners),
            self._guards.accesses,
            self._operations,
            accesses.by_statement,
        )

    def findings(self) -> LintFindings:
        """What all runs find together."""
        body = self._kernel.body
        reasons = tuple(dict.fromkeys(unfollowed(self._slice)))
        needs_trace = self._layout.partners or self._has_barriers()
        has_collectives = any_together(body)
        if reasons or not (needs_trace or has_collectives):
            return LintFindings({}, reasons)
        try:
            self._remembered, self._axes = remembered_of(self._kernel), thread_axes(body)
        except UnknownThreads as reason:
            return LintFindings({}, (str(reason),))
        parts = self._in_parts() if has_collectives else {}
        if not needs_trace:
            return LintFindings(parts)
        found = self._traced()
        found = replace(found, hazards={**found.hazards, **parts, **found.certain})
        found = self._with_held_up(found)
        found = found if found.is_sure else self._with_inputs(found)
        if self._may_part:
            found = self._with_deadlocks(found)
        return found if self._shared is None else _with_number(found, self._shared)

    def _has_barriers(self) -> bool:
        """Whether threads wait for others anywhere; that some return early is nothing alone."""
        return any(
            effect.orders and not effect.returns
            for stmt in walk_statements(self._kernel.body)
            for _, effect in self._slice.synchronizing(stmt)
        )

    def _in_parts(self) -> Hazards:
        """Hazards of operations that threads execute together (rule 12)."""
        found: Hazards = {}
        body, subject = self._kernel.body, self._subject
        reaches = Reaches(body, self._operations, self._axes)
        pointers = subject.accesses.pointers
        for stmt, buffers, hazard in divided(body, reaches, self._axes, subject.sizes, pointers):
            key = (hazard.kind, stmt, buffers)
            if key not in found or hazard.certain > found[key].certain:
                found[key] = hazard
        return found

    def _traced(self) -> LintFindings:
        """What the traces of all blocks find; if anything is only possible, with the cases of
        conditions on data apart."""
        found = self._run(Work(OF_LINT, self._subject.work))
        too_long = any(reason.startswith(BUDGET) for reason in found.reasons)
        if not too_long and not all(one.certain for one in found.hazards.values()):
            # What is decided twice by the same data may not go two ways.
            work = Work(OF_CASES, self._subject.work)
            cases = self._run(work, every_case=True)
            if not cases.reasons:
                found = replace(
                    cases,
                    hazards={**_explained(cases.hazards, found.hazards), **found.certain},
                    assumed=tuple(dict.fromkeys((*found.assumed, *cases.assumed))),
                    doubtful=(*found.doubtful, *cases.doubtful),
                )
        return self._without_harmless(found)

    def _with_held_up(self, found: LintFindings) -> LintFindings:
        """With the barriers that may keep threads from what others poll for."""
        subject = self._subject
        hazards = held_up(self._kernel, subject.accesses, self._axes, self._prediction)
        return replace(found, hazards={**hazards, **found.hazards})

    def _with_deadlocks(self, found: LintFindings) -> LintFindings:
        """With the deadlocks that there are if a later pass puts a barrier between two branches,
        where it is not known whether it does. More barriers make more deadlocks."""
        work = Work(OF_CASES, self._subject.work)
        parted = self._run(work, parts=True)
        hazards = {
            key: replace(one, certain=False)
            for key, one in parted.hazards.items()
            if one.kind is HazardKind.BARRIER_DEADLOCK
        }
        return replace(
            found,
            hazards={**hazards, **found.hazards},
            reasons=tuple(dict.fromkeys((*found.reasons, *parted.reasons))),
        )

    def _with_inputs(self, found: LintFindings) -> LintFindings:
        """With the hazards that are certain for some inputs."""
        deciding, hazards = Deciding(self._slice), {**found.hazards}
        work = Work(OF_INPUTS, self._subject.work)
        for inputs in deciding.inputs():
            shown = self._run(work, given=inputs)
            given = deciding.given(inputs)
            shown = self._without_harmless(replace(shown, hazards=shown.certain))
            for key, hazard in shown.hazards.items():
                if key not in hazards or not hazards[key].certain:
                    hazards[key] = replace(hazard, if_given=given)
            found = replace(found, hazards=hazards)
            if found.is_sure or work.done > OF_INPUTS // 2:
                break
        return found

    def _run(
        self,
        work: Work,
        *,
        every_case: bool = False,
        given: GivenInputs = NOTHING_GIVEN,
        parts: bool | None = None,
    ) -> LintFindings:
        """Traces the kernel: all kinds of thread blocks, or one block for what is `given`. `parts`:
        see `Setting`."""
        kernel, operations = self._kernel, self._operations
        known = LintContext(
            kernel.body,
            self._guards.accesses,
            self._guards,
            self._remembered.vectors,
            self._slice.written | self._slice.escaped,
            _of_the_block(kernel, operations.turning),
            frozenset(self._registers.sizes),
        )
        reasons: tuple[str, ...] = ()
        is_cut_short = False
        try:
            prediction = None
            if self._subject.barriers_follow:  # within one buffer: which are merged is not known
                prediction = Prediction.of(kernel, self._subject.accesses.pointers, {}, work)
                known.followed = prediction.view.followed
                self._prediction, self._shared = prediction, prediction.shared_number()
            setting = Setting(
                self._slice,
                self._layout,
                self._axes,
                budget=DEFAULT_BUDGET,
                work=work,
                remembered=self._remembered,
                every_case=every_case,
                prediction=prediction,
                given=given,
                parts=parts,
            )
            traces = HazardTraces(setting, known)
            if given:
                traces.launch(kernel.body)
            else:
                traces.run(kernel.body)
            self._may_part |= setting.may_part
            is_cut_short = traces.is_cut_short
        except Stuck as stuck:
            reasons = () if known.hazards else (str(stuck),)
        except Uncovered as reason:
            reasons = (str(reason),)
        doubtful = (*known.settled, known.doubtful)
        return LintFindings(known.hazards, reasons, tuple(known.assumed), doubtful, is_cut_short)

    def _without_harmless(self, found: LintFindings) -> LintFindings:
        """Without reads that decide nothing, of unwritten bytes or in a race; with them if nothing
        else is left, and not all thread blocks were looked at."""

        def is_without_effect(sources: Sources) -> bool:
            accesses = self._subject.accesses
            return is_discarded(self._kernel.body, accesses, self._axes, sources, self._named)

        gone = harmless(found.hazards, found.doubtful, is_without_effect)
        if not gone or (found.is_cut_short and len(gone) == len(found.hazards)):
            return found
        left = {key: one for key, one in found.hazards.items() if key not in gone}
        raced = (AssumedAt(RACED),) if any(kind is HazardKind.RACE for kind, _, _ in gone) else ()
        return replace(found, hazards=left, assumed=(*found.assumed, *raced))


def _explained(hazards: Hazards, joined: Hazards) -> Hazards:
    """The hazards of single cases, with what was not known where all cases were joined: in one of
    them it is known."""
    opened = {key: one.undecided for key, one in joined.items() if one.undecided is not None}
    return {
        key: replace(one, undecided=opened.get(key, one.undecided)) for key, one in hazards.items()
    }


def _with_number(found: LintFindings, shared: SharedNumber) -> LintFindings:
    """With what two barriers of one number may do: a hazard where they surely have it."""
    if not shared.is_sure:
        return replace(found, reasons=(*found.reasons, str(shared)))
    key, hazard = numbered_alike(shared)
    return replace(found, hazards={**found.hazards, key: hazard})


def _of_the_block(kernel: Kernel, turning: Set[Var]) -> frozenset[Var]:
    """The variables that are the same for all threads of a block: block indices and parameters."""
    threads = thread_indices(kernel.body)
    named, inside = set(), set()
    for stmt in walk_statements(kernel.body):
        for node in nodes_of(stmt):
            if isinstance(node, Var):
                named.add(node)
            elif isinstance(node, Call):
                parts = let_parts(node)
                inside |= set() if parts is None else {parts[0]}
    return frozenset(named - inside - turning - threads)
