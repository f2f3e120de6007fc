"""`smemreuse explain FILE A B`: why two buffers may share bytes, or what forbids it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
from rich.text import Text

from smemreuse.commands.common import emit_json, emit_tables, format_option, read_subjects
from smemreuse.errors import InputError
from smemreuse.model.kernel import Buffer, unique_names
from smemreuse.report.data import Subject
from smemreuse.report.explain import Explanation
from smemreuse.report.explain import explain as explain_pair
from smemreuse.report.verdicts import findings, verdict_data


@click.command()
@click.argument("file", type=click.Path())
@click.argument("one", metavar="A")
@click.argument("two", metavar="B")
@click.option("--kernel", "kernel_name", help="The kernel, where several have such buffers.")
@format_option
def explain(file: str, one: str, two: str, kernel_name: str | None, output_format: str) -> None:
    """Say why buffers A and B may share bytes, or which rule and which statements forbid it."""
    if one == two:
        raise InputError(f"{one} always shares its bytes with itself; give two buffers", file=file)
    explained = []
    for subject, names in _subjects(file, kernel_name):
        by_name = {name: buffer for buffer, name in names.items()}
        if one in by_name and two in by_name:
            pair = (by_name[one], by_name[two])
            explained.append((subject, explain_pair(subject.kernel, subject.scope, names, pair)))
    if not explained:
        raise _missing(file, one, two, kernel_name)
    if output_format == "json":
        emit_json("explain", [_entry(subject, found) for subject, found in explained])
    else:
        emit_tables(line for subject, found in explained for line in _lines(subject, found))
    if not all(found.may_share for _, found in explained):
        sys.exit(1)


def _subjects(file: str, kernel_name: str | None) -> Iterator[tuple[Subject, dict[Buffer, str]]]:
    for subject in read_subjects([file]):
        if kernel_name in (None, subject.kernel.name):
            yield subject, unique_names(subject.kernel.allocations(subject.scope))


def _missing(file: str, one: str, two: str, kernel_name: str | None) -> InputError:
    there = [name for _, names in _subjects(file, kernel_name) for name in names.values()]
    choices = f"there are {', '.join(there)}" if there else "there are no shared buffers"
    where = f"kernel {kernel_name}" if kernel_name else "one scope of a kernel"
    return InputError(f"{one} and {two} are not both in {where}; {choices}", file=file)


def _entry(subject: Subject, found: Explanation) -> dict[str, object]:
    return {
        "file": subject.file,
        "name": subject.kernel.name,
        "scope": subject.scope,
        "buffers": list(found.names),
        "live": dict(zip(found.names, found.live, strict=True)),
        "may_share": found.may_share,
        "reasons": list(found.reasons),
        "settled": list(found.settled),
        "checker": verdict_data(found.verdict),
    }


def _lines(subject: Subject, found: Explanation) -> Iterator[Text]:
    one, two = found.names
    may = "may share bytes" if found.may_share else "must not share bytes"
    if not found.may_share and found.verdict.sound:
        may = "could not be proved to share bytes soundly, although the byte trace finds no fault"
    yield Text(f"{subject.kernel.name} ({subject.scope}): {one} and {two} {may}")
    for name, live in zip(found.names, found.live, strict=True):
        yield Text(f"  {name} is live in [{live[0]}, {live[1]})" if live else f"  {name} is unused")
    for reason in found.reasons:
        yield Text(f"  {reason}")
    if found.settled:
        yield Text("  settled by the byte trace, which follows the mbarriers:")
        yield from (Text(f"    {reason}") for reason in found.settled)
    yield Text(f"  byte trace with {one} and {two} at one place: {found.verdict.verdict}")
    yield from findings(found.verdict)
