"""`smemreuse apply FILE -o OUT`: the dump with its allocations merged."""

from __future__ import annotations

from pathlib import Path

import click

from smemreuse.commands.common import objective_option, packer_option, policy_option
from smemreuse.errors import InputError
from smemreuse.frontend.rewrite import merge_text
from smemreuse.frontend.text import read_dump
from smemreuse.planning import plan_kernel


@click.command()
@click.argument("file", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), help="`-` for standard output.")
@click.option("--force", is_flag=True, help="Overwrite OUTPUT if it exists.")
@policy_option("outer")
@packer_option
@objective_option
def apply(file: str, output: str, force: bool, policy: str, packer: str, objective: str) -> None:
    """Write the merged TIR: one arena for each kernel and scope, every buffer a pointer into it."""
    options = {"policy": policy, "packer": packer, "objective": objective}
    merged = merge_text(
        read_dump(file), lambda kernel, scope: plan_kernel(kernel, scope, **options)
    )
    if output == "-":
        click.echo(merged.source, nl=False)
    else:
        _write(Path(output), merged.source, force)
    for line in merged.summary or ("nothing to merge: no scope has two buffers",):
        click.echo(line, err=True)


def _write(path: Path, text: str, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InputError("exists already; --force overwrites it", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None
