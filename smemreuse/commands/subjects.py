"""The kernels of the files that a verb is given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from smemreuse.checker import share_work
from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import InputError, printable
from smemreuse.explainer.timeline import used_buffers
from smemreuse.ir.kernel import unique_names
from smemreuse.report.data import Subject, subjects


def read_subjects(files: Iterable[str]) -> list[Subject]:
    """The kernels and scopes of dump files, in order. Raises `InputError` for the first bad one."""
    found: list[Subject] = []
    for file in files:
        dump = read_dump(file)
        share_work(dump.kernels)
        try:
            found += subjects(file, dump.kernels)
        except InputError as error:
            raise error.located(file=file) from None
    return found


def of_kernel(found: Sequence[Subject], name: str | None, file: str) -> list[Subject]:
    """Those of the kernel of that name; all for None. Raises `InputError` if there is no such."""
    chosen = [one for one in found if name in (None, one.kernel.name)]
    if name is not None and not chosen:
        there = ", ".join(dict.fromkeys(one.kernel.name for one in found))
        choices = f"those in the file: {there}" if there else "the file has no device kernel"
        raise InputError(f"there is no kernel {name}; {choices}", file=file)
    return chosen


def note_if_empty(found: list[Subject], files: Iterable[str]) -> None:
    """Says on standard error that nothing was found, so that an empty answer is not a riddle."""
    if not found:
        click.echo(f"no device kernel in {', '.join(map(printable, files))}", err=True)


def note_unused(found: Iterable[Subject]) -> None:
    """Names each kernel's buffers that nothing touches: the dump may be cut off before that."""
    unused: dict[tuple[str, str], list[str]] = {}
    for subject in found:
        kernel, scope = subject.kernel, subject.scope
        used = used_buffers(kernel, scope)
        names = unique_names(kernel.allocations(scope))
        idle = [name for buffer, name in names.items() if buffer not in used]
        if idle:
            unused.setdefault((subject.file, kernel.name), []).extend(idle)
    for (file, kernel_name), idle in unused.items():
        what = f"{kernel_name} allocates {', '.join(idle)}, which nothing touches"
        click.echo(f"{printable(file)}: {what}; is the dump complete?", err=True)
