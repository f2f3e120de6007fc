"""`smemreuse report FILE... -o report.html`: every kernel on one interactive page."""

from __future__ import annotations

import sys

import click

from smemreuse.commands.options import arch_option, objective_option, packer_option
from smemreuse.commands.output import check_output, force_option, write_output
from smemreuse.commands.subjects import note_if_empty, subjects_of_each
from smemreuse.errors import InputError
from smemreuse.explainer.overview import overview
from smemreuse.explainer.plans import hoped_for, judged_plans
from smemreuse.progress import track
from smemreuse.report.data import Data, Subject
from smemreuse.report.overview import overview_entry
from smemreuse.report.page import report_page
from smemreuse.report.verdicts import hoped_words
from smemreuse.targets.architectures import Architecture


@click.command()
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(), help="`-` for standard output.")
@force_option
@packer_option
@objective_option
@arch_option
def report(
    files: tuple[str, ...],
    output: str,
    force: bool,
    packer: str,
    objective: str,
    arch: Architecture | None,
) -> None:
    """Write a self-contained page: a memory map of each kernel, with the policies to switch.

    Of many files one that cannot be read is told on stderr, and the exit code is 2 in the end.
    """
    check_output(output, force)
    read, whole = subjects_of_each(files)
    found = [one for one in read if one.has_buffers]
    note_if_empty(found, files)
    entries = [entry_of(one, packer, objective, arch) for one in track(found, "analysing")]
    write_output(output, report_page(entries).encode(), force)
    if not whole:
        sys.exit(InputError.exit_code)


def entry_of(
    subject: Subject, packer: str, objective: str, arch: Architecture | None = None
) -> Data:
    """What the page shows of a kernel."""
    made = (subject.kernel, subject.scope, packer, objective, arch)
    hoped = hoped_for(*made)
    remarks = {} if hoped is None else {"dataflow": hoped_words(*hoped)}
    shown = overview(subject.kernel, subject.scope, judged_plans(*made), remarks)
    return overview_entry(subject, shown, arch)
