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
from smemreuse.report.page.figures import View, memory_map
from smemreuse.report.titles import titles


def report_page(views: Sequence[View], title: str = "Shared memory, kernel by kernel") -> str:
    """The page for kernels as `kernel_view` describes them; it loads nothing from anywhere."""
    named = titles([(view["file"], view["name"], view["scope"]) for view in views])
    kernels = [
        {
            **view,
            "title": name,
            "figures": {policy: memory_map(view, policy) for policy in view["policies"]},
        }
        for view, name in zip(views, named, strict=True)
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
