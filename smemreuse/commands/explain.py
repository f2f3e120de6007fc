"""`smemreuse explain FILE [A [B]]`: why two buffers may share bytes, or what forbids it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click
from rich.console import RenderableType
from rich.text import Text

from smemreuse.commands.common import (
    emit_json,
    emit_tables,
    format_option,
    note_if_empty,
    note_unused,
    of_kernel,
    read_subjects,
)
from smemreuse.errors import InputError
from smemreuse.explain.explainer import NOT_PROVED, Explainer, Explanation
from smemreuse.ir.kernel import unique_names
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.data import Subject
from smemreuse.report.tables import console, explain_table, no_buffers
from smemreuse.report.verdicts import findings, verdict_data
from smemreuse.report.view import side_by_side


@click.command()
@click.argument("file", type=click.Path())
@click.argument("buffers", metavar="[A [B]]", nargs=-1)
@click.option("--kernel", "kernel_name", help="The kernel, where several have such buffers.")
@format_option
def explain(
    file: str, buffers: tuple[str, ...], kernel_name: str | None, output_format: str
) -> None:
    """Say why buffers may share bytes, or which rule and which statements forbid it.

    Of A and B everything is told, and the exit code is 1 if they must not share, or are not proved
    to. Without B, A is held against every other buffer; without both, every pair is listed, with
    what keeps it apart under the compilers' own rule (`outer`): why nothing is reused.
    """
    if len(buffers) > 2:
        raise InputError(f"at most two buffers, not {len(buffers)}", file=file)
    if len(set(buffers)) < len(buffers):
        raise InputError(
            f"{buffers[0]} always shares its bytes with itself; give two buffers", file=file
        )
    found = of_kernel(read_subjects([file]), kernel_name, file)
    note_if_empty(found, [file])
    note_unused(found)
    explained = list(_explained(found, buffers))
    if buffers and not explained:
        raise _missing(file, buffers, found, kernel_name)
    if output_format == "json":
        emit_json("explain", [_entry(each, one) for each, pairs in explained for one in pairs])
    elif len(buffers) == 2:
        emit_tables(
            line for each, pairs in explained for one in pairs for line in _lines(each, one)
        )
    else:
        emit_tables(line for each, pairs in explained for line in _overview(each, pairs, buffers))
    if len(buffers) == 2 and not all(one.may_share for _, pairs in explained for one in pairs):
        sys.exit(1)


def _explained(
    found: Sequence[Subject], wanted: Sequence[str]
) -> Iterator[tuple[Subject, list[Explanation]]]:
    """For each kernel that has the buffers wanted, the pairs with them; all without any."""
    for subject in found:
        by_name = {
            name: buffer
            for buffer, name in unique_names(subject.kernel.allocations(subject.scope)).items()
        }
        if not all(name in by_name for name in wanted):
            continue
        explainer = Explainer(subject.kernel, subject.scope)
        if len(wanted) == 2:
            yield subject, [explainer.pair((by_name[wanted[0]], by_name[wanted[1]]))]
        else:
            yield subject, [*explainer.pairs(by_name[wanted[0]] if wanted else None)]


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


def _overview(
    subject: Subject, pairs: list[Explanation], wanted: Sequence[str]
) -> Iterator[RenderableType]:
    """What each rule makes of a kernel, and every pair."""
    if not subject.has_buffers:
        yield no_buffers(subject)
        return
    apart = side_by_side(subject)
    for policy in ("outer", "dataflow"):
        plan = plan_kernel(subject.kernel, subject.scope, policy=policy)
        reused = f"{plan.reused_bytes:,} bytes are" if plan.sharing_pairs() else "nothing is"
        symbolic = ", those of symbolic size apart" if plan.symbolic_offsets else ""
        yield Text(
            f"{subject.kernel.name} ({subject.scope}), policy {policy}: {plan.arena_bytes:,} of "
            f"{apart.arena_bytes:,} bytes{symbolic}; {reused} reused; "
            f"verdict: {judge(subject.kernel, plan).verdict}"
        )
    if pairs:
        yield explain_table(console(), pairs)
        return
    names = unique_names(tuple(apart.buffers))
    used = {names[buffer] for buffer in apart.live}
    unused = [name for name in wanted if name not in used]
    yield Text(f"{unused[0]} is not used" if unused else "fewer than two buffers are used")


def _entry(subject: Subject, found: Explanation) -> dict[str, object]:
    return {
        "file": subject.file,
        "name": subject.kernel.name,
        "scope": subject.scope,
        "buffers": list(found.names),
        "live": dict(zip(found.names, found.live, strict=True)),
        "may_share": found.may_share,
        "sharing": found.sharing,
        "reasons": list(found.reasons),
        "forbidden_by": found.forbidden_by,
        "settled": list(found.settled),
        "outer": found.outer,
        "checker": verdict_data(found.verdict),
    }


def _lines(subject: Subject, found: Explanation) -> Iterator[Text]:
    one, two = found.names
    share = f"are {found.words}" if found.sharing == NOT_PROVED else found.words
    yield Text(f"{subject.kernel.name} ({subject.scope}): {one} and {two} {share} bytes")
    for name, live in zip(found.names, found.live, strict=True):
        yield Text(f"  {name} is live in [{live[0]}, {live[1]})" if live else f"  {name} is unused")
    for reason in found.reasons:
        yield Text(f"  {reason}")
    if found.settled:
        yield Text("  settled by the byte trace, which follows the mbarriers:")
        yield from (Text(f"    {reason}") for reason in found.settled)
    yield Text(f"  byte trace with {one} and {two} at one place: {found.verdict.verdict}")
    yield from findings(found.verdict)
