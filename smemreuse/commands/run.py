"""`smemreuse run SCRIPT [ARGS]...`: an unmodified TileLang script with the pass installed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from smemreuse.commands.options import (
    mend_option,
    objective_option,
    packer_option,
    strict_option,
)
from smemreuse.commands.output import check_output, force_option
from smemreuse.commands.run_options import check_options
from smemreuse.commands.run_script import run_script
from smemreuse.commands.script import check_script
from smemreuse.commands.suite import Outputs, Program, run_suite
from smemreuse.commands.suite_page import PageRequest
from smemreuse.commands.verb import Verb, grouped
from smemreuse.compilers.records import NO_POLICY, Settings
from smemreuse.errors import InputError
from smemreuse.pipeline.options import POLICY_NAMES


class _AsPython(Verb):
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
    help="`dataflow` is proved sound; `outer` and `inner` are the rules that compilers use; `none` "
    "changes nothing and judges TileLang's own merges.",
)
@packer_option
@objective_option
@strict_option
@click.option(
    "--dump",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write the TIR that the merge receives to DIR, one new file for each kernel.",
)
@click.option(
    "--lower-only",
    is_flag=True,
    help="Lower kernels and compile none: this needs neither a GPU nor nvcc, and no kernel runs.",
)
@click.option(
    "--arch",
    metavar="SM",
    help="The GPU that --lower-only lowers for; default: the one of this machine, or sm_90a.",
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
    help="Also write an interactive page to FILE, with the memory maps of all kernels.",
)
@mend_option
@click.option(
    "--maps",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    metavar="N",
    help="Draw the maps of at most N kernels in --report; its overview has all kernels.",
)
@click.option(
    "--lint/--no-lint",
    default=None,
    help="Whether to lint the kernels; default: those of a SCRIPT itself, not of its children.",
)
@force_option
@grouped("settings", Settings)
@click.pass_context
def run(
    context: click.Context,
    module: str | None,
    script: str | None,
    args: tuple[str, ...],
    settings: Settings,
    json_file: str | None,
    report_file: str | None,
    maps: int,
    lint: bool | None,
    force: bool,
) -> None:
    """Run a TileLang SCRIPT, and say what shared memory its kernels take.

    The script runs as `python SCRIPT ARGS` does, and smemreuse merges shared memory in the place of
    TileLang's own pass. Options of smemreuse stand before SCRIPT; the script gets all that follows.
    When the script and its threads have ended, run prints a summary of the kernels that it
    compiled, and a second table of those of its child processes. With --json FILE standard output
    is the script's alone. Kernels that the script compiles in `atexit` handlers are not in the
    summary. The exit code is the script's, or 2 where smemreuse could not run it.

    With -m MODULE ARGS, as in `run -m pytest tests/`, and with --policy none, --dump or
    --lower-only, one table has the kernels of this process and of all processes that it starts;
    --lint lints them. With --policy none an exit code of 0 becomes 1 if one of TileLang's own
    merges is unsound or could not be judged, or if no kernel was lowered.
    """
    json_file, report_file = (_checked_output(file, force) for file in (json_file, report_file))
    if module is not None:
        args, script = args if script is None else (script, *args), None
    elif script is None:
        raise click.UsageError("Give a SCRIPT, or -m MODULE.")
    else:
        check_script(script)
    check_options(context)
    if report_file is not None and report_file in (json_file, "-"):
        raise InputError("the report needs a file of its own", file=report_file)
    page = PageRequest(report_file, maps, force) if report_file is not None else None
    outputs = Outputs(json_file, page, force)
    dump = _dump_folder(settings.dump)
    settings = replace(settings, dump=dump, drawn=page is not None, linted=bool(lint))
    if script is None or settings.audits_only or dump is not None or settings.lower_only:
        sys.exit(run_suite(Program(module, script, args), settings, outputs))
    sys.exit(run_script(script, args, settings, outputs, linted=lint is not False))


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


def _checked_output(file: str | None, force: bool) -> str | None:
    """Where a file is to go, whatever folder the script changes to. Raises as `check_output`."""
    check_output(file, force)
    return file if file in (None, "-") else str(Path(str(file)).absolute())
