"""Why `lint` ends in 1, and what does not fail where it ends in 0."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.hazards import Linted
from smemreuse.report.titles import counted, holding
from smemreuse.results.accepted import Identity
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.hazards import UNFOLLOWED, Hazard, HazardOrigin

MOST_OTHERS = 3
"""The most findings that the line about the exit code names one by one."""

_FAILING = {
    FailOn.AUTHOR: "certain hazards of the kernel's own source",
    FailOn.COMPILER: "certain hazards",
    FailOn.POSSIBLE: "hazards, certain or possible",
}
"""What makes the exit code 1, in words."""


def failures(found: Sequence[Linted], gate: Gate, since: str = "") -> list[str]:
    """Why the exit code is 1, a clause for each reason; none where it is 0.

    `since` is `new` where a baseline knows the others.
    """
    if not found:
        return ["there is no device kernel to lint"]
    stopped = sum(any(map(gate.stops, one.hazards)) for one in found)
    unclear = sum(gate.fails((), one.unknown) for one in found)
    option = "--strict" if gate.strict else f"--fail-on {gate.fail_on.value}"
    which = "hazards" if gate.strict else _FAILING[gate.fail_on]
    what = f"{since} {which}".strip()
    generated = sum(
        any(_passes_as_generated(hazard, gate) for hazard in one.hazards) for one in found
    )
    apart = f"; what the compiler generated, in {counted(generated, 'kernel')}, does not count"
    clauses = {
        f"{counted(stopped, 'kernel')} with {what} ({option}){apart * bool(generated)}": stopped,
        f"{counted(unclear, 'kernel')} {UNFOLLOWED}, which fails by {option}": unclear,
    }
    return holding(clauses)


def _passes_as_generated(hazard: Hazard, gate: Gate) -> bool:
    """Whether a certain hazard does not count since the compiler has generated it."""
    is_generated = hazard.origin is HazardOrigin.COMPILER
    return hazard.certain and is_generated and not gate.stops(hazard)


def passing_lines(found: Sequence[Linted], gate: Gate) -> Iterator[Text]:
    """What of it does not fail where the exit code is 0, and the option with which it would."""
    if any(one.fails(gate) for one in found):
        return
    hazards = [hazard for one in found for hazard in one.hazards]
    certain = sum(hazard.certain for hazard in hazards)
    passing = {
        ("hazards that the compiler generated", "--fail-on compiler"): certain,
        ("possible hazards", "--fail-on possible"): len(hazards) - certain,
        (f"kernels {UNFOLLOWED}", "--strict"): sum(bool(one.unknown) for one in found),
    }
    is_default = gate.fail_on is FailOn.AUTHOR
    when = "by default" if is_default else f"with --fail-on {gate.fail_on.value}"
    for (what, option), count in passing.items():
        if count:
            verb = "is" if count == 1 else "are"
            yield Text(
                f"exit code 0: {when}, {what} do not set the exit code (there {verb} {count:,}); "
                f"with {option} they do"
            )


def reasons_beside(
    reasons: Sequence[str], found: Sequence[Linted], finding: str, gate: Gate
) -> list[str]:
    """The reasons for exit code 1 beside the timeline of one finding: that finding, where it is
    one, and else others of the input."""
    failing = [one for linted in found for one in linted.open_hazards if gate.stops(one[0])]
    if not reasons or any(finding in (one.short, one.fingerprint) for _, one in failing):
        return [*reasons]
    first, *more = reasons
    return [f"not for {finding}, but for {_others(failing, found)}: {first}", *more]


def _others(failing: Sequence[tuple[Hazard, Identity]], found: Sequence[Linted]) -> str:
    """How many findings fail, each with its line where they are few, and what lists them."""
    if not failing:
        return "what was not followed"
    files = {one.file for one in found}
    asked = shlex.quote(printable(files.pop())) if len(files) == 1 else "FILE"
    count = f"{len(failing):,} other {'finding' if len(failing) == 1 else 'findings'}"
    if len(failing) > MOST_OTHERS:
        return f"{count} (`smemreuse lint {asked}` lists them)"
    named = (f"[{identity.short}] at line {hazard.site.line}" for hazard, identity in failing)
    return f"{count}, {', '.join(named)} (`smemreuse lint {asked}` reports each)"
