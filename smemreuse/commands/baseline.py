"""Baselines: results that `--format json` wrote before, which are not reported again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from smemreuse.commands.resultfile import read_kernels
from smemreuse.errors import InputError
from smemreuse.results.audit import Checked, PlanSource, violated
from smemreuse.results.comparison import APPLIED, Comparison
from smemreuse.results.known_hazards import KnownKernel, without_lines
from smemreuse.results.matching import KernelName
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
    return read_kernels(path, [f"smemreuse.{verb}/1"], _mend(verb), whole=verb != "lint")


def _mend(verb: str) -> str:
    return f"give what `{verb} --format json` wrote"


# Hazards ----------------------------------------------------------------------------------------


def read_known(path: str) -> list[KnownKernel]:
    """The kernels in what `lint --format json` wrote. Raises `InputError`."""
    try:
        return [_known(entry) for entry in _entries(path, "lint")]
    except (AttributeError, KeyError, TypeError):
        why = "no list of kernels with hazards that have fingerprints"
        raise InputError(f"{why}; {_mend('lint')}", file=path) from None


def _known(entry: Mapping[str, Any]) -> KnownKernel:
    name = KernelName(str(entry["file"]), str(entry["name"]))
    hazards = Counter[tuple[str, bool]]()
    for hazard in entry["hazards"]:
        fingerprint, certain = hazard["fingerprint"], hazard["certain"]
        if not isinstance(fingerprint, str) or not isinstance(certain, bool):
            raise TypeError
        hazards[fingerprint, certain] += 1
    unknown = frozenset(without_lines(str(one)) for one in entry["unknown"])
    return KnownKernel(name, hazards, unknown)


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


def compared_with(
    before: Sequence[BaselineEntry] | None, found: list[Record], given: Sequence[str]
) -> tuple[list[Record], tuple[BaselineEntry, ...]]:
    """The results, each with what changed since the baseline if there is one, and the kernels of
    the baseline that should be in the files and folders that were `given`, and are not."""
    if before is None:
        return found, ()
    held = changes([one.baseline_entry for one in found], before, _below(given))
    rows = zip(found, held.rows, strict=True)
    return [replace(one, change=change) for one, change in rows], held.missing


def _below(given: Sequence[str]) -> Callable[[str], bool]:
    """Whether a file of a baseline should have been found: in a folder that was given, or in one
    of another machine, say, if it is not there at all."""
    folders = [Path(one).absolute() for one in given if Path(one).is_dir()]

    def asked(file: str) -> bool:
        path = Path(file).absolute()
        inside = any(path.is_relative_to(folder) for folder in folders)
        return inside or (bool(folders) and not path.exists())

    return asked


def _compared(entry: Mapping[str, Any]) -> BaselineEntry:
    applied = entry["policies"][APPLIED]
    faults = [DOES_NOT_FIT] if applied["fits"] is False else []
    symbolic = str(applied.get("arena", ""))
    return replace(_entry(entry, applied, faults), symbolic=symbolic)


def _checked(entry: Mapping[str, Any]) -> BaselineEntry:
    faults = [violated(each["rule"], each["buffers"]) for each in entry["violations"]]
    planned = entry["plan"] != PlanSource.NOTHING_MERGED.value
    return replace(_entry(entry, entry, faults), planned=planned)


def _entry(entry: Mapping[str, Any], plan: Mapping[str, Any], faults: list[str]) -> BaselineEntry:
    file, kernel, scope = (str(entry[key]) for key in ("file", "name", "scope"))
    verdict = VerdictKind(plan["verdict"])
    return BaselineEntry(file, kernel, scope, int(plan["arena_bytes"]), verdict, frozenset(faults))
