"""`smemreuse reproduce FILE`: makes the certain findings of kernels show on a GPU."""

from __future__ import annotations

import ast
import difflib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import click
from rich.console import RenderableType

from smemreuse import plugins
from smemreuse._version import __version__
from smemreuse.commands.output import (
    emit_answer,
    emit_next,
    force_option,
    format_option,
    json_text,
)
from smemreuse.commands.script import DUMP, check_readable, execute
from smemreuse.commands.taking_part import CACHE, NO_CACHES
from smemreuse.commands.verb import FINDING, Verb, grouped, say, say_finding
from smemreuse.compilers.text.reader import Dump, may_be_dump, parse_dump, read_source
from smemreuse.errors import InputError, printable
from smemreuse.extras import require
from smemreuse.linter import lint
from smemreuse.policies.attribution import POLICIES
from smemreuse.progress import track
from smemreuse.report.next_steps import after_reproduce
from smemreuse.report.reproductions import (
    finding_report,
    heading,
    reproduction_data,
    reproduction_lines,
    reproduction_table,
)
from smemreuse.report.tables import console
from smemreuse.report.titles import counted, numbered
from smemreuse.reproduce.cases import ReproductionCase
from smemreuse.reproduce.running import Launching
from smemreuse.results.accepted import Acceptances
from smemreuse.results.hazards import LintReport
from smemreuse.results.reproduction import A_DUMP, Reproduction

NO_GPU = "PyTorch sees no GPU here"
ONLY_WRITTEN = "--lower-only launches nothing"


@dataclass(frozen=True)
class Wanted:
    """Which findings, and where their reports go."""

    finding: str | None
    folder: str
    force: bool

    def check(self) -> Path:
        """The folder, made if it is not there. Raises `InputError` where it has something in it."""
        path = Path(self.folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
            taken = not self.force and any(path.iterdir())
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", file=self.folder) from None
        if taken:
            raise InputError("is not empty; --force writes into it", file=self.folder)
        return path.absolute()


@click.command(cls=Verb, context_settings={"ignore_unknown_options": True})
@click.argument("file", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--finding",
    metavar="FINDING",
    help="Only this one, named as lint shows it in brackets. Default: all that are certain.",
)
@click.option(
    *("-o", "--output", "folder"),
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False),
    help="Where the reports and the files that show the findings are written.",
)
@click.option(
    "--launches",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="How often each variant of a kernel is launched, each time on other inputs.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=20.0,
    show_default=True,
    help="A launch that takes longer hangs.",
)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    metavar="N",
    help="How many variants are compiled and launched at a time, each in a process of its own.",
)
@click.option(
    "--policy",
    type=click.Choice([*POLICIES]),
    help="Show what refutes the plans of this policy, and not the hazards of kernels themselves: "
    "reproduce applies the plans unchecked, and compares the merged kernel with one in which "
    "nothing shares bytes.",
)
@click.option(
    "--expected",
    metavar="PY",
    type=click.Path(),
    help="A Python file with a function `expected` of a launch's arguments, which puts into the "
    "tensors what the kernel must compute: reproduce compares results with that, with a tolerance "
    "of 2 %, and not with the fixed kernel. It may import PyTorch alone, inside the function.",
)
@click.option(
    "--after",
    metavar="JSON",
    type=click.Path(),
    help="The reproduce.json of an earlier run: reproduce does not repeat what that tried to make "
    "a finding show.",
)
@click.option("--lower-only", is_flag=True, help="Write the files, and launch nothing.")
@click.option(
    "--arch", metavar="SM", help="The GPU that --lower-only lowers for; default: as for run."
)
@format_option
@force_option
@grouped("launching", Launching)
@grouped("wanted", Wanted)
def reproduce(
    file: str,
    args: tuple[str, ...],
    wanted: Wanted,
    launching: Launching,
    policy: str | None,
    expected: str | None,
    after: str | None,
    lower_only: bool,
    arch: str | None,
    output_format: str,
) -> None:
    """Make lint's findings show on a GPU, and write a report on each.

    FILE is a TileLang script, which runs as `python FILE ARGS` does, or a dump, which reproduce
    never executes. Options of the script that reproduce has itself come after `--`. For each
    certain finding in the kernels that the script compiles, reproduce delays the threads of the
    witness at the statement of the witness, by lines in the kernel's own CUDA, and changes nothing
    else. It launches the kernel unchanged, delayed, and with its fixes, on the same random inputs,
    each in a process of its own.

    DIR gets for each finding a report in Markdown and a Python file that needs TileLang and PyTorch
    alone, and reproduce.json. Without a GPU, and for a dump, the reports say `not run`. A certain
    finding gives exit code 1, as with lint.
    """
    check_readable(file)
    folder = wanted.check()
    source = read_source(file)
    if file.endswith(DUMP) or may_be_dump(source):
        dump = parse_dump(source, file)
        found = [*_of_dump(dump, wanted)]
        _write(found, folder)
    else:
        found = _of_script(
            file,
            args,
            wanted,
            launching,
            _Run(folder, lower_only, arch, _function_of(expected), policy, _tried(after)),
        )
    if wanted.finding is not None and not found:
        raise InputError(f"there is no certain finding {wanted.finding}", file=file)
    content = {"file": file, "findings": [*map(reproduction_data, found)]}
    (folder / "reproduce.json").write_text(json_text("reproduce", **content))
    tables: list[RenderableType] = []
    if found:
        tables = [reproduction_table(console(), found), *reproduction_lines(found)]
    emit_answer(output_format, "reproduce", tables, content)
    if found:
        shown = sum(one.shown.is_shown for one in found)
        what = counted(len(found), "certain finding")
        ran = any(one.outcomes for one in found)
        launches = f"{shown} shown by launches on this machine" if ran else "none launched"
        say(f"wrote the reports and reproduce.json to {folder}")
        say_finding([f"{what}, {launches}"])
    else:
        say("no certain finding")
    if output_format == "table":
        scripts = [one.script and str(Path(wanted.folder) / one.script) for one in found]
        emit_next(after_reproduce(file, scripts, ran=any(one.outcomes for one in found)))
    if found:
        sys.exit(FINDING)


