"""The kernels of the files that a verb is given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from smemreuse.checker import share_work
from smemreuse.commands.inputs import Inputs, Source
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.errors import InputError, printable
from smemreuse.explainer.timeline import used_buffers
from smemreuse.ir.kernel import Kernel, unique_names
from smemreuse.report.data import Subject, subjects
from smemreuse.semantics.declarations import taken_on_trust


def read_subjects(files: Iterable[str]) -> list[Subject]:
    """The kernels and scopes of dump files, in order, `-` being standard input.

    Raises `InputError` for the first bad one.
    """
    sources = Inputs([*files], (), single=True).sources()
    return [one for source in sources for one in subjects_of(source)]


def subjects_of(source: Source) -> list[Subject]:
    """The kernels and scopes of a dump. Raises its `InputError`."""
    if source.error is not None:
        raise source.error
    dump = parse_dump(source.text, source.file)
    share_work(dump.kernels)
    try:
        return subjects(source.file, dump.kernels, source.text)
    except InputError as error:
        raise error.located(file=source.file) from None


def of_kernel(found: Sequence[Subject], name: str | None, file: str) -> list[Subject]:
    """Those of the kernel of that name; all for None. Raises `InputError` if there is no such."""
    chosen = [one for one in found if name in (None, one.kernel.name)]
    if name is not None and not chosen:
        there = ", ".join(dict.fromkeys(one.kernel.name for one in found))
        choices = f"those in the file: {there}" if there else "the file has no device kernel"
        raise InputError(f"there is no kernel {name}; {choices}", file=file)
    return chosen


def note_unused(found: Iterable[Subject]) -> None:
    """Says on standard error which buffers nothing touches."""
    for remark in unused_remarks(found):
        click.echo(remark, err=True)


def unused_remarks(found: Iterable[Subject]) -> list[str]:
    """Names each kernel's buffers that nothing touches: the dump may be cut off before that."""
    unused: dict[tuple[str, str], list[str]] = {}
    for subject in found:
        kernel, scope = subject.kernel, subject.scope
        used = used_buffers(kernel, scope)
        names = unique_names(kernel.allocations(scope))
        idle = [name for buffer, name in names.items() if buffer not in used]
        if idle:
            unused.setdefault((subject.file, kernel.name), []).extend(idle)
    return [
        f"{printable(file)}: {kernel_name} allocates {', '.join(idle)}, which nothing touches; "
        "is the dump complete?"
        for (file, kernel_name), idle in unused.items()
    ]


def note_declared(file: str, kernels: Iterable[Kernel]) -> None:
    """Says on standard error what plans that share bytes take on trust of functions."""
    for remark in declared_remarks(file, kernels):
        click.echo(remark, err=True)


def declared_remarks(file: str, kernels: Iterable[Kernel]) -> list[str]:
    """A remark for each device function in a file's kernels that users have declared, or that may
    have a barrier inside."""
    found = dict.fromkeys(one for kernel in kernels for one in taken_on_trust(kernel.body))
    return [f"{printable(file)}: assuming, where bytes are shared, that {one}" for one in found]
