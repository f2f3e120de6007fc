"""`smemreuse check FILE [--plan P]`: audits a plan, or the one that a compiler applied in FILE."""

from __future__ import annotations

import sys

import click

from smemreuse.audit import BarrierStage, audit_merged, audit_plan
from smemreuse.commands.options import barriers_option
from smemreuse.commands.output import emit_json, format_option
from smemreuse.commands.planfile import PlanFile, read_plan_file
from smemreuse.commands.printing import emit_tables
from smemreuse.commands.subjects import note_if_empty, note_unused, read_subjects
from smemreuse.linter import grounds_of
from smemreuse.report.audits import check_entry, check_lines
from smemreuse.report.data import Subject
from smemreuse.results.audit import Audit, Source
from smemreuse.results.grounds import Grounds
from smemreuse.results.verdict import UNPROVED, UNSOUND


@click.command()
@click.argument("file", type=click.Path())
@click.option("--plan", "plan_file", type=click.Path(), help="What `plan --format json` wrote.")
@barriers_option
@click.option(
    "--allow-unproved",
    is_flag=True,
    help="Exit code 0 for what is unproved too, and where there is nothing to audit.",
)
@format_option
def check(
    file: str, plan_file: str | None, barriers: str, allow_unproved: bool, output_format: str
) -> None:
    """Say whether a plan is sound, or name the rule, the buffers and a witness.

    Exit 1 for a plan that is unsound or unproved, and where no plan is: in a dump from before the
    merge, say.
    """
    found = read_subjects([file])
    note_if_empty(found, [file])
    note_unused(found)
    plans = read_plan_file(plan_file) if plan_file is not None else None
    if plans is not None:
        plans.require_kernels(found)
    stage = BarrierStage(barriers)

    def of_sound(subject: Subject, audit: Audit) -> Grounds | None:
        """What a plan rests on that is sound; one that shares nothing rests on nothing."""
        rests = audit.verdict.sound and audit.source is not Source.NOTHING_MERGED
        return grounds_of(subject.kernel, stage) if rests else None

    audited = [(subject, _audit(subject, plans, stage)) for subject in found]
    audits = [(subject, audit) for subject, audit in audited if audit is not None]
    if output_format == "json":
        emit_json("check", [check_entry(*each, of_sound(*each)) for each in audits])
    else:
        for each in audits:
            emit_tables(check_lines(*each, of_sound(*each)))
    verdicts = {audit.verdict.verdict for _, audit in audits}
    nothing = all(audit.source is Source.NOTHING_MERGED for _, audit in audits)
    if UNSOUND in verdicts or (not allow_unproved and (nothing or UNPROVED in verdicts)):
        sys.exit(1)


def _audit(subject: Subject, plans: PlanFile | None, barriers: BarrierStage) -> Audit | None:
    """None for a kernel of which the plan file says nothing."""
    if plans is None:
        return audit_merged(subject.kernel, subject.scope, barriers)
    layout = plans.layout_for(subject)
    if layout is None:
        return None
    return audit_plan(subject.kernel, subject.scope, *layout, barriers)