def _write(found: Sequence[Reproduction], folder: Path) -> None:
    """Writes the reports."""
    for one in found:
        assert one.report is not None
        (folder / one.report).write_text(finding_report(one))


def _certain(
    report: LintReport, acceptances: Acceptances, file: str, finding: str | None
) -> Iterator[int]:
    """The certain hazards of a kernel that are asked for, by their places."""
    held = report.held_against(acceptances, file)
    for at, (hazard, identity) in enumerate(zip(held.hazards, held.identities(file), strict=True)):
        asked = finding in (identity.short, identity.fingerprint)
        if asked or (finding is None and hazard.certain and hazard.accepted is None):
            yield at


# Dumps --------------------------------------------------------------------------------------------


def _of_dump(dump: Dump, wanted: Wanted) -> Iterator[Reproduction]:
    """The findings of a dump: all but the run."""
    from smemreuse.compilers.text.mend import mend_text

    acceptances = plugins.acceptances(of_plans=False)
    mended = mend_text(dump)
    diff = difflib.unified_diff(
        dump.source.splitlines(), mended.dump.source.splitlines(), "dump", "fixed", lineterm=""
    )
    text = "\n".join(diff)
    for kernel, mending in zip(dump.kernels, mended.mendings, strict=True):
        report = lint(kernel)
        for at in _certain(report, acceptances, dump.file, wanted.finding):
            short = report.identities()[at].short
            yield Reproduction(
                dump.file,
                kernel.name,
                short,
                report.hazards[at],
                why=A_DUMP,
                mends=tuple(one.brief_sentence for one in mending.mends),
                mend_diff=text,
                diff_of="the dump",
                environment={"smemreuse": __version__},
                report=f"{kernel.name}-{short}.md",
            )


