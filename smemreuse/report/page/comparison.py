"""The page of `diff`: two memory maps side by side, and between them what changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smemreuse.report.difference import ORDER, heading
from smemreuse.report.page.maps import Entry, map_top
from smemreuse.report.page.page import kernel_data, page_of
from smemreuse.report.titles import titles
from smemreuse.results.difference import CauseKind, Difference, DifferenceCause

OLD, NEW = 0, 1
_BETWEEN = ", and now "
"""Stands between what a cause tells of the old kernel and what of the new one."""


@dataclass(frozen=True)
class ComparedMaps:
    """A difference, and both kernels as `overview_entry` describes them, with one plan each."""

    difference: Difference
    old: Entry
    new: Entry


def comparison_page(compared: Iterable[ComparedMaps]) -> str:
    """The page for pairs of kernels, both maps of a pair at one scale; it loads nothing."""
    pairs = [*compared]
    news = [one.difference.new for one in pairs]
    named = titles([(new.file, new.kernel, new.scope) for new in news])
    rows = [_row(one.difference, name) for one, name in zip(pairs, named, strict=True)]
    kernels = []
    for one, name in zip(pairs, named, strict=True):
        top = max(map_top(one.old), map_top(one.new))
        kernels += [kernel_data(each, name, top) for each in _alike(one)]
    return page_of("What changed", {"kind": "diff", "rows": rows, "order": ORDER}, kernels)


def _alike(one: ComparedMaps) -> tuple[Entry, Entry]:
    """Both kernels with equal numbers, and so equal colours, for buffers that both have."""
    now = dict(one.difference.renamed)
    old = {buffer["name"]: number for number, buffer in enumerate(one.old["buffers"])}
    kept = {now.get(name, name): number for name, number in old.items()}
    names = [buffer["name"] for buffer in one.new["buffers"]]
    added = (name for name in names if name not in kept)
    kept.update({name: len(old) + number for number, name in enumerate(added)})
    return {**one.old, "numbers": old}, {**one.new, "numbers": {name: kept[name] for name in names}}


def _row(found: Difference, title: str) -> dict[str, Any]:
    """What the overview and the heading of a pair show; the causes come the largest first."""
    old, new = found.old, found.new
    causes = sorted(found.causes, key=lambda one: -abs(one.bytes))
    alike = [one.kind.value for one in causes if one.bytes * found.bytes > 0]
    residents = new.residents
    return {
        "title": title,
        "file": f"{Path(old.file).name} → {Path(new.file).name}",
        "kernel": new.kernel,
        "scope": new.scope,
        "heading": heading(found),
        "names": [*new.sizes],
        "before": old.arena,
        "after": new.arena,
        "change": found.bytes,
        "blocks": list(found.blocks or (None, None)),
        "arch": residents.arch if residents else "",
        "arch_assumed": False,
        "mainly": alike[0] if alike else "",
        "causes": [
            {
                "kind": one.kind.value,
                "bytes": one.bytes,
                "buffers": list(one.buffers),
                "parts": _parts(one),
            }
            for one in causes
        ],
        "renamed": [list(both) for both in found.renamed],
    }


def _parts(cause: DifferenceCause) -> list[tuple[int, str]]:
    """The text of a cause, and of which of the two kernels its lines are."""
    if cause.kind is CauseKind.VANISHED:
        return [(OLD, cause.text)]
    before, between, now = cause.text.partition(_BETWEEN)
    return [(OLD, before), (NEW, between + now)] if between else [(NEW, cause.text)]
