"""Runs a Python script in this process, as `python SCRIPT ARGS` runs it."""

from __future__ import annotations

import gc
import io
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

from smemreuse.errors import InputError

INTERRUPTED = 130
"""The exit code that shells give a program ended by SIGINT."""


@dataclass(frozen=True)
class End:
    """How a script ended: its exit code, and whether that is of an exception that it let pass."""

    exit_code: int
    uncaught: bool = False


def check_script(script: str) -> None:
    """Raises `InputError` for what cannot be read."""
    path = Path(script)
    try:
        if path.is_dir():
            raise InputError("is a folder; give a Python script", file=script)
        path.open("rb").close()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot be read: {reason or error}", file=script) from None


def execute(script: str, args: Sequence[str]) -> End:
    """Runs the script as `__main__`; an uncaught exception is printed."""
    path = str(Path(script).absolute())  # as `__file__` has it; symbolic links stay
    sys.argv = [script, *args]
    if not getattr(sys.flags, "safe_path", False):  # under `python -P`, it is no script's folder
        sys.path[0] = str(Path(script).resolve().parent)
    known, depth = set(threading.enumerate()), sys.getrecursionlimit()
    # The script may replace `sys.stdout`; the summary is to go where it was.
    with redirect_stdout(sys.stdout):
        try:
            end = _outcome(path)
            _join_threads(known)
        except KeyboardInterrupt:
            end = End(INTERRUPTED, uncaught=True)
        finally:
            sys.setrecursionlimit(depth)
    return end


def _outcome(path: str) -> End:
    try:
        _run_as_main(path)
    except SystemExit as end:
        return End(_exit_code(end.code))
    except BaseException as error:
        _print_uncaught(error, path)
        exit_code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
        return End(exit_code, uncaught=True)
    return End(0)


def _join_threads(known: set[threading.Thread]) -> None:
    """Waits for the script's threads, as the interpreter does before it ends."""
    while waiting := [one for one in set(threading.enumerate()) - known if not one.daemon]:
        _release_pools()
        for thread in waiting:
            if thread.is_alive():
                thread.join()
            else:
                time.sleep(0.001)  # on its way to start


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
