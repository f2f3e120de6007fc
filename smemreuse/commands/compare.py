"""`smemreuse compare FILE...`: every policy side by side; of many files a row for each kernel."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import click
from rich.text import Text

from smemreuse.commands.baseline import baseline_option, compared_with, read_baseline_entries
from smemreuse.commands.batches import Spread, of_each, spread_options
from smemreuse.commands.inputs import Source, files_argument, find_inputs
from smemreuse.commands.options import arch_option, objective_option, packer_option
from smemreuse.commands.output import (
    emit_findings,
    emit_json,
    emit_tables,
    findings_format_option,
    only_findings_option,
)
from smemreuse.commands.subjects import (
    declared_remarks,
    note_if_empty,
    subjects_of,
    unused_remarks,
)
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.explainer.plans import hoped_for, judged_plans, side_by_side
from smemreuse.explainer.timeline import timeline_of
from smemreuse.report.comparisons import (
    PLAN_RULES,
    SORTS,
    compare_table,
    comparison,
    comparison_findings,
    hoped_lines,
    kernels_table,
    summary_lines,
    titles_of,
    worst_lines,
)
from smemreuse.report.data import Data, Subject, compare_entry
from smemreuse.report.regressions import baseline_data, change_words, changes_line
from smemreuse.report.tables import console, no_buffers
from smemreuse.report.terminal import drawn_plans
from smemreuse.report.titles import titles
from smemreuse.results.comparison import Comparison
from smemreuse.results.verdict import Judged
from smemreuse.targets.architectures import Architecture

FEW = 4
"""The most files for which each kernel is shown in full, and the most kernels for which memory maps
are drawn; `plan` draws any kernel's."""


@dataclass(frozen=True)
class Asked:
    """What plans are made for, and what is wanted of them: the JSON, or what maps are drawn of."""

    packer: str
    objective: str
    arch: Architecture | None
    json: bool
    drawn: bool


@dataclass(frozen=True)
class Row:
    """One kernel and scope; `entry` is its JSON and `drawn` the kernel itself, if asked for."""

    comparison: Comparison
    entry: Data | None
    drawn: tuple[Subject, Sequence[Judged]] | None


@click.command(cls=Verb)
@files_argument
@packer_option
@objective_option
@arch_option
@click.option("--all", "every", is_flag=True, help="All policies of many files' kernels, too.")
@click.option("--sort", type=click.Choice(list(SORTS)), help="The order of rows; default: files'.")
@click.option(
    "--changed-only",
    is_flag=True,
    help="Only kernels that `dataflow` changes; with a baseline, those that are not as there.",
)
@only_findings_option
@baseline_option
@spread_options
@findings_format_option
def compare(
    files: tuple[str, ...],
    packer: str,
    objective: str,
    arch: Architecture | None,
    every: bool,
    sort: str | None,
    changed_only: bool,
    only_findings: bool,
    baseline: str | None,
    jobs: int,
    backend: str,
    output_format: str,
) -> None:
    """Compare the policies: arena, lower bound, packing gap, and whether each plan is sound.

    FILE is a dump, a folder of dumps, or `-`. Of more than four there is a summary first, and a row
    for each kernel. One that cannot be read is told on stderr, and the exit code is 2 in the end.
    Against a baseline it is 1 for what takes more bytes or has a worse verdict.
    """
    before = read_baseline_entries(baseline, "compare")
    inputs = find_inputs(files)
    few = len(inputs) <= FEW
    drawn = few and output_format == "table"
    asked = Asked(packer, objective, arch, output_format == "json", drawn)
    spread = Spread() if drawn else Spread(jobs, backend)  # whole kernels are not sent about
    rows, whole = of_each(inputs, partial(_compared, asked=asked), spread, "comparing")
    note_if_empty(rows, files)
    held = compared_with(before, [row.comparison for row in rows])
    rows = [replace(row, comparison=one) for row, one in zip(rows, held, strict=True)]
    shown = [
        row
        for row in rows
        if (row.comparison.is_changed or not changed_only)
        and (not only_findings or [*comparison_findings(row.comparison)])
    ]
    if sort is not None:
        shown.sort(key=lambda row: SORTS[sort](row.comparison))
    if output_format == "json":
        emit_json("compare", kernels=[_entry(row) for row in shown])
    elif output_format != "table":
        findings = [finding for row in rows for finding in comparison_findings(row.comparison)]
        emit_findings("compare", findings, PLAN_RULES, output_format)
    elif few:
        _emit_few(shown)
    elif rows:
        _emit_many(rows, shown, len({row.comparison.file for row in rows}), every)
    if not whole:
        sys.exit(InputError.exit_code)
    if any(row.comparison.change is not None and row.comparison.change.worse for row in rows):
        sys.exit(1)


