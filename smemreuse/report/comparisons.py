"""The output of `compare`: a record of each kernel, their names, orders and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from os.path import commonpath, relpath
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.columns import (
    BLOCKS,
    NAME,
    NUMBER,
    TEXT,
    WORD,
    Col,
    blocks_text,
    number,
    percent_text,
    table_of,
)
from smemreuse.report.comparison_legends import blocks_change
from smemreuse.report.data import Subject, gap_text
from smemreuse.report.regressions import change_findings
from smemreuse.report.residents import PlanBlocks, gain_note, l1_of
from smemreuse.report.titles import counted
from smemreuse.report.verdicts import first_words, hoped_words, kind_text, rules_lines
from smemreuse.results.comparison import CHOSEN, Comparison, Concern, PolicyResult
from smemreuse.results.findings import Finding, FindingKind, Level, Location, plan_finding
from smemreuse.results.plan import Plan
from smemreuse.results.residents import Residents
from smemreuse.results.verdict import Judged, Verdict, VerdictKind
from smemreuse.results.words import DEFAULT_MERGE
from smemreuse.targets.architectures import Architecture, architecture_for


@dataclass(frozen=True)
class DefaultLayout:
    """What a compiler makes by itself: its name, the layout, None where it makes none, and the
    verdict on that where it was judged."""

    compiler: str = ""
    plan: Plan | None = None
    verdict: Verdict | None = None


def comparison(
    subject: Subject,
    side_by_side_bytes: int,
    judged: Sequence[Judged],
    hoped: Judged | None = None,
    arch: Architecture | None = None,
    default: DefaultLayout | None = None,
) -> Comparison:
    """The record of one kernel and scope under each policy, without the kernel itself.

    Blocks per SM and the limit of a block are for `arch`, by default what the kernel says that it
    is for.
    """
    known, assumed = architecture_for(subject.kernel, arch)
    default = default or DefaultLayout()
    plan, verdict = default.plan, default.verdict
    buffers = subject.kernel.allocations(subject.scope)
    chosen = judged[-1][0]
    gained = (subject.kernel, chosen if hoped is None else hoped[0], chosen)
    return Comparison(
        file=subject.file,
        kernel=subject.kernel.name,
        scope=subject.scope,
        line=next((buffer.line for buffer in buffers if buffer.line), None),
        buffers=len(buffers),
        side_by_side_bytes=side_by_side_bytes,
        limit=f"at most {known.per_block:,} on {known.name}" + (" (assumed)" if assumed else ""),
        policies={one.policy: _result(subject, one, verdict, known) for one, verdict in judged},
        hoped=None if hoped is None else hoped_words(*hoped, gain_note(*gained, known)),
        hoped_bytes=None if hoped is None else hoped[0].arena_bytes,
        arch=known.name,
        compiler=default.compiler,
        default_bytes=None if plan is None else plan.arena_bytes,
        default_blocks=None
        if plan is None
        else PlanBlocks.of(subject.kernel, plan, known).resident,
        default_l1=None if plan is None else l1_of(subject.kernel, plan, known),
        default=None
        if plan is None or verdict is None
        else replace(_result(subject, plan, verdict, known), policy=DEFAULT_MERGE, own=False),
        at_bound=_at_bound(subject, chosen, known),
    )


def _at_bound(subject: Subject, plan: Plan, arch: Architecture) -> Residents | None:
    """The blocks if a plan took its lower bound; None where that is not known."""
    if plan.arena_expr is not None:
        return None
    least = replace(plan, arena_bytes=plan.lower_bound_bytes)
    return PlanBlocks.of(subject.kernel, least, arch).residents


def _result(subject: Subject, plan: Plan, verdict: Verdict, arch: Architecture) -> PolicyResult:
    found = PlanBlocks.of(subject.kernel, plan, arch)
    return PolicyResult(
        policy=plan.policy,
        arena_bytes=plan.arena_bytes,
        arena_text=plan.arena_text,
        lower_bound_bytes=plan.lower_bound_bytes,
        gap=gap_text(plan),
        optimal=plan.optimal,
        blocks=found.by_memory,
        resident=found.resident,
        registers=found.registers,
        fits=found.fits,
        verdict=verdict.verdict,
        kept=plan.provenance.is_kept,
        finding=first_words(verdict),
        symbolic="" if plan.arena_expr is None else plan.arena_text,
        objective=plan.objective,
        own=plan.provenance.is_own,
        l1=l1_of(subject.kernel, plan, arch),
    )


# Names ------------------------------------------------------------------------------------------


def titles_of(rows: Sequence[Comparison]) -> list[str]:
    """What each is called: its file as far as it tells it from others, without `.tir`, and its
    kernel where the file has several."""
    files = {row.file for row in rows}
    folder = _folder_of(files)
    several = Counter((row.file, row.kernel) for row in rows)
    kernels = Counter(file for file, _ in several)
    return [
        printable(relpath(row.file, folder).removesuffix(".tir"))
        + (f": {row.kernel}" if kernels[row.file] > 1 else "")
        + (f" ({row.scope})" if several[row.file, row.kernel] > 1 else "")
        for row in rows
    ]


def _folder_of(files: set[str]) -> str:
    """The innermost folder that contains all files."""
    try:
        return commonpath([str(Path(file).parent) for file in files])
    except ValueError:  # absolute ones among relative ones
        return "."


# Findings ---------------------------------------------------------------------------------------

PLAN_RULES = {kind.value: kind.sentence for kind in FindingKind}

_FINDINGS = {
    Concern.UNSOUND: (FindingKind.UNSOUND_PLAN, Level.ERROR),
    Concern.TOO_LARGE: (FindingKind.DOES_NOT_FIT, Level.ERROR),
    Concern.STOCK_UNSOUND: (FindingKind.UNSOUND_OUTER, Level.WARNING),
    Concern.UNPROVED: (FindingKind.UNPROVED_PLAN, Level.WARNING),
}
"""The others cost bytes at most."""


def comparison_findings(row: Comparison) -> Iterator[Finding]:
    """What speaks against a plan as it would be applied, or against the compilers' own rule; with a
    baseline, what is worse than there."""
    if row.change is not None:
        yield from change_findings(row.change, row.change.worse, row.line, row.applied.finding)
    elif row.concern in _FINDINGS:
        kind, level = _FINDINGS[row.concern]
        message = f"{kind.sentence}: {row.why}"
        place = Location(row.file, row.line)
        yield plan_finding(kind, level, row.kernel, row.scope, message, place)


# Sorting ----------------------------------------------------------------------------------------

_VERDICTS = {VerdictKind.UNSOUND: 0, VerdictKind.UNPROVED: 1, VerdictKind.SOUND: 2}

SORTS: Mapping[str, Callable[[Comparison], tuple[object, ...]]] = {
    "kernel": lambda row: (row.kernel, row.file),
    "side-by-side": lambda row: (-row.side_by_side_bytes,),
    "default": lambda row: (-(row.default_bytes or 0),),
    "chosen": lambda row: (-row.applied.arena_bytes,),
    "ships": lambda row: (-row.applied.arena_bytes,),
    "change": lambda row: (-row.saved_bytes / (row.usual_bytes or 1),),
    "outer": lambda row: (-row.stock.arena_bytes,),
    "dataflow": lambda row: (-row.applied.arena_bytes,),
    "bound": lambda row: (-row.applied.lower_bound_bytes,),
    "gap": lambda row: (-row.applied.arena_bytes / (row.applied.lower_bound_bytes or 1),),
    "saved": lambda row: (-row.saved_bytes,),
    "blocks": lambda row: (-1 if row.applied.resident is None else row.applied.resident,),
    "verdict": lambda row: (_VERDICTS[row.applied.verdict], row.concern is None),
}
"""What rows may be sorted by: names from A on, bytes from the most, blocks from the fewest, and
verdicts from the worst."""


# Tables -----------------------------------------------------------------------------------------


SAME = 3
"""Rows that are alike in that nothing changes, from which on they are only counted."""


def unchanged(rows: Sequence[Comparison]) -> list[Comparison]:
    """The kernels of which there is nothing to tell: as many bytes and blocks as by default, proved
    sound. None where they are few, or there is nothing else."""
    found = [
        row
        for row in rows
        if row.default_bytes == row.applied.arena_bytes
        and not (row.applied.symbolic or row.concern or row.change or blocks_change(row))
        and row.applied.verdict is VerdictKind.SOUND
    ]
    return found if SAME <= len(found) < len(rows) else []


def unchanged_line(found: Sequence[Comparison]) -> Text:
    """What is told of kernels that are only counted."""
    takes, are = ("takes", "is") if len(found) == 1 else ("take", "are")
    alike = f"as many bytes as the {DEFAULT_MERGE}'s"
    what = f"{counted(len(found), 'more layout')} {takes} {alike}, and {are} proved sound"
    return Text(f"{what} (--sort kernel lists them)")


def kernels_table(
    out: Console, rows: Sequence[Comparison], titles: Sequence[str], more: Sequence[str] = ()
) -> RenderableType:
    """A row for each kernel: what it takes by the compilers' rule and as it would be applied.

    `more` are cells of a last column, which tells of a baseline. Some columns need a wide `out`.
    """
    return table_of(
        out,
        _limits(rows),
        zip(rows, titles, more or titles, strict=True),
        Col("kernel", NAME, lambda one: one[1]),
        Col("side by side", NUMBER, lambda one: number(one[0].side_by_side_bytes), out.width > 119),
        Col("default", NUMBER, lambda one: number(one[0].default_bytes)),
        Col("chosen", NUMBER, lambda one: one[0].applied.arena_text),
        Col("change", NUMBER, lambda one: _change(one[0])),
        Col("lower bound", NUMBER, lambda one: _bound(one[0].applied), out.width > 99),
        Col("above bound", NUMBER, lambda one: above_text(one[0].applied), out.width > 99),
        Col("SM", WORD, lambda one: one[0].arch, len({row.arch for row in rows}) > 1),
        Col(BLOCKS, NUMBER, lambda one: _blocks_now(one[0])),
        Col("verdict", WORD, lambda one: _verdict_of(one[0].applied)),
        Col("baseline", TEXT, lambda one: one[2], bool(more)),
    )


_Line = tuple[Comparison, PolicyResult | None, bool]
"""A kernel under one layout, None for a default one that is not known, and whether it is the
kernel's first line."""


