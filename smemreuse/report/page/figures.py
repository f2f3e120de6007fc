"""Memory maps as Plotly figures: program order across, bytes upwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import shorten
from typing import Any

from plotly.subplots import make_subplots

from smemreuse.ir.labels import shortened
from smemreuse.report.palette import tint

Entry = Mapping[str, Any]

_PATTERNS = ("", "/", "\\", "x", "-", "|", "+", ".")
"""A second cue beside the colour."""

_INK = "#111111"
_LINE = "#888888"
_BANDS = {"loop": tint(4), "branch": tint(1)}
_HEIGHT, _BAND_HEIGHT = 380, 22  # pixels
_WIDTH, _CHARACTER, _LEGIBLE = 1000, 6.5, 8
"""Pixels of the map and of a character in it, about; fewer characters than that say nothing."""


def memory_map(kernel: Entry, policy: str) -> Any:
    """The figure of one policy as JSON-ready data with `data` and `layout`.

    One bar for each buffer, its name in `customdata`. Arena and lower bound are lines across,
    barriers and waits lines upwards, and below lie the loops and branches as nested bands. The
    vertical axis is the same for every policy of a kernel.
    """
    plan = kernel["policies"][policy]
    depth = 1 + max((band["depth"] for band in kernel["bands"]), default=-1)
    height = _HEIGHT + depth * _BAND_HEIGHT
    figure = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.02,
        row_heights=[_HEIGHT, max(1, depth * _BAND_HEIGHT)],
    )
    _buffers(figure, kernel, plan)
    _bands(figure, kernel)
    top = max(kernel["side_by_side"]["bytes"], plan["arena_bytes"], 1)
    _levels(figure, kernel, plan, top)
    _peak(figure, plan)
    figure.update_layout(
        shapes=[*figure.layout.shapes, *map(_mark, kernel["marks"])],  # Plotly adds one by one
        barmode="overlay",
        bargap=0,
        showlegend=False,
        height=height,
        margin={"l": 80, "r": 20, "t": 20, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        dragmode="pan",
    )
    ticks = {"tickformat": ",d", "dtick": _tick(top)}
    figure.update_yaxes(range=[0, 1.12 * top], title="bytes", row=1, col=1, **ticks)
    figure.update_yaxes(visible=False, range=[-max(depth, 1), 0], fixedrange=True, row=2, col=1)
    figure.update_xaxes(range=[0, max(1, len(kernel["steps"]))], zeroline=False)
    figure.update_xaxes(title="position in program order", row=2, col=1)
    return figure.to_plotly_json()


def _mark(mark: Entry) -> dict[str, object]:
    """A barrier's or a wait's line, as `add_vline` makes it in the map."""
    dash = "solid" if mark["kind"] == "barrier" else "dot"
    return {
        "type": "line",
        **{"x0": mark["position"], "x1": mark["position"], "xref": "x"},
        **{"y0": 0, "y1": 1, "yref": "y domain"},
        "line": {"color": _LINE, "width": 1.5, "dash": dash},
    }


def _buffers(figure: Any, kernel: Entry, plan: Entry) -> None:
    number = {buffer["name"]: index for index, buffer in enumerate(kernel["buffers"])}
    for one in plan["rectangles"]:
        index = number[one["name"]]
        pattern = {
            "shape": _PATTERNS[index % len(_PATTERNS)],
            "fgcolor": _INK,
            "fgopacity": 0.25,
            "size": 9,
        }
        figure.add_bar(
            x=[(one["begin"] + one["end"]) / 2],
            width=[one["end"] - one["begin"]],
            y=[one["bytes"]],
            base=[one["offset"]],
            name=escape(one["name"]),
            customdata=[one["name"]],
            text=[escape(one["name"])],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": _INK, "size": 13},
            marker={
                "color": tint(index, 0.6),
                "line": {"color": _INK, "width": 1},
                "pattern": pattern,
            },
            hovertemplate=_template(_hover(kernel, one)),
            row=1,
            col=1,
        )


def _hover(kernel: Entry, one: Entry) -> str:
    """What the pointer shows on a buffer."""
    begin, end = one["begin"], one["end"]
    lines = (
        f"<b>{escape(one['name'])}</b>: {one['bytes']:,} bytes",
        f"offset {one['offset']:,} to {one['offset'] + one['bytes']:,}",
        f"live at positions {begin} to {end - 1}",
        f"gen: {_statement(kernel['steps'], begin)}",
        f"kill: {_statement(kernel['steps'], end - 1)}",
    )
    return "<br>".join(lines)


def _statement(steps: Sequence[Entry], position: int) -> str:
    step = steps[position]
    line = f" (line {step['line']})" if step["line"] else ""
    return escape(shortened(step["text"], 60, step["touches"])) + line


def _levels(figure: Any, kernel: Entry, plan: Entry, top: int) -> None:
    """The arena, the lower bound where it is less, and the limit of a block where it is near."""
    arena, bound = plan["arena_bytes"], plan["lower_bound_bytes"]
    limit = kernel["arch"]["per_block"]
    levels = [(arena, "solid", f"arena {arena:,}")]
    if bound < arena:
        levels.append((bound, "dash", f"lower bound {bound:,}"))
    if limit <= 1.1 * top:
        levels.append(
            (limit, "longdashdot", f"limit of a block on {kernel['arch']['name']} {limit:,}")
        )
    for value, dash, text in levels:
        figure.add_hline(
            value,
            row=1,
            col=1,
            line={"color": _LINE, "width": 2, "dash": dash},
            annotation={"text": text, "xanchor": "right", "yanchor": "bottom"},
            annotation_position="top right",
        )


def _peak(figure: Any, plan: Entry) -> None:
    """An arrow at the first position where the most bytes are live."""
    peak = plan["peak"]
    live = [one for one in plan["rectangles"] if one["name"] in peak["buffers"]]
    figure.add_annotation(
        x=peak["position"] + 0.5,
        y=max((one["offset"] + one["bytes"] for one in live), default=0),
        text=f"peak live {peak['bytes']:,}",
        ax=40,
        ay=-32,
        arrowcolor=_LINE,
        row=1,
        col=1,
    )


def _tick(top: int) -> int:
    """A power of two of bytes, so that there are four to eight ticks."""
    return 1 << max(0, top.bit_length() - 3)


def _bands(figure: Any, kernel: Entry) -> None:
    for band in kernel["bands"]:
        line = f" (line {band['line']})" if band["line"] else ""
        text = shorten(band["text"], 60, placeholder=" ...") + line
        width = band["end"] - band["begin"]
        room = _WIDTH * width / max(1, len(kernel["steps"])) / _CHARACTER
        shown = text if len(text) <= room else ""
        if not shown and room >= _LEGIBLE:
            shown = shorten(text, int(room), placeholder="...")
        figure.add_bar(
            x=[(band["begin"] + band["end"]) / 2],
            width=[width],
            y=[-0.9],
            base=[-band["depth"]],
            text=[escape(shown)],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": _INK, "size": 11},
            marker={"color": _BANDS[band["kind"]], "line": {"color": _LINE, "width": 0.5}},
            hovertemplate=_template(f"{band['kind']}: {escape(text)}"),
            row=2,
            col=1,
        )


def _template(text: str) -> str:
    """A hover text as it stands: Plotly would read braces behind a percent sign."""
    return text.replace("%{", "% {") + "<extra></extra>"
