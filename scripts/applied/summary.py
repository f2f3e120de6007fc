"""What the measured lowerings come to, in words and tables."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

Launch = Mapping[str, Any]
LABELS = ("bytes", "speed")
MOST_NAMED = 40


def summary(functions: Sequence[Mapping[str, Any]]) -> str:
    """A page of text for all functions, those that fail among them."""
    lowered = [each for each in functions if "launches" in each]
    launches = list(launched(lowered))
    known = [each for _, each in launches if _known(each)]
    lines = [
        f"{len(functions)} functions, {len(lowered)} lowered, {len(launches)} kernels launched, "
        f"{len(known)} of known size",
        *_failures(functions),
        "",
        *_sums(known),
    ]
    for label in LABELS:
        lines += ["", f"== objective {label}", *_objective(launches, label)]
        lines += _times(lowered, label)
    return "\n".join([*lines, *_verdicts(launches)])


def launched(functions: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Launch]]:
    """Each launched kernel, with a name that tells it from all others."""
    for function in functions:
        for number, launch in enumerate(function["launches"]):
            suffix = f"#{number}" if len(function["launches"]) > 1 else ""
            yield f"{function['arch']}/{function['name']}{suffix}", launch


def _known(launch: Launch) -> bool:
    return launch["default"]["bytes"] is not None


def _failures(functions: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for key, words in (("not_lowered", "TileLang does not lower"), ("error", "ended")):
        found = [each for each in functions if key in each]
        if found:
            lines.append(f"{len(found)} {words}:")
        reasons: dict[str, list[str]] = defaultdict(list)
        for each in found:
            reasons[cause(each[key].strip().splitlines()[-1])].append(
                f"{each['arch']}/{each['name']}"
            )
        ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
        lines += [f"  {len(names):4} {reason[:130]}  ({names[0]})" for reason, names in ordered]
    said = [each for each in functions if "said" in each]
    for each in said:
        told = next(words for words in each["said"].values() if words)
        lines.append(f"  said of {each['arch']}/{each['name']}: {told[0][:160]}")
    return lines


def _sums(known: Sequence[Launch]) -> list[str]:
    names = ("side_by_side", "default", "aggressive", *LABELS)
    parts = [f"{name} {sum(each[name]['bytes'] for each in known) / 1e6:.3f}" for name in names]
    return ["sum of MB: " + ", ".join(parts)]


def _objective(launches: Sequence[tuple[str, Launch]], label: str) -> list[str]:
    plans = [plan for _, each in launches for plan in each[label]["plans"]]
    proved = sum(plan["verdict"] == "sound" for plan in plans)
    kept = sum(plan["origin"] == "kept from compiler" for plan in plans)
    share = 100 / max(1, len(plans))
    lines = [
        f"{len(plans)} plans: {proved * share:.1f} % proved, {kept * share:.1f} % kept as the "
        f"compiler left them, {(len(plans) - proved - kept) * share:.1f} % neither"
    ]
    tests: list[tuple[str, Callable[[Launch], bool]]] = [
        ("larger than default", lambda each: less(each["default"], each[label], "bytes")),
        ("smaller than default", lambda each: less(each[label], each["default"], "bytes")),
        ("loses resident blocks", lambda each: less(each[label], each["default"], "blocks")),
        ("gains resident blocks", lambda each: less(each["default"], each[label], "blocks")),
        ("launches no longer", lambda each: stops(each, label)),
        ("launches only now", lambda each: starts(each, label)),
    ]
    for words, holds in tests:
        found = [(name, each) for name, each in launches if holds(each)]
        lines.append(f"{words}: {len(found)}")
        if words == "smaller than default" or (words.startswith("larger") and label == "speed"):
            continue
        lines += [f"    {_told(name, each, label)}" for name, each in found[:MOST_NAMED]]
        if words.startswith(("larger", "loses", "launches no")):
            lines += _causes(found, label)
    return lines


def less(one: Mapping[str, Any], other: Mapping[str, Any], key: str) -> bool:
    return one[key] is not None and other[key] is not None and one[key] < other[key]


def stops(each: Launch, label: str) -> bool:
    return each["default"]["blocks"] not in (0, None) and each[label]["blocks"] == 0


def starts(each: Launch, label: str) -> bool:
    return each["default"]["blocks"] == 0 and each[label]["blocks"] not in (0, None)


def _told(name: str, each: Launch, label: str) -> str:
    before, after = each["default"], each[label]
    blocks = f"{before['blocks']} -> {after['blocks']} blocks"
    return f"{name}: {before['bytes']:,} -> {after['bytes']:,} bytes, {blocks}"


def _causes(found: Sequence[tuple[str, Launch]], label: str) -> list[str]:
    """Why the default's plan, or a tighter one, was not applied: how often, and an example."""
    if not found:
        return []
    causes: dict[str, list[str]] = defaultdict(list)
    for name, each in found:
        causes[why(each, label)].append(name)
    lines = ["  causes:"]
    for reason, names in sorted(causes.items(), key=lambda item: -len(item[1])):
        lines.append(f"  {len(names):4} {reason}  ({names[0]})")
    return lines


