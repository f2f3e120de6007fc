"""`smemreuse plan FILE`: the offsets of one plan."""

from __future__ import annotations

import click
from rich.text import Text

from smemreuse.commands.options import (
    arch_option,
    objective_option,
    packer_option,
    policy_option,
    strict_option,
)
from smemreuse.commands.output import emit_json, emit_tables, format_option
from smemreuse.commands.subjects import note_declared, note_if_empty, note_unused, read_subjects
from smemreuse.commands.verb import Verb
from smemreuse.explainer.plans import hoped_of
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.planning import checked_options, planned
from smemreuse.report.data import plan_entry
from smemreuse.report.provenance import notes
from smemreuse.report.tables import console, hoped_line, no_buffers, plan_table
from smemreuse.report.terminal import drawn_plan
from smemreuse.targets.architectures import Architecture


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@policy_option
@packer_option
@objective_option
@arch_option
@strict_option
@format_option
def plan(
    file: str,
    policy: str,
    packer: str,
    objective: str,
    arch: Architecture | None,
    strict: bool,
    output_format: str,
) -> None:
    """Plan the merged allocation: where each buffer lies."""
    found = read_subjects([file])
    note_if_empty(found, [file])
    note_unused(found)
    note_declared(one.kernel for one in found)
    options = checked_options(policy, packer, objective, strict=strict)
    chosen = [(one, planned(one.kernel, one.scope, options, arch)) for one in found]
    plans = [(subject, each.plan, hoped_of(each)) for subject, each in chosen]
    if output_format == "json":
        emit_json("plan", kernels=[plan_entry(*made) for made in plans])
    else:
        out = console()
        for subject, made, hoped in plans:
            if not subject.has_buffers:
                emit_tables([no_buffers(subject.file, subject.kernel.name)])
                continue
            timeline = timeline_of(subject.kernel, subject.scope)
            drawn = [drawn_plan(out, made, timeline)] if made.offsets else []
            emit_tables(
                [plan_table(out, subject, made), *drawn, *map(Text, notes(made.provenance))]
            )
            if hoped is not None:
                emit_tables([hoped_line(subject, *hoped)])
