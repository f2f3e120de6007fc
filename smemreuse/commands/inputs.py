"""What a verb is given: dumps, folders of them, and `-` for standard input."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from smemreuse.compilers.text.reader import may_be_dump, read_source, read_stream
from smemreuse.errors import InputError, printable
from smemreuse.report.titles import counted

STDIN = "-"
STDIN_NAME = "<stdin>"
SUFFIXES = (".tir", ".py")
"""Of the files that are looked for in folders; a Python file must look like a dump, too."""

_KINDS_LISTED = 5

files_argument = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)


def note_if_empty(found: Sequence[object], files: Iterable[str]) -> None:
    """Says on standard error that nothing was found, so that an empty answer is not a riddle."""
    if not found:
        click.echo(f"no device kernel in {', '.join(map(printable, files))}", err=True)


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one input and what it is called, or why it cannot be read.

    It has no weak references, so that Dask sends it along with its call.
    """

    file: str
    text: str
    error: InputError | None


@dataclass(frozen=True)
class Inputs:
    """The dumps that were found, in order. `single` tells that one was asked for by its name.

    They are read one by one, as they are asked for.
    """

    paths: Sequence[str]
    errors: Sequence[InputError]
    single: bool

    def __len__(self) -> int:
        return len(self.paths)

    def sources(self) -> Iterator[Source]:
        return map(_read, self.paths)


def find_inputs(given: Sequence[str]) -> Inputs:
    """The dumps among files and folders; what is skipped in folders is named on standard error.

    Folders are searched to the bottom, but for hidden ones, in the order of their names; links to
    folders are not followed. What is given twice, by itself and with its folder, is there once. A
    folder without a dump, or one that cannot be read, is an error, that of the first where no dump
    is found.
    """
    paths: list[str] = []
    errors: list[InputError] = []
    for one in given:
        if one == STDIN or not Path(one).is_dir():
            paths.append(one)
            continue
        below = _Below.of(one)
        for note in below.left_out():
            click.echo(f"{printable(one)}: {note}", err=True)
        errors += below.errors
        if not (below.dumps or below.errors):
            errors.append(InputError("there is no *.tir and no dump in *.py below", file=one))
        paths += below.dumps
    if len(given) == 1 and errors and not paths:
        raise errors[0]
    once = _once(paths)
    return Inputs(once, errors, single=list(given) == once and len(once) == 1)


def _once(paths: Iterable[str]) -> list[str]:
    """Each file once, as it was given first."""
    first: dict[str | Path, str] = {}
    for path in paths:
        first.setdefault(path if path == STDIN else Path(path).absolute(), path)
    return [*first.values()]


@dataclass
class _Below:
    """What is in a folder and those below it: dumps, links to folders, other files by suffix."""

    dumps: list[str] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)
    links: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, folder: str) -> _Below:
        found = cls()
        for here, folders, names in os.walk(folder, onerror=found._not_read):
            folders[:] = sorted(one for one in folders if not one.startswith((".", "__pycache__")))
            found.links += sum(Path(here, one).is_symlink() for one in folders)
            for name in sorted(names):
                found._take(str(Path(here, name)))
        return found

    def _take(self, path: str) -> None:
        suffix = Path(path).suffix
        if suffix in SUFFIXES and (suffix != ".py" or _looks_right(path)):
            self.dumps.append(path)
        else:
            self.skipped[suffix] += 1

    def _not_read(self, error: OSError) -> None:
        self.errors.append(InputError(f"cannot be read: {error.strerror}", file=error.filename))

    def left_out(self) -> Iterator[str]:
        """Sentences that say what was skipped: files that are no dumps, and links to folders."""
        if self.skipped:
            yield _skipped_words(self.skipped)
        if self.links:
            yield f"{counted(self.links, 'link')} to folders not followed"


def _looks_right(path: str) -> bool:
    try:
        return may_be_dump(read_source(path))
    except InputError:
        return False


def _skipped_words(skipped: Counter[str]) -> str:
    kinds = [
        f"{count:,} {printable(suffix) or 'without suffix'}"
        for suffix, count in skipped.most_common()
    ]
    more = [f"{len(kinds) - _KINDS_LISTED:,} more kinds"] if len(kinds) > _KINDS_LISTED else []
    total = skipped.total()
    files = "file that is no dump" if total == 1 else "files that are no dumps"
    return f"skipped {total:,} {files}: {', '.join(kinds[:_KINDS_LISTED] + more)}"


def _read(path: str) -> Source:
    try:
        if path == STDIN:
            return Source(STDIN_NAME, read_stream(sys.stdin.buffer, STDIN_NAME), None)
        return Source(path, read_source(path), None)
    except InputError as error:
        return Source(path, "", error)
