"""Runs a script or a module in this process, as `python SCRIPT` and `python -m MODULE` do."""

from __future__ import annotations

import gc
import importlib.util
import io
import os
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

from smemreuse.commands.signals import interrupted_by_sigterm
from smemreuse.errors import InputError, LoweredOnlyError, printable

INTERRUPTED, TERMINATED = 130, 143
"""The exit codes that shells give a program ended by SIGINT, and by SIGTERM."""

DUMP = ".tir"
"""How the name of a kernel's dump ends."""


@dataclass(frozen=True)
class End:
    """How a script ended: its exit code, and whether that is of an exception that it let pass.

    `stopped` says where it would have needed what a kernel computes that was only lowered;
    `lacked_gpu` whether the exception speaks of CUDA where PyTorch sees no GPU.
    """

    exit_code: int
    uncaught: bool = False
    stopped: str | None = None
    lacked_gpu: bool = False


def check_script(script: str) -> None:
    """Raises `InputError` if the script cannot be read, or is a dump, which is never executed."""
    if Path(script).suffix == DUMP:
        raise InputError("is a dump, which is not executed; give a Python script", file=script)
    check_readable(script)


def check_readable(script: str) -> None:
    """Raises `InputError` if the file cannot be read."""
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
    _set_first_folder(str(Path(script).resolve().parent))
    return _ended(lambda: _run_as_main(path), path)


def execute_module(name: str, args: Sequence[str]) -> End:
    """Runs a module as `python -m` does; an uncaught exception is printed.

    Raises `InputError` where there is no such module, or it is a package that cannot be run.
    """
    sys.argv = ["-m", *args]
    _set_first_folder(str(Path.cwd()))
    path = _module_file(name)
    sys.argv[0] = path
    return _ended(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True), path)


def _set_first_folder(folder: str) -> None:
    if not getattr(sys.flags, "safe_path", False):  # under `python -P`, it is no script's folder
        sys.path[0] = folder


def _module_file(name: str) -> str:
    """Where the code of a module is, which may be the `__main__` of a package.

    Its name where a package on the way to it fails; running it will tell that.
    """
    try:
        found = _module_spec(name)
    except InputError:
        raise
    except Exception:
        return name
    if found is None or not found.origin:
        raise InputError(f"there is no module {name!r}")
    return found.origin


def _module_spec(name: str) -> ModuleSpec | None:
    try:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            return spec
        main = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            return None
        raise  # what a package imports is another matter
    except ValueError:  # an empty name, or `__main__`
        return None
    if main is None:
        raise InputError("is a package without a __main__, and cannot be run", file=name)
    return main


def _ended(run: Callable[[], object], path: str) -> End:
    """Runs a program whose code is in the file `path`, and waits for its threads and pools."""
    known, depth = set(threading.enumerate()), sys.getrecursionlimit()
    # The script may replace `sys.stdout`; the summary is to go where it was.
    with redirect_stdout(sys.stdout), interrupted_by_sigterm() as sigterm:
        try:
            end = _outcome(run, path)
            _join_threads(known)
        except KeyboardInterrupt:
            end = End(INTERRUPTED, uncaught=True)
        finally:
            sys.setrecursionlimit(depth)
    return End(TERMINATED, uncaught=True) if sigterm.came else end


def _outcome(run: Callable[[], object], path: str) -> End:
    try:
        run()
    except SystemExit as end:
        return End(_exit_code(end.code))
    except LoweredOnlyError as error:
        return End(0, stopped=f"{_last_line(error, path)}: {error}")
    except BaseException as error:
        _print_uncaught(error, path)
        exit_code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
        return End(
            exit_code, uncaught=True, lacked_gpu=lacks_gpu() and "cuda" in f"{error}".lower()
        )
    return End(0)


def lacks_gpu() -> bool:
    """Whether a program here has imported PyTorch, and that sees no GPU."""
    torch = sys.modules.get("torch")
    return torch is not None and not torch.cuda.is_available()


def _last_line(error: BaseException, path: str) -> str:
    """The innermost line of the script itself on the way to an error."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == path]
    where = frames[-1].lineno if frames else None
    return f"{printable(os.path.relpath(path))}:{where}" if where else printable(path)


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
