"""`smemreuse report FILE... -o report.html`: every kernel on one interactive page."""

from __future__ import annotations

import click

from smemreuse.commands.common import (
    arch_option,
    check_output,
    force_option,
    note_if_empty,
    objective_option,
    packer_option,
    read_subjects,
    write_output,
)
from smemreuse.progress import track
from smemreuse.report.page import report_page
from smemreuse.report.view import judged_plans, kernel_view
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
    """Write a self-contained page: a memory map of each kernel, with the policies to switch."""
    check_output(output, force)
    found = [one for one in read_subjects(files) if one.has_buffers]
    note_if_empty(found, files)
    views = [
        kernel_view(subject, judged_plans(subject, packer, objective, arch), arch)
        for subject in track(found, "analysing")
    ]
    write_output(output, report_page(views).encode(), force)
