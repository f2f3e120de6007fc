"""What the measured lowerings come to: launches, and what smemreuse changes of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Launch = Mapping[str, Any]


def launched(functions: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Launch]]:
    """Each launched kernel, with a name that tells it from all others."""
    for function in functions:
        for number, launch in enumerate(function["launches"]):
            suffix = f"#{number}" if len(function["launches"]) > 1 else ""
            yield f"{function['arch']}/{function['name']}{suffix}", launch


def refuted(
    functions: Iterable[Mapping[str, Any]], merge: str
) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
    """Each function, kernel and verdict that refutes TileLang's own plan, `merge` of the two."""
    for function in functions:
        for launch in function.get("launches", ()):
            for verdict in launch[merge].get("verdict", ()):
                if verdict["verdict"] == "unsound":
                    yield function, launch["kernel"], verdict


def less(one: Mapping[str, Any], other: Mapping[str, Any], key: str) -> bool:
    return one[key] is not None and other[key] is not None and one[key] < other[key]


def stops(each: Launch, label: str) -> bool:
    return each["default"]["blocks"] not in (0, None) and each[label]["blocks"] == 0


def starts(each: Launch, label: str) -> bool:
    return each["default"]["blocks"] == 0 and each[label]["blocks"] not in (0, None)


def added(function: Mapping[str, Any], label: str) -> float:
    """What smemreuse adds to a lowering, as a share of the lowering without."""
    seconds = function["seconds"]
    return float(seconds["added"][label] / seconds["stock"])


def added_in_all(functions: Sequence[Mapping[str, Any]], label: str) -> float:
    """As `added`, of many lowerings together."""
    seconds = [each["seconds"] for each in functions]
    alone = sum(each["stock"] for each in seconds)
    return float(sum(each["added"][label] for each in seconds) / alone)