def why(each: Launch, label: str) -> str:
    """What speaks against the default's plan, and against the tightest that was tried."""
    against = [one for one in each["default"].get("verdict", []) if one["verdict"] != "sound"]
    rejected = [one for plan in each[label]["plans"] for one in plan.get("rejected", [])]
    default = f"default {against[0]['verdict']}: {cause(against[0]['why'])}" if against else ""
    tried = f"tried {rejected[0]['verdict']}: {cause(rejected[0]['why'])}" if rejected else ""
    return " | ".join(filter(None, (default, tried))) or "default proved, nothing rejected"


def cause(finding: str) -> str:
    """A finding without the names and numbers of one kernel."""
    rule = re.match(r"rule \d+", finding)
    text = finding.partition(": ")[2] if rule else finding
    text = re.sub(r"\b[A-Za-z_][A-Za-z_0-9]*\[[^\]]*\]", "X[..]", text)
    text = re.sub(r"\b\d[\d,.]*\b", "#", text)
    return f"{rule.group() + ': ' if rule else ''}{text.splitlines()[0] if text else ''}"[:170]


def added(function: Mapping[str, Any], label: str) -> float:
    """What smemreuse adds to a lowering, as a share of the lowering without."""
    seconds = function["seconds"]
    return float(seconds["added"][label] / seconds["stock"])


def added_in_all(functions: Sequence[Mapping[str, Any]], label: str) -> float:
    """As `added`, of many lowerings together."""
    seconds = [each["seconds"] for each in functions]
    alone = sum(each["stock"] for each in seconds)
    return float(sum(each["added"][label] for each in seconds) / alone)


def _times(functions: Sequence[Mapping[str, Any]], label: str) -> list[str]:
    shares = sorted(((added(each, label), each) for each in functions), key=lambda one: one[0])
    if not shares:
        return []
    only = [share for share, _ in shares]
    lines = [
        f"time added: median {statistics.median(only):.1%}, p90 {only[int(0.9 * len(only))]:.1%}, "
        f"worst {only[-1]:.1%}; in all {added_in_all(functions, label):.1%}"
    ]
    for share, each in reversed(shares[-10:]):
        seconds = each["seconds"]
        taken = f"{seconds['added'][label]:.2f} s added to {seconds['stock']:.2f} s"
        lines.append(f"    {share:+.0%} {each['arch']}/{each['name']}: {taken}")
    return lines


def refuted(
    functions: Iterable[Mapping[str, Any]], merge: str
) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
    """Each function, kernel and verdict that refutes TileLang's own plan, `merge` of the two."""
    for function in functions:
        for launch in function.get("launches", ()):
            for verdict in launch[merge].get("verdict", ()):
                if verdict["verdict"] == "unsound":
                    yield function, launch["kernel"], verdict


def _verdicts(launches: Sequence[tuple[str, Launch]]) -> list[str]:
    lines = []
    for merge in ("default", "aggressive"):
        judged = [(name, one) for name, each in launches for one in each[merge].get("verdict", [])]
        if not judged:
            continue
        refuted = [(name, one) for name, one in judged if one["verdict"] == "unsound"]
        open_ = sum(one["verdict"] == "unproved" for _, one in judged)
        lines += [
            "",
            f"TileLang's {merge} plan: {len(judged)} judged, {len(refuted)} refuted, "
            f"{open_} unproved",
        ]
        lines += [f"    {name}: {one['why'][:200]}" for name, one in refuted[:MOST_NAMED]]
    return lines
