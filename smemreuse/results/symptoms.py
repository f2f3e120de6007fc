"""What is seen of a hazard, where an execution goes wrong by it."""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.results.hazards import Hazard, HazardKind

_WRONG = "give wrong results"
_SYMPTOMS: Mapping[HazardKind, str] = {
    HazardKind.UNINITIALISED_READ: "read what nothing has written",
    HazardKind.RACE: _WRONG,
    HazardKind.MISSING_WAIT: _WRONG,
    HazardKind.MISSING_FENCE: _WRONG,
    HazardKind.BARRIER_DIVERGENCE: "hang, or go on too early",
    HazardKind.BARRIER_DEADLOCK: "hang",
    HazardKind.MISSED_PHASE: "hang",
    HazardKind.OUT_OF_BOUNDS: "access bytes beyond its buffer",
}
_OF_ACCESSES: Mapping[tuple[str, str], str] = {
    ("read", "write"): "read stale data",
    ("write", "read"): "read overwritten data",
    ("write", "write"): "keep the wrong value",
}
"""What is seen of two accesses, the later one first, that are not in this order."""


def symptom_of(hazard: Hazard) -> str:
    """What is seen of a hazard, in a few words: of two accesses in the wrong order what they make
    of the data, of others what their kind does."""
    seen = _SYMPTOMS[hazard.kind]
    if hazard.mechanism.startswith("mbarrier ") and hazard.kind is HazardKind.MISSING_FENCE:
        seen = "hang, or read too early"
    else:
        later, _, earlier = hazard.mechanism.partition(" after ")
        words = earlier.split(" ")
        verbs = later.split(" ")[-1], next((one for one in words if one in _VERBS), "")
        seen = _OF_ACCESSES.get(verbs, seen)
    return f"{_verb(hazard.certain)} {seen}"


_VERBS = ("read", "write")


def symptom_of_kind(kind: HazardKind, *, certain: bool) -> str:
    """The same of all hazards of a kind that are certain, or possible."""
    return f"{_verb(certain)} {_SYMPTOMS[kind]}"


def _verb(certain: bool) -> str:
    """A kernel can go wrong by a certain hazard; by a possible one it may be that it can."""
    return "can" if certain else "may"
