"""`smemreuse check FILE... [--plan P]`: audits a plan, or those that a compiler applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain

import click
from rich.console import RenderableType
from rich.text import Text

from smemreuse import plugins
from smemreuse.audit import BarrierStage, audit_merged, audit_plan
from smemreuse.commands.accepting import say_stale
from smemreuse.commands.baseline import baseline_option, compared_with, read_baseline_entries
from smemreuse.commands.batches import Batch, batch_options
from smemreuse.commands.inputs import Source
from smemreuse.commands.options import barriers_option
from smemreuse.commands.output import emit_answer
from smemreuse.commands.planfile import PlanFile, PlannedKernel, read_plan_file
from smemreuse.commands.subjects import subjects_of, unused_remarks
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.linter import grounds_of
from smemreuse.report.audits import (
    Failure,
    audit_findings,
    audits_line,
    bare_files,
    bare_findings,
    bare_lines,
    check_entry,
    check_lines,
    checked,
)
from smemreuse.report.comparisons import PLAN_RULES
from smemreuse.report.data import Subject
from smemreuse.report.next_steps import after_check
from smemreuse.report.regressions import (
    baseline_lines,
    change_words,
    missing_data,
    missing_findings,
)
from smemreuse.report.tables import console
from smemreuse.results.audit import Audit, Checked, PlanSource
from smemreuse.results.regressions import BaselineEntry
from smemreuse.results.verdict import BARRIERS_FOLLOW, UNPROVED, UNSOUND, Verdict

NOT_PLANNED = "the plan file says nothing of it"


@click.command(cls=Verb)
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(),
    help="The plan to judge: what `plan --format json` wrote.",
)
@barriers_option
@click.option(
    "--allow-unproved",
    is_flag=True,
    help="Give exit code 0 for unproved plans and for files without a plan. What is worse than in "
    "the baseline still gives exit code 1.",
)
@click.option(
    "--show",
    is_flag=True,
    help="Draw each witness as a timeline: its agents side by side, and what is missing between "
    "their accesses.",
)
@batch_options(baseline_option)
def check(
    batch: Batch,
    plan_file: str | None,
    barriers: str,
    allow_unproved: bool,
    show: bool,
    baseline: str | None,
) -> None:
    """Prove that a plan is sound, or show what goes wrong under it.

    FILE is a dump, a folder of dumps, or `-`. check judges the plan that a compiler has applied in
    FILE, or the one of --plan. Of an unsound plan it names the rule, the buffers and a witness: an
    execution that goes wrong.

    The exit code is 1 if a plan is unsound or unproved, if --plan lacks a kernel, if a file has no
    plan (such as a dump from before the merge), and if there is no kernel at all. With --baseline
    it is 1 if a verdict is worse than there, if a kernel is missing, and if a new file has no plan.
    A file that cannot be read gives exit code 2; check still reads the others.
    """
    options = {"barriers": barriers}
    before = read_baseline_entries(baseline, "check", options)
    if plan_file is not None and not batch.single:
        raise InputError("--plan is for one FILE; check them one by one", file=plan_file)
    plans = read_plan_file(plan_file) if plan_file is not None else None
    work = partial(_checked, plans=plans, barriers=BarrierStage(barriers))
    acceptances = plugins.acceptances(of_plans=True)
    results = batch.results(work, "checking", kept=plans is None)
    found = [one.held_against(acceptances) for one in results]
    if batch.whole:
        say_stale(acceptances, ((one.file, one.kernel) for one in found))
    rows, missing = compared_with(before, found, batch)
    gate = _Gate(allow_unproved, set() if allow_unproved else bare_files(rows))
    shown = [
        row for row in rows if not batch.only_findings or gate.fails(row) or [*audit_findings(row)]
    ]
    emit_answer(
        batch.output_format,
        "check",
        _tables(gate, rows, shown, missing, many=not batch.single, drawn=show),
        {
            "kernels": ({**check_entry(row), "fails": gate.fails(row)} for row in shown),
            "partial": len(shown) < len(rows),
            "missing": missing_data(missing),
            "options": options,
        },
        chain(
            (finding for row in rows for finding in audit_findings(row)),
            missing_findings(missing),
            bare_findings(rows, gate.bare),
        ),
        PLAN_RULES,
        summary=audits_line(rows).plain if rows else "",
    )
    step = after_check(
        gate.failed(rows),
        batch.files,
        bool(missing),
        plan_file,
        () if barriers == BarrierStage.AUTO.value else ("--barriers", barriers),
        hazardous=[row for row in rows if row.is_hazardous],
        later=any(BARRIERS_FOLLOW in row.audit.verdict.assumptions for row in rows),
    )
    batch.end(gate.failures(rows, missing), step)


@dataclass(frozen=True)
class _Gate:
    """What makes the exit code 1, unless it is accepted: against a baseline what is worse; and
    `bare` files, in which no plan is."""

    allow_unproved: bool
    bare: Set[str]

    def failure(self, row: Checked) -> Failure | None:
        """Why a row fails, if it does."""
        if row.file in self.bare:
            return Failure.BARE
        if row.change is not None:
            return Failure.WORSE if row.worse else None
        found = row.audit.verdict.verdict
        if row.accepted is not None or (found is UNPROVED and self.allow_unproved):
            return None
        return {UNSOUND: Failure.UNSOUND, UNPROVED: Failure.UNPROVED}.get(found)

    def failed(self, rows: Sequence[Checked]) -> dict[Failure, list[Checked]]:
        """The rows that fail, by why they do."""
        found: dict[Failure, list[Checked]] = {}
        for row in rows:
            failure = self.failure(row)
            if failure is not None:
                found.setdefault(failure, []).append(row)
        return found

    def fails(self, row: Checked) -> bool:
        return self.failure(row) is not None

    def failures(self, rows: Sequence[Checked], missing: Sequence[BaselineEntry]) -> list[str]:
        """Why the exit code is 1, a clause for each reason; none where it is 0."""
        if not rows and not missing:
            return ["there is no device kernel to check"]
        found = Counter({failure: len(those) for failure, those in self.failed(rows).items()})
        found[Failure.BARE] = len(self.bare)
        found[Failure.MISSING] = len(missing)
        return [one.counted(found[one]) for one in Failure if found[one]]


def _checked(
    source: Source, plans: PlanFile | None, barriers: BarrierStage
) -> tuple[list[Checked], list[str]]:
    """The audits of a dump's kernels; one that a plan file says nothing of is unproved."""
    found = subjects_of(source)
    if plans is None:
        audits = [audit_merged(one.kernel, one.scope, barriers) for one in found]
    else:
        pairs = zip(found, plans.planned_for(found), strict=True)
        audits = [_held_against(plans, planned, subject, barriers) for subject, planned in pairs]
    rows = [_row(one, audit, barriers) for one, audit in zip(found, audits, strict=True)]
    return rows, unused_remarks(found)


