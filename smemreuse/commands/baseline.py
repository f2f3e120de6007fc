"""Baselines: results that `--format json` wrote before, which are not reported again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from smemreuse.commands.asked import Asked
from smemreuse.commands.batches import Batch
from smemreuse.commands.resultfile import read_kernels
from smemreuse.errors import InputError
from smemreuse.results.audit import Checked, PlanSource, assumed, violated
from smemreuse.results.comparison import APPLIED, Comparison
from smemreuse.results.hazards import HazardOrigin
from smemreuse.results.known_hazards import KnownKernel, Severity
from smemreuse.results.matching import KernelName
from smemreuse.results.regressions import DOES_NOT_FIT, BaselineEntry, SinceBaseline, changes
from smemreuse.results.verdict import VerdictKind
from smemreuse.results.words import without_lines

Options = Mapping[str, str | None]
"""What a verb was run with and its results depend on, by the names of options."""
Record = TypeVar("Record", Comparison, Checked)

baseline_option = click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="What `--format json` wrote before: only what is worse now is a finding.",
)


def _mend(verb: str) -> str:
    return f"give what `{verb} --format json` wrote"


# Hazards ----------------------------------------------------------------------------------------


def read_known(path: str | None, options: Options, *, whole: bool) -> list[KnownKernel]:
    """The kernels in what `lint --format json` wrote; none without a file.

    Raises `InputError`, also where it was written with other `options` or against a baseline, and
    where it has not all kernels and is to be `whole`.
    """
    if path is None:
        return []
    mend = _mend("lint")
    entries = read_kernels(path, ["smemreuse.lint/1"], mend, whole=whole, options=options)
    if any(entry.get("silenced") for entry in entries):
        why = "hazards that another baseline knew are left out of it"
        raise InputError(f"{why}; {mend} without --baseline", file=path)
    try:
        return [_known(entry) for entry in entries]
    except (AttributeError, KeyError, TypeError):
        why = "no list of kernels with hazards that have fingerprints"
        raise InputError(f"{why}; {mend}", file=path) from None


def _known(entry: Mapping[str, Any]) -> KnownKernel:
    name = KernelName(str(entry["file"]), str(entry["name"]))
    hazards = Counter[tuple[str, Severity]]()
    for hazard in entry["hazards"]:
        fingerprint, certain = hazard["fingerprint"], hazard["certain"]
        if not isinstance(fingerprint, str) or not isinstance(certain, bool):
            raise TypeError
        by_compiler = hazard.get("origin") == HazardOrigin.COMPILER.value
        hazards[fingerprint, Severity(certain, not by_compiler)] += 1
    unknown = frozenset(without_lines(str(one)) for one in entry["unknown"])
    return KnownKernel(name, hazards, unknown)


# Plans ------------------------------------------------------------------------------------------


def read_baseline_entries(
    path: str | None, verb: str, options: Options
) -> list[BaselineEntry] | None:
    """The kernels in what `compare` or `check` wrote; None without a file.

    Raises `InputError`, also where it was written with other `options`, or has no kernel, against
    which nothing would ever be worse.
    """
    if path is None:
        return None
    mend = _mend(verb)
    read = {"compare": _compared, "check": _checked}[verb]
    entries = read_kernels(path, [f"smemreuse.{verb}/1"], mend, whole=True, options=options)
    if not entries:
        raise InputError(f"there is no kernel in it; {mend}", file=path)
    try:
        return [read(entry) for entry in entries]
    except (KeyError, TypeError, ValueError, OverflowError):  # int() of an infinity
        why = "a kernel lacks its bytes or its verdict"
        raise InputError(f"{why}; {mend}", file=path) from None


def compared_with(
    before: Sequence[BaselineEntry] | None, found: list[Record], batch: Batch
) -> tuple[list[Record], tuple[BaselineEntry, ...]]:
    """The results, each with what changed since the baseline if there is one, and the kernels of
    the baseline that should be in what was given, and are not.

    Raises `InputError` where it is not told which kernel of the baseline one is.
    """
    if before is None:
        return found, ()
    asked = Asked.of(batch, (one.file for one in found), (one.file for one in before))
    held = changes(
        [one.baseline_entry for one in found], before, asked if batch.whole else lambda file: False
    )
    _require_told_apart(held, before)
    rows = zip(found, held.rows, strict=True)
    return [replace(one, change=change) for one, change in rows], held.missing


def _require_told_apart(held: SinceBaseline, before: Sequence[BaselineEntry]) -> None:
    """Raises `InputError` for a new kernel of which files of its name have several in the baseline:
    it may be any of these, and have grown."""
    taken = {id(row.before) for row in held.rows}
    left = [one for one in before if id(one) not in taken]
    for row in held.rows:
        name = _in_its_file(row.now)
        files = sorted({one.file for one in left if _in_its_file(one) == name})
        if row.before is None and len(files) > 1:
            which = f"the baseline has kernel {row.now.kernel} of {' and of '.join(files)}"
            raise InputError(f"{which}; give it by its path there", file=row.now.file)


def _in_its_file(one: BaselineEntry) -> tuple[str, str, str]:
    return Path(one.file).name, one.kernel, one.scope


def _compared(entry: Mapping[str, Any]) -> BaselineEntry:
    applied = entry["policies"][APPLIED]
    faults = [DOES_NOT_FIT] if applied["fits"] is False else []
    blocks = applied.get("blocks_per_sm")
    return replace(
        _entry(entry, applied, faults),
        symbolic=str(applied.get("arena", "")),
        blocks=None if blocks is None else int(blocks),
        arch=str(entry.get("arch", "")),
    )


def _checked(entry: Mapping[str, Any]) -> BaselineEntry:
    faults = [violated(each["rule"], each["buffers"]) for each in entry["violations"]]
    planned = PlanSource(entry["plan"]).is_plan
    return replace(_entry(entry, entry, faults), planned=planned, assumed=_rests_on(entry))


def _rests_on(entry: Mapping[str, Any]) -> frozenset[str] | None:
    """What a sound plan assumed of the kernel itself; None where nothing is said of it."""
    grounds = entry.get("rests_on")
    if grounds is None:
        return None
    opened = [(str(one["assumption"]), bool(one["refuted"])) for one in grounds["open"]]
    return assumed(opened, map(str, grounds["assumptions"]))


def _entry(entry: Mapping[str, Any], plan: Mapping[str, Any], faults: list[str]) -> BaselineEntry:
    file, kernel, scope = (str(entry[key]) for key in ("file", "name", "scope"))
    verdict = VerdictKind(plan["verdict"])
    return BaselineEntry(file, kernel, scope, int(plan["arena_bytes"]), verdict, frozenset(faults))
