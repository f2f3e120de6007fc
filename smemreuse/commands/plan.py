"""`smemreuse plan FILE`: the offsets of one plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click
from rich.console import Console, RenderableType
from rich.text import Text

from smemreuse.audit import BarrierStage, barriers_follow
from smemreuse.commands.inputs import note_if_empty
from smemreuse.commands.options import Planning, planning_options
from smemreuse.commands.output import emit_answer, emit_next, format_option
from smemreuse.commands.subjects import note_declared, note_unused, read_subjects
from smemreuse.commands.verb import Verb
from smemreuse.explainer.apart import kept_apart
from smemreuse.explainer.barriers_to_come import marks_to_come
from smemreuse.explainer.plans import (
    compiler_of,
    default_layout,
    hoped_of,
    side_by_side,
    wanted_hope,
)
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import Chosen, planned
from smemreuse.report.data import Subject, plan_entry
from smemreuse.report.explanations import grouped
from smemreuse.report.gains import LayoutSize, gain_words
from smemreuse.report.lifetime_chart import signs_of
from smemreuse.report.next_step import NextStep
from smemreuse.report.next_steps import after_plan
from smemreuse.report.provenance import notes_for_people
from smemreuse.report.residents import (
    PlanBlocks,
    gain_note,
    l1_of,
    l1_words,
    why_all,
    why_as_default,
)
from smemreuse.report.tables import console, hoped_line, no_buffers, plan_table
from smemreuse.report.terminal import drawn_lifetimes, drawn_plan
from smemreuse.report.verdicts import rules_lines
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import SyncMark
from smemreuse.results.verdict import Judged
from smemreuse.results.words import DEFAULT_MERGE
from smemreuse.targets.architectures import Architecture, architecture_for
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
    entries = (plan_entry(one, each.plan, hoped_of(each)) for one, each in chosen)
    answer = {"kernels": entries, "options": planning.named}
    emit_answer(output_format, "plan", _tables(chosen, arch), answer)
    if output_format == "table":
        emit_next(_next(chosen, planning))


def _next(chosen: Sequence[tuple[Subject, Chosen]], planning: Planning) -> NextStep:
    """What to do next: make a kernel fit of which no block launches, before all else."""
    held = [(one, each) for one, each in chosen if one.has_buffers]
    large = filter(None, (_too_large(one, each.plan, planning.arch) for one, each in held))
    hoped = next((one.file for one, each in held if _hoped(one, each, planning.arch)), None)
    return after_plan(
        [(one.file, each.plan) for one, each in held],
        planning.words("policy", "packer", "objective", "arch", "strict"),
        too_large=next(((file, on.name) for file, on in large), None),
        unproved=None if hoped is None else (hoped, planning.words("objective", "arch")),
        as_default=why_all(_why_as_default(one, each.plan, planning.arch) for one, each in held),
    )


def _hoped(subject: Subject, chosen: Chosen, arch: Architecture | None) -> Judged | None:
    """A smaller plan that is not proved, and that the objective would have."""
    return wanted_hope(subject.kernel, hoped_of(chosen), chosen.plan, arch)


def _why_as_default(subject: Subject, made: Plan, arch: Architecture | None) -> str:
    """Why a plan gains nothing over the default merge, where it does not."""
    default = default_layout(subject.kernel, subject.scope)
    judged = None if default is None else (default, judge(subject.kernel, default))
    return why_as_default(subject.kernel, made, judged, arch)


def _too_large(
    subject: Subject, made: Plan, arch: Architecture | None
) -> tuple[str, Architecture] | None:
    """The file of a kernel of which no block launches with a plan, and where it does not."""
    known, _ = architecture_for(subject.kernel, arch)
    fits = PlanBlocks.of(subject.kernel, made, known).fits
    return (subject.file, known) if fits is False else None


def _note_lines(subject: Subject, made: Plan, arch: Architecture | None) -> Iterator[Text]:
    """What is to be known of a plan: the resident blocks with what stops one more, and what L1 has,
    or that no block launches, in place of the note that says so in fewer words; `arch` is what was
    asked for, if anything."""
    large, provenance = _too_large(subject, made, arch), made.provenance
    known, is_assumed = architecture_for(subject.kernel, arch)
    found = PlanBlocks.of(subject.kernel, made, known).residents
    if large is not None or found is not None:
        provenance = replace(provenance, occupancy=None)
    yield from map(Text, notes_for_people(provenance, compiler_of(subject.kernel)))
    if large is None and found is not None:
        yield Text(replace(found, assumed=is_assumed).words)
        yield Text(l1_words(found, made.arena_bytes, known))
    if large is not None:
        _, on = large
        whose = "; --arch plans for another GPU than the dump's" * (arch is None)
        yield Text(
            f"no block launches on {on.name}, where one has at most {on.per_block:,} bytes of "
            f"shared memory{whose}",
            style="bold red",
        )


def _gain(subject: Subject, made: Plan, arch: Architecture | None) -> str:
    """What a plan gains against buffers side by side, and the default merge of the compiler."""
    kernel, scope = subject.kernel, subject.scope
    default = default_layout(kernel, scope)
    layouts = {"this plan": made, "side by side": side_by_side(kernel, scope)}
    if default is not None:
        layouts[f"{compiler_of(kernel)}'s {DEFAULT_MERGE}"] = default
    ours, *others = (
        LayoutSize(
            name, plan.arena_bytes, blocks_of(kernel, [plan], arch), l1_of(kernel, plan, arch)
        )
        for name, plan in layouts.items()
    )
    return gain_words(ours, others)


def _tables(
    plans: Sequence[tuple[Subject, Chosen]], arch: Architecture | None
) -> Iterator[RenderableType]:
    out = console()
    for subject, chosen in plans:
        made, hoped = chosen.plan, _hoped(subject, chosen, arch)
        if not subject.has_buffers:
            yield no_buffers(subject.file, subject.kernel.name)
            continue
        yield plan_table(out, subject, made, _proof(chosen))
        yield Text(POSITIONS, style="dim")
        if not made.symbolic_offsets:
            yield Text(_gain(subject, made, arch))
        apart = kept_apart(subject.kernel, made) if made.policy == "dataflow" else {}
        for why, pairs in apart.items():
            names = "; ".join(grouped(pairs, MOST_APART))
            yield Text(f"side by side, though not live at the same time, as {why}: {names}")
        yield from rules_lines(apart)
        note = "" if hoped is None else gain_note(subject.kernel, hoped[0], made, arch)
        last = [] if hoped is None else [hoped_line(subject, *hoped, note)]
        if made.offsets:
            yield from _chart(out, subject, chosen)
        yield from _note_lines(subject, made, arch)
        yield from last
        yield from rules_lines(line.plain for line in last)


def _proof(chosen: Chosen) -> str:
    """What is known of the soundness of a plan; the plans of other policies are not judged here."""
    if chosen.plan.policy != "dataflow":
        return "not checked"
    verdict = chosen.candidate.verdict
    return verdict.proof if verdict.sound else str(verdict.verdict)


def _chart(out: Console, subject: Subject, chosen: Chosen) -> Iterator[RenderableType]:
    """The picture of a plan, and what it is to the barriers that are yet to be inserted."""
    made, timeline = chosen.plan, timeline_of(subject.kernel, subject.scope)
    to_come: Sequence[SyncMark] = ()
    if barriers_follow(subject.kernel, BarrierStage.AUTO):
        to_come = marks_to_come(subject.kernel, made, timeline)
        timeline = replace(timeline, marks=(*timeline.marks, *to_come))
    shares = bool(made.sharing_pairs() or made.symbolic_offsets)
    yield (
        drawn_plan(out, made, timeline)
        if shares
        else drawn_lifetimes(out, timeline.spans(made), timeline)
    )
    if to_come:
        is_proved = made.policy == "dataflow" and chosen.candidate.verdict.sound
        signs = signs_of(to_come)
        yield Text(_relied_words(signs, shares=shares, is_proved=is_proved), style="dim")


def _relied_words(signs: Sequence[str], *, shares: bool, is_proved: bool) -> str:
    """Whether a plan relies on barriers that the compiler will or may insert, which have `signs`
    in the chart."""
    marked = " or ".join(signs)
    if not shares:
        return (
            "no buffers share bytes, so this plan adds no need of a barrier; the kernel itself may "
            f"need those marked {marked}"
        )
    if is_proved:
        return (
            "the proof holds where ThreadSync runs after the merge and inserts barriers as marked "
            f"{marked}, as in TileLang's builds"
        )
    needed = f"where buffers share bytes this plan needs barriers such as those marked {marked}"
    return f"{needed}; `smemreuse check` says whether those that it needs are sure to come"
