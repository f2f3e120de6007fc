"""`smemreuse compare FILE...`: every policy side by side; of many files a row for each kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import click
from rich.console import RenderableType
from rich.text import Text

from smemreuse.commands.baseline import baseline_option, compared_with, read_baseline_entries
from smemreuse.commands.batches import Batch, batch_options
from smemreuse.commands.inputs import Source
from smemreuse.commands.options import Planning, planning_options
from smemreuse.commands.output import emit_answer
from smemreuse.commands.subjects import declared_remarks, subjects_of, unused_remarks
from smemreuse.commands.verb import Verb
from smemreuse.explainer.plans import (
    compiler_of,
    default_layout,
    hoped_for,
    judged_plans,
    side_by_side,
    wanted_hope,
)
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.judging import judge
from smemreuse.report.comparison_legends import (
    above_bound_lines,
    answer_lines,
    compare_legend,
    kernels_legend,
    objective_lines,
    policies_legend,
)
from smemreuse.report.comparison_totals import not_sound_lines, summary_lines, worst_lines
from smemreuse.report.comparisons import (
    PLAN_RULES,
    SORTS,
    DefaultLayout,
    compare_table,
    comparison,
    comparison_findings,
    hoped_lines,
    kernels_table,
    titles_of,
    unchanged,
    unchanged_line,
)
from smemreuse.report.data import Data, Subject, compare_entry
from smemreuse.report.next_compared import after_compare, after_regression
from smemreuse.report.next_step import NextStep
from smemreuse.report.regressions import (
    baseline_data,
    baseline_lines,
    change_words,
    missing_data,
    missing_findings,
    since_baseline_failures,
)
from smemreuse.report.tables import console, no_buffers
from smemreuse.report.terminal import drawn_plans
from smemreuse.report.titles import titles
from smemreuse.results.comparison import APPLIED, CHOSEN, Comparison
from smemreuse.results.regressions import BaselineChange, BaselineEntry
from smemreuse.results.verdict import Judged

FEW = 4
"""The most files for which each kernel is shown in full, and the most kernels for which memory maps
are drawn; `plan` draws any kernel's."""


@dataclass(frozen=True)
class Row:
    """One kernel and scope; `entry` is its JSON and `drawn` the kernel itself, if asked for."""

    comparison: Comparison
    entry: Data | None
    drawn: tuple[Subject, Sequence[Judged]] | None


@click.command(cls=Verb)
@planning_options(policy=False)
@click.option("--all", "every", is_flag=True, help="Show every policy even for many files.")
@click.option(
    "--sort",
    type=click.Choice(list(SORTS)),
    help="The column to sort rows by; default: file order.",
)
@click.option(
    "--changed-only",
    is_flag=True,
    help="Show only kernels that `dataflow` changes; with a baseline, those that differ from it.",
)
@batch_options(baseline_option)
def compare(
    batch: Batch,
    planning: Planning,
    every: bool,
    sort: str | None,
    changed_only: bool,
    baseline: str | None,
) -> None:
    """Compare policies: arena, lower bound, and the verdict on each plan.

    FILE is a dump, a folder of dumps, or `-`. For more than four files compare prints a summary and
    one row for each kernel. A file that cannot be read is reported on stderr and gives exit code 2;
    compare still reads the others.

    With --baseline the exit code is 1 if a kernel takes more bytes, has fewer resident blocks, has
    a worse verdict or is missing. Without it the exit code is 0, whatever the verdicts are.
    """
    before = read_baseline_entries(baseline, "compare", planning.named)
    few = len(batch.inputs) <= FEW
    drawn = few and batch.output_format == "table"
    as_json, full = batch.output_format == "json", batch.output_format == "table" and (few or every)
    work = partial(_compared, planning=planning, json=as_json, drawn=drawn, full=full)
    # Whole kernels, which are drawn, are neither sent about nor kept.
    rows = batch.results(work, "comparing", here=drawn, kept=not drawn)
    held, missing = compared_with(before, [row.comparison for row in rows], batch)
    rows = [replace(row, comparison=one) for row, one in zip(rows, held, strict=True)]
    shown = [
        row
        for row in rows
        if (row.comparison.is_changed or not changed_only)
        and (not batch.only_findings or [*comparison_findings(row.comparison)])
    ]
    if sort is not None:
        shown.sort(key=lambda row: SORTS[sort](row.comparison))
    emit_answer(
        batch.output_format,
        "compare",
        _few(rows, shown, missing)
        if few
        else _many(rows, shown, missing, every=every, folded=sort is None),
        {
            "kernels": map(_entry, shown),
            "partial": len(shown) < len(rows),
            "missing": missing_data(missing),
            "options": planning.named,
        },
        chain(
            (finding for row in rows for finding in comparison_findings(row.comparison)),
            missing_findings(missing),
        ),
        PLAN_RULES,
    )
    none = before is not None and not rows
    failures = since_baseline_failures(_changes(rows), missing, none=none)
    batch.end(failures, _next(rows, batch, planning, baseline if failures else None))


