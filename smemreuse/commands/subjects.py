"""The kernels of the files that a verb is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import click

from smemreuse.checker import share_work
from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import InputError, printable
from smemreuse.explainer.timeline import used_buffers
from smemreuse.ir.kernel import unique_names
from smemreuse.report.data import Subject, subjects


def read_subjects(files: Iterable[str]) -> list[Subject]:
    """The kernels and scopes of dump files, in order. Raises `InputError` for the first bad one."""
    return [one for file in files for one in _subjects_of(file)]


def _subjects_of(file: str) -> list[Subject]:
    dump = read_dump(file)
    share_work(dump.kernels)
    try:
        return subjects(file, dump.kernels)
    except InputError as error:
        raise error.located(file=file) from None


T = TypeVar("T")


def of_each(files: Sequence[str], read: Callable[[str], Iterable[T]]) -> tuple[list[T], bool]:
    """What is read of each file, and whether of all of them.

    One of many that cannot be read is told on standard error, and the others are read; the exit
    code is to be that of `InputError` in the end. Raises `InputError` where it is the only one.
    """
    found: list[T] = []
    whole = True
    for file in files:
        try:
            found += read(file)
        except InputError as error:
            if len(files) == 1:
                raise
            click.echo(f"smemreuse: {error}", err=True)
            whole = False
    return found, whole


def subjects_of_each(files: Sequence[str]) -> tuple[list[Subject], bool]:
    """The kernels and scopes of every dump that can be read, and whether that is all of them."""
    return of_each(files, _subjects_of)


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
