"""`smemreuse lint FILE...`: the hazards of kernels themselves, whatever is merged in them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from smemreuse import __version__
from smemreuse.audit import BarrierStage
from smemreuse.commands.baseline import read_baseline, silenced
from smemreuse.commands.output import emit_json
from smemreuse.commands.printing import emit_tables
from smemreuse.commands.stdout import written_to_stdout
from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import InputError, printable
from smemreuse.linter import lint as lint_kernel
from smemreuse.report.hazards import Linted, github_lines, lint_entry, lint_lines, sarif

FORMATS = ("table", "json", "sarif", "github")


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--barriers",
    type=click.Choice([each.value for each in BarrierStage]),
    default=BarrierStage.AUTO.value,
    show_default=True,
    help="Whether FILE has its barriers, or a later pass inserts them; `auto` looks for them.",
)
@click.option("--strict", is_flag=True, help="Possible hazards give exit code 1, too.")
@click.option(
    "--baseline", type=click.Path(), help="What `lint --format json` wrote: hazards not told again."
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="For people, for programs, or as annotations of a run on GitHub.",
)
def lint(
    files: tuple[str, ...], barriers: str, strict: bool, baseline: str | None, output_format: str
) -> None:
    """Find the hazards of kernels themselves: races, missing waits and fences, uninitialised reads.

    Exit code 1 is for a hazard that is certain. What could not be followed is told, and is none.
    """
    known = read_baseline(baseline) if baseline is not None else frozenset()
    found = silenced(_linted(files, BarrierStage(barriers)), known)
    if not found:
        click.echo(f"no device kernel in {', '.join(map(printable, files))}", err=True)
    _emit(found, output_format)
    hazards = [hazard for linted in found for hazard in linted.report.hazards]
    if any(hazard.certain or strict for hazard in hazards):
        sys.exit(1)


def _linted(files: Sequence[str], barriers: BarrierStage) -> list[Linted]:
    found: list[Linted] = []
    for file in files:
        for kernel in read_dump(file).kernels:
            try:
                found.append(Linted(file, lint_kernel(kernel, barriers)))
            except InputError as error:
                raise error.located(file=file) from None
    return found


def _emit(found: Sequence[Linted], output_format: str) -> None:
    if output_format == "json":
        emit_json("lint", list(map(lint_entry, found)))
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
