"""`trim`: takes out the barriers and proxy fences whose absence is proved to be harmless.

The opposite of `mend`, by the same trial: a kernel is linted without one of them, and it stays out
if lint then proves it clean, and assumes nothing. What lint does not see keeps all of
them: an order of accesses to global memory that threads of a block hand values on by, tensor
memory, and clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from smemreuse.audit import BarrierStage, applied_layout, audit_merged, barriers_follow
from smemreuse.checker.budget import Work
from smemreuse.ir.expr import Call, Load, Pointer, walk
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Evaluate,
    Kernel,
    Stmt,
    While,
    walk_statements,
)
from smemreuse.ir.tree import StatementTree
from smemreuse.linter import Apart, counterparts, lint_apart, taken_apart
from smemreuse.linter.runs import OF_LINT
from smemreuse.mender.edited import edited
from smemreuse.mender.global_order import GlobalOrder
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Removal
from smemreuse.results.trimming import Trimming
from smemreuse.results.verdict import SOUND
from smemreuse.semantics.effects import Group
from smemreuse.semantics.table import calls_of, effect_of, evaluated_effect, may_order_unseen

MOST_TRIED = 24
OF_TRIMMING = 4 * OF_LINT
"""Statements without which a kernel is linted, and units of work for it all."""

LEAST_LEFT = 3
"""Statements that a block keeps: TileLang's later passes take out hints, and fail on what they made
a sequence of one (`SetMaxNRegInjector`)."""

NOT_PROVED = "lint does not prove the kernel itself clean without assumptions"
OTHERS = (
    "it uses atomics on global memory, tensor memory, a cluster, the grid or an order between "
    "kernels, which lint does not follow"
)
MERGED = "the layout that its buffers are merged in is not proved"
POLLS = "it has a loop that may wait for other blocks"
HANDED_ON = "{} is both read and written in global memory, whose order lint does not follow"
WRITTEN_TWICE = (
    "{} is written in global memory both by threads and by TMA, whose order lint does not follow"
)
LATER = (
    "the compiler inserts its barriers only after this dump; while it compiles, "
    "`smemreuse.tilelang.merge(trim=True)` takes out those that are not needed"
)

Removals = tuple[Removal, ...]
Accepted = Callable[[Removals], bool]


def trim(
    kernel: Kernel,
    barriers: BarrierStage = BarrierStage.AUTO,
    accepted: Accepted = lambda _removals: True,
) -> Trimming:
    """The barriers and proxy fences of a kernel that can go, the innermost first.

    `accepted` says of some removals whether all else that is known of the kernel holds with them,
    such as that buffers may share bytes. A layout that a compiler has merged them in has
    to be sound without them, too. Nothing goes from a kernel into which a later pass inserts
    barriers, or of which it is not known whether that is harmless: `why` says so.
    """
    if barriers_follow(kernel, barriers):
        return Trimming(kernel.name, why=LATER)
    return _TrimSearch(kernel, accepted).result()


@dataclass
class _TrimSearch:
    """The removals found so far."""

    kernel: Kernel
    accepted: Accepted
    chosen: list[Removal] = field(default_factory=list)
    tried: int = 0

    def __post_init__(self) -> None:
        self.work = Work(OF_TRIMMING)

    def result(self) -> Trimming:
        why = self._why_not()
        if why:
            return Trimming(self.kernel.name, why=why)
        spent = self.work.done
        for stmt in self._candidates():
            if self.tried == MOST_TRIED or self.work.done + spent > self.work.limit:
                break
            self.tried += 1
            if self.globals.needs(stmt, {one.anchor for one in self.chosen}):
                continue
            removals = (*self.chosen, Removal(stmt))
            found = self._lint(removals)
            if found.clean and not found.assumptions and self._holds(self._at_home(removals)):
                self.chosen.append(removals[-1])
        return Trimming(self.kernel.name, self._at_home(tuple(self.chosen)), self.tried)

    def _at_home(self, removals: Removals) -> Removals:
        """The removals of the kernel taken apart as those of the kernel itself."""
        if self.apart.kernel is self.kernel:
            return removals
        return tuple(Removal(self.places[one.anchor]) for one in removals)

    @cached_property
    def places(self) -> dict[Stmt, Stmt]:
        return counterparts(self.apart.kernel, self.kernel) or {}

    def _holds(self, removals: Removals) -> bool:
        return self.accepted(removals) and self._layout_holds(removals)

    def _layout_holds(self, removals: Removals) -> bool:
        """Whether what is merged in the kernel is sound without some statements."""
        scopes = [
            one
            for one in self.kernel.shared_scopes()
            if applied_layout(self.kernel, one) is not None
        ]
        changed = replace(self.kernel, body=edited(self.kernel.body, removals)[0])
        audits = (audit_merged(changed, scope, BarrierStage.PRESENT) for scope in scopes)
        return all(one.verdict.verdict is SOUND for one in audits)

    @cached_property
    def globals(self) -> GlobalOrder:
        return GlobalOrder(self.apart.kernel)

    @cached_property
    def apart(self) -> Apart:
        return taken_apart(self.kernel)

    @cached_property
    def report(self) -> LintReport:
        """What lint finds of the kernel as it is."""
        return self._lint(())

    def _why_not(self) -> str:
        statements = [*walk_statements(self.kernel.body)]
        calls = [call for stmt in statements for call in calls_of(stmt)]
        if any(map(_is_beyond, calls)) or _has_tensor_memory(self.kernel):
            return OTHERS
        if any(isinstance(one, While) for one in statements):
            return POLLS
        if self.globals.handed_on:
            return HANDED_ON.format(self.globals.handed_on)
        if self.globals.written_twice:
            return WRITTEN_TWICE.format(self.globals.written_twice)
        if not self.report.clean or self.report.assumptions:
            return NOT_PROVED
        merged = self.apart.kernel is not self.kernel
        return MERGED if merged and not (self.places and self._layout_holds(())) else ""

    def _candidates(self) -> Iterator[Stmt]:
        """Barriers of the block and proxy fences, those in the most loops first."""
        body = self.apart.kernel.body
        tree = StatementTree(body)
        found = [
            one
            for one in walk_statements(body)
            if _may_go(one) and len(tree.path(one)[-1].block) > LEAST_LEFT
        ]
        yield from sorted(found, key=lambda one: -len(list(tree.loops(one))))

    def _lint(self, removals: Removals) -> LintReport:
        kernel = self.apart.kernel
        found = replace(self.apart, kernel=replace(kernel, body=edited(kernel.body, removals)[0]))
        return lint_apart(found, False, self.work)


def _may_go(stmt: Stmt) -> bool:
    """Whether a statement is a barrier or a proxy fence, and nothing else."""
    effect = evaluated_effect(stmt) if isinstance(stmt, Evaluate) else None
    if effect is None:
        return False
    meeting = effect.meeting
    is_barrier = meeting is not None and meeting.group in (Group.BLOCK, Group.NAMED)
    is_fence = effect.fence and meeting is None and effect.mbarrier is None
    return (is_barrier or is_fence) and not effect.within and effect.commits is None


# What lint does not see -------------------------------------------------------------------------


def _is_beyond(call: Call) -> bool:
    """Whether an operation orders what lint does not follow, or may tell other blocks of it."""
    effect = effect_of(call)
    meets = effect.meeting is not None and effect.meeting.group in (Group.CLUSTER, Group.GRID)
    tells = effect.atomic and not _is_shared(call)
    return meets or effect.remote or effect.elsewhere or tells or may_order_unseen(call)


def _is_shared(call: Call) -> bool:
    """Whether all that an operation has the addresses of is in shared memory."""
    nodes = [node for operand in call.args for node in walk(operand)]
    places = [one.buffer.scope for one in nodes if isinstance(one, (Load, Pointer))]
    return all(one.startswith("shared") for one in places) and bool(places)


def _has_tensor_memory(kernel: Kernel) -> bool:
    known = (*SHARED_SCOPES, "global", "local", "wmma", "shared.barrier", "shared.cluster_barrier")
    return any(not one.scope.startswith(known) for one in kernel.allocations())
