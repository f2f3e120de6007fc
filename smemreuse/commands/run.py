"""`smemreuse run SCRIPT [ARGS]...`: an unmodified TileLang script with the pass installed."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import TracebackType

import click

from smemreuse.commands.common import (
    check_output,
    force_option,
    json_text,
    packer_option,
    policy_option,
    write_output,
)
from smemreuse.errors import InputError
from smemreuse.lowered import LoweredKernel
from smemreuse.planning import OBJECTIVES
from smemreuse.report.progress import track
from smemreuse.report.run import RunKernel, run_entry, run_kernel, run_lines, run_table
from smemreuse.report.tables import console

INTERRUPTED = 130
"""The exit code that shells give a program ended by SIGINT."""

NOTHING_COMPILED = "no kernel was compiled: the script, in this process, came to none for CUDA"
RELOADED = (
    "from TileLang's cache, planned when they were compiled and not lowered again: {}; "
    "TILELANG_DISABLE_CACHE=1 lowers them anew"
)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@policy_option
@packer_option
@click.option(
    "--objective",
    type=click.Choice(list(OBJECTIVES)),
    default="occupancy",
    show_default=True,
    help="`occupancy`: as little sharing as leaves the most resident blocks; `bytes`: the smallest "
    "arena; `none`: side by side.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(),
    metavar="FILE",
    help="Write the summary as JSON to FILE instead; `-` for standard output.",
)
@force_option
def run(
    script: str,
    args: tuple[str, ...],
    policy: str,
    packer: str,
    objective: str,
    json_file: str | None,
    force: bool,
) -> None:
    """Run a TileLang SCRIPT with its ARGS, and say what shared memory its kernels took.

    The script runs as `python SCRIPT ARGS` would, with smemreuse in the place of TileLang's merge.
    Options of smemreuse come before SCRIPT; what follows is the script's. When it is done, by
    whatever way, a summary of the kernels that it compiled in this process follows on standard
    output; with `--json FILE` that is the script's alone. The exit code is the script's, or 2
    where smemreuse could not run it.
    """
    _check_script(script)
    if json_file is not None:
        check_output(json_file, force)
        json_file = json_file if json_file == "-" else str(Path(json_file).absolute())
    from smemreuse.tilelang import merge  # the one verb that needs TileLang

    with merge(policy, packer=packer, objective=objective) as session:
        exit_code = execute(script, args)
    if json_file is None:
        _print_summary(session.kernels)
    else:
        kernels = [run_entry(script, kernel) for kernel in _explained(session.kernels)]
        more = {"script": script, "args": [*args], "exit_code": exit_code}
        document = json_text("run", kernels, **more, reloaded=session.reloaded)
        write_output(document, json_file, force)
    if session.reloaded:
        click.echo(f"smemreuse: {RELOADED.format(', '.join(session.reloaded))}", err=True)
    elif not session.kernels:
        click.echo(f"smemreuse: {NOTHING_COMPILED}", err=True)
    sys.exit(exit_code)


def _check_script(script: str) -> None:
    path = Path(script)
    if path.is_dir():
        raise InputError("is a folder; give a Python script", file=script)
    try:
        path.open("rb").close()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot be read: {reason or error}", file=script) from None


def execute(script: str, args: Sequence[str]) -> int:
    """Runs the script as `__main__` and gives its exit code; an uncaught exception is printed."""
    sys.argv = [script, *args]
    if not getattr(sys.flags, "safe_path", False):  # under `python -P`, it is no script's folder
        sys.path[0] = str(Path(script).resolve().parent)
    # The script may replace `sys.stdout`; the summary is to go where it was.
    with redirect_stdout(sys.stdout):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            return _exit_code(end.code)
        except BaseException as error:
            _print_uncaught(error, script)
            return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exit_code(code: object) -> int:
    """As the interpreter takes `SystemExit`: None is success, and what is no number is printed."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _print_uncaught(error: BaseException, script: str) -> None:
    """As the interpreter prints it, from the script's own frames on."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    # Without a frame of the script it did not compile, and the error itself says where.
    sys.excepthook(type(error), error.with_traceback(frames), frames)


def _print_summary(kernels: Sequence[LoweredKernel]) -> None:
    if not kernels:
        return
    out = console()
    found = _explained(kernels)
    out.print(run_table(out, found))
    for line in (line for kernel in found for line in run_lines(kernel)):
        out.print(line, soft_wrap=True)


def _explained(kernels: Sequence[LoweredKernel]) -> list[RunKernel]:
    return [run_kernel(lowered) for lowered in track(kernels, "explaining")]
