"""`smemreuse graph FILE --kind ...`: a kernel's lifetimes, interference or scopes as a picture."""

from __future__ import annotations

import sys

import click

from smemreuse.commands.common import (
    force_option,
    of_kernel,
    policy_option,
    read_subjects,
    write_output,
)
from smemreuse.errors import InputError
from smemreuse.report.graphs import KINDS, draw, render
from smemreuse.report.graphs.render import FORMATS


@click.command()
@click.argument("file", type=click.Path())
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="lifetime",
    show_default=True,
    help="`lifetime`: program order against buffers; `interference`: who must not share, and by "
    "which rule; `scopes`: the scope tree with offsets and touches.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="svg",
    show_default=True,
    help="All but `dot` need Graphviz's `dot` program.",
)
@click.option("--kernel", "kernel_name", help="This kernel alone; default: all in the file.")
@click.option("-o", "--output", type=click.Path(), help="Where it goes; default: stdout.")
@force_option
@policy_option
def graph(
    file: str,
    kind: str,
    output_format: str,
    kernel_name: str | None,
    output: str | None,
    force: bool,
    policy: str,
) -> None:
    """Draw a kernel's shared buffers with Graphviz."""
    if output_format == "png" and output in (None, "-") and sys.stdout.isatty():
        raise InputError("a PNG is no text for a terminal; give -o FILE.png")
    found = of_kernel(read_subjects([file]), kernel_name, file)
    chosen = [one for one in found if one.has_buffers]
    if not chosen:
        which = f"kernel {kernel_name} has no" if kernel_name else "no kernel has"
        raise InputError(f"{which} shared buffers", file=file)
    drawn = draw(kind, chosen, policy)
    write_output(output, render(drawn, output_format, kind, policy), force)
