"""`smemreuse lint FILE...`: the hazards of kernels themselves, whatever is merged in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import click
from rich.console import RenderableType
from rich.text import Text

from smemreuse import plugins
from smemreuse.audit import BarrierStage
from smemreuse.commands.accepting import say_stale
from smemreuse.commands.asked import Asked
from smemreuse.commands.baseline import read_known
from smemreuse.commands.batches import Batch, batch_options
from smemreuse.commands.inputs import Source, note_if_empty
from smemreuse.commands.options import MEND_NAMES, barriers_option
from smemreuse.commands.output import (
    Target,
    emit_answer,
    emit_tables,
    output_width,
    say_folded,
    target_options,
)
from smemreuse.commands.verb import Verb
from smemreuse.compilers.text.reader import Dump, parse_dump, read_dump
from smemreuse.errors import InputError
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import lint as lint_kernel
from smemreuse.report.data import Data
from smemreuse.report.hazard_causes import has_more
from smemreuse.report.hazard_counts import (
    assuming_lines,
    common_stage,
    known_line,
    linted_line,
)
from smemreuse.report.hazard_exits import failures, passing_lines, reasons_beside
from smemreuse.report.hazard_groups import grouped_lines
from smemreuse.report.hazards import (
    RULES,
    Linted,
    certain_lines,
    hazard_findings,
    lint_entry,
    lint_lines,
    shown_lines,
)
from smemreuse.report.mending import mending_data, unchanged_line
from smemreuse.report.next_step import NextStep
from smemreuse.report.next_steps import after_lint, after_shown
from smemreuse.results.accepted import Acceptances, numbering_words
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.known_hazards import KnownKernel, known_to
from smemreuse.results.matching import KernelName
from smemreuse.versions import TILELANG, version_of

FINDINGS = (
    "in brackets: a finding's id, for --show, or to accept it in smemreuse.toml; lines are those "
    "of the dump, and loop variables those of the first iterations that were found"
)

ON_A_GPU = (
    "to see one go wrong on a GPU: smemreuse reproduce SCRIPT --finding ID -o findings, where "
    "SCRIPT compiles the kernel"
)

EACH = "--each tells every hazard in full, also where several have one cause"

WIDEST = 100
"""The most characters of a line of a timeline."""

FEW = 4
"""The most kernels with findings that `--only-findings` tells one by one."""


@click.command(cls=Verb)
@barriers_option
@click.option(
    "--fail-on",
    type=click.Choice([one.value for one in FailOn]),
    default=FailOn.AUTHOR.value,
    show_default=True,
    help="Which hazards give exit code 1. `author`: those that are certain, unless the compiler "
    "put them in. `compiler`: all that are certain. `possible`: all.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="As --fail-on possible; what lint could not follow also gives exit code 1.",
)
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="What `lint --format json` wrote before: its hazards are not reported again.",
)
@click.option(
    *MEND_NAMES,
    is_flag=True,
    help="Insert the fewest fences, waits and barriers that make the kernels clean, and write FILE "
    "with them to --output.",
)
@click.option(
    "--show",
    metavar="FINDING",
    help="Draw the timeline of one finding, named as in its brackets: its agents side by "
    "side, and what is missing between their accesses.",
)
@click.option(
    "--each",
    is_flag=True,
    help="Tell each hazard in full. By default the first of each cause is, and the others by line.",
)
@target_options("Where --fix writes to; `-` for standard output.")
@batch_options()
def lint(
    batch: Batch,
    barriers: str,
    fail_on: str,
    strict: bool,
    baseline: str | None,
    mend: bool,
    show: str | None,
    each: bool,
    target: Target,
) -> None:
    """Find hazards of kernels: races, missing waits, uninitialised reads.

    FILE is a dump, a folder of dumps, or `-`. A certain hazard gives exit code 1 unless it is
    surely the compiler's (--fail-on changes that); an input without a kernel also does. A file that
    cannot be read gives exit code 2; lint still reads the others. lint names what it could not
    follow, which gives exit code 1 with --strict alone. reproduce makes certain ones show on a GPU.

    --fix inserts proxy fences, waits and barriers, and changes nothing else. It names each on
    stderr. The report is then of the kernels as written to --output.
    """
    stage = BarrierStage(barriers)
    gate = Gate(strict, FailOn(fail_on))
    options = {"barriers": barriers}
    known = read_known(baseline, options, whole=strict)
    output = target.output
    if mend != (output is not None) or (mend and not batch.single):
        raise InputError("--fix (--mend) reads one FILE and writes to --output: give both")
    has_table = batch.output_format == "table" and output != "-"
    if output is not None:
        dump, reports = _mended(batch.files[0], stage, output, tells_clean=not has_table)
        note_if_empty(reports, batch.files)
        target.write(dump.source)
    else:
        reports = batch.results(partial(linted_kernels, barriers=stage), "linting", kept=True)
    acceptances = plugins.acceptances(of_plans=False)
    found = held_against(known, reports, batch, acceptances)
    if batch.whole:
        say_stale(acceptances, ((one.file, one.report.kernel) for one in found))
    reasons = failures(found, gate, since="new" if baseline is not None else "")
    if show is not None:
        step = _show(found, show, batch)
        batch.end(reasons_beside(reasons, found, show, gate), step)
        return
    shown = [one for one in found if one.told or one.fails(gate) or not batch.only_findings]
    if output != "-":
        emit_answer(
            batch.output_format,
            "lint",
            _tables(found, shown, batch, gate, each=each, against=baseline is not None),
            {
                "kernels": (_entry(one, gate) for one in shown),
                "partial": len(shown) < len(found),
                "options": options,
            },
            (hazard for linted in found for hazard in hazard_findings(linted, gate)),
            RULES,
            summary=linted_line(found).plain if found else "",
        )
    step = after_lint(found, gate, output, batch.files[0] if batch.files else "-")
    batch.end(reasons, step, aside=output == "-")


def _show(found: Sequence[Linted], finding: str, batch: Batch) -> NextStep:
    """Draws the hazards that a finding names, and says what to do next. Raises `InputError` where
    it names none."""
    if batch.output_format != "table":
        raise InputError("--show draws for people: leave --format out")
    width = min(output_width(), WIDEST)
    lines = [line for one in found for line in shown_lines(one, finding, width)]
    if not lines:
        raise InputError(f"there is no finding {finding}; lint names each in brackets")
    emit_tables(lines)
    named = [
        (one.file, hazard)
        for one in found
        for hazard, identity in one.told
        if finding in (identity.short, identity.fingerprint)
    ]
    return after_shown(named[0][0], [hazard for _, hazard in named])


def held_against(
    known: Sequence[KnownKernel],
    reports: Sequence[Linted],
    batch: Batch,
    acceptances: Acceptances,
) -> list[Linted]:
    """The reports, each with what the baseline knows of its kernel, and the project accepts."""
    asked = Asked.of(batch, (one.file for one in reports), (one.name.file for one in known))
    names = [KernelName(one.file, one.report.kernel) for one in reports]
    return [
        one.held_against(acceptances, then)
        for one, then in zip(reports, known_to(known, names, asked), strict=True)
    ]


def _mended(
    file: str, barriers: BarrierStage, output: str, *, tells_clean: bool
) -> tuple[Dump, list[Linted]]:
    """A file with its mends in, and what lint finds in it then. With `tells_clean` kernels without
    anything to mend are told on stderr, too."""
    from smemreuse.compilers.text.mend import mend_text

    try:
        found = mend_text(read_dump(file), barriers)
    except InputError as error:
        raise error.located(file=file) from None
    reports = []
    for kernel, mending in zip(found.dump.kernels, found.mendings, strict=True):
        if tells_clean or not all(one.is_clean for one in found.mendings):
            say_folded(mending.sentences)
        later = mending.before.barriers_follow
        stage = BarrierStage.LATER if later else BarrierStage.PRESENT
        reports.append(replace(_linted(output, kernel, stage), mending=mending))
    return found.dump, reports


def linted_kernels(source: Source, barriers: BarrierStage) -> tuple[list[Linted], list[str]]:
    """What lint finds in each kernel of a dump, without the kernels; no remarks."""
    dump = parse_dump(source.text, source.file)
    return [_linted(source.file, kernel, barriers) for kernel in dump.kernels], []


def _linted(file: str, kernel: Kernel, barriers: BarrierStage) -> Linted:
    report = lint_kernel(kernel, barriers).without_statements()
    return Linted(file, report, is_tilelang=version_of(kernel).key == TILELANG)


def _entry(linted: Linted, gate: Gate) -> Data:
    mending = linted.mending
    return {
        **lint_entry(linted, gate),
        **({} if mending is None else {"mending": mending_data(mending)}),
    }


def _tables(
    found: Sequence[Linted],
    shown: Sequence[Linted],
    batch: Batch,
    gate: Gate,
    *,
    each: bool,
    against: bool,
) -> Iterator[RenderableType]:
    """Each kernel that is shown, its hazards by cause, or one by one with `each`; with
    `--only-findings` many kernels together. `against` a baseline it is said what that knows."""
    if found and (copy := unchanged_line([one.mending for one in found], found[0].file)):
        yield copy
    if not batch.single and found:
        yield linted_line(found)
    known = [known_line(found)] * (against and bool(found))
    if not batch.single:
        yield from known
    if batch.only_findings and len(shown) > FEW:
        yield from grouped_lines(found, gate)
    else:
        staged = batch.single or not common_stage(found)
        for linted in shown:
            yield from lint_lines(linted, staged=staged, each=each)
        told = [hazard for linted in shown for hazard, _ in linted.open_hazards]
        yield from certain_lines([hazard for hazard in told if hazard.certain])
        if told:
            yield Text(FINDINGS, style="dim")
        if any(one.is_tilelang and any(each.certain for each in one.hazards) for one in shown):
            yield Text(ON_A_GPU, style="dim")
        if not each and any(has_more(linted.open_hazards) for linted in shown):
            yield Text(EACH, style="dim")
        named = (identity.short for linted in shown for _, identity in linted.open_hazards)
        if numbering := numbering_words(named):
            yield Text(numbering, style="dim")
    if batch.only_findings:
        yield from assuming_lines(found)
    yield from passing_lines(found, gate)
    if batch.single:
        yield from known
