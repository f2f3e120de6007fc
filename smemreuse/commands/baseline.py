"""Baselines: results that `--format json` wrote before, which are not reported again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from smemreuse.commands.resultfile import read_kernels
from smemreuse.errors import InputError
from smemreuse.results.audit import Checked, violated
from smemreuse.results.comparison import APPLIED, Comparison
from smemreuse.results.regressions import DOES_NOT_FIT, BaselineEntry, changes
from smemreuse.results.verdict import VerdictKind

Record = TypeVar("Record", Comparison, Checked)

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
            fingerprint = hazard.get("fingerprint") if isinstance(hazard, dict) else None
            if not isinstance(fingerprint, str):
                why = "no list of kernels with hazards that have fingerprints"
                raise InputError(f"{why}; {_mend('lint')}", file=path)
            yield fingerprint


# Plans ------------------------------------------------------------------------------------------


def read_baseline_entries(path: str | None, verb: str) -> list[BaselineEntry] | None:
    """The kernels in what `compare` or `check` wrote; None without a file. Raises `InputError`."""
    if path is None:
        return None
    read = {"compare": _compared, "check": _checked}[verb]
    try:
        return [read(entry) for entry in _entries(path, verb)]
    except (KeyError, TypeError, ValueError, OverflowError):  # int() of an infinity
        why = "a kernel lacks its bytes or its verdict"
        raise InputError(f"{why}; {_mend(verb)}", file=path) from None


def compared_with(before: Sequence[BaselineEntry] | None, found: list[Record]) -> list[Record]:
    """The results, each with what changed since the baseline if there is one."""
    if before is None:
        return found
    held = changes([one.baseline_entry for one in found], before)
    return [replace(one, change=change) for one, change in zip(found, held, strict=True)]


def _compared(entry: Mapping[str, Any]) -> BaselineEntry:
    applied = entry["policies"][APPLIED]
    faults = [DOES_NOT_FIT] if applied["fits"] is False else []
    return _entry(entry, applied, faults)


def _checked(entry: Mapping[str, Any]) -> BaselineEntry:
    faults = [violated(each["rule"], each["buffers"]) for each in entry["violations"]]
    return _entry(entry, entry, faults)


def _entry(entry: Mapping[str, Any], plan: Mapping[str, Any], faults: list[str]) -> BaselineEntry:
    file, kernel, scope = (str(entry[key]) for key in ("file", "name", "scope"))
    verdict = VerdictKind(plan["verdict"])
    return BaselineEntry(file, kernel, scope, int(plan["arena_bytes"]), verdict, frozenset(faults))
