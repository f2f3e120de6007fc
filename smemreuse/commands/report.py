"""`smemreuse report FILE... -o report.html`: every kernel on one interactive page."""

from __future__ import annotations

import sys
from functools import partial

import click

from smemreuse.commands.batches import Spread, of_each, spread_options
from smemreuse.commands.inputs import Source, files_argument, find_inputs
from smemreuse.commands.options import arch_option, objective_option, packer_option
from smemreuse.commands.output import check_output, force_option, write_output, wrote
from smemreuse.commands.subjects import note_if_empty, subjects_of
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.explainer.overview import overview
from smemreuse.explainer.plans import hoped_for, judged_plans
from smemreuse.report.data import Data, Subject
from smemreuse.report.overview import overview_entry
from smemreuse.report.page import report_page
from smemreuse.report.verdicts import hoped_words
from smemreuse.targets.architectures import Architecture


@click.command(cls=Verb)
@files_argument
@click.option("-o", "--output", required=True, type=click.Path(), help="`-` for standard output.")
@force_option
@packer_option
@objective_option
@arch_option
@spread_options
def report(
    files: tuple[str, ...],
    output: str,
    force: bool,
    packer: str,
    objective: str,
    arch: Architecture | None,
    jobs: int,
    backend: str,
) -> None:
    """Write a self-contained page: a memory map of each kernel, with the policies to switch.

    FILE is a dump, a folder of dumps, or `-`. Of many one that cannot be read is told on stderr,
    and the exit code is 2 in the end.
    """
    check_output(output, force)
    work = partial(_entries, packer=packer, objective=objective, arch=arch)
    entries, whole = of_each(find_inputs(files), work, Spread(jobs, backend), "analysing")
    note_if_empty(entries, files)
    page = report_page(entries).encode()
    write_output(output, page, force)
    click.echo(wrote(output, len(entries), len(page)), err=True)
    if not whole:
        sys.exit(InputError.exit_code)


def _entries(
    source: Source, packer: str, objective: str, arch: Architecture | None
) -> tuple[list[Data], list[str]]:
    """What the page shows of a dump's kernels."""
    found = [one for one in subjects_of(source) if one.has_buffers]
    return [entry_of(one, packer, objective, arch) for one in found], []


def entry_of(
    subject: Subject, packer: str, objective: str, arch: Architecture | None = None
) -> Data:
    """What the page shows of a kernel."""
    made = (subject.kernel, subject.scope, packer, objective, arch)
    hoped = hoped_for(*made)
    remarks = {} if hoped is None else {"dataflow": hoped_words(*hoped)}
    shown = overview(subject.kernel, subject.scope, judged_plans(*made), remarks)
    return overview_entry(subject, shown, arch)
