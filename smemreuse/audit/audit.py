"""Judges a layout: one that a compiler has applied, or one that a plan file gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from smemreuse.analysis.alignment import alignments
from smemreuse.audit.layout import AppliedLayout
from smemreuse.audit.pointers import pointer_layout, unplaced_arena
from smemreuse.audit.views import arena_of_views, view_layout
from smemreuse.checker import check_plan
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer, Kernel, unique_names, walk_statements
from smemreuse.results.audit import Audit, PlanSource
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import UNPROVED, UNSOUND, Verdict
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.table import BLOCK_BARRIER, evaluated_call
from smemreuse.versions import version_of

ONE_EACH = "a typed view of the arena is one buffer, or one view of it, as Apache TVM leaves them"
PERHAPS_ONE = "views disturb each other, but two of one buffer may share bytes on purpose"


class BarrierStage(str, Enum):
    """Whether a kernel has its barriers, or a later pass inserts them; `AUTO` looks for them."""

    AUTO = "auto"
    PRESENT = "present"
    LATER = "later"


def applied_layout(kernel: Kernel, scope: str) -> AppliedLayout | None:
    """The layout found in a merged kernel; None if nothing of `scope` is merged in it, or if its
    buffers cannot be separated (`inseparable_arena`)."""
    if unplaced_arena(kernel, scope) is not None:
        return None
    return pointer_layout(kernel, scope) or view_layout(kernel, scope)


def inseparable_arena(kernel: Kernel, scope: str) -> Buffer | None:
    """Where `applied_layout` finds nothing: an arena whose buffers cannot be separated."""
    return unplaced_arena(kernel, scope) or arena_of_views(kernel, scope)


def audit_plan(
    kernel: Kernel, scope: str, offsets: Mapping[Buffer, int], arena: int, barriers: BarrierStage
) -> Audit:
    """The verdict on a plan for a kernel that nothing is merged in; offsets and arena in bytes."""
    later = _comes_later(kernel, scope, barriers)
    align = alignments(kernel, scope)
    verdict = check_plan(kernel, scope, offsets, arena, align, assume_barriers=later)
    return Audit(PlanSource.PLAN_FILE, _by_name(kernel, scope, offsets), arena, verdict)


def audit_merged(kernel: Kernel, scope: str, barriers: BarrierStage) -> Audit:
    """The verdict on the layout that a compiler has applied to a kernel, if it has merged
    buffers.
    """
    applied = applied_layout(kernel, scope)
    if applied is not None:
        return _audit_applied(applied, scope, barriers)
    mixed = inseparable_arena(kernel, scope)
    if mixed is not None:
        return _inseparable(mixed)
    nothing = audit_plan(kernel, scope, {}, 0, barriers)
    return replace(nothing, source=PlanSource.NOTHING_MERGED)


def _audit_applied(applied: AppliedLayout, scope: str, barriers: BarrierStage) -> Audit:
    """The verdict on the layout found in a merged kernel, doubted where accesses may leave a
    buffer.
    """
    kernel, offsets, arena = applied.kernel, applied.offsets, applied.arena
    later = _comes_later(kernel, scope, barriers, merged=True)
    align = alignments(kernel, scope)
    if applied.by_view:
        align = dict.fromkeys(align, 1)  # a buffer may begin before its first access
    verdict = check_plan(kernel, scope, offsets, arena, align, assume_barriers=later)
    if applied.by_view:
        verdict = _of_views(verdict)
    verdict = replace(verdict, assumptions=(*verdict.assumptions, *applied.assumed))
    verdict = verdict.doubted(applied.beyond)
    return Audit(PlanSource.MERGED, _by_name(kernel, scope, offsets), arena, verdict)


def _by_name(kernel: Kernel, scope: str, offsets: Mapping[Buffer, int]) -> dict[str, int]:
    names = unique_names(kernel.allocations(scope))
    return {names[buffer]: offset for buffer, offset in offsets.items()}


def _of_views(verdict: Verdict) -> Verdict:
    """The verdict on a layout whose buffers are views, without certain findings of rule 2.

    Rule 2 asks whose value a byte holds, and two views may be of one buffer. An unordered access is
    a race all the same, of the merge or of the kernel itself.
    """
    verdict = replace(verdict, assumptions=(*verdict.assumptions, ONE_EACH))
    if verdict.verdict is not UNSOUND:
        return verdict
    races = tuple(one for one in verdict.violations if one.rule is not Rule.LOOP_CARRIED)
    if races:
        return replace(verdict, violations=races)
    return replace(verdict, verdict=UNPROVED).doubted((PERHAPS_ONE,))


def _inseparable(arena: Buffer) -> Audit:
    """The audit of an arena whose buffers cannot be separated: nothing is known of it."""
    separate = "neither indices nor pointers separate them"
    known = separate if arena.size is not None else "its size is not known"
    reason = (
        f"{arena.name} has several buffers in it, and {known}: check the dump from before the "
        "merge, with --plan"
    )
    return Audit(PlanSource.MERGED, {}, arena.size or 0, Verdict(UNPROVED, uncovered=(reason,)))


def _comes_later(
    kernel: Kernel, scope: str, barriers: BarrierStage, *, merged: bool = False
) -> bool:
    """Whether a pass is still to insert barriers; Apache TVM's has run before the merge."""
    if barriers is not BarrierStage.AUTO:
        return barriers is BarrierStage.LATER
    if merged and not version_of(kernel).synchronizes_later:
        return False
    return not _has_barriers(kernel, scope)


def barriers_follow(kernel: Kernel, barriers: BarrierStage) -> bool:
    """Whether a pass is still to insert barriers in a kernel, whatever is merged in it.

    A barrier that stands before any access follows the initialization of mbarriers, and is there
    before that pass. So are those that a kernel's author writes, which are for the scope `shared`:
    they count only where nothing lies in another scope.
    """
    if barriers is not BarrierStage.AUTO:
        return barriers is BarrierStage.LATER
    if not version_of(kernel).synchronizes_later:
        return False
    scopes, accesses = kernel.shared_scopes(), KernelAccesses.of(kernel.body).by_statement
    touched = False
    for stmt in walk_statements(kernel.body):
        call = evaluated_call(stmt)
        if touched and call is not None and call.op == BLOCK_BARRIER.op:
            if call.args[:1] == (Const(scopes[-1]),):
                return False
        touched = touched or any(one.buffer.scope in scopes for one in accesses.get(stmt, ()))
    return True


def _has_barriers(kernel: Kernel, scope: str) -> bool:
    """Whether a pass has been here that inserts barriers for this scope."""
    calls = (evaluated_call(stmt) for stmt in walk_statements(kernel.body))
    return any(
        call is not None and call.op == BLOCK_BARRIER.op and call.args[:1] == (Const(scope),)
        for call in calls
    )
