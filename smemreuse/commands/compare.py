"""`smemreuse compare FILE...`: every policy side by side."""

from __future__ import annotations

import click

from smemreuse.analysis.policy import POLICIES
from smemreuse.commands.common import (
    emit_json,
    emit_tables,
    format_option,
    note_if_empty,
    objective_option,
    packer_option,
    read_subjects,
)
from smemreuse.planning import plan_kernel
from smemreuse.report.data import compare_entry
from smemreuse.report.tables import compare_table, console


@click.command()
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@packer_option
@objective_option
@format_option
def compare(files: tuple[str, ...], packer: str, objective: str, output_format: str) -> None:
    """Compare the policies: arena, lower bound and packing gap of each kernel."""
    found = read_subjects(files)
    note_if_empty(found, files)
    rows = [
        (
            subject,
            [
                plan_kernel(
                    subject.kernel,
                    subject.scope,
                    policy=policy,
                    packer=packer,
                    objective=objective,
                )
                for policy in POLICIES
            ],
        )
        for subject in found
    ]
    if output_format == "json":
        emit_json("compare", [compare_entry(subject, plans) for subject, plans in rows])
    elif rows:
        emit_tables([compare_table(console(), rows)])
