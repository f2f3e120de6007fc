"""What verbs write, and where to."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smemreuse._version import __version__
from smemreuse.commands.verb import Decorator, grouped
from smemreuse.errors import InputError, printable
from smemreuse.report.annotations import github_lines, sarif
from smemreuse.report.next_step import NextStep
from smemreuse.report.titles import counted
from smemreuse.results.findings import Finding

if TYPE_CHECKING:
    from rich.console import RenderableType

PIPED_WIDTH = 160

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="For people or for programs.",
)
force_option = click.option("--force", is_flag=True, help="Overwrite the file if it exists.")


def emit_answer(
    output_format: str,
    verb: str,
    tables: Iterable[RenderableType],
    content: Mapping[str, object],
    findings: Iterable[Finding] = (),
    rules: Mapping[str, str] | None = None,
    summary: str = "",
) -> None:
    """The answer of a verb on standard output, for people, as JSON, or its findings alone.

    Of iterators only the one that is asked for is run through. `content` is the verb's machine
    contract, `rules` has a sentence for each kind of finding. `summary` is said on standard error
    where there is nothing to annotate.
    """
    if output_format == "json":
        emit(json_text(verb, **content))
    elif output_format == "table":
        emit_tables(tables)
    else:
        _emit_findings(verb, [*findings], rules or {}, output_format, summary)


def say_folded(lines: Iterable[str]) -> None:
    """Sentences on standard error, folded at the terminal's width or what `COLUMNS` says; whole
    where neither is known."""
    wide = sys.stderr.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    for line in lines:
        parts = _folded(line) if wide else [line]
        click.echo("\n".join(parts), err=True)


def _folded(line: str) -> list[str]:
    return textwrap.wrap(
        line, max(output_width(), 20), subsequent_indent="  ", break_on_hyphens=False
    )


def emit_next(step: NextStep, *, aside: bool = False) -> None:
    """The last line for people: what to do next; on standard error if `aside`, where standard
    output has what a program reads."""
    for line in step.lines(output_width()):
        if aside:
            click.echo(line, err=True)
        else:
            emit(line + "\n")


def output_width() -> int:
    """Characters of a line on standard output: what `COLUMNS` says, else those of the terminal, or
    as many as tables have that are piped."""
    return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns


def json_text(schema: str, **content: object) -> str:
    """The document of one machine contract; an iterator is a list there."""
    lists = {key: [*one] if isinstance(one, Iterator) else one for key, one in content.items()}
    return json.dumps({"schema": f"smemreuse.{schema}/1", **lists}, indent=2) + "\n"


def emit_tables(tables: Iterable[RenderableType]) -> None:
    """Tables, charts and lines on standard output, each as soon as it is there."""
    from smemreuse.report.tables import console  # and rich, which what is applied needs no part of

    out = console()
    for table in tables:
        with written_to_stdout():
            out.print(table)


ANNOTATIONS = (
    "smemreuse: GitHub Actions shows each line that begins with `::` beside the line of its file; "
    "`--format table` is for people"
)
NO_ANNOTATION = "smemreuse: there is nothing to annotate"
"""What is said of annotations where nobody turns them into any, and where there are none."""


def _emit_findings(
    verb: str,
    found: Sequence[Finding],
    rules: Mapping[str, str],
    output_format: str,
    summary: str,
) -> None:
    """Findings as SARIF or as GitHub's workflow commands; `rules` has a sentence for each kind."""
    if output_format == "github":
        lines = list(github_lines(found))
        if not os.environ.get("GITHUB_ACTIONS"):
            if lines:
                click.echo(ANNOTATIONS, err=True)
            elif summary:
                click.echo(f"{NO_ANNOTATION}; {summary}", err=True)
    else:
        log = sarif(found, rules, f"smemreuse {verb}", __version__)
        lines = [json.dumps(log, indent=2)]
    for line in lines:
        emit(line + "\n")


def write_output(output: str | None, data: bytes, force: bool) -> None:
    """Writes to a file that must not exist unless `force`, or to standard output for None and `-`.

    Bytes, so that no terminal's encoding and no change of line ends meddles. Raises `InputError`
    for a file that exists or cannot be written.
    """
    if output is None or output == "-":
        emit(data)
        return
    path = Path(output)
    try:
        with path.open("wb" if force or _keeps_nothing(path) else "xb") as stream:
            stream.write(data)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise _unwritable(output, error.strerror or str(error)) from None


@dataclass(frozen=True)
class Target:
    """Where a verb writes: a file, which must not exist unless `force`, or standard output."""

    output: str | None
    force: bool

    def check(self) -> None:
        """As `check_output`."""
        check_output(self.output, self.force)

    def write(self, text: str | bytes) -> int:
        """As `write_output`; how many bytes it was."""
        data = text.encode() if isinstance(text, str) else text
        write_output(self.output, data, self.force)
        return len(data)


def target_options(words: str, *names: str, **more: Any) -> Decorator:
    """`--output`, or what `names` say, and `--force`, as `target`; `words` are the help."""
    names = names or ("-o", "--output")
    output = click.option(*names, "output", type=click.Path(), help=words, **more)
    return grouped("target", Target, output, force_option)


def wrote(output: str, kernels: int, size: int) -> str:
    """The message that a page was written: where it is, its kernels, and its `size` in bytes."""
    where = "standard output" if output == "-" else printable(output)
    return f"wrote {where} ({size:,} bytes) with {counted(kernels, 'kernel')}"


def check_output(output: str | None, force: bool) -> None:
    """Raises the `InputError` of `write_output` that can be foreseen, before time is spent."""
    if output is None or output == "-":
        return
    path = Path(output)
    try:
        if path.is_dir() or (path.exists() and not force and not _keeps_nothing(path)):
            raise _taken(path)
        if not path.parent.is_dir():
            raise _unwritable(output, f"there is no folder {path.parent}")
    except OSError as error:  # a name that is too long, say
        raise _unwritable(output, error.strerror or str(error)) from None


def _keeps_nothing(path: Path) -> bool:
    """Whether there is nothing to overwrite, as in `/dev/null` or a named pipe."""
    return path.is_char_device() or path.is_fifo()


def _taken(path: Path) -> InputError:
    if path.is_dir():
        return _unwritable(str(path), "is a directory")
    return InputError("exists already; --force overwrites it", file=path)


def _unwritable(output: str, why: str) -> InputError:
    return InputError(f"cannot be written: {why}", file=output)


# Standard output, whose reader may leave and whose disk may be full ------------------------------


def emit(text: str | bytes) -> None:
    """Writes to standard output as it is. Raises as `written_to_stdout`."""
    with written_to_stdout():
        click.echo(text, nl=False)


@contextmanager
def written_to_stdout() -> Iterator[None]:
    """Around what is written to standard output; it is flushed in the end.

    A reader that goes away, as `head` does, is no error: what is written from then on is dropped,
    and the exit code tells what was found. Raises `InputError` for any other failure.
    """
    try:
        yield
        if sys.stdout is not None:  # as under `>&-`
            sys.stdout.flush()
    except BrokenPipeError:
        _drop()
    except OSError as error:
        _drop()
        raise InputError(f"cannot be written: {error.strerror}", file="standard output") from None


def _drop() -> None:
    """Lets what is still buffered, and all that comes, go nowhere, as Python's manual has it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
