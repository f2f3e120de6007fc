"""`smemreuse run SCRIPT [ARGS]...`: an unmodified TileLang script with the pass installed."""

from __future__ import annotations

import gc
import io
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

import click

from smemreuse.commands.common import (
    check_output,
    force_option,
    json_text,
    packer_option,
    policy_option,
    runtime_objective_option,
    write_output,
)
from smemreuse.errors import InputError, SmemReuseError, printable
from smemreuse.lowered import LoweredKernel
from smemreuse.report.data import Data
from smemreuse.report.page import report_page
from smemreuse.report.progress import track
from smemreuse.report.run import (
    RunKernel,
    run_entry,
    run_kernel,
    run_lines,
    run_table,
    run_views,
)
from smemreuse.report.tables import console

INTERRUPTED = 130
"""The exit code that shells give a program ended by SIGINT."""

NOTHING_COMPILED = "no kernel was compiled: the script, in this process, came to none for CUDA"
RELOADED = "from TileLang's cache, and lowered once more to tell of them: {}"
NO_REPORT = "no report was written: there is no kernel with shared memory"


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@policy_option
@packer_option
@runtime_objective_option
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
@force_option
def run(
    script: str,
    args: tuple[str, ...],
    policy: str,
    packer: str,
    objective: str,
    json_file: str | None,
    report_file: str | None,
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
    _check_script(script)
    json_file, report_file = (_checked_output(file, force) for file in (json_file, report_file))
    if report_file is not None and report_file in (json_file, "-"):
        raise InputError("the report needs a file of its own", file=report_file)
    from smemreuse.tilelang import merge  # the one verb that needs TileLang
    from smemreuse.tilelang.estimate import lower_again

    with merge(policy, packer=packer, objective=objective) as session:
        exit_code = execute(script, args)
    reloaded = session.reloaded
    kernels = _explained([*session.kernels, *lower_again(session)])
    if json_file is None:
        _print_summary(kernels)
    else:
        entries = [run_entry(script, kernel) for kernel in kernels]
        more = {"script": script, "args": [*args], "exit_code": exit_code}
        document = json_text("run", entries, **more, reloaded=reloaded)
        write_output(json_file, document.encode(), force)
    if report_file is not None:
        views = _views(script, kernels, packer, objective)
        _write_report(report_file, script, views, force)
    if reloaded:
        _say(RELOADED.format(", ".join(dict.fromkeys(reloaded))))
    elif not kernels:
        _say(NOTHING_COMPILED)
    sys.exit(exit_code)


def _say(line: str) -> None:
    click.echo(f"smemreuse: {line}", err=True)


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Says that something failed, where that must not cost what there is besides."""
    try:
        yield
    except (SmemReuseError, RecursionError) as error:
        _say(f"{what}: {error}")


def _explained(lowered: Sequence[LoweredKernel]) -> list[RunKernel]:
    """Each kernel, explained; one for which that fails, with its bytes alone."""
    told: list[RunKernel] = []
    for kernel in track(lowered, "explaining"):
        name = kernel.kernel.name
        with _saying(f"{name} is not explained"):
            told.append(run_kernel(kernel))
            continue
        with _saying(f"{name} is left out"):
            told.append(RunKernel(kernel, kernel.footprint(), ()))
    return told


def _views(script: str, kernels: Sequence[RunKernel], packer: str, objective: str) -> list[Data]:
    views: list[Data] = []
    for kernel in track(kernels, "drawing"):
        with _saying(f"{kernel.footprint.name} is not in the report"):
            views += run_views(script, kernel, packer, objective)
    return views


def _write_report(file: str, script: str, views: Sequence[Data], force: bool) -> None:
    if not views:
        _say(NO_REPORT)
        return
    page = report_page(views, f"Shared memory of the kernels of {printable(script)}")
    write_output(file, page.encode(), force)


def _check_script(script: str) -> None:
    path = Path(script)
    try:
        if path.is_dir():
            raise InputError("is a folder; give a Python script", file=script)
        path.open("rb").close()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot be read: {reason or error}", file=script) from None


def _checked_output(file: str | None, force: bool) -> str | None:
    """Where a file is to go, whatever folder the script changes to. Raises as `check_output`."""
    check_output(file, force)
    return file if file in (None, "-") else str(Path(str(file)).absolute())


def execute(script: str, args: Sequence[str]) -> int:
    """Runs the script as `__main__` and gives its exit code; an uncaught exception is printed."""
    path = str(Path(script).absolute())  # as `__file__` has it; symbolic links stay
    sys.argv = [script, *args]
    if not getattr(sys.flags, "safe_path", False):  # under `python -P`, it is no script's folder
        sys.path[0] = str(Path(script).resolve().parent)
    known, depth = set(threading.enumerate()), sys.getrecursionlimit()
    # The script may replace `sys.stdout`; the summary is to go where it was.
    with redirect_stdout(sys.stdout):
        try:
            exit_code = _outcome(path)
            _join_threads(known)
        except KeyboardInterrupt:
            exit_code = INTERRUPTED
        finally:
            sys.setrecursionlimit(depth)
    return exit_code


def _outcome(path: str) -> int:
    try:
        _run_as_main(path)
    except SystemExit as end:
        return _exit_code(end.code)
    except BaseException as error:
        _print_uncaught(error, path)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _join_threads(known: set[threading.Thread]) -> None:
    """Waits for the script's threads, as the interpreter does before it ends."""
    while waiting := [one for one in set(threading.enumerate()) - known if not one.daemon]:
        _release_pools()
        for thread in waiting:
            thread.join()


def _release_pools() -> None:
    """Lets the threads of pools end that the script left open, once their work is done."""
    for one in gc.get_objects():
        if issubclass(type(one), Executor):
            one.shutdown(wait=False)


def _run_as_main(path: str) -> None:
    """As `python PATH`. `runpy.run_path` names the package and the file of `__main__` otherwise."""
    main = ModuleType("__main__")
    main.__file__ = path
    main.__loader__ = SourceFileLoader("__main__", path)
    sys.modules["__main__"] = main
    with io.open_code(path) as stream:
        code = compile(stream.read(), path, "exec", dont_inherit=True)
    exec(code, vars(main))


def _exit_code(code: object) -> int:
    """As the interpreter takes `SystemExit`: None is success, and what is no number is printed."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _print_uncaught(error: BaseException, path: str) -> None:
    """As the interpreter prints it, from the script's own frames on."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != path:
        frames = frames.tb_next
    # Without a frame of the script it did not compile, and the error itself says where.
    sys.excepthook(type(error), error.with_traceback(frames), frames)


def _print_summary(kernels: Sequence[RunKernel]) -> None:
    if not kernels:
        return
    out = console()
    out.print(run_table(out, kernels))
    for line in (line for kernel in kernels for line in run_lines(kernel)):
        out.print(line, soft_wrap=True)
