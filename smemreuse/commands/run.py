"""`smemreuse run SCRIPT [ARGS]...`: an unmodified TileLang script with the pass installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from smemreuse.commands.options import (
    packer_option,
    policy_option,
    runtime_objective_option,
    strict_option,
)
from smemreuse.commands.output import check_output, force_option, json_text, write_output
from smemreuse.commands.script import check_script, execute
from smemreuse.commands.stdout import written_to_stdout
from smemreuse.errors import InputError, SmemReuseError, printable
from smemreuse.explainer.overview import run_overviews
from smemreuse.explainer.run import run_kernel
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.progress import track
from smemreuse.report.data import Data
from smemreuse.report.run import run_entry, run_lines, run_overview_entry, run_table
from smemreuse.report.tables import console
from smemreuse.report.titles import numbered
from smemreuse.results.run import RunKernel

NOTHING_COMPILED = (
    "no kernel was compiled for CUDA in the script's own process; those of child processes are not "
    "seen"
)
RELOADED = "from TileLang's cache, and lowered once more to tell of them: {}"
NO_REPORT = "no report was written: there is no kernel with shared memory"


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@policy_option
@packer_option
@runtime_objective_option
@strict_option
@click.option(
    "--json",
    "json_file",
    type=click.Path(),
    metavar="FILE",
    help="Write the summary as JSON to FILE instead; `-` for standard output.",
)
@click.option(
    "--report",
    "report_file",
    type=click.Path(),
    metavar="FILE",
    help="Write the memory maps of all kernels to FILE too, an interactive page.",
)
@click.option(
    "--mend",
    is_flag=True,
    help="Put in what mends hazards of the kernels themselves, as `lint` finds them.",
)
@click.option("--no-lint", is_flag=True, help="Do not look for hazards of the kernels themselves.")
@force_option
def run(
    script: str,
    args: tuple[str, ...],
    policy: str,
    packer: str,
    objective: str,
    strict: bool,
    json_file: str | None,
    report_file: str | None,
    mend: bool,
    no_lint: bool,
    force: bool,
) -> None:
    """Run a TileLang SCRIPT with its ARGS, and say what shared memory its kernels took.

    The script runs as `python SCRIPT ARGS` would, with smemreuse in the place of TileLang's merge.
    Options of smemreuse come before SCRIPT; what follows is the script's. When it is done, by
    whatever way, and its threads with it, a summary of the kernels that it compiled in this process
    follows on standard output; with `--json FILE` that is the script's alone. What the script has
    left to `atexit` comes behind the summary and is not in it. The exit code is the script's, or 2
    where smemreuse could not run it.
    """
    check_script(script)
    json_file, report_file = (_checked_output(file, force) for file in (json_file, report_file))
    if report_file is not None and report_file in (json_file, "-"):
        raise InputError("the report needs a file of its own", file=report_file)
    from smemreuse.compilers.tilelang.estimate import lower_again
    from smemreuse.tilelang import merge  # the one verb that needs TileLang

    with merge(policy, packer=packer, objective=objective, strict=strict, mend=mend) as session:
        end = execute(script, args)
    reloaded = session.reloaded
    kernels = _explained([*session.kernels, *lower_again(session)], linted=not no_lint)
    if json_file is None:
        with written_to_stdout():
            _print_summary(kernels, objective)
    else:
        entries = [run_entry(script, kernel) for kernel in kernels]
        more = {"script": script, "args": [*args], "exit_code": end.exit_code}
        document = json_text("run", entries, **more, reloaded=reloaded)
        write_output(json_file, document.encode(), force)
    if report_file is not None:
        shown = _page_entries(script, kernels, packer, objective)
        _write_report(report_file, script, shown, force)
    if reloaded:
        _say(RELOADED.format(", ".join(dict.fromkeys(reloaded))))
    elif not kernels and not session.left and not end.uncaught:
        _say(NOTHING_COMPILED)
    sys.exit(end.exit_code)


def _say(line: str) -> None:
    click.echo(f"smemreuse: {line}", err=True)


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Says that something failed, where that must not cost what there is besides."""
    try:
        yield
    except (SmemReuseError, RecursionError) as error:
        _say(f"{what}: {error}")


def _explained(lowered: Sequence[LoweredKernel], *, linted: bool = True) -> list[RunKernel]:
    """Each kernel, explained; one for which that fails, with its bytes alone."""
    titles = numbered([kernel.kernel.name for kernel in lowered])
    told: list[RunKernel] = []
    for kernel, title in track([*zip(lowered, titles, strict=True)], "explaining"):
        with _saying(f"{title} is not explained"):
            told.append(run_kernel(kernel, title, linted=linted))
            continue
        with _saying(f"{title} is left out"):
            told.append(RunKernel(title, kernel.kernel, kernel.footprint()))
    return told


def _page_entries(
    script: str, kernels: Sequence[RunKernel], packer: str, objective: str
) -> list[Data]:
    entries: list[Data] = []
    for kernel in track(kernels, "drawing"):
        with _saying(f"{kernel.title} is not in the report"):
            entries += [
                run_overview_entry(script, kernel, scope, found)
                for scope, found in run_overviews(kernel, packer, objective)
            ]
    return entries


def _write_report(file: str, script: str, entries: Sequence[Data], force: bool) -> None:
    if not entries:
        _say(NO_REPORT)
        return
    from smemreuse.report.page import report_page  # and Plotly, which only this needs

    page = report_page(entries, f"Shared memory of the kernels of {printable(script)}")
    write_output(file, page.encode(), force)


def _checked_output(file: str | None, force: bool) -> str | None:
    """Where a file is to go, whatever folder the script changes to. Raises as `check_output`."""
    check_output(file, force)
    return file if file in (None, "-") else str(Path(str(file)).absolute())


def _print_summary(kernels: Sequence[RunKernel], objective: str) -> None:
    if not kernels:
        return
    out = console()
    out.print(run_table(out, kernels, objective))
    for line in (line for kernel in kernels for line in run_lines(kernel)):
        out.print(line, soft_wrap=True)
