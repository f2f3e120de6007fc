"""Puts the data, the figures, Plotly and the page's own script into one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from plotly.offline import get_plotlyjs

from smemreuse import __version__
from smemreuse.report.page.figures import Entry, memory_map
from smemreuse.report.titles import titles


def report_page(entries: Sequence[Entry], title: str = "Shared memory, kernel by kernel") -> str:
    """The page for kernels as `overview_entry` describes them; it loads nothing from anywhere."""
    named = titles([(entry["file"], entry["name"], entry["scope"]) for entry in entries])
    kernels = [
        {
            **entry,
            "title": name,
            "figures": {policy: memory_map(entry, policy) for policy in entry["policies"]},
        }
        for entry, name in zip(entries, named, strict=True)
    ]
    data = {"version": __version__, "kernels": kernels}
    here = files(__package__ or "smemreuse.report.page")
    template = Template((here / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(title),
        style=(here / "page.css").read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
        data=_json(data),
        script=(here / "page.js").read_text(encoding="utf-8"),
    )


def _json(data: Any) -> str:
    """JSON that may stand inside a `script` element, whatever names a dump has."""
    return json.dumps(data).replace("<", "\\u003c")
