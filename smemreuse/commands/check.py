"""`smemreuse check FILE... [--plan P]`: audits a plan, or those that a compiler applied."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import click
from rich.text import Text

from smemreuse.audit import BarrierStage, audit_merged, audit_plan
from smemreuse.commands.baseline import audited_standing, baseline_option, read_standings
from smemreuse.commands.batches import Spread, of_each, spread_options
from smemreuse.commands.inputs import Source as Input
from smemreuse.commands.inputs import files_argument, find_inputs
from smemreuse.commands.options import barriers_option
from smemreuse.commands.output import (
    emit_findings,
    emit_json,
    findings_format_option,
    only_findings_option,
)
from smemreuse.commands.planfile import PlanFile, read_plan_file
from smemreuse.commands.printing import emit_tables
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
from smemreuse.report.data import Data, Subject
from smemreuse.report.regressions import change_data, change_findings, change_words, changes_line
from smemreuse.results.audit import Audit, Checked, Source
from smemreuse.results.findings import Finding
from smemreuse.results.regressions import Change, Standing, changes
from smemreuse.results.verdict import UNPROVED, UNSOUND


@dataclass(frozen=True)
class Row:
    """One audit, and what became of the kernel since a baseline."""

    told: Checked
    change: Change | None = None

    @property
    def findings(self) -> list[Finding]:
        """What is worse than in the baseline; without one, what speaks against the plan."""
        if self.change is None:
            return list(audit_findings(self.told))
        why = self.told.audit.verdict.first_finding
        return list(change_findings(self.change, self.told.line, why))

    @property
    def entry(self) -> Data:
        entry = check_entry(self.told)
        return entry if self.change is None else {**entry, "baseline": change_data(self.change)}


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
    before = None if baseline is None else read_standings(baseline, "check")
    inputs = find_inputs(files)
    if plan_file is not None and not inputs.single:
        raise InputError("--plan is for one FILE; check them one by one", file=plan_file)
    plans = read_plan_file(plan_file) if plan_file is not None else None
    work = partial(_checked, plans=plans, barriers=BarrierStage(barriers))
    found, whole = of_each(inputs, work, Spread(jobs, backend), "checking")
    note_if_empty(found, files)
    rows = [Row(each) for each in found]
    if before is not None:
        held = changes([_standing(row.told) for row in rows], before)
        rows = [replace(row, change=change) for row, change in zip(rows, held, strict=True)]
    _emit(rows, only_findings, output_format, many=not inputs.single)
    if not whole:
        sys.exit(InputError.exit_code)
    if _fails(rows, allow_unproved):
        sys.exit(1)


def _standing(told: Checked) -> Standing:
    return audited_standing(told.file, told.kernel, told.scope, told.audit)


def _fails(rows: Sequence[Row], allow_unproved: bool) -> bool:
    changed = [row.change for row in rows if row.change is not None]
    if changed:
        return any(change.worse for change in changed)
    audits = [row.told.audit for row in rows]
    verdicts = {audit.verdict.verdict for audit in audits}
    nothing = all(audit.source is Source.NOTHING_MERGED for audit in audits)
    return UNSOUND in verdicts or (not allow_unproved and (nothing or UNPROVED in verdicts))


def _checked(
    source: Input, plans: PlanFile | None, barriers: BarrierStage
) -> tuple[list[Checked], list[str]]:
    """The audits of a dump's kernels, but for those of which a plan file says nothing."""
    found = subjects_of(source)
    if plans is not None:
        plans.require_kernels(found)
    audited = ((subject, _audit(subject, plans, barriers)) for subject in found)
    told = [_told(subject, audit, barriers) for subject, audit in audited if audit is not None]
    return told, unused_remarks(found)


def _told(subject: Subject, audit: Audit, barriers: BarrierStage) -> Checked:
    """What a sound plan rests on is told too; one that shares nothing rests on nothing."""
    rests = audit.verdict.sound and audit.source is not Source.NOTHING_MERGED
    grounds = grounds_of(subject.kernel, barriers) if rests else None
    return checked(subject, audit, grounds)


def _audit(subject: Subject, plans: PlanFile | None, barriers: BarrierStage) -> Audit | None:
    """None for a kernel of which the plan file says nothing."""
    if plans is None:
        return audit_merged(subject.kernel, subject.scope, barriers)
    layout = plans.layout_for(subject)
    if layout is None:
        return None
    return audit_plan(subject.kernel, subject.scope, *layout, barriers)


def _emit(rows: Sequence[Row], only_findings: bool, output_format: str, many: bool) -> None:
    shown = [row for row in rows if row.findings or not only_findings]
    if output_format == "json":
        emit_json("check", [row.entry for row in shown])
    elif output_format != "table":
        findings = [finding for row in rows for finding in row.findings]
        emit_findings("check", findings, PLAN_RULES, output_format)
    else:
        changed = [row.change for row in rows if row.change is not None]
        emit_tables([audits_line([row.told for row in rows])] if many and rows else [])
        emit_tables([changes_line(changed)] if changed else [])
        for row in shown:
            if many and row.told.audit.source is Source.NOTHING_MERGED and row.change is None:
                continue  # the first line counts them
            emit_tables(check_lines(row.told))
            if row.change is not None and row.change.is_any:
                emit_tables([Text(f"  against the baseline: {change_words(row.change)}")])
