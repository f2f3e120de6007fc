"""Baselines: what is known from before, as `--format json` wrote it, and is not told again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from smemreuse.commands.resultfile import read_kernels
from smemreuse.errors import InputError
from smemreuse.report.hazards import Linted
from smemreuse.results.audit import Audit
from smemreuse.results.comparison import APPLIED, Comparison
from smemreuse.results.regressions import Standing
from smemreuse.results.verdict import VerdictKind

DOES_NOT_FIT = "a block does not fit"

baseline_option = click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="What `--format json` wrote before: what is worse now is a finding, and nothing else.",
)


def _entries(path: str, verb: str) -> list[dict[str, Any]]:
    """The kernels in what a verb wrote. Raises `InputError`."""
    return read_kernels(path, [f"smemreuse.{verb}/1"], _mend(verb))


def _mend(verb: str) -> str:
    return f"give what `{verb} --format json` wrote"


# Hazards ----------------------------------------------------------------------------------------


def read_baseline(path: str) -> frozenset[str]:
    """The fingerprints in what `lint --format json` wrote. Raises `InputError`."""
    return frozenset(_fingerprints(path))


def _fingerprints(path: str) -> Iterator[str]:
    for kernel in _entries(path, "lint"):
        hazards = kernel.get("hazards")
        for hazard in hazards if isinstance(hazards, list) else [None]:
            told = hazard.get("fingerprint") if isinstance(hazard, dict) else None
            if not isinstance(told, str):
                why = "no list of kernels with hazards that have fingerprints"
                raise InputError(f"{why}; {_mend('lint')}", file=path)
            yield told


def silenced(found: Iterable[Linted], known: frozenset[str]) -> list[Linted]:
    """What was found, without what a baseline knows."""
    return [linted.without(known) for linted in found]


# Plans ------------------------------------------------------------------------------------------


def compared_standing(row: Comparison) -> Standing:
    """How a kernel stands by the plan that would be applied."""
    applied = row.applied
    faults = frozenset([DOES_NOT_FIT] if applied.fits is False else [])
    return Standing(row.file, row.kernel, row.scope, applied.arena_bytes, applied.verdict, faults)


def audited_standing(file: str, kernel: str, scope: str, audit: Audit) -> Standing:
    """How a kernel stands by the plan that was audited."""
    found = audit.verdict
    faults = frozenset(_fault(each.rule.value, each.buffers) for each in found.violations)
    return Standing(file, kernel, scope, audit.arena, found.verdict, faults)


def _fault(rule: int, buffers: Sequence[str]) -> str:
    return f"rule {rule}, {' and '.join(buffers)}"


def read_standings(path: str, verb: str) -> list[Standing]:
    """How kernels stood in what `compare` or `check` wrote. Raises `InputError`."""
    read = {"compare": _compared, "check": _audited}[verb]
    try:
        return [read(entry) for entry in _entries(path, verb)]
    except (KeyError, TypeError, ValueError, OverflowError):  # int() of an infinity
        why = "a kernel lacks its bytes or its verdict"
        raise InputError(f"{why}; {_mend(verb)}", file=path) from None


def _compared(entry: Mapping[str, Any]) -> Standing:
    applied = entry["policies"][APPLIED]
    faults = [DOES_NOT_FIT] if applied["fits"] is False else []
    return _standing(entry, applied, faults)


def _audited(entry: Mapping[str, Any]) -> Standing:
    faults = [_fault(each["rule"], each["buffers"]) for each in entry["violations"]]
    return _standing(entry, entry, faults)


def _standing(entry: Mapping[str, Any], plan: Mapping[str, Any], faults: list[str]) -> Standing:
    file, kernel, scope = (str(entry[key]) for key in ("file", "name", "scope"))
    verdict = VerdictKind(plan["verdict"])
    return Standing(file, kernel, scope, int(plan["arena_bytes"]), verdict, frozenset(faults))
