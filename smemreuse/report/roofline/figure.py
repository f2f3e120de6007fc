"""The roofline of a card as a Plotly figure, with the configurations as points on each level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from plotly.graph_objects import Figure, Scatter

from smemreuse.report.advice import configuration, flops_per_byte, rate_text, seconds_text
from smemreuse.report.palette import colour
from smemreuse.results.advice import Advice, Estimate, MemoryLevel

_SYMBOLS = ("circle", "diamond", "square")
_DASHES = ("solid", "dash", "dot")
"""A second cue beside the colour."""

_COLOURS = (0, 5, 2)
"""Of the palette those that stand out on white and on black."""


def roofline(advice: Advice, shown: Sequence[Estimate]) -> Any:
    """The figure as JSON-ready data with `data` and `layout`; both axes are logarithmic.

    A level's roof is `min(peak, bandwidth I)` flops/s; a configuration stands at its flops for each
    byte of that level and the flops/s of its estimate, so once for each level. The first is drawn
    larger.
    """
    figure = Figure()
    low, high = _span(advice, shown)
    for number, level in enumerate(advice.levels):
        figure.add_trace(_roof(advice, level, number, low, high))
    for number, level in enumerate(advice.levels):
        points = [one for one in shown if _stands(one, level)]
        if points:
            figure.add_trace(_points(points, level, number, shown[0]))
    figure.update_xaxes(
        type="log",
        title="useful flops for each byte",
        range=[math.log10(low), math.log10(high)],
        dtick=1,
    )
    figure.update_yaxes(type="log", title="flops a second", exponentformat="SI", dtick=1)
    figure.update_layout(
        height=520,
        margin={"l": 80, "r": 20, "t": 20, "b": 60},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        dragmode="pan",
        legend={"orientation": "h", "y": -0.18},
    )
    return figure.to_plotly_json()


def _stands(one: Estimate, level: MemoryLevel) -> bool:
    return 0 < one.intensity[level.name] < math.inf


def _span(advice: Advice, shown: Sequence[Estimate]) -> tuple[float, float]:
    """Intensities from the least point or ridge to the greatest, and some room."""
    points = [one.intensity[level.name] for one in shown for level in advice.levels]
    ridges = [level.ridge for level in advice.levels]
    found = [value for value in (*points, *ridges) if 0 < value < math.inf]
    return min(found) / 3, max(found) * 3


def _roof(advice: Advice, level: MemoryLevel, number: int, low: float, high: float) -> Scatter:
    ridge = min(max(level.ridge, low), high)
    x = sorted({low, ridge, high})
    return Scatter(
        x=x,
        y=[min(advice.peak, level.bandwidth * one) for one in x],
        mode="lines",
        name=f"{level.name}, {level.bandwidth / 1e12:.3g} TB/s",
        line={"color": colour(_COLOURS[number]), "dash": _DASHES[number], "width": 2},
        hovertemplate=_template(
            f"{escape(level.name)}: {level.bandwidth / 1e12:.3g} TB/s<br>"
            f"ridge at {flops_per_byte(level.ridge)} flops/byte"
        ),
    )


def _points(points: Sequence[Estimate], level: MemoryLevel, number: int, best: Estimate) -> Scatter:
    return Scatter(
        x=[one.intensity[level.name] for one in points],
        y=[one.rate for one in points],
        mode="markers",
        name=f"by {level.name}",
        text=list(map(_hover, points)),
        hovertemplate=_template("%{text}"),
        marker={
            "color": colour(_COLOURS[number]),
            "symbol": [_SYMBOLS[number] + ("" if one is best else "-open") for one in points],
            "size": [14 if one is best else 9 for one in points],
            "line": {"width": 1.5},
        },
    )


def _hover(one: Estimate) -> str:
    return "<br>".join(_lines(one))


def _lines(one: Estimate) -> Iterator[str]:
    yield f"<b>{escape(configuration(one))}</b>"
    yield f"at least {seconds_text(one.seconds)}, {rate_text(one.rate)}, bound by {one.limit}"
    yield (
        f"{one.shared_bytes:,} bytes, {one.registers} registers, "
        f"{one.blocks} per SM ({one.occupancy_limit})"
    )
    by_level = (f"{name} {flops_per_byte(value)}" for name, value in one.intensity.items())
    yield f"flops/byte: {', '.join(by_level)}"


def _template(text: str) -> str:
    return text + "<extra></extra>"
