"""Tables for people, made with rich; plain ASCII when the output is not a terminal."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Buffer, unique_names
from smemreuse.ir.labels import entry_label
from smemreuse.report.columns import NAME, NUMBER, TEXT, WORD, FittingTable
from smemreuse.report.data import Subject, gap_text
from smemreuse.report.residents import blocks_per_sm
from smemreuse.report.verdicts import hoped_words, verdict_text
from smemreuse.results.plan import Plan
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.results.verdict import Judged, Verdict
from smemreuse.targets.architectures import Architecture, architecture_for

_PIPED_WIDTH = 160


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the program with exit code 1, which is that of a finding."""
        raise


def console() -> Console:
    """Standard output; when piped without colour, and wide unless `COLUMNS` says otherwise."""
    out = _Console(highlight=False)
    return (
        out if out.is_terminal else _Console(highlight=False, width=_piped_width(), no_color=True)
    )


def _piped_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return (columns.isdecimal() and int(columns)) or _PIPED_WIDTH


def compare_table(
    out: Console,
    rows: Sequence[tuple[Subject, int, Sequence[Judged]]],
    arch: Architecture | None = None,
) -> RenderableType:
    """A row for each kernel and policy: arena, lower bound, the gap between them, and verdict.

    Each kernel comes with the bytes that its buffers take side by side. Where all of it is too
    wide, there is a table for each kernel. Blocks per SM are those of `arch`, by default what a
    kernel says that it is for.
    """
    limits = dict.fromkeys(_limit(subject, arch) for subject, _, _ in rows)
    title = f"Shared memory of each block, in bytes; {', '.join(limits)}"
    heads = (("kernel", NAME), ("scope", WORD), ("side by side", NUMBER))
    table = FittingTable(out, title, *heads, *_POLICY_COLUMNS)
    for subject, side_by_side, judged in rows:
        name = f"{Path(subject.file).name}\n{subject.kernel.name}"
        heading = (name, subject.scope, f"{side_by_side:,}")
        for plan, verdict in judged:
            table.add_row(*map(Text, heading), *_policy_cells(subject, plan, verdict, arch))
            heading = ("", "", "")
        table.add_section()
    return (
        table
        if table.fits(out)
        else Group(Text(title), *(_judged(out, *row, arch) for row in rows))
    )


_POLICY_COLUMNS = (
    ("policy", WORD),
    ("arena", NUMBER),
    ("lower bound", NUMBER),
    ("gap", NUMBER),
    ("smallest", WORD),
    ("blocks", NUMBER),
    ("verdict", WORD),
)


def _limit(subject: Subject, arch: Architecture | None) -> str:
    """What a block may have at most, and where."""
    known, assumed = architecture_for(subject.kernel, arch)
    return f"at most {known.per_block:,} on {known.name}" + (" (assumed)" if assumed else "")


def hoped_line(subject: Subject, plan: Plan, verdict: Verdict) -> Text:
    """What a smaller plan than that of `dataflow` would take, and why it is not proved."""
    where = f"{Path(subject.file).name}: {subject.kernel.name} ({subject.scope})"
    return Text(f"{where} {hoped_words(plan, verdict)}")


def _judged(
    out: Console,
    subject: Subject,
    side_by_side: int,
    judged: Sequence[Judged],
    arch: Architecture | None,
) -> RenderableType:
    """The policies of one kernel."""
    where = f"{Path(subject.file).name}: {subject.kernel.name} ({subject.scope})"
    title = f"{where}, {side_by_side:,} side by side"
    table = FittingTable(out, title, *_POLICY_COLUMNS)
    for plan, verdict in judged:
        table.add_row(*_policy_cells(subject, plan, verdict, arch))
    return table


