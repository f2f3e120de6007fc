"""The entries `[[accept]]` of a `smemreuse.toml`: findings that a project accepts, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smemreuse.plugins.tables import TableError
from smemreuse.results.accepted import FINDING, PLAN_KINDS, Acceptance, Accepted
from smemreuse.results.hazards import HazardKind

_SELECTORS = ("finding", "kernel", "file", "hazard", "buffer")
_KEYS = (*_SELECTORS, "reason")
_KINDS = (*(one.value for one in HazardKind), *(one.value for one in PLAN_KINDS))

_entries: list[Acceptance] = []


def forget() -> None:
    """Before a `smemreuse.toml` is read: the entries are those of one alone."""
    _entries.clear()


def add(entry: Acceptance) -> None:
    """Adds an entry to those of this process."""
    _entries.append(entry)


def entries() -> tuple[Acceptance, ...]:
    """All entries, in the order in which they were read."""
    return tuple(_entries)


def acceptance(table: Any, source: str) -> Acceptance:
    """The entry that a table is. Raises `TableError`."""
    if not isinstance(table, Mapping):
        raise TableError(f"an entry of `accept` is a table, not {table!r:.60}")
    for key, value in table.items():
        if key not in _KEYS:
            raise TableError(f"accept: {key!r} is not known; {', '.join(_KEYS)} are", str(key))
        if not isinstance(value, str):
            raise TableError(f"accept: `{key}` is a string, not {value!r:.60}", key)
        if not value.strip():
            mend = "say why it is right" if key == "reason" else "leave it out"
            raise TableError(f"accept: `{key}` is empty; {mend}", key)
    if "reason" not in table:
        raise TableError("accept does not say `reason`: why it is right as it is")
    if not any(key in table for key in _SELECTORS):
        raise TableError(f"accept does not say what: give one of {', '.join(_SELECTORS)}")
    kind, finding = table.get("hazard", ""), table.get("finding", "")
    if kind and kind not in _KINDS:
        raise TableError(f"accept: `hazard` is one of {', '.join(_KINDS)}, not {kind!r}", "hazard")
    if finding and FINDING.fullmatch(finding) is None:
        what = "what `lint` or `check` print for it in brackets, such as 0c356f5d"
        raise TableError(f"accept: `finding` is {what}, not {finding!r:.60}", "finding")
    more = {key: table.get(key, "") for key in ("finding", "kernel", "file", "buffer")}
    return Acceptance(Accepted(table["reason"].strip(), source), kind=kind, **more)
