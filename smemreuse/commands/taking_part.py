"""What this process and its children are started with to take part in one run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from smemreuse import plugins
from smemreuse.compilers.records import Settings, read_suite
from smemreuse.compilers.watch import (
    NESTED,
    SETTINGS,
    SITE,
    note_blind,
    watching,
    watching_children,
)
from smemreuse.results.suite import Suite

CACHE = "TILELANG_CACHE_DIR"
NO_CACHES = ("TILELANG_DISABLE_CACHE", "TILELANG_AUTO_TUNING_DISABLE_CACHE")
"""What has not been compiled must not get into TileLang's caches."""

SKIPPING = "smemreuse.compilers.lowered_tests"
"""The pytest plugin that skips tests where they would run a kernel that is only lowered."""


@dataclass(frozen=True)
class Run:
    """What the processes of a run are set to do, and the folder that they share."""

    settings: Settings

    @property
    def suite(self) -> Suite:
        """What they have noted there, with what the project accepts of it."""
        suite = read_suite(Path(self.settings.folder))
        acceptances = plugins.acceptances(of_plans=False)
        for kernel in suite.kernels:
            if kernel.lint is not None:
                kernel.lint = kernel.lint.held_against(acceptances)
        return suite


@contextmanager
def taking_part(settings: Settings) -> Iterator[Run]:
    """Makes this process and all that it starts take part in a run, and yields the run.

    The run's folder is deleted at the end, and environment variables are restored. TileLang's cache
    is a fresh one unless the environment names one: kernels from a cache are not lowered, so that
    nothing can be reported of them.
    """
    with _shared_folder(settings) as run, ExitStack() as stack:
        if CACHE not in os.environ:
            cache = str(Path(run.settings.folder, "cache"))
            stack.enter_context(patch.dict(os.environ, {CACHE: cache}))
        stack.enter_context(watching())
        yield run


@contextmanager
def children_taking_part(settings: Settings) -> Iterator[Run]:
    """As `taking_part`, of what this process starts alone; TileLang's cache stays what it is."""
    with _shared_folder(settings) as run, watching_children():
        yield run


@contextmanager
def _shared_folder(settings: Settings) -> Iterator[Run]:
    if SETTINGS in os.environ:
        note_blind(os.environ[SETTINGS], *NESTED)
    temporary = tempfile.TemporaryDirectory(prefix="smemreuse-run-", ignore_cleanup_errors=True)
    with temporary as folder:
        settings = replace(settings, folder=folder)
        with patch.dict(os.environ, _environment(settings)):
            yield Run(settings)


def _environment(settings: Settings) -> dict[str, str]:
    made = {SETTINGS: settings.as_text(), "PYTHONPATH": _joined(SITE, "PYTHONPATH", os.pathsep)}
    if settings.lower_only:
        made.update(dict.fromkeys(NO_CACHES, "1"))
        made["PYTEST_PLUGINS"] = _joined(SKIPPING, "PYTEST_PLUGINS", ",")
    return made


def _joined(first: object, variable: str, separator: str) -> str:
    before = os.environ.get(variable)
    return f"{first}{separator}{before}" if before else str(first)
