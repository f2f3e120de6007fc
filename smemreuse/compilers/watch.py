"""Waits in a process until it imports TileLang, and then puts it under its run's session.

Nothing but the standard library is imported before: most child processes of a program never import
TileLang, and shall not pay for it.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
_entered = ExitStack()


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
    """Has the watcher told when `loader` has executed its module."""
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
    watcher = _wait()
    try:
        yield
    finally:
        if watcher in sys.meta_path:
            sys.meta_path.remove(watcher)
        _entered.close()


@contextmanager
def watching_children() -> Iterator[None]:
    """As `watching`, for what is forked inside alone; other children see to it themselves."""
    _forking.append(True)
    try:
        yield
    finally:
        _forking.pop()


def _forked() -> None:
    if _forking:
        _forking.clear()
        watch()


_forking: list[bool] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def watch() -> None:
    """As `watching`, for as long as the process lives."""
    atexit.register(_entered.close)
    _wait()


def _wait() -> _Watcher:
    """Enters the run once TileLang is imported, or at once where it is."""
    watcher = _Watcher(_enter)
    if AWAITED in sys.modules:
        _enter()
    else:
        sys.meta_path.insert(0, watcher)
    return watcher


def _enter() -> None:
    """A program whose kernels cannot be seen runs all the same, and that is told at the end."""
    try:
        from smemreuse.compilers.records import Settings
        from smemreuse.compilers.tilelang.worker import recorded

        settings = Settings.from_environment()
        if settings is not None:
            _entered.enter_context(recorded(settings))
    except Exception as error:  # whatever it is
        note_blind(f"{type(error).__name__}: {error}")


def note_blind(why: str) -> None:
    """Notes that the kernels of this process are not seen."""
    settings = json.loads(os.environ[SETTINGS])
    line = {"event": "blind", "pid": os.getpid(), "name": sys.executable, "why": why}
    with Path(settings["folder"], f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
