"""`smemreuse report FILE... -o report.html`: every kernel on one interactive page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import click

from smemreuse import plugins
from smemreuse.audit import BarrierStage
from smemreuse.commands.batches import Batch, batch_options, found_by
from smemreuse.commands.inputs import Source
from smemreuse.commands.lint import linted_kernels
from smemreuse.commands.options import Planning, planning_options
from smemreuse.commands.output import Target, target_options, wrote
from smemreuse.commands.subjects import subjects_of
from smemreuse.commands.verb import Verb
from smemreuse.explainer.overview import overview
from smemreuse.explainer.plans import default_merge, hoped_for, judged_plans, wanted_hope
from smemreuse.ir.kernel import Kernel
from smemreuse.report.data import Data, Subject
from smemreuse.report.next_step import after_page, after_page_text
from smemreuse.report.overview import overview_entry
from smemreuse.report.page import report_page, with_hazards
from smemreuse.report.residents import gain_note
from smemreuse.report.verdicts import hoped_words
from smemreuse.results.accepted import Acceptances
from smemreuse.results.hazards import LintReport
from smemreuse.targets.architectures import Architecture

FEW = 4
"""The most files of which the checker is asked about each pair of buffers, which takes longer than
all else; `explain` asks it about any pair."""


@dataclass(frozen=True)
class Entry:
    """What the page shows of a kernel and scope, and what lint finds in it, if that was asked."""

    shown: Data
    report: LintReport | None


@click.command(cls=Verb)
@target_options("`-` for standard output.", required=True)
@planning_options(policy=False)
@click.option(
    "--lint/--no-lint",
    "linting",
    default=True,
    help="Show the hazards of each kernel, as `lint` finds them; without them it takes half the "
    "time.",
)
@batch_options(findings=False)
def report(batch: Batch, target: Target, planning: Planning, linting: bool) -> None:
    """Write a page with an interactive memory map of each kernel.

    The page is one self-contained HTML file; buttons switch between the policies. FILE is a dump, a
    folder of dumps, or `-`. A file that cannot be read is reported on stderr and gives exit code 2;
    the page has the others. For more than four files the page says of two buffers whether they
    share bytes, and which rule keeps them apart; whether they could share is what `explain` proves.
    """
    target.check()
    most = None if len(batch.inputs) <= FEW else 0
    kept = not batch.no_cache
    work = partial(_entries, planning=planning, most=most, linting=linting, kept=kept)
    acceptances = plugins.acceptances(of_plans=False)
    found = batch.results(work, "analysing", kept=True)
    entries = [_shown(one, acceptances) for one in found]
    size = target.write(report_page(entries))
    kernels = {(one["file"], one["name"]) for one in entries}  # some have two scopes
    click.echo(wrote(str(target.output), len(kernels), size), err=True)
    aside = target.output == "-"
    step = after_page_text(batch.files) if aside else after_page(str(target.output))
    batch.end(step=step, aside=aside)


def _shown(entry: Entry, acceptances: Acceptances) -> Data:
    """An entry with its hazards, of which the project accepts some."""
    file, report = str(entry.shown["file"]), entry.report
    held = None if report is None else report.held_against(acceptances, file)
    return with_hazards(entry.shown, file, held)


def _entries(
    source: Source, planning: Planning, most: int | None, linting: bool, kept: bool
) -> tuple[list[Entry], list[str]]:
    """What the page shows of a dump's kernels. Hazards that `lint` has kept are taken from there,
    where results may be `kept`."""
    made = (planning.packer, planning.objective, planning.arch, most)
    subjects = subjects_of(source)
    linted: dict[Kernel, LintReport] = {}
    if linting and any(one.has_buffers for one in subjects):
        work = partial(linted_kernels, barriers=BarrierStage.AUTO)
        found = found_by(work, source, kept=kept)
        if found.error is not None:
            raise found.error
        kernels = dict.fromkeys(one.kernel for one in subjects)
        linted = dict(zip(kernels, (one.report for one in found.results), strict=True))
    shown = (one for one in subjects if one.has_buffers)
    return [Entry(entry_of(one, *made), linted.get(one.kernel)) for one in shown], []


def entry_of(
    subject: Subject,
    packer: str,
    objective: str,
    arch: Architecture | None = None,
    most: int | None = None,
) -> Data:
    """What the page shows of a kernel; `most` as in `overview`."""
    made = (subject.kernel, subject.scope, packer, objective, arch)
    plans = judged_plans(*made)
    chosen, _ = plans["dataflow"]
    hoped = wanted_hope(subject.kernel, hoped_for(*made), chosen, arch)
    remarks = {}
    if hoped is not None:
        note = gain_note(subject.kernel, hoped[0], chosen, arch)
        remarks = {"dataflow": hoped_words(*hoped, note)}
    shown = overview(subject.kernel, subject.scope, plans, remarks, most=most)
    default = default_merge(subject.kernel, subject.scope)
    return overview_entry(subject, replace(shown, default=default), arch)
