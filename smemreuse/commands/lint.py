"""`smemreuse lint FILE...`: the hazards of kernels themselves, whatever is merged in them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial

import click

from smemreuse import __version__
from smemreuse.audit import BarrierStage
from smemreuse.commands.baseline import read_baseline, silenced
from smemreuse.commands.options import barriers_option
from smemreuse.commands.output import emit_json, force_option, write_output
from smemreuse.commands.printing import emit_tables
from smemreuse.commands.stdout import written_to_stdout
from smemreuse.commands.subjects import of_each
from smemreuse.compilers.text.reader import Dump, read_dump
from smemreuse.errors import InputError, printable
from smemreuse.linter import lint as lint_kernel
from smemreuse.report.data import Data
from smemreuse.report.hazards import Linted, github_lines, lint_entry, lint_lines, sarif
from smemreuse.report.mending import mending_data, mending_lines

FORMATS = ("table", "json", "sarif", "github")


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@barriers_option
@click.option("--strict", is_flag=True, help="Possible hazards give exit code 1, too.")
@click.option(
    "--baseline", type=click.Path(), help="What `lint --format json` wrote: hazards not told again."
)
@click.option(
    "--mend",
    is_flag=True,
    help="Write FILE with the least put in that makes its kernels clean, to --output.",
)
@click.option("-o", "--output", type=click.Path(), help="Where to; `-` for standard output.")
@force_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="For people, for programs, or as annotations of a run on GitHub.",
)
def lint(
    files: tuple[str, ...],
    barriers: str,
    strict: bool,
    baseline: str | None,
    mend: bool,
    output: str | None,
    force: bool,
    output_format: str,
) -> None:
    """Find the hazards of kernels themselves: races, missing waits and fences, uninitialised reads.

    Exit code 1 is for a hazard that is certain, 2 where a file cannot be read: of many the others
    are linted all the same. What could not be followed is told, and is none.
    With `--mend` proxy fences, waits and barriers are put in where they mend one, each told on
    stderr, and nothing else in FILE changes; what is told then is of the kernels as written.
    """
    stage = BarrierStage(barriers)
    known = read_baseline(baseline) if baseline is not None else frozenset()
    if mend != (output is not None) or (mend and len(files) != 1):
        raise InputError("--mend writes one FILE to --output, and needs both")
    dump, whole = None, True
    if output is not None:
        dump, reports = _mended(files[0], stage, output)
    else:
        reports, whole = of_each(files, partial(_linted, barriers=stage))
    found = silenced(reports, known)
    if not found:
        click.echo(f"no device kernel in {', '.join(map(printable, files))}", err=True)
    if dump is not None:
        write_output(output, dump.source.encode(), force)
    if output != "-":
        _emit(found, output_format)
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


def _linted(file: str, barriers: BarrierStage) -> list[Linted]:
    try:
        return [Linted(file, lint_kernel(kernel, barriers)) for kernel in read_dump(file).kernels]
    except InputError as error:
        raise error.located(file=file) from None


def _entry(linted: Linted) -> Data:
    mending = linted.mending
    return {**lint_entry(linted), **({} if mending is None else {"mending": mending_data(mending)})}


def _emit(found: Sequence[Linted], output_format: str) -> None:
    if output_format == "json":
        emit_json("lint", list(map(_entry, found)))
        return
    if output_format == "table":
        for linted in found:
            emit_tables(lint_lines(linted))
        return
    lines = (
        list(github_lines(found))
        if output_format == "github"
        else [json.dumps(sarif(found, __version__), indent=2)]
    )
    with written_to_stdout():
        for line in lines:
            click.echo(line)
