"""`smemreuse check FILE... [--plan P]`: audits a plan, or those that a compiler applied."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import click
from rich.text import Text

from smemreuse.audit import BarrierStage, audit_merged, audit_plan
from smemreuse.commands.baseline import baseline_option, compared_with, read_baseline_entries
from smemreuse.commands.batches import Spread, of_each, spread_options
from smemreuse.commands.inputs import Source, files_argument, find_inputs
from smemreuse.commands.options import barriers_option
from smemreuse.commands.output import (
    emit_findings,
    emit_json,
    emit_tables,
    findings_format_option,
    only_findings_option,
)
from smemreuse.commands.planfile import PlanFile, read_plan_file
from smemreuse.commands.subjects import note_if_empty, subjects_of, unused_remarks
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.linter import grounds_of
from smemreuse.report.audits import (
    audit_findings,
    audits_line,
    check_entry,
    check_lines,
    checked,
)
from smemreuse.report.comparisons import PLAN_RULES
from smemreuse.report.data import Subject
from smemreuse.report.regressions import change_words, changes_line
from smemreuse.results.audit import Audit, Checked, PlanSource
from smemreuse.results.verdict import UNPROVED, UNSOUND


@click.command(cls=Verb)
@files_argument
@click.option("--plan", "plan_file", type=click.Path(), help="What `plan --format json` wrote.")
@barriers_option
@click.option(
    "--allow-unproved",
    is_flag=True,
    help="Exit code 0 for what is unproved too, and where there is nothing to audit.",
)
@only_findings_option
@baseline_option
@spread_options
@findings_format_option
def check(
    files: tuple[str, ...],
    plan_file: str | None,
    barriers: str,
    allow_unproved: bool,
    only_findings: bool,
    baseline: str | None,
    jobs: int,
    backend: str,
    output_format: str,
) -> None:
    """Say whether a plan is sound, or name the rule, the buffers and a witness.

    FILE is a dump, a folder of dumps, or `-`. Exit 1 for a plan that is unsound or unproved, and
    where no plan is: in a dump from before the merge, say. Against a baseline exit 1 is for what is
    worse than there, and for nothing else. A file that cannot be read gives 2.
    """
    before = read_baseline_entries(baseline, "check")
    inputs = find_inputs(files)
    if plan_file is not None and not inputs.single:
        raise InputError("--plan is for one FILE; check them one by one", file=plan_file)
    plans = read_plan_file(plan_file) if plan_file is not None else None
    work = partial(_checked, plans=plans, barriers=BarrierStage(barriers))
    found, whole = of_each(inputs, work, Spread(jobs, backend), "checking")
    note_if_empty(found, files)
    rows = compared_with(before, found)
    _emit(rows, only_findings, output_format, many=not inputs.single)
    if not whole:
        sys.exit(InputError.exit_code)
    if _fails(rows, allow_unproved):
        sys.exit(1)


def _fails(rows: Sequence[Checked], allow_unproved: bool) -> bool:
    changed = [row.change for row in rows if row.change is not None]
    if changed:
        return any(change.worse for change in changed)
    audits = [row.audit for row in rows]
    verdicts = {audit.verdict.verdict for audit in audits}
    nothing = all(audit.source is PlanSource.NOTHING_MERGED for audit in audits)
    return UNSOUND in verdicts or (not allow_unproved and (nothing or UNPROVED in verdicts))


def _checked(
    source: Source, plans: PlanFile | None, barriers: BarrierStage
) -> tuple[list[Checked], list[str]]:
    """The audits of a dump's kernels, but for those of which a plan file says nothing."""
    found = subjects_of(source)
    if plans is not None:
        plans.require_kernels(found)
    audited = ((subject, _audit(subject, plans, barriers)) for subject in found)
    rows = [_row(subject, audit, barriers) for subject, audit in audited if audit is not None]
    return rows, unused_remarks(found)


def _row(subject: Subject, audit: Audit, barriers: BarrierStage) -> Checked:
    """The record of an audit, with the preconditions of a sound plan that shares bytes."""
    rests = audit.verdict.sound and audit.source is not PlanSource.NOTHING_MERGED
    grounds = grounds_of(subject.kernel, barriers) if rests else None
    return checked(subject, audit, grounds)


def _audit(subject: Subject, plans: PlanFile | None, barriers: BarrierStage) -> Audit | None:
    """The audit of one kernel; None if a plan file is given that does not have the kernel."""
    if plans is None:
        return audit_merged(subject.kernel, subject.scope, barriers)
    layout = plans.layout_for(subject)
    if layout is None:
        return None
    return audit_plan(subject.kernel, subject.scope, *layout, barriers)


def _emit(rows: Sequence[Checked], only_findings: bool, output_format: str, many: bool) -> None:
    shown = [row for row in rows if not only_findings or [*audit_findings(row)]]
    if output_format == "json":
        emit_json("check", kernels=[*map(check_entry, shown)])
    elif output_format != "table":
        findings = [finding for row in rows for finding in audit_findings(row)]
        emit_findings("check", findings, PLAN_RULES, output_format)
    else:
        changed = [row.change for row in rows if row.change is not None]
        emit_tables([audits_line(rows)] if many and rows else [])
        emit_tables([changes_line(changed)] if changed else [])
        for row in shown:
            if many and row.audit.source is PlanSource.NOTHING_MERGED and row.change is None:
                continue  # the first line counts them
            emit_tables(check_lines(row))
            if row.change is not None and row.change.is_any:
                emit_tables([Text(f"  against the baseline: {change_words(row.change)}")])
