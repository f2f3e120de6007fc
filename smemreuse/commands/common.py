"""Options and output that several verbs share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import RenderableType

from smemreuse.commands.stdout import written_to_stdout
from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import InputError, printable
from smemreuse.ir.kernel import unique_names
from smemreuse.pipeline.planning import OBJECTIVES, POLICY_NAMES, sequence_of
from smemreuse.planner import PACKERS
from smemreuse.report.data import Data, Subject, subjects
from smemreuse.report.tables import console
from smemreuse.targets.architectures import architecture

F = TypeVar("F", bound=Callable[..., Any])

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="For people or for programs.",
)
policy_option = click.option(
    "--policy",
    type=click.Choice(list(POLICY_NAMES)),
    default="dataflow",
    show_default=True,
    help="`dataflow` is proved; `outer` and `inner` are the rules that compilers use.",
)
packer_option = click.option(
    "--packer",
    type=click.Choice(list(PACKERS)),
    default="best",
    show_default=True,
    help="`tilelang` and `tvm` pack as those compilers' own passes; `outer` with `tvm` is "
    "Apache TVM's merge, faults included.",
)


def _objective_option(default: str) -> Callable[[F], F]:
    return click.option(
        "--objective",
        type=click.Choice(list(OBJECTIVES)),
        default=default,
        show_default=True,
        help="`bytes`: the smallest arena; `occupancy`: as little sharing as leaves the most "
        "resident blocks; `none`: side by side.",
    )


objective_option = _objective_option("bytes")
runtime_objective_option = _objective_option("occupancy")
"""For what runs: sharing that gains nothing there can only cost time."""

arch_option = click.option(
    "--arch",
    callback=lambda _context, _parameter, name: architecture(name) if name else None,
    metavar="SM",
    help="What objective `occupancy` is for, such as sm_90; default: the kernel's target.",
)
force_option = click.option("--force", is_flag=True, help="Overwrite the file if it exists.")


def read_subjects(files: Iterable[str]) -> list[Subject]:
    """The kernels and scopes of dump files, in order. Raises `InputError` for the first bad one."""
    found: list[Subject] = []
    for file in files:
        dump = read_dump(file)
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


def emit_json(schema: str, kernels: list[Data]) -> None:
    with written_to_stdout():
        click.echo(json_text(schema, kernels), nl=False)


def json_text(schema: str, kernels: list[Data], **more: object) -> str:
    """The document of one verb's machine contract, `more` being what is not of one kernel."""
    document = {"schema": f"smemreuse.{schema}/1", **more, "kernels": kernels}
    return json.dumps(document, indent=2) + "\n"


def write_output(output: str | None, data: bytes, force: bool) -> None:
    """Writes to a file that must not exist unless `force`, or to standard output for None and `-`.

    Bytes, so that no terminal's encoding and no change of line ends meddles. Raises `InputError`
    for a file that exists or cannot be written.
    """
    if output is None or output == "-":
        with written_to_stdout():
            click.echo(data, nl=False)
        return
    path = Path(output)
    try:
        with path.open("wb" if force or _keeps_nothing(path) else "xb") as stream:
            stream.write(data)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise _unwritable(output, error.strerror or str(error)) from None


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


def emit_tables(tables: Iterable[RenderableType]) -> None:
    out = console()
    for table in tables:
        with written_to_stdout():
            out.print(table)


def note_if_empty(found: list[Subject], files: Iterable[str]) -> None:
    """Says on standard error that nothing was found, so that an empty answer is not a riddle."""
    if not found:
        click.echo(f"no device kernel in {', '.join(map(printable, files))}", err=True)


def note_unused(found: Iterable[Subject]) -> None:
    """Names each kernel's buffers that nothing touches: the dump may be cut off before that."""
    unused: dict[tuple[str, str], list[str]] = {}
    for subject in found:
        kernel, scope = subject.kernel, subject.scope
        used = sequence_of(kernel, scope, "inner")[1]
        names = unique_names(kernel.allocations(scope))
        idle = [name for buffer, name in names.items() if buffer not in used]
        if idle:
            unused.setdefault((subject.file, kernel.name), []).extend(idle)
    for (file, kernel_name), idle in unused.items():
        what = f"{kernel_name} allocates {', '.join(idle)}, which nothing touches"
        click.echo(f"{printable(file)}: {what}; is the dump complete?", err=True)
