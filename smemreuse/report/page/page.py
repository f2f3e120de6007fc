"""Puts data, maps and the page's own script into one file."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from smemreuse._version import __version__
from smemreuse.report.page.listing import listing_of
from smemreuse.report.page.maps import (
    Entry,
    buffer_numbers,
    buffer_tint,
    map_legend,
    map_style,
    memory_map,
)
from smemreuse.report.page.rows import overview_row
from smemreuse.report.titles import titles

_SCRIPTS = ("common", "state", "source", "map", "sharing", "kernel", "overview", "diff", "main")


def report_page(entries: Sequence[Entry], title: str = "Shared memory, kernel by kernel") -> str:
    """The page for kernels as `overview_entry` describes them; it loads nothing from anywhere."""
    named = titles([(entry["file"], entry["name"], entry["scope"]) for entry in entries])
    rows = [overview_row(*both) for both in zip(entries, named, strict=True)]
    kernels = [kernel_data(*both) for both in zip(entries, named, strict=True)]
    return page_of(title, {"kind": "report", "rows": rows}, kernels)


def suite_page(
    rows: Sequence[Mapping[str, object]],
    entries: Mapping[str, Entry],
    title: str,
    notes: Sequence[str] = (),
) -> str:
    """The page of many kernels, of which only some have memory maps.

    `rows` has an overview row for each kernel; `entries` are the data of those with maps, by the
    `title` of their row. `notes` are shown above the overview.
    """
    places = {name: place for place, name in enumerate(entries)}
    shown = [{**row, "map": places.get(str(row["title"]))} for row in rows]
    kernels = [kernel_data(entry, name) for name, entry in entries.items()]
    return page_of(title, {"kind": "report", "rows": shown, "notes": [*notes]}, kernels)


def kernel_data(entry: Entry, title: str, top: int | None = None) -> dict[str, Any]:
    """The data of a kernel that the page's script reads; `top` as in `memory_map`."""
    return {
        **{name: value for name, value in entry.items() if name != "source"},
        "title": title,
        "listing": _listing(entry),
        "tints": {name: buffer_tint(number) for name, number in buffer_numbers(entry).items()},
        "maps": {
            policy: [map_legend(entry, policy, top), memory_map(entry, policy, top)]
            for policy in entry["policies"]
        },
    }


def _listing(entry: Entry) -> dict[str, Any]:
    found = asdict(listing_of(entry))
    return {**found, "at": list(found["at"])}


def page_of(title: str, data: Mapping[str, Any], kernels: Sequence[Mapping[str, Any]]) -> str:
    """A page of `kernel_data`; `data` has its `kind` and `rows`, which the script knows.

    Kernels are packed one by one, and unpacked by the browser when they are looked at.
    """
    here = files("smemreuse.report.page")

    def text(name: str) -> str:
        return (here / name).read_text(encoding="utf-8")

    return Template(text("page.html")).substitute(
        title=escape(title),
        style=text("page.css") + text("kernel.css") + map_style(),
        data=_json({"version": __version__, "title": title, **data}),
        kernels="\n".join(map(_packed, kernels)),
        script="\n".join(text(f"script/{name}.js") for name in _SCRIPTS),
    )


def _packed(kernel: Mapping[str, Any]) -> str:
    """gzip's bytes as Base64: without the time, so that a page is the same each time."""
    packed = gzip.compress(json.dumps(kernel).encode(), mtime=0)
    return f'<script type="text/plain" class="kernel">{b64encode(packed).decode()}</script>'


def _json(data: Any) -> str:
    """JSON that may stand inside a `script` element, whatever names a dump has."""
    return json.dumps(data).replace("<", "\\u003c")
