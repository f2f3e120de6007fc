"""What is seen of a hazard, where an execution goes wrong by it."""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.results.hazards import Hazard, HazardKind

_WRONG = "may give wrong results"
_SYMPTOMS: Mapping[HazardKind, str] = {
    HazardKind.UNINITIALISED_READ: "may read what nothing has written",
    HazardKind.RACE: _WRONG,
    HazardKind.MISSING_WAIT: _WRONG,
    HazardKind.MISSING_FENCE: _WRONG,
    HazardKind.BARRIER_DIVERGENCE: "may hang, or go on too early",
    HazardKind.BARRIER_DEADLOCK: "may hang",
    HazardKind.MISSED_PHASE: "may hang",
    HazardKind.OUT_OF_BOUNDS: "may access bytes beyond its buffer",
}
_OF_ACCESSES: Mapping[tuple[str, str], str] = {
    ("read", "write"): "may read stale data",
    ("write", "read"): "may read overwritten data",
    ("write", "write"): "may keep the wrong value",
}
"""What is seen of two accesses, the later one first, that are not in this order."""


def symptom_of(hazard: Hazard) -> str:
    """What is seen of a hazard, in a few words: of two accesses in the wrong order what they make
    of the data, of others what their kind does."""
    if hazard.mechanism.startswith("mbarrier ") and hazard.kind is HazardKind.MISSING_FENCE:
        return "may hang, or read too early"
    later, _, earlier = hazard.mechanism.partition(" after ")
    verbs = later.split(" ")[-1], next((one for one in earlier.split(" ") if one in _VERBS), "")
    return _OF_ACCESSES.get(verbs, symptom_of_kind(hazard.kind))


_VERBS = ("read", "write")


def symptom_of_kind(kind: HazardKind) -> str:
    """The same of all hazards of a kind."""
    return _SYMPTOMS[kind]