def _of_layout(told: Callable[[PolicyResult], str | Text]) -> Callable[[_Line], str | Text]:
    """What is told of the layout of a line, `-` where it is not known."""
    return lambda one: "-" if one[1] is None else told(one[1])


_KERNEL: Sequence[Col[_Line]] = (
    Col("kernel", NAME, lambda one: f"{_file(one[0])}\n{one[0].kernel}" if one[2] else ""),
    Col("scope", WORD, lambda one: one[0].scope if one[2] else ""),
    Col("side by side", NUMBER, lambda one: number(one[0].side_by_side_bytes) if one[2] else ""),
)
_POLICY: Sequence[Col[_Line]] = (
    Col("layout", WORD, lambda one: DEFAULT_MERGE if one[1] is None else one[1].policy),
    Col("arena", NUMBER, _of_layout(lambda found: found.arena_text)),
    Col("lower bound", NUMBER, _of_layout(lambda found: number(found.lower_bound_bytes))),
    Col("above bound", NUMBER, _of_layout(lambda found: above_text(found))),
    Col("proved smallest", WORD, _of_layout(lambda found: "yes" if found.optimal else "no")),
    Col(BLOCKS, NUMBER, _of_layout(lambda found: _blocks(found))),
    Col("verdict", WORD, _of_layout(lambda found: _verdict_of(found, kept=True))),
)


