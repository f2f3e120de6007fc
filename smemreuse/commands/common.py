"""Options and output that several verbs share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import RenderableType

from smemreuse.errors import InputError, printable
from smemreuse.frontend.text import read_dump
from smemreuse.model.architectures import architecture
from smemreuse.planner import PACKERS
from smemreuse.planning import OBJECTIVES, POLICY_NAMES
from smemreuse.report.data import Data, Subject, subjects
from smemreuse.report.tables import console

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="For people or for programs.",
)
policy_option = click.option(
    "--policy",
    type=click.Choice(list(POLICY_NAMES)),
    default="dataflow",
    show_default=True,
    help="`dataflow` is proved; `outer` and `inner` are the rules that compilers use.",
)
packer_option = click.option(
    "--packer",
    type=click.Choice(list(PACKERS)),
    default="best",
    show_default=True,
    help="`tilelang` and `tvm` pack as those compilers' own passes; `outer` with `tvm` is "
    "Apache TVM's merge, faults included.",
)
objective_option = click.option(
    "--objective",
    type=click.Choice(list(OBJECTIVES)),
    default="bytes",
    show_default=True,
    help="`bytes`: the smallest arena; `occupancy`: as little sharing as leaves the most resident "
    "blocks; `none`: side by side.",
)
arch_option = click.option(
    "--arch",
    callback=lambda _context, _parameter, name: architecture(name) if name else None,
    metavar="SM",
    help="What objective `occupancy` is for, such as sm_90; default: the kernel's target.",
)
force_option = click.option("--force", is_flag=True, help="Overwrite OUTPUT if it exists.")


def write_output(output: str | None, data: bytes, force: bool) -> None:
    """Writes a file, or standard output for None and `-`; bytes, so that no encoding meddles.

    Raises `InputError` for a file that is there already, unless `force`, or cannot be written.
    """
    if output is None or output == "-":
        click.echo(data, nl=False)
        return
    try:
        with Path(output).open("wb" if force else "xb") as stream:
            stream.write(data)
    except FileExistsError:
        raise InputError("exists already; --force overwrites it", file=output) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=output) from None


def read_subjects(files: Iterable[str]) -> list[Subject]:
    """The kernels and scopes of dump files, in order. Raises `InputError` for the first bad one."""
    found: list[Subject] = []
    for file in files:
        dump = read_dump(file)
        try:
            found += subjects(file, dump.kernels)
        except InputError as error:
            raise error.located(file=file) from None
    return found


def emit_json(schema: str, kernels: list[Data]) -> None:
    click.echo(json.dumps({"schema": f"smemreuse.{schema}/1", "kernels": kernels}, indent=2))


def emit_tables(tables: Iterable[RenderableType]) -> None:
    out = console()
    for table in tables:
        out.print(table)


def note_if_empty(found: list[Subject], files: Iterable[str]) -> None:
    """Says on standard error that nothing was found, so that an empty answer is not a riddle."""
    if not found:
        click.echo(f"no device kernel in {', '.join(map(printable, files))}", err=True)
