"""`smemreuse explain FILE [A [B]]`: why two buffers may share bytes, or what forbids it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click
from rich.console import RenderableType

from smemreuse.commands.inputs import note_if_empty
from smemreuse.commands.options import arch_option, objective_option
from smemreuse.commands.output import emit_answer, format_option
from smemreuse.commands.subjects import note_unused, of_kernel, read_subjects
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.explainer.headroom import headroom_of
from smemreuse.explainer.pairs import explained_pairs
from smemreuse.explainer.plans import hoped_for, judged_plan, side_by_side
from smemreuse.ir.kernel import unique_names
from smemreuse.linter import grounds_of
from smemreuse.pipeline.options import checked_options
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.data import Subject
from smemreuse.report.explanations import explain_entry, explain_lines, explain_summary
from smemreuse.report.headroom import headroom_data
from smemreuse.report.tables import console
from smemreuse.results.explanation import Explanation
from smemreuse.results.preconditions import Preconditions
from smemreuse.targets.architectures import Architecture


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@click.argument("buffers", metavar="[A [B]]", nargs=-1)
@click.option(
    "--kernel", "kernel_name", help="The kernel to explain, where several have these buffers."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List every pair of buffers, also those that are live together.",
)
@click.option(
    "--show",
    is_flag=True,
    help="With A and B: draw what forbids sharing as a timeline, agents side by side.",
)
@objective_option
@arch_option
@format_option
def explain(
    file: str,
    buffers: tuple[str, ...],
    kernel_name: str | None,
    everything: bool,
    show: bool,
    objective: str,
    arch: Architecture | None,
    output_format: str,
) -> None:
    """Say why buffers may share bytes, or what forbids it.

    With A and B, explain gives the rule and the statements, and exit code 1 if the two must not
    share bytes or if that is not proved. With A alone, it goes through all other buffers.

    Without both, it shows the plans for --objective. Of the smallest arena it then shows the
    position where most bytes are live, and the buffers there; what stops the next resident block;
    the cheapest changes that would take fewer bytes, and the fewest that gain a block; and which
    buffers may share, by reason. --all lists every pair, and what keeps it apart under the
    compilers' own rule (`outer`).
    """
    objective = checked_options("dataflow", "best", objective).objective
    if show and len(buffers) != 2:
        raise InputError("--show draws the witness of two buffers: give A and B", file=file)
    if len(buffers) > 2:
        raise InputError(f"at most two buffers, not {len(buffers)}", file=file)
    if len(set(buffers)) < len(buffers):
        raise InputError(
            f"{buffers[0]} always shares its bytes with itself; give two buffers", file=file
        )
    found = of_kernel(read_subjects([file]), kernel_name, file)
    note_if_empty(found, [file])
    note_unused(found)
    asked = ((one, explained_pairs(one.kernel, one.scope, buffers)) for one in found)
    explained = [(subject, pairs) for subject, pairs in asked if pairs is not None]
    if buffers and not explained:
        raise _missing(file, buffers, found, kernel_name)
    entries = (
        explain_entry(each, one, grounds)
        for each, pairs in explained
        for grounds in (_grounds(each, pairs),)
        for one in pairs
    )
    summaries = (
        headroom_data(
            each,
            headroom_of(each.kernel, each.scope, arch),
            plan_kernel(each.kernel, each.scope, objective=objective, arch=arch),
        )
        for each, _ in explained
        if not buffers and each.has_buffers
    )
    lines = (
        line
        for each, pairs in explained
        for line in (
            _in_full(each, pairs, drawn=show)
            if len(buffers) == 2
            else _summary(each, pairs, buffers, everything, objective, arch)
        )
    )
    answer = {
        "summaries": summaries,
        "kernels": entries,
        "options": {"objective": objective, "arch": None if arch is None else arch.name},
    }
    emit_answer(output_format, "explain", lines, answer)
    if len(buffers) == 2 and not all(one.may_share for _, pairs in explained for one in pairs):
        sys.exit(1)


def _missing(
    file: str, wanted: Sequence[str], found: Sequence[Subject], kernel_name: str | None
) -> InputError:
    """Names the buffers that are not there, or says that the two are not in one place."""
    allocated = (subject.kernel.allocations(subject.scope) for subject in found)
    there = dict.fromkeys(name for each in allocated for name in unique_names(each).values())
    if not there:
        choices = "there are no shared buffers"
    else:
        choices = f"the shared buffers are {', '.join(there)}"
    where = f" in kernel {kernel_name}" if kernel_name else ""
    absent = [name for name in wanted if name not in there]
    if absent:
        what = f"there is no buffer {' and no buffer '.join(absent)}{where}"
    else:
        what = f"{' and '.join(wanted)} are not in the same kernel and scope"
    return InputError(f"{what}; {choices}", file=file)


def _grounds(subject: Subject, pairs: Sequence[Explanation]) -> Preconditions | None:
    """The preconditions of sharing that is proved; None where none is proved."""
    return grounds_of(subject.kernel) if any(one.verdict.sound for one in pairs) else None


def _in_full(
    subject: Subject, pairs: Sequence[Explanation], *, drawn: bool
) -> Iterator[RenderableType]:
    for one in pairs:
        yield from explain_lines(subject, one, _grounds(subject, pairs), drawn=drawn)


def _summary(
    subject: Subject,
    pairs: Sequence[Explanation],
    wanted: Sequence[str],
    everything: bool,
    objective: str,
    arch: Architecture | None,
) -> Iterator[RenderableType]:
    kernel, scope = subject.kernel, subject.scope
    judged = [
        judged_plan(kernel, scope, policy, objective=objective, arch=arch)
        for policy in ("outer", "dataflow")
    ]
    apart = side_by_side(kernel, scope)
    grounds = _grounds(subject, pairs)
    found = headroom_of(kernel, scope, arch) if subject.has_buffers and not wanted else None
    hoped = None if wanted else hoped_for(kernel, scope, "best", objective, arch)
    return explain_summary(
        console(), subject, judged, apart, pairs, wanted, grounds, found, everything, hoped
    )