def _next(rows: Sequence[Row], batch: Batch, planning: Planning, baseline: str | None) -> NextStep:
    """What to do next; `baseline` is one than which something is worse."""
    packing = planning.words("packer", "objective", "arch")
    if baseline is not None:
        return after_regression(baseline, batch.files, packing)
    options = {"explain": planning.words("objective", "arch"), "apply": packing}
    return after_compare([row.comparison for row in rows], options)


def _compared(
    source: Source, planning: Planning, json: bool, drawn: bool, full: bool
) -> tuple[list[Row], list[str]]:
    """A row for each kernel and scope of a dump, and remarks for standard error.

    `json` and `drawn` say what each row has besides; `full`, that the default layout is judged.
    """
    found, arch = subjects_of(source), planning.arch
    rows = []
    for each in found:
        made = (each.kernel, each.scope, planning.packer, planning.objective, arch)
        judged, hoped = [*judged_plans(*made).values()], hoped_for(*made)
        unshared = side_by_side(each.kernel, each.scope).arena_bytes
        layout = default_layout(each.kernel, each.scope)
        verdict = judge(each.kernel, layout) if full and layout is not None else None
        own = DefaultLayout(compiler_of(each.kernel), layout, verdict)
        wanted = wanted_hope(each.kernel, hoped, judged[-1][0], arch)
        compared = comparison(each, unshared, judged, wanted, arch, default=own)
        entry = compare_entry(each, judged, hoped, arch) if json else None
        rows.append(Row(compared, entry, (each, judged) if drawn else None))
    return rows, [
        *unused_remarks(found),
        *declared_remarks(source.file, (one.kernel for one in found)),
    ]


def _entry(row: Row) -> Data:
    assert row.entry is not None
    return {**row.entry, **baseline_data(row.comparison.change)}


def _changes(rows: Sequence[Row]) -> list[BaselineChange]:
    return [row.comparison.change for row in rows if row.comparison.change is not None]


def _few(
    rows: Sequence[Row], shown: Sequence[Row], missing: Sequence[BaselineEntry]
) -> Iterator[RenderableType]:
    """Each kernel in full, with memory maps where there are few kernels."""
    out = console()
    empty = [row.comparison for row in shown if not row.comparison.buffers]
    shown = [row for row in shown if row.comparison.buffers]
    compared = [row.comparison for row in shown]
    if compared:
        yield from answer_lines(compared)
        yield from objective_lines(compared)
        yield compare_table(out, compared)
        yield from above_bound_lines(compared, titles_of(compared))
        yield from compare_legend(compared)
        yield from hoped_lines(compared)
    changed = _changes(rows)
    yield from baseline_lines(changed, missing)
    for change in changed:
        if change.is_any:
            yield Text(f"  {change.now.kernel} ({change.now.scope}): {change_words(change)}")
    yield from (no_buffers(one.file, one.kernel) for one in empty)
    if len(shown) > FEW:
        return
    drawn = [row.drawn for row in shown if row.drawn is not None]
    drawn = [(subject, judged) for subject, judged in drawn if judged[0][0].offsets]
    named = titles([(one.file, one.kernel.name, one.scope) for one, _ in drawn])
    for (subject, judged), title in zip(drawn, named, strict=True):
        yield Text(title)
        timeline = timeline_of(subject.kernel, subject.scope)
        made = {plan.policy: plan for plan, _ in judged}
        yield drawn_plans(out, {CHOSEN: made.pop(APPLIED), **made}, timeline)


def _many(
    rows: Sequence[Row],
    shown: Sequence[Row],
    missing: Sequence[BaselineEntry],
    *,
    every: bool,
    folded: bool,
) -> Iterator[RenderableType]:
    """A summary, the worst, and a row for each kernel with shared memory; where `folded`, those of
    which there is nothing to tell are counted."""
    if not rows:
        yield from baseline_lines([], missing)
        return
    out = console()
    compared = [row.comparison for row in rows]
    yield from objective_lines([one for one in compared if one.buffers])
    names = dict(zip(map(id, compared), titles_of(compared), strict=True))
    yield from summary_lines(compared)
    if any(one.buffers for one in compared):
        yield from policies_legend(compared)
        yield from not_sound_lines(compared, [*names.values()])
    yield from baseline_lines(_changes(rows), missing)
    worst = [*worst_lines(compared, [*names.values()], out.width)]
    yield from worst
    compared = [row.comparison for row in shown if row.comparison.buffers]
    if compared and every:
        yield compare_table(out, compared)
        yield from above_bound_lines(compared, [names[id(one)] for one in compared])
        yield from compare_legend(compared)
        yield from hoped_lines(compared)
    elif compared:
        same = unchanged(compared) if folded else []
        compared = [one for one in compared if one not in same]
        last = [change_words(one.change) for one in compared if one.change is not None]
        if not worst:
            yield Text()
        yield kernels_table(out, compared, [names[id(one)] for one in compared], last)
        if same:
            yield unchanged_line(same)
        told = [*compared, *same]
        yield from above_bound_lines(told, [names[id(one)] for one in told])
        yield from kernels_legend(out, compared)
