"""Waits in a process until it imports TileLang, and then puts it under its run's session.

Nothing but the standard library is imported before: most child processes of a program never import
TileLang, and shall not pay for it.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

SETTINGS = "SMEMREUSE_RUN"
"""The environment variable that has the settings of a run, as JSON."""

SITE = Path(__file__).with_name("site")
"""The folder whose `sitecustomize` Python imports in each process that has it on its path."""

AWAITED = "tilelang"
NESTED = ("a `smemreuse run` inside", "they are in its own table")
NOT_FOLLOWED = "it was started with another environment, or asked to ignore it"
_IGNORING = frozenset("IES")
"""Options of Python's without which a child finds neither the run nor its folder."""

_STARTS = {"subprocess.Popen": 3, "os.posix_spawn": 2, "os.exec": 2}
"""Events of starting a program: arguments are the second of each, the environment at that index."""


_LONGEST = 120
"""Characters of a command that are reported."""


class _Watcher(MetaPathFinder):
    """Finds nothing itself; of the module it waits for, it takes note when it is imported."""

    def __init__(self, then: Callable[[], None]):
        self.then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != AWAITED:
            return None
        with _absent(self):
            spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        _follow(spec.loader, self)
        return spec


@contextmanager
def _absent(watcher: _Watcher) -> Iterator[None]:
    sys.meta_path.remove(watcher)
    try:
        yield
    finally:
        sys.meta_path.insert(0, watcher)


def _follow(loader: Any, watcher: _Watcher) -> None:
    """Notifies the watcher when `loader` has executed its module."""
    stock = loader.exec_module

    def execute(module: ModuleType) -> None:
        stock(module)
        if watcher in sys.meta_path:
            sys.meta_path.remove(watcher)
            watcher.then()

    loader.exec_module = execute


@contextmanager
def watching() -> Iterator[None]:
    """Inside, this process takes part in the run of its environment, once it imports TileLang."""
    entered, before = ExitStack(), [one for one in sys.meta_path if isinstance(one, _Watcher)]
    for one in before:  # of a run around this one, which takes over again afterwards
        sys.meta_path.remove(one)
    watcher = _wait(entered, os.environ[SETTINGS])
    try:
        yield
    finally:
        if watcher in sys.meta_path:
            sys.meta_path.remove(watcher)
        entered.close()
        for one in before:
            if AWAITED in sys.modules:
                one.then()
            else:
                sys.meta_path.insert(0, one)


@contextmanager
def watching_children() -> Iterator[None]:
    """As `watching`, for what is forked inside alone; other children see to it themselves."""
    _forking.append(os.environ[SETTINGS])
    try:
        yield
    finally:
        _forking.pop()


def _forked() -> None:
    if _forking:
        settings = _forking[-1]
        _forking.clear()
        watch(settings)


_forking: list[str] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def watch(settings: str) -> None:
    """As `watching`, for as long as the process lives."""
    entered = ExitStack()
    atexit.register(entered.close)
    _wait(entered, settings)


def _wait(entered: ExitStack, settings: str) -> _Watcher:
    """Enters the run once TileLang is imported, or at once where it is."""
    _followed.append(settings)
    entered.callback(_followed.remove, settings)
    watcher = _Watcher(partial(_enter, entered, settings))
    if AWAITED in sys.modules:
        watcher.then()
    else:
        sys.meta_path.insert(0, watcher)
    _look_out()
    return watcher


def _enter(entered: ExitStack, text: str) -> None:
    """A program whose kernels cannot be seen runs all the same, and that is reported at the end."""
    try:
        from smemreuse.compilers.records import Settings
        from smemreuse.compilers.tilelang.worker import recorded

        entered.enter_context(recorded(Settings.from_text(text)))
    except Exception as error:  # whatever it is
        note_blind(text, sys.executable, f"{type(error).__name__}: {error}", unhooked=True)


# Programs that cannot be followed -----------------------------------------------------------------

_followed: list[str] = []
"""The settings of the runs that this process takes part in, the innermost last."""

_looking: list[bool] = []


def _look_out() -> None:
    """From now on notes which Python programs this process starts that take no part in its run."""
    if not _looking:
        _looking.append(True)  # a hook is never removed
        sys.addaudithook(_started)


def _started(event: str, args: tuple[Any, ...]) -> None:
    if event in _STARTS and _followed:
        with suppress(Exception):  # whatever odd things are given, starting them is not our matter
            given = args[_STARTS[event]]
            command = [os.fsdecode(one) for one in _listed(args[1])]
            if _is_python(command) and not (_is_followed(given) and _minds(command[1:])):
                note_blind(_followed[-1], " ".join(command)[:_LONGEST], NOT_FOLLOWED)


def _listed(command: Any) -> Sequence[Any]:
    return [command] if isinstance(command, (str, bytes, os.PathLike)) else command


def _is_python(command: Sequence[str]) -> bool:
    return Path(command[0]).name.startswith("python")


def _is_followed(environment: Any) -> bool:
    """Whether a program with this environment, None for our own, finds the run."""
    found = os.environ if environment is None else environment
    named = {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()}
    return SETTINGS in named and str(SITE) in named.get("PYTHONPATH", "")


def _minds(options: Sequence[str]) -> bool:
    """Whether Python minds its environment, by the options before its program."""
    rest = iter(options)
    for one in rest:
        if not one.startswith("-") or one.startswith("--"):
            return True
        flags = re.match("-([^cmWX]*)(.?)(.*)", one, re.DOTALL)
        if flags is None or _IGNORING & set(flags[1]):
            return False
        if flags[2] in ("c", "m"):
            return True
        if flags[2] and not flags[3]:
            next(rest, None)  # what -W and -X are given
    return True


def note_blind(text: str, name: str, why: str, *, unhooked: bool = False) -> None:
    """Notes that the kernels of a program are not seen, in the run with these settings; with
    `unhooked` because smemreuse could not get into its compiler."""
    settings = json.loads(text)
    line = {"event": "blind", "pid": os.getpid(), "name": name, "why": why, "unhooked": unhooked}
    with Path(settings["folder"], f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