# Scripts ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    folder: Path
    lower_only: bool
    arch: str | None
    expected: str | None
    policy: str | None
    tried: Mapping[tuple[str, str], frozenset[str]]
    """By kernel and finding."""


def _tried(file: str | None) -> dict[tuple[str, str], frozenset[str]]:
    """What an earlier run has tried for each finding of each kernel."""
    if file is None:
        return {}
    try:
        found = json.loads(read_source(file))["findings"]
        return {(one["kernel"], one["finding"]): frozenset(one["tried"]) for one in found}
    except (ValueError, KeyError, TypeError):
        raise InputError("is no reproduce.json", file=file) from None


def _function_of(file: str | None) -> str | None:
    """The text of the function `expected` at the top of a file, which is not executed."""
    if file is None:
        return None
    text = read_source(file)
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise InputError(f"is no Python: {error.msg}", file=file, line=error.lineno) from None
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef) and stmt.name == "expected":
            return ast.get_source_segment(text, stmt)
    raise InputError("has no function `expected` at its top", file=file)


def _of_script(
    file: str, args: Sequence[str], wanted: Wanted, launching: Launching, run: _Run
) -> list[Reproduction]:
    """The findings of what a script compiles, launched where there is a GPU."""
    require("tilelang", "TileLang", "tilelang", "elftools", "torch")
    with TemporaryDirectory(prefix="smemreuse-") as cache:
        made = {CACHE: cache, **dict.fromkeys(NO_CACHES, "1")}
        with patch.dict(os.environ, made):
            return _reproduced(file, args, wanted, launching, run)


def _reproduced(
    file: str, args: Sequence[str], wanted: Wanted, launching: Launching, run: _Run
) -> list[Reproduction]:
    from smemreuse.compilers.tilelang.refuting import refuted_kernels
    from smemreuse.compilers.tilelang.reproducing import (
        LaunchedKernel,
        collecting,
        environment,
        has_gpu,
    )

    why = ONLY_WRITTEN if run.lower_only else "" if has_gpu() else NO_GPU
    with collecting(lower_only=bool(why), arch=run.arch) as compiled:
        end = execute(file, args)
    if not compiled:
        raise InputError("compiled no kernel for CUDA", file=file)
    if end.stopped:
        say(f"{end.stopped}; that is as far as it went")
    elif end.exit_code:
        say(f"{printable(file)} ended with exit code {end.exit_code}; its kernels are taken so far")
    acceptances = plugins.acceptances(of_plans=False)
    cases, names = [], []
    launches: list[LaunchedKernel] = []
    for one in compiled:
        launches += one.launches if run.policy is None else refuted_kernels(one, run.policy)
    titles = numbered([launch.kernel.name for launch in launches])
    for launch, title in track([*zip(launches, titles, strict=True)], "linting"):
        report = launch.report
        for at in _certain(report, acceptances, file, wanted.finding):
            identity = report.identities(file)[at]
            about = environment(launch.made)
            several = sum(one.certain for one in report.hazards) > 1
            tried = run.tried.get((identity.kernel, identity.short), frozenset())
            told = several, run.expected, tried
            cases.append(
                ReproductionCase(
                    file, launch, report.hazards[at], identity, launching, about, *told
                )
            )
            names.append(f"{title.replace(' #', '-')}-{identity.short}")
    launch_one = partial(_one, folder=run.folder, why=why)
    with ThreadPoolExecutor(max(len(cases), 1)) as pool:
        found = [*track([*pool.map(launch_one, cases, names)], "launching")]
    _write(found, run.folder)
    return found


def _one(case: ReproductionCase, name: str, *, folder: Path, why: str) -> Reproduction:
    script = folder / f"{name}.py"
    found = case.written(script, heading, why) if why else case.reproduced(script, heading)
    return replace(found, report=f"{name}.md")
