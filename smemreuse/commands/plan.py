"""`smemreuse plan FILE`: the offsets of one plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click
from rich.console import RenderableType
from rich.text import Text

from smemreuse.audit import BarrierStage, barriers_follow
from smemreuse.commands.inputs import note_if_empty
from smemreuse.commands.options import Planning, planning_options
from smemreuse.commands.output import emit_answer, emit_next, format_option
from smemreuse.commands.subjects import note_declared, note_unused, read_subjects
from smemreuse.commands.verb import Verb
from smemreuse.explainer.apart import kept_apart
from smemreuse.explainer.barriers_to_come import marks_to_come
from smemreuse.explainer.plans import compiler_of, default_layout, hoped_of, side_by_side
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.planning import planned
from smemreuse.report.data import Subject, plan_entry
from smemreuse.report.explanations import grouped
from smemreuse.report.gains import LayoutSize, gain_words
from smemreuse.report.next_steps import after_plan
from smemreuse.report.provenance import notes_for_people
from smemreuse.report.tables import console, hoped_line, no_buffers, plan_table
from smemreuse.report.terminal import drawn_lifetimes, drawn_plan
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Judged
from smemreuse.results.words import DEFAULT_MERGE
from smemreuse.targets.architectures import Architecture
from smemreuse.targets.residents import blocks_of

MOST_APART = 4
"""The most groups of pairs that are listed for one reason."""

POSITIONS = "live: positions in program order, which `smemreuse analyze` lists"


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@planning_options(strict=True)
@format_option
def plan(file: str, planning: Planning, output_format: str) -> None:
    """Plan the merged allocation: where each buffer lies."""
    found = read_subjects([file])
    note_if_empty(found, [file])
    note_unused(found)
    note_declared(file, (one.kernel for one in found))
    options, arch = planning.options, planning.arch
    chosen = [(one, planned(one.kernel, one.scope, options, arch)) for one in found]
    plans = [(subject, each.plan, hoped_of(each)) for subject, each in chosen]
    entries = (plan_entry(*made) for made in plans)
    answer = {"kernels": entries, "options": planning.named}
    emit_answer(output_format, "plan", _tables(plans, arch), answer)
    if output_format == "table":
        words = planning.words("policy", "packer", "objective", "arch", "strict")
        made = [(one.file, plan) for one, plan, _ in plans if one.has_buffers]
        emit_next(after_plan(made, words))


def _gain(subject: Subject, made: Plan, arch: Architecture | None) -> str:
    """What a plan gains against buffers side by side, and the default merge of the compiler."""
    kernel, scope = subject.kernel, subject.scope
    default = default_layout(kernel, scope)
    layouts = {"this plan": made, "side by side": side_by_side(kernel, scope)}
    if default is not None:
        layouts[f"{compiler_of(kernel)}'s {DEFAULT_MERGE}"] = default
    ours, *others = (
        LayoutSize(name, plan.arena_bytes, blocks_of(kernel, [plan], arch))
        for name, plan in layouts.items()
    )
    return gain_words(ours, others)


def _tables(
    plans: Sequence[tuple[Subject, Plan, Judged | None]], arch: Architecture | None
) -> Iterator[RenderableType]:
    out = console()
    for subject, made, hoped in plans:
        if not subject.has_buffers:
            yield no_buffers(subject.file, subject.kernel.name)
            continue
        yield plan_table(out, subject, made)
        yield Text(POSITIONS, style="dim")
        if not made.symbolic_offsets:
            yield Text(_gain(subject, made, arch))
        if made.policy == "dataflow":
            for why, pairs in kept_apart(subject.kernel, made).items():
                names = "; ".join(grouped(pairs, MOST_APART))
                yield Text(f"not live together, but side by side: {names}: {why}")
        if made.offsets:
            timeline = timeline_of(subject.kernel, subject.scope)
            if barriers_follow(subject.kernel, BarrierStage.AUTO):
                to_come = marks_to_come(subject.kernel, made, timeline)
                timeline = replace(timeline, marks=(*timeline.marks, *to_come))
            shares = made.sharing_pairs() or made.symbolic_offsets
            yield (
                drawn_plan(out, made, timeline)
                if shares
                else drawn_lifetimes(out, timeline.spans(made), timeline)
            )
        yield from map(Text, notes_for_people(made.provenance, compiler_of(subject.kernel)))
        if hoped is not None:
            yield hoped_line(subject, *hoped)
