"""Registers what users add, and keeps a digest of where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from smemreuse.errors import InputError, PlanError
from smemreuse.planner import PACKERS, Packer, Placement, Problem
from smemreuse.policies.attribution import POLICIES

_sources: dict[str, bytes] = {}
_builtin = {"packer": frozenset(PACKERS), "policy": frozenset({*POLICIES, "dataflow"})}
_added: dict[tuple[str, str], object] = {}


def note_source(name: str, content: bytes) -> None:
    """Notes what decides plans beside this package's own source."""
    _sources[name] = content


def is_code() -> bool:
    """Whether packages or Python files have added anything: what their code calls is not noted."""
    return any(name.startswith("smemreuse.") or name.endswith(".py") for name in _sources)


def digest() -> str:
    """Of all that was noted; empty where that is nothing."""
    if not _sources:
        return ""
    found = hashlib.sha256()
    for name, content in sorted(_sources.items()):
        found.update(f"{name} {len(content)} ".encode())
        found.update(content)
    return found.hexdigest()[:16]


def add_packer(name: str, packer: Any) -> None:
    """A function of a `Problem` that gives a `Placement`. Raises `InputError`."""
    if _is_new("packer", name, packer):
        PACKERS[name] = _guarded_packer(name, packer)


def add_policy(name: str, policy: Any) -> None:
    """A function `(allocation's level, open entries) -> level`. Raises `InputError`."""
    if _is_new("policy", name, policy):
        POLICIES[name] = _guarded_policy(name, policy)


def _is_new(what: str, name: str, found: Any) -> bool:
    """Whether it is to be registered; what is loaded twice is there already."""
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"a {what}'s name is an identifier, not {name!r}")
    if name in _builtin[what]:
        raise InputError(f"{name} is a {what} of smemreuse; give yours another name")
    if not callable(found):
        raise InputError(f"{what} {name} is {found!r:.60}, and no function")
    if (what, name) in _added and _added[what, name] is not found:
        raise InputError(f"there are two of {what} {name}")
    is_new = (what, name) not in _added
    _added[what, name] = found
    return is_new


def _guarded_packer(name: str, packer: Callable[[Problem], Any]) -> Packer:
    """The packer, whose faults are a `PlanError` and whose claim to be the smallest counts for
    nothing; whether its placement holds is validated by who asks for it."""

    def packed(problem: Problem) -> Placement:
        try:
            found = packer(problem)
            if not isinstance(found, Placement):
                raise TypeError(f"it gave {found!r:.60}, not a Placement")
            offsets = tuple(int(offset) for offset in found.offsets)
            return Placement(offsets, int(found.arena))
        except PlanError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise PlanError(f"packer {name} failed with {why}") from error

    return packed


def _guarded_policy(name: str, policy: Callable[[int, int], Any]) -> Callable[[int, int], int]:
    """The policy, whose answer must be one of the open entries."""

    def attributed(alloc_level: int, open_entries: int) -> int:
        try:
            level = policy(alloc_level, open_entries)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise PlanError(f"policy {name} failed with {why}") from error
        if not isinstance(level, int) or not 0 <= level < open_entries:
            raise PlanError(f"policy {name} gave level {level!r} of {open_entries} open entries")
        return level

    return attributed


def names_of(registry: Mapping[str, object], what: str) -> tuple[str, ...]:
    """The names that users have added to a registry."""
    return tuple(name for name in registry if name not in _builtin[what])
