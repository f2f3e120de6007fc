"""`smemreuse compare FILE...`: every policy side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from rich.text import Text

from smemreuse.commands.options import arch_option, objective_option, packer_option
from smemreuse.commands.output import emit_json, format_option
from smemreuse.commands.printing import emit_tables
from smemreuse.commands.subjects import note_if_empty, note_unused, subjects_of_each
from smemreuse.errors import InputError
from smemreuse.explainer.plans import hoped_for, judged_plans, side_by_side
from smemreuse.explainer.timeline import timeline_of
from smemreuse.progress import track
from smemreuse.report.data import Subject, compare_entry
from smemreuse.report.tables import compare_table, console, hoped_line, no_buffers
from smemreuse.report.terminal import drawn_plans
from smemreuse.report.titles import titles
from smemreuse.results.verdict import Judged
from smemreuse.targets.architectures import Architecture

Row = tuple[Subject, Sequence[Judged], Judged | None]

MOST_MAPS = 4
"""Kernels up to which the memory maps are drawn too; `plan` draws any kernel's."""


@click.command()
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@packer_option
@objective_option
@arch_option
@format_option
def compare(
    files: tuple[str, ...],
    packer: str,
    objective: str,
    arch: Architecture | None,
    output_format: str,
) -> None:
    """Compare the policies: arena, lower bound, packing gap, and whether each plan is sound.

    Of many files one that cannot be read is told on stderr, and the exit code is 2 in the end.
    """
    found, whole = subjects_of_each(files)
    note_if_empty(found, files)
    note_unused(found)
    rows = []
    for each in track(found, "comparing"):
        made = (each.kernel, each.scope, packer, objective, arch)
        rows.append((each, [*judged_plans(*made).values()], hoped_for(*made)))
    if output_format == "json":
        emit_json("compare", [compare_entry(*row, arch) for row in rows])
    elif rows:
        _emit_tables(rows, arch)
    if not whole:
        sys.exit(InputError.exit_code)


def _emit_tables(rows: Sequence[Row], arch: Architecture | None) -> None:
    out = console()
    shown = [(subject, judged) for subject, judged, _ in rows if subject.has_buffers]
    if shown:
        sized = [
            (each, side_by_side(each.kernel, each.scope).arena_bytes, judged)
            for each, judged in shown
        ]
        emit_tables([compare_table(out, sized, arch)])
        emit_tables(hoped_line(subject, *hoped) for subject, _, hoped in rows if hoped is not None)
    emit_tables(no_buffers(subject) for subject, _, _ in rows if not subject.has_buffers)
    if len(shown) > MOST_MAPS:
        return
    drawn = [(subject, judged) for subject, judged in shown if judged[0][0].offsets]
    named = titles([(one.file, one.kernel.name, one.scope) for one, _ in drawn])
    for (subject, judged), title in zip(drawn, named, strict=True):
        timeline = timeline_of(subject.kernel, subject.scope)
        emit_tables([Text(title), drawn_plans(out, [plan for plan, _ in judged], timeline)])
