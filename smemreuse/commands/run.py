"""`smemreuse run SCRIPT [ARGS]...`: an unmodified TileLang script with the pass installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from smemreuse.commands.options import packer_option, runtime_objective_option, strict_option
from smemreuse.commands.output import check_output, force_option, json_text, write_output, wrote
from smemreuse.commands.script import check_script, execute
from smemreuse.commands.stdout import written_to_stdout
from smemreuse.commands.suite import Program, print_suite, run_suite
from smemreuse.commands.taking_part import children_taking_part
from smemreuse.compilers.records import NO_POLICY, Settings
from smemreuse.errors import InputError, SmemReuseError, printable
from smemreuse.explainer.overview import run_overviews
from smemreuse.explainer.run import run_kernel
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.options import POLICY_NAMES
from smemreuse.progress import track
from smemreuse.report.data import Data
from smemreuse.report.run import run_entry, run_lines, run_overview_entry, run_table
from smemreuse.report.suite import whole_suite_data
from smemreuse.report.tables import console
from smemreuse.report.titles import numbered
from smemreuse.results.run import RunKernel

NOTHING_COMPILED = (
    "no kernel was compiled for CUDA in the script's own process, or in those that it started"
)
RELOADED = "from TileLang's cache, and lowered once more to tell of them: {}"
NO_REPORT = "no report was written: there is no kernel with shared memory"
NO_PAGE = "the report is of a script's own kernels: take --dump DIR, and `smemreuse report DIR`"


class _AsPython(click.Command):
    """Everything behind `-m MODULE` belongs to the module, as Python has it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._module_apart(args))

    def _module_apart(self, args: list[str]) -> list[str]:
        valued = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag
            for name in each.opts
        }
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] not in ("-", "--"):
            one = args[at]
            if one.startswith("-m") and not one.startswith("--"):
                rest = [one[2:], *args[at + 1 :]] if one[2:] else args[at + 1 :]
                return [*args[:at], "-m", *rest[:1], "--", *rest[1:]] if rest else args
            at += 2 if one in valued else 1
        return args


@click.command(
    cls=_AsPython,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@click.argument("script", type=click.Path(), required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--policy",
    type=click.Choice([*POLICY_NAMES, NO_POLICY]),
    default="dataflow",
    show_default=True,
    help="`dataflow` is proved; `outer` and `inner` are the rules that compilers use; `none` "
    "changes nothing, and judges TileLang's own merges.",
)
@packer_option
@runtime_objective_option
@strict_option
@click.option(
    "--dump",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write what the merge receives to DIR, one file for each kernel, none over another.",
)
@click.option(
    "--lower-only",
    is_flag=True,
    help="Compile nothing: neither a GPU nor nvcc is needed, and no kernel can run.",
)
@click.option(
    "--arch",
    metavar="SM",
    help="What is lowered for with --lower-only; default: the GPU of this machine, or sm_90a.",
)
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
    module: str | None,
    script: str | None,
    args: tuple[str, ...],
    policy: str,
    packer: str,
    objective: str,
    strict: bool,
    dump: str | None,
    lower_only: bool,
    arch: str | None,
    json_file: str | None,
    report_file: str | None,
    mend: bool,
    no_lint: bool,
    force: bool,
) -> None:
    """Run a TileLang SCRIPT with its ARGS, and say what shared memory its kernels took.

    The script runs as `python SCRIPT ARGS` would, with smemreuse in the place of TileLang's merge.
    Options of smemreuse come before SCRIPT; what follows is the script's. When it is done, by
    whatever way, and its threads with it, a summary of the kernels that it compiled follows on
    standard output, those of its child processes in a table of their own; with `--json FILE` that
    is the script's alone. What the script has left to `atexit` comes behind the summary and is not
    in it. The exit code is the script's, or 2 where smemreuse could not run it.

    With `-m MODULE ARGS`, as in `run -m pytest tests/`, and wherever --policy none, --dump or
    --lower-only is given, all kernels of this process and of those that it starts are told in one
    table; none of them is linted. With --policy none the exit code is 1, if it were 0, where one of
    TileLang's own merges is unsound.
    """
    json_file, report_file = (_checked_output(file, force) for file in (json_file, report_file))
    if module is not None:
        args, script = args if script is None else (script, *args), None
    elif script is None:
        raise click.UsageError("Give a SCRIPT, or -m MODULE.")
    else:
        check_script(script)
    if mend and policy == NO_POLICY:
        raise click.UsageError("--policy none changes nothing, and --mend would.")
    settings = Settings(
        *("", policy, packer, objective, strict, mend, _dump_folder(dump), lower_only, arch)
    )
    if script is None or policy == NO_POLICY or dump is not None or lower_only:
        if report_file is not None:
            raise InputError(NO_PAGE, file=report_file)
        sys.exit(run_suite(Program(module, script, args), settings, json_file, force))
    if report_file is not None and report_file in (json_file, "-"):
        raise InputError("the report needs a file of its own", file=report_file)
    outputs = _Outputs(json_file, report_file, force)
    sys.exit(_run_script(script, args, settings, outputs, linted=not no_lint))


@dataclass(frozen=True)
class _Outputs:
    """The files that are asked for, and whether they may be overwritten."""

    json: str | None
    report: str | None
    force: bool


def _run_script(
    script: str, args: Sequence[str], settings: Settings, outputs: _Outputs, *, linted: bool
) -> int:
    """Runs a script, explains what it compiled, and gives its exit code."""
    from smemreuse.compilers.tilelang.estimate import lower_again
    from smemreuse.tilelang import merge  # the one verb that needs TileLang

    with (
        children_taking_part(settings) as part,
        merge(
            settings.policy,
            packer=settings.packer,
            objective=settings.objective,
            strict=settings.strict,
            mend=settings.mend,
        ) as session,
    ):
        end = execute(script, args)
        children = part.suite
    reloaded = session.reloaded
    kernels = _explained([*session.kernels, *lower_again(session)], linted=linted)
    if outputs.json is None:
        with written_to_stdout():
            _print_summary(kernels, settings.objective)
            if not children.is_empty:
                click.echo("In child processes:")
                print_suite(children)
    else:
        entries = [run_entry(script, kernel) for kernel in kernels]
        more = {"script": script, "args": [*args], "exit_code": end.exit_code}
        seen = None if children.is_empty else whole_suite_data(children)
        document = json_text("run", entries, **more, reloaded=reloaded, children=seen)
        write_output(outputs.json, document.encode(), outputs.force)
    if outputs.report is not None:
        shown = _page_entries(script, kernels, settings.packer, settings.objective)
        _write_report(outputs.report, script, shown, outputs.force)
    if reloaded:
        _say(RELOADED.format(", ".join(dict.fromkeys(reloaded))))
    elif not kernels and not session.left and not end.uncaught and children.is_empty:
        _say(NOTHING_COMPILED)
    return end.exit_code


def _dump_folder(name: str | None) -> str | None:
    """The folder for dumps, made if it is not there. Raises `InputError` where it cannot be."""
    if name is None:
        return None
    folder = Path(name).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=name) from None
    return str(folder)


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
    from smemreuse.report.page import report_page  # which only this needs

    page = report_page(entries, f"Shared memory of the kernels of {printable(script)}").encode()
    write_output(file, page, force)
    _say(wrote(file, len(entries), len(page)))


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
