"""Puts the roofline, the worksheet's table, Plotly and a script into one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from plotly.offline import get_plotlyjs

from smemreuse._version import __version__
from smemreuse.report.advice import (
    advice_columns,
    card_line,
    fitting,
    label,
    refusals,
    seconds_text,
    verdict,
)
from smemreuse.report.columns import number
from smemreuse.report.roofline.figure import roofline
from smemreuse.results.advice import Advice, Estimate

_HEADS = {"flops/byte": "flops/byte: DRAM / L2 / shared", "DRAM": "DRAM busy"}
"""Headings that are longer than in a terminal."""

_WORDS = ("configuration", "blocks per SM", "bound by")


def roofline_page(advice: Advice, top: int) -> str:
    """The page of one problem on one card; it loads nothing from anywhere."""
    shown = fitting(advice, top)
    here = files("smemreuse.report.roofline")
    style = files("smemreuse.report.page") / "page.css"
    return Template((here / "roofline.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"{advice.problem}, {advice.dtype}"),
        card=escape(card_line(advice)),
        verdict=escape(verdict(advice)),
        remarks=_items([refusals(advice), *advice.notes, label(advice)]),
        table=_table(advice, shown),
        source=escape(advice.source),
        version=escape(__version__),
        style=style.read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
        data=json.dumps(roofline(advice, shown) if shown else None).replace("<", "\\u003c"),
        script=(here / "roofline.js").read_text(encoding="utf-8"),
    )


def _items(lines: Iterable[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def _table(advice: Advice, shown: Sequence[Estimate]) -> str:
    terms = list(shown[0].terms) if shown else []
    columns = advice_columns(advice)
    heads = [*(_HEADS.get(one.heading, one.heading) for one in columns), "threads", "L1 left"]
    heads += terms
    rows = (
        (
            *(str(column.cell(one)) for column in columns),
            number(one.threads),
            number(one.l1_left),
            *map(seconds_text, one.terms.values()),
        )
        for one in shown
    )
    body = "".join(f"<tr>{_cells(heads, row)}</tr>" for row in rows)
    return f"<thead><tr>{_cells(heads, heads, 'th')}</tr></thead><tbody>{body}</tbody>"


def _cells(heads: Sequence[str], row: Sequence[str], tag: str = "td") -> str:
    return "".join(
        f"<{tag}>{escape(cell)}</{tag}>"
        if head in _WORDS
        else f'<{tag} class="number">{escape(cell)}</{tag}>'
        for head, cell in zip(heads, row, strict=True)
    )