def compare_table(out: Console, rows: Sequence[Comparison]) -> RenderableType:
    """A row for each layout of a kernel, the default one and that of each policy: arena, lower
    bound, the gap between them, and verdict.

    Each kernel comes with the bytes that its buffers take side by side. Where all of it is too
    wide, there is a table for each kernel.
    """
    title = _limits(rows)
    lines = [_lines(row) for row in rows]
    table = table_of(out, title, chain.from_iterable(lines), *_KERNEL, *_POLICY)
    for end in accumulate(map(len, lines)):
        table.rows[end - 1].end_section = True
    if table.fits(out):
        return table
    names = (f"{_where(row)}: {row.side_by_side_bytes:,} side by side" for row in rows)
    apart = (table_of(out, name, one, *_POLICY) for name, one in zip(names, lines, strict=True))
    return Group(Text(title), *apart)


def _lines(row: Comparison) -> list[_Line]:
    applied = row.applied
    others = (one for one in row.policies.values() if one is not applied)
    results = (replace(applied, policy=CHOSEN), row.default, *others)
    return [(row, result, not place) for place, result in enumerate(results)]


def _limits(rows: Sequence[Comparison]) -> str:
    limits = dict.fromkeys(row.limit for row in rows)
    return f"Shared memory of each block, in bytes; {', '.join(limits)}"


def _blocks(result: PolicyResult) -> str:
    return blocks_text(result.resident, result.blocks)


def _blocks_now(row: Comparison) -> str:
    """The blocks with the chosen layout, after those with the default one if these differ."""
    now = _blocks(row.applied)
    return f"{row.default_blocks} -> {now}" if blocks_change(row) else now


def _bound(result: PolicyResult) -> str:
    return number(result.lower_bound_bytes)


def _change(row: Comparison) -> str:
    """How far the chosen layout is from the default merge, in percent of that."""
    return percent_text(row.applied.arena_bytes, row.default_bytes or 0)


def above_text(result: PolicyResult) -> str:
    """The packing gap: bytes beyond the lower bound, in percent of it."""
    return percent_text(result.arena_bytes, result.lower_bound_bytes)


def _where(row: Comparison) -> str:
    return f"{_file(row)}: {row.kernel} ({row.scope})"


def _file(row: Comparison) -> str:
    return printable(Path(row.file).name)


TOO_LARGE = "too large"
"""Said beside the verdict on a layout with which no block launches."""


def _verdict_of(result: PolicyResult, *, kept: bool = False) -> Text:
    """The verdict, that the default merge's layout is `kept`, and that it is too large."""
    word = kind_text(result.verdict)
    word = word.append(", kept") if kept and result.own else word
    return word.append(f", {TOO_LARGE}") if result.fits is False else word


def hoped_lines(rows: Sequence[Comparison]) -> list[Text]:
    """What smaller plans than those of `dataflow` would take, and why they are not proved."""
    found = [Text(f"{_where(row)}: {row.hoped}") for row in rows if row.hoped]
    return [*found, *rules_lines(line.plain for line in found)]
