"""What installed packages add, by their entry points."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from smemreuse.errors import InputError

EFFECTS, PACKERS, POLICIES = "smemreuse.effects", "smemreuse.packers", "smemreuse.policies"


def load_installed() -> None:
    """Adds what the entry points name. Raises `InputError`, which names the package."""
    points = entry_points()
    for group in (EFFECTS, PACKERS, POLICIES):
        for point in sorted(points.select(group=group), key=lambda one: (one.name, one.value)):
            _add(group, point)


def _add(group: str, point: EntryPoint) -> None:
    """An entry point names a packer, a policy, or tables of functions or what makes them."""
    from smemreuse.plugins.config import add_all
    from smemreuse.plugins.registered import add_packer, add_policy, note_source

    package = point.dist.name if point.dist is not None else "a package"
    version = point.dist.version if point.dist is not None else ""
    try:
        found = point.load()
        if group == PACKERS:
            add_packer(point.name, found)
        elif group == POLICIES:
            add_policy(point.name, found)
        else:
            add_all({"FUNCTIONS": _tables(found)}, f"{package} {version}".strip())
    except InputError as error:
        raise InputError(f"{group} of {package}: {error.message}") from None
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{group} of {package}: {point.value} cannot be loaded: {why}") from error
    note_source(f"{group}:{point.name}", f"{point.value} {package} {version}".encode())


def _tables(found: Any) -> Mapping[str, Any]:
    tables = found() if callable(found) else found
    if not isinstance(tables, Mapping):
        raise InputError(f"tables of functions are a dictionary, not {tables!r:.60}")
    return tables