def _policy_cells(
    subject: Subject, plan: Plan, verdict: Verdict, arch: Architecture | None
) -> tuple[Text, ...]:
    known, _ = architecture_for(subject.kernel, arch)
    blocks = blocks_per_sm(subject.kernel, plan, known)
    told = (plan.policy, *_size_cells(plan), "-" if blocks is None else str(blocks))
    word = verdict_text(verdict)
    if plan.provenance.is_kept:
        word.append(", kept")
    return (*map(Text, told), word)


def no_buffers(subject: Subject) -> Text:
    """All that there is to say of a kernel without shared buffers."""
    return Text(f"{_kernel_name(subject)} has no shared buffers")


def _kernel_name(subject: Subject) -> str:
    return f"{subject.file}: {subject.kernel.name}"


def _size_cells(plan: Plan) -> tuple[str, str, str, str]:
    smallest = "yes" if plan.optimal else "no"
    return (plan.arena_text, f"{plan.lower_bound_bytes:,}", gap_text(plan), smallest)


def plan_table(out: Console, subject: Subject, plan: Plan) -> Table:
    """One plan: where each buffer lies, in order of offset."""
    arena, bound, gap, smallest = _size_cells(plan)
    title = (
        f"{_kernel_name(subject)} ({subject.scope}), policy {plan.policy}: arena {arena} bytes, "
        f"lower bound {bound}, gap {gap}, proved smallest: {smallest}"
    )
    numbers = (("offset", NUMBER), ("end", NUMBER), ("bytes", NUMBER), ("alignment", NUMBER))
    columns = (("buffer", TEXT), *numbers, ("live [begin, end)", TEXT))
    table = FittingTable(out, title, *columns)
    names = unique_names(tuple(plan.buffers))
    for buffer, offset in sorted(plan.offsets.items(), key=lambda item: (item[1], names[item[0]])):
        size = buffer.size or 0
        place = (f"{value:,}" for value in (offset, offset + size, size, plan.alignments[buffer]))
        live = plan.live[buffer]
        table.add_row(*map(Text, (names[buffer], *place, f"[{live.begin}, {live.end})")))
    for buffer, expr in plan.symbolic_offsets.items():
        size_text = format_expr(buffer.size_expr)
        cells = (names[buffer], format_expr(expr), "", size_text, str(plan.alignments[buffer]))
        table.add_row(*map(Text, (*cells, "shares with nothing (symbolic)")))
    for buffer in plan.buffers:
        if buffer not in plan.offsets and buffer not in plan.symbolic_offsets:
            table.add_row(
                *map(Text, (names[buffer], "-", "-", f"{buffer.size or 0:,}", "", "unused"))
            )
    return table


def analyze_table(
    out: Console,
    subject: Subject,
    policy: str,
    sequence: Linearization,
    ranges: Mapping[Buffer, LiveRange],
) -> Table:
    """The linear sequence with scope-pair offsets, touches, and gen and kill events."""
    title = f"{_kernel_name(subject)} ({subject.scope}), policy {policy}"
    table = FittingTable(
        out,
        title,
        ("#", NUMBER),
        ("offset", NUMBER),
        ("statement", TEXT),
        ("touched", TEXT),
        ("gen", TEXT),
        ("kill", TEXT),
        ("line", NUMBER),
    )
    names = unique_names(subject.kernel.allocations(subject.scope))
    gens, kills = defaultdict(list), defaultdict(list)
    for buffer, live in ranges.items():
        gens[live.gen].append(names[buffer])
        kills[live.kill].append(names[buffer])
    depth = 0
    for position, entry in enumerate(sequence.entries):
        is_end = entry.scope_pair_offset < 0
        depth -= is_end
        text = "  " * depth + entry_label(entry.stmt, is_end)
        depth += entry.scope_pair_offset > 0
        touched = " ".join(names[touch.buffer] for touch in entry.touched)
        events = (" ".join(gens[position]), " ".join(kills[position]))
        line = str(entry.stmt.line or "")
        cells = (str(position), str(entry.scope_pair_offset), text, touched, *events, line)
        table.add_row(*map(Text, cells))
    return table
