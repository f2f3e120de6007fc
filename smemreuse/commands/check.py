"""`smemreuse check FILE [--plan P]`: audits a plan, or the one that a compiler applied in FILE."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import click
from rich.text import Text

from smemreuse.analysis.alignment import alignments
from smemreuse.audit import applied_layout, inseparable_arena
from smemreuse.checker import check_plan
from smemreuse.commands.common import (
    emit_json,
    emit_tables,
    format_option,
    note_if_empty,
    note_unused,
    read_subjects,
)
from smemreuse.commands.planfile import PlanFile, read_plan_file
from smemreuse.ir.expr import Const, Expr
from smemreuse.ir.kernel import Buffer, Kernel, unique_names, walk_statements
from smemreuse.report.data import Subject
from smemreuse.report.tables import no_buffers
from smemreuse.report.verdicts import findings, verdict_data, verdict_text
from smemreuse.results.verdict import UNPROVED, UNSOUND, Verdict
from smemreuse.semantics.table import evaluated_call

ONE_EACH = "a typed view of the arena is one buffer, or one view of it, as Apache TVM leaves them"
NOTHING_MERGED = "nothing merged"
NOTHING_TO_AUDIT = (
    "nothing merged in this scope, so there is nothing to audit: give --plan, or the dump from "
    "behind the merge"
)
PERHAPS_ONE = "views disturb each other, but two of one buffer may share bytes on purpose"


@dataclass(frozen=True)
class Audit:
    """What was checked for one kernel and scope, and the verdict."""

    subject: Subject
    source: str
    offsets: dict[str, int]
    arena: int
    verdict: Verdict


@click.command()
@click.argument("file", type=click.Path())
@click.option("--plan", "plan_file", type=click.Path(), help="What `plan --format json` wrote.")
@click.option(
    "--barriers",
    type=click.Choice(["auto", "present", "later"]),
    default="auto",
    show_default=True,
    help="Whether FILE has its barriers, or a later pass inserts them; `auto` looks for them.",
)
@format_option
def check(file: str, plan_file: str | None, barriers: str, output_format: str) -> None:
    """Say whether a plan is sound, or name the rule, the buffers and a witness."""
    found = read_subjects([file])
    note_if_empty(found, [file])
    note_unused(found)
    plans = read_plan_file(plan_file) if plan_file is not None else None
    if plans is not None:
        plans.require_kernels(found)
    audits = [audit for subject in found for audit in _audit(subject, plans, barriers)]
    if output_format == "json":
        emit_json("check", [_entry(audit) for audit in audits])
    else:
        for audit in audits:
            emit_tables(_lines(audit))
    if any(audit.verdict.verdict == UNSOUND for audit in audits):
        sys.exit(1)


def _audit(subject: Subject, plans: PlanFile | None, barriers: str) -> Iterator[Audit]:
    kernel, scope = subject.kernel, subject.scope
    names = unique_names(kernel.allocations(scope))
    by_view, merged = False, False
    beyond: tuple[str, ...] = ()
    if plans is not None:
        planned = plans.layout_for(subject, names)
        if planned is None:
            return
        source, (offsets, arena) = "plan file", planned
    else:
        applied = applied_layout(kernel, scope)
        mixed = inseparable_arena(kernel, scope) if applied is None else None
        if mixed is not None:
            yield _inseparable(subject, mixed)
            return
        if applied is None:
            source, offsets, arena = NOTHING_MERGED, {}, 0
        else:
            kernel, offsets, arena = applied.kernel, dict(applied.offsets), applied.arena
            names = unique_names(kernel.allocations(scope))
            by_view, beyond, merged = applied.by_view, applied.beyond, True
            source = "merged in the file"
    later = barriers == "later" or (barriers == "auto" and _comes_later(kernel, scope, merged))
    align = alignments(kernel, scope)
    if by_view:
        align = dict.fromkeys(align, 1)  # a buffer may begin before its first access
    verdict = check_plan(kernel, scope, offsets, arena, align, assume_barriers=later)
    if by_view:
        verdict = _of_views(verdict)
    verdict = verdict.doubted(beyond)
    by_name = {names[buffer]: offset for buffer, offset in offsets.items()}
    yield Audit(subject, source, by_name, arena, verdict)


def _of_views(verdict: Verdict) -> Verdict:
    """Rule 2 asks whose value a byte holds, and two views may be of one buffer.

    What is not ordered is a race all the same, of the merge or of the kernel itself.
    """
    verdict = replace(verdict, assumptions=(*verdict.assumptions, ONE_EACH))
    if verdict.verdict != UNSOUND:
        return verdict
    races = tuple(one for one in verdict.violations if one.rule != 2)
    if races:
        return replace(verdict, violations=races)
    return replace(verdict, verdict=UNPROVED).doubted((PERHAPS_ONE,))


def _inseparable(subject: Subject, arena: Buffer) -> Audit:
    """Nothing is known of a merge whose buffers cannot be told apart."""
    reason = (
        f"{arena.name} has several buffers in it, and neither indices nor pointers tell them "
        "apart: check the dump from before the merge, with --plan"
    )
    verdict = Verdict(UNPROVED, uncovered=(reason,))
    return Audit(subject, "merged in the file", {}, arena.size or 0, verdict)


def _comes_later(kernel: Kernel, scope: str, merged: bool) -> bool:
    """Whether a pass is still to insert barriers; Apache TVM's has run before the merge."""
    if merged and not kernel.dialect.synchronizes_later:
        return False
    return not _has_barriers(kernel, scope)


def _has_barriers(kernel: Kernel, scope: str) -> bool:
    """Whether a pass has been here that inserts barriers for this scope."""
    calls = (evaluated_call(stmt) for stmt in walk_statements(kernel.body))
    return any(
        call is not None and call.op == "tvm_storage_sync" and _names_scope(call.args, scope)
        for call in calls
    )


def _names_scope(args: tuple[Expr, ...], scope: str) -> bool:
    return bool(args) and args[0] == Const(scope)


def _entry(audit: Audit) -> dict[str, object]:
    subject = audit.subject
    return {
        "file": subject.file,
        "name": subject.kernel.name,
        "scope": subject.scope,
        "plan": audit.source,
        "arena_bytes": audit.arena,
        "offsets": audit.offsets,
        **verdict_data(audit.verdict),
    }


def _lines(audit: Audit) -> Iterator[Text]:
    subject = audit.subject
    if not subject.has_buffers:
        yield no_buffers(subject)
        return
    what = f"{audit.source}, {len(audit.offsets)} buffers in {audit.arena:,} bytes"
    if audit.source == NOTHING_MERGED:
        what = NOTHING_TO_AUDIT
    heading = verdict_text(audit.verdict)
    where = f"{subject.file}: {subject.kernel.name} ({subject.scope})"
    yield heading.append(f": {where}, {what}", style="default")
    yield from findings(audit.verdict)