def _compared(source: Source, asked: Asked) -> tuple[list[Row], list[str]]:
    """A row for each kernel and scope of a dump, and remarks for standard error."""
    found = subjects_of(source)
    rows = []
    for each in found:
        made = (each.kernel, each.scope, asked.packer, asked.objective, asked.arch)
        judged, hoped = [*judged_plans(*made).values()], hoped_for(*made)
        unshared = side_by_side(each.kernel, each.scope).arena_bytes
        compared = comparison(each, unshared, judged, hoped, asked.arch)
        entry = compare_entry(each, judged, hoped, asked.arch) if asked.json else None
        rows.append(Row(compared, entry, (each, judged) if asked.drawn else None))
    return rows, [*unused_remarks(found), *declared_remarks(one.kernel for one in found)]


def _entry(row: Row) -> Data:
    assert row.entry is not None
    return {**row.entry, **baseline_data(row.comparison.change)}


def _emit_few(rows: Sequence[Row]) -> None:
    """Prints each kernel in full, with memory maps where there are few kernels."""
    out = console()
    shown = [row for row in rows if row.comparison.buffers]
    compared = [row.comparison for row in shown]
    if compared:
        emit_tables([compare_table(out, compared), *hoped_lines(compared)])
    _emit_changes(rows)
    empty = [row.comparison for row in rows if not row.comparison.buffers]
    emit_tables(no_buffers(one.file, one.kernel) for one in empty)
    if len(shown) > FEW:
        return
    drawn = [row.drawn for row in shown if row.drawn is not None]
    drawn = [(subject, judged) for subject, judged in drawn if judged[0][0].offsets]
    named = titles([(one.file, one.kernel.name, one.scope) for one, _ in drawn])
    for (subject, judged), title in zip(drawn, named, strict=True):
        timeline = timeline_of(subject.kernel, subject.scope)
        emit_tables([Text(title), drawn_plans(out, [plan for plan, _ in judged], timeline)])


def _emit_changes(rows: Sequence[Row]) -> None:
    """Prints what changed in each kernel since the baseline."""
    changed = [row.comparison.change for row in rows if row.comparison.change is not None]
    if changed:
        emit_tables([changes_line(changed)])
    emit_tables(
        Text(f"  {change.now.kernel} ({change.now.scope}): {change_words(change)}")
        for change in changed
        if change.is_any
    )


def _emit_many(rows: Sequence[Row], shown: Sequence[Row], files: int, every: bool) -> None:
    """A summary, the worst, and a row for each kernel with shared memory."""
    out = console()
    compared = [row.comparison for row in rows]
    emit_tables(summary_lines(compared, files))
    changed = [row.comparison.change for row in rows if row.comparison.change is not None]
    if changed:
        emit_tables([changes_line(changed)])
    names = dict(zip(map(id, compared), titles_of(compared), strict=True))
    emit_tables(worst_lines(compared, [*names.values()], out.width))
    listed = [row for row in shown if row.comparison.buffers]
    if not listed:
        return
    compared = [row.comparison for row in listed]
    if every:
        emit_tables([compare_table(out, compared), *hoped_lines(compared)])
        return
    last = [change_words(one.change) for one in compared if one.change is not None]
    emit_tables([kernels_table(out, compared, [names[id(one)] for one in compared], last)])
