"""`smemreuse report FILE... -o report.html`: every kernel on one interactive page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from smemreuse.commands.batches import Batch, batch_options
from smemreuse.commands.inputs import Source
from smemreuse.commands.options import Planning, planning_options
from smemreuse.commands.output import Target, target_options, wrote
from smemreuse.commands.subjects import subjects_of
from smemreuse.commands.verb import Verb
from smemreuse.explainer.overview import overview
from smemreuse.explainer.plans import default_merge, hoped_for, judged_plans
from smemreuse.report.data import Data, Subject
from smemreuse.report.overview import overview_entry
from smemreuse.report.page import report_page
from smemreuse.report.verdicts import hoped_words
from smemreuse.targets.architectures import Architecture


@click.command(cls=Verb)
@target_options("`-` for standard output.", required=True)
@planning_options(policy=False)
@batch_options(findings=False)
def report(batch: Batch, target: Target, planning: Planning) -> None:
    """Write a page with an interactive memory map of each kernel.

    The page is one self-contained HTML file; buttons switch between the policies. FILE is a dump, a
    folder of dumps, or `-`. A file that cannot be read is reported on stderr and gives exit code 2;
    the page has the others.
    """
    target.check()
    entries = batch.results(partial(_entries, planning=planning), "analysing")
    size = target.write(report_page(entries))
    click.echo(wrote(str(target.output), len(entries), size), err=True)
    batch.end()


def _entries(source: Source, planning: Planning) -> tuple[list[Data], list[str]]:
    """What the page shows of a dump's kernels."""
    made = (planning.packer, planning.objective, planning.arch)
    return [entry_of(one, *made) for one in subjects_of(source) if one.has_buffers], []


def entry_of(
    subject: Subject, packer: str, objective: str, arch: Architecture | None = None
) -> Data:
    """What the page shows of a kernel."""
    made = (subject.kernel, subject.scope, packer, objective, arch)
    hoped = hoped_for(*made)
    remarks = {} if hoped is None else {"dataflow": hoped_words(*hoped)}
    shown = overview(subject.kernel, subject.scope, judged_plans(*made), remarks)
    default = default_merge(subject.kernel, subject.scope)
    return overview_entry(subject, replace(shown, default=default), arch)