def _row(subject: Subject, audit: Audit, barriers: BarrierStage) -> Checked:
    """The record of an audit, with the preconditions of a sound plan that shares bytes."""
    rests = audit.verdict.sound and audit.source.is_plan
    grounds = grounds_of(subject.kernel, barriers) if rests else None
    return checked(subject, audit, grounds)


def _held_against(
    plans: PlanFile, planned: PlannedKernel | None, subject: Subject, barriers: BarrierStage
) -> Audit:
    """The audit of what a plan file says of one kernel."""
    if planned is None and subject.has_buffers:
        return Audit(PlanSource.NOT_PLANNED, {}, 0, Verdict(UNPROVED, uncovered=(NOT_PLANNED,)))
    layout = ({}, 0) if planned is None else plans.layout_of(planned, subject)
    return audit_plan(subject.kernel, subject.scope, *layout, barriers)


def _tables(
    gate: _Gate,
    rows: Sequence[Checked],
    shown: Sequence[Checked],
    missing: Sequence[BaselineEntry],
    many: bool,
    drawn: bool,
) -> Iterator[RenderableType]:
    if many and rows:
        yield audits_line(rows)
    yield from baseline_lines([row.change for row in rows], missing)
    for row in shown:
        if many and row.audit.source is PlanSource.NOTHING_MERGED and row.change is None:
            continue  # the first line counts them
        yield from check_lines(row, drawn=drawn, width=console().width)
        if row.change is not None and row.change.is_any:
            yield Text(f"  against the baseline: {change_words(row.change)}")
    if many:
        yield from bare_lines(rows, gate.bare)
