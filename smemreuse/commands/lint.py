"""`smemreuse lint FILE...`: the hazards of kernels themselves, whatever is merged in them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import click

from smemreuse.audit import BarrierStage
from smemreuse.commands.baseline import read_baseline
from smemreuse.commands.batches import Spread, of_each, spread_options
from smemreuse.commands.inputs import Source, files_argument, find_inputs
from smemreuse.commands.options import barriers_option
from smemreuse.commands.output import (
    emit_findings,
    emit_json,
    emit_tables,
    findings_format_option,
    force_option,
    only_findings_option,
    write_output,
)
from smemreuse.commands.subjects import note_if_empty
from smemreuse.commands.verb import Verb
from smemreuse.compilers.text.reader import Dump, parse_dump, read_dump
from smemreuse.errors import InputError
from smemreuse.linter import lint as lint_kernel
from smemreuse.report.data import Data
from smemreuse.report.hazards import (
    RULES,
    Linted,
    hazard_findings,
    lint_entry,
    lint_lines,
    linted_line,
)
from smemreuse.report.mending import mending_data, mending_lines


@click.command(cls=Verb)
@files_argument
@barriers_option
@click.option("--strict", is_flag=True, help="Possible hazards give exit code 1, too.")
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="What `lint --format json` wrote: hazards not told again.",
)
@click.option(
    "--mend",
    is_flag=True,
    help="Write FILE with the least put in that makes its kernels clean, to --output.",
)
@click.option("-o", "--output", type=click.Path(), help="Where to; `-` for standard output.")
@force_option
@only_findings_option
@spread_options
@findings_format_option
def lint(
    files: tuple[str, ...],
    barriers: str,
    strict: bool,
    baseline: str | None,
    mend: bool,
    output: str | None,
    force: bool,
    only_findings: bool,
    jobs: int,
    backend: str,
    output_format: str,
) -> None:
    """Find the hazards of kernels themselves: races, missing waits and fences, uninitialised reads.

    FILE is a dump, a folder of dumps, or `-`. Exit code 1 is for a hazard that is certain, 2 where
    a file cannot be read: of many the others are linted all the same. What could not be followed is
    told, and is none.
    With `--mend` proxy fences, waits and barriers are put in where they mend one, each told on
    stderr, and nothing else in FILE changes; what is told then is of the kernels as written.
    """
    stage = BarrierStage(barriers)
    known = read_baseline(baseline) if baseline is not None else frozenset()
    inputs = find_inputs(files)
    if mend != (output is not None) or (mend and not inputs.single):
        raise InputError("--mend writes one FILE to --output, and needs both")
    dump, whole = None, True
    if output is not None:
        dump, reports = _mended(files[0], stage, output)
    else:
        work = partial(_linted, barriers=stage)
        reports, whole = of_each(inputs, work, Spread(jobs, backend), "linting")
    found = [linted.without(known) for linted in reports]
    note_if_empty(found, files)
    if dump is not None:
        write_output(output, dump.source.encode(), force)
    if output != "-":
        _emit(found, only_findings, output_format, many=not inputs.single)
    hazards = [hazard for linted in found for hazard in linted.report.hazards]
    if not whole:
        sys.exit(InputError.exit_code)
    if any(hazard.certain or strict for hazard in hazards):
        sys.exit(1)


def _mended(file: str, barriers: BarrierStage, output: str) -> tuple[Dump, list[Linted]]:
    """A file with its mends in, and what lint finds in it then."""
    from smemreuse.compilers.text.mend import mend_text

    try:
        found = mend_text(read_dump(file), barriers)
    except InputError as error:
        raise error.located(file=file) from None
    reports = []
    for kernel, mending in zip(found.dump.kernels, found.mendings, strict=True):
        for line in mending_lines(mending):
            click.echo(line, err=True)
        later = mending.before.barriers_follow
        stage = BarrierStage.LATER if later else BarrierStage.PRESENT
        reports.append(Linted(output, lint_kernel(kernel, stage), mending=mending))
    return found.dump, reports


def _linted(source: Source, barriers: BarrierStage) -> tuple[list[Linted], list[str]]:
    dump = parse_dump(source.text, source.file)
    reports = (lint_kernel(kernel, barriers) for kernel in dump.kernels)
    return [Linted(source.file, report.without_statements()) for report in reports], []


def _entry(linted: Linted) -> Data:
    mending = linted.mending
    return {**lint_entry(linted), **({} if mending is None else {"mending": mending_data(mending)})}


def _emit(found: Sequence[Linted], only_findings: bool, output_format: str, many: bool) -> None:
    shown = [one for one in found if one.report.hazards or not only_findings]
    if output_format == "json":
        emit_json("lint", kernels=[*map(_entry, shown)])
    elif output_format != "table":
        hazards = [hazard for linted in found for hazard in hazard_findings(linted)]
        emit_findings("lint", hazards, RULES, output_format)
    else:
        emit_tables([linted_line(found)] if many and found else [])
        for linted in shown:
            emit_tables(lint_lines(linted))
