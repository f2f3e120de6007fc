"""`smemreuse analyze FILE`: the linear sequence and what liveness makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import RenderableType

from smemreuse.commands.inputs import note_if_empty
from smemreuse.commands.options import policy_option
from smemreuse.commands.output import emit_answer, emit_next, format_option
from smemreuse.commands.subjects import read_subjects
from smemreuse.commands.verb import Verb
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.planning import sequence_of
from smemreuse.report.data import analyze_entry
from smemreuse.report.next_steps import after_analyze
from smemreuse.report.tables import analyze_legend, analyze_table, console, no_buffers
from smemreuse.report.terminal import drawn_lifetimes


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@policy_option
@format_option
def analyze(file: str, policy: str, output_format: str) -> None:
    """List a kernel's statements in order, and each buffer's live range.

    Each entry of this linear sequence has its scope-pair offset, the buffers that it touches, and
    where buffers become live (gen) and dead (kill).
    """
    found = read_subjects([file])
    note_if_empty(found, [file])
    rows = [(each, policy, *sequence_of(each.kernel, each.scope, policy)) for each in found]

    def tables() -> Iterator[RenderableType]:
        out = console()
        for subject, _, sequence, ranges in rows:
            yield analyze_table(out, subject, policy, sequence, ranges)
            if not subject.has_buffers:
                yield no_buffers(subject.file, subject.kernel.name)
                continue
            yield from analyze_legend(out)
            if ranges:
                timeline = timeline_of(subject.kernel, subject.scope)
                placed = timeline.carried_over(sequence.entries, ranges)
                yield drawn_lifetimes(out, placed, timeline)

    entries = (analyze_entry(*row) for row in rows)
    emit_answer(output_format, "analyze", tables(), {"kernels": entries})
    if output_format == "table":
        emit_next(after_analyze(file, any(one.has_buffers for one in found), policy))
