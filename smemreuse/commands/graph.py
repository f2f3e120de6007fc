"""`smemreuse graph FILE --kind ...`: a kernel's lifetimes, interference or scopes as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smemreuse.commands.options import policy_option
from smemreuse.commands.output import Target, emit_next, target_options
from smemreuse.commands.subjects import of_kernel, read_subjects
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.explainer.pairs import Explainer
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.report.data import Subject
from smemreuse.report.next_step import after_page, after_picture

if TYPE_CHECKING:
    from smemreuse.report.graphs import Picture

KINDS = ("lifetime", "interference", "scopes")
FORMATS = ("svg", "png", "dot", "html")


@click.command(cls=Verb)
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
    help="All but `dot` need Graphviz's `dot` program. Default: what the name of -o ends in, or "
    "svg.",
)
@click.option("--kernel", "kernel_name", help="The kernel to draw; default: all in the file.")
@target_options("Where it goes; default: stdout.")
@policy_option
def graph(
    file: str,
    kind: str,
    output_format: str | None,
    kernel_name: str | None,
    target: Target,
    policy: str,
) -> None:
    """Draw a kernel's shared buffers with Graphviz."""
    from smemreuse.report.graphs import draw, render  # and Graphviz, which the help does without

    if output_format is None:
        ending = "" if target.output is None else Path(target.output).suffix.removeprefix(".")
        if ending and ending not in FORMATS:
            endings = ", ".join(f".{one}" for one in FORMATS)
            raise InputError(
                f"is of no format; end it in {endings}, or name a --format", file=target.output
            )
        output_format = ending or "svg"
    if output_format == "png" and target.output in (None, "-") and sys.stdout.isatty():
        raise InputError("a PNG is no text for a terminal; give -o FILE.png")
    found = of_kernel(read_subjects([file]), kernel_name, file)
    chosen = [one for one in found if one.has_buffers]
    if not chosen:
        which = f"kernel {kernel_name} has no" if kernel_name else "no kernel has"
        raise InputError(f"{which} shared buffers", file=file)
    drawn = draw(kind, [picture_of(kind, subject, policy) for subject in chosen], policy)
    target.write(render(drawn, output_format, kind, policy))
    if target.output not in (None, "-"):
        emit_next(after_page(str(target.output)))
    else:
        emit_next(after_picture(file, kind), aside=True)


def picture_of(kind: str, subject: Subject, policy: str) -> Picture:
    """What a graph of one of the `KINDS` shows of a kernel."""
    from smemreuse.report.graphs import Interference, Lifetimes, Scopes

    kernel, scope = subject.kernel, subject.scope
    if kind == "scopes":
        return Scopes(subject, sequence_of(kernel, scope, policy)[0])
    plan = plan_kernel(kernel, scope, policy=policy)
    if kind == "lifetime":
        return Lifetimes(subject, plan, timeline_of(kernel, scope))
    return Interference(subject, plan, tuple(Explainer(kernel, scope).pairs()))
