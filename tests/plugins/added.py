"""What users add is there for the whole process; a test takes it away again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smemreuse import plugins
from smemreuse.planner import PACKERS
from smemreuse.plugins import accepted, registered
from smemreuse.policies.attribution import POLICIES
from smemreuse.semantics import declarations
from smemreuse.semantics.rows.device_functions import DECLARED

_REGISTRIES: tuple[dict[Any, Any], ...] = (
    *(PACKERS, POLICIES, DECLARED),
    *(declarations._known, registered._added, registered._sources),
)


@pytest.fixture(autouse=True)
def nothing_added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Begins in an empty folder with nothing loaded, and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")  # which is taken back, whatever a test names
    monkeypatch.setattr(plugins, "_ready", False)
    before = [dict(registry) for registry in _REGISTRIES]
    entries = accepted.entries()
    accepted.forget()
    yield
    accepted.forget()
    for entry in entries:
        accepted.add(entry)
    for registry, was in zip(_REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(was)
