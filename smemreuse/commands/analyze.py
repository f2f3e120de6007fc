"""`smemreuse analyze FILE`: the linear sequence and what liveness makes of it."""

from __future__ import annotations

import click

from smemreuse.commands.options import policy_option
from smemreuse.commands.output import emit_json, emit_tables, format_option
from smemreuse.commands.subjects import note_if_empty, read_subjects
from smemreuse.commands.verb import Verb
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.planning import sequence_of
from smemreuse.report.data import analyze_entry
from smemreuse.report.tables import analyze_table, console
from smemreuse.report.terminal import drawn_lifetimes


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@policy_option
@format_option
def analyze(file: str, policy: str, output_format: str) -> None:
    """List a kernel's linear sequence: scope-pair offsets, touches, gen and kill, live ranges."""
    found = read_subjects([file])
    note_if_empty(found, [file])
    rows = [(each, policy, *sequence_of(each.kernel, each.scope, policy)) for each in found]
    if output_format == "json":
        emit_json("analyze", kernels=[analyze_entry(*row) for row in rows])
    else:
        out = console()
        for subject, _, sequence, ranges in rows:
            emit_tables([analyze_table(out, subject, policy, sequence, ranges)])
            if ranges:
                timeline = timeline_of(subject.kernel, subject.scope)
                placed = timeline.carried_over(sequence.entries, ranges)
                emit_tables([drawn_lifetimes(out, placed, timeline)])
