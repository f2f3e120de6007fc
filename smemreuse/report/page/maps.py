"""Memory maps as HTML that needs no script: program order across, bytes upwards.

A map is as wide as there is room: all widths are percentages, and names that find no room are cut
off by the browser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from smemreuse.ir.labels import shortened
from smemreuse.report.palette import tint

Entry = Mapping[str, Any]

_HEIGHT = 320  # pixels from no bytes to the top
_NAMED = 14  # pixels that a name needs, upwards
_LANE = 20  # pixels of a loop or branch
_HEADROOM = 1.06
_STRENGTH = 0.6
_PATTERNS = 8
_BANDS = {"loop": tint(4), "branch": tint(1)}


def map_fragment(kernel: Entry, policy: str) -> str:
    """A plan's map with its legend and style: HTML for a notebook, with neither script nor link.

    `kernel` is what `overview_entry` makes, for which an overview without pairs will do. Ink is the
    surrounding text's, so that it suits dark pages and light ones.
    """
    body = f"{map_legend(kernel, policy)}{memory_map(kernel, policy)}"
    return f'<div class="smem"><style>{map_style()}</style>{body}</div>'


@cache
def map_style() -> str:
    """The style sheet of maps and legends; every class in it begins with `smem`."""
    return (files("smemreuse.report.page") / "maps.css").read_text(encoding="utf-8")


def map_top(kernel: Entry) -> int:
    """The most bytes that any plan of a kernel takes: maps that agree in it have one scale."""
    arenas: list[int] = [plan["arena_bytes"] for plan in kernel["policies"].values()]
    unshared: int = kernel["side_by_side"]["bytes"]
    return max(unshared, *arenas, 1)


def memory_map(kernel: Entry, policy: str, top: int | None = None) -> str:
    """The memory map of one plan, as HTML: a rectangle for each buffer, named in `data-buffer`.

    Positions go across and bytes upwards. In the background barriers and waits are vertical lines,
    and the arena and the lower bound horizontal ones; loops and branches are drawn below. `top` is
    the largest number of bytes that the scale must show, by default `map_top`.
    """
    plan, length = kernel["policies"][policy], max(1, len(kernel["steps"]))
    top = max(top or map_top(kernel), plan["arena_bytes"])
    scale = top * _HEADROOM
    ticks = range(0, top + 1, _tick(top))
    parts = (
        *(f'<i class="smem-grid"{_style(bottom=at / scale)}></i>' for at in ticks),
        *_marks(kernel["marks"], length),
        *_buffers(kernel, plan, length, scale),
        *_levels(kernel, plan, scale),
        f'<i class="smem-peak"{_style(left=(plan["peak"]["position"] + 0.5) / length)}></i>',
    )
    gutter = len(f"{ticks[-1]:,}")
    numbers = "".join(f"<span{_style(bottom=at / scale)}>{at:,}</span>" for at in ticks)
    return (
        f'<div class="smem-map" style="--gutter:{gutter}ch">'
        f'<div class="smem-bytes" aria-hidden="true">{numbers}</div>'
        f'<div class="smem-plot" style="height:{_HEIGHT}px">{"".join(parts)}</div>'
        f"{_lanes(kernel, length)}{_positions(length)}</div>"
    )


def _style(**given: float) -> str:
    """A style attribute with positions and sizes as percentages of the parent element."""
    return ' style="' + ";".join(f"{name}:{_percent(value)}" for name, value in given.items()) + '"'


def _percent(value: float) -> str:
    return f"{100 * value:.3f}".rstrip("0").rstrip(".") + "%"


def _tick(top: int) -> int:
    """A power of two of bytes, so that there are four to eight ticks."""
    return 1 << max(0, top.bit_length() - 3)


def _marks(marks: Sequence[Entry], length: int) -> Iterator[str]:
    for mark in marks:
        yield f'<i class="smem-{mark["kind"]}"{_style(left=mark["position"] / length)}></i>'


def _buffers(kernel: Entry, plan: Entry, length: int, scale: float) -> Iterator[str]:
    numbers = buffer_numbers(kernel)
    for one in plan["rectangles"]:
        place = (
            f"left:{_percent(one['begin'] / length)}",
            f"width:{_percent((one['end'] - one['begin']) / length)}",
            f"bottom:{_percent(one['offset'] / scale)}",
            f"height:{_percent(one['bytes'] / scale)}",
            f"--tint:{buffer_tint(numbers[one['name']])}",
        )
        name = escape(one["name"])
        has_room = one["bytes"] / scale * _HEIGHT >= _NAMED
        shown = f'<span class="smem-label"><b>{name}</b></span>' if has_room else ""
        yield (
            f'<div class="smem-buffer smem-pattern-{numbers[one["name"]] % _PATTERNS}"'
            f' data-buffer="{name}" title="{escape(buffer_about(kernel, one))}"'
            f' style="{";".join(place)}">{shown}</div>'
        )


def buffer_numbers(kernel: Entry) -> dict[str, int]:
    """The number of each buffer, which its colour and pattern follow from.

    `numbers` has them where they are to be those of another kernel's buffers.
    """
    given: dict[str, int] | None = kernel.get("numbers")
    return given or {buffer["name"]: index for index, buffer in enumerate(kernel["buffers"])}


def buffer_tint(number: int) -> str:
    """The colour of the `number`th buffer, on which black text reads well."""
    return tint(number, _STRENGTH)


def buffer_about(kernel: Entry, one: Entry) -> str:
    """The description of a rectangle: the size, offset and live range of its buffer."""
    begin, end = one["begin"], one["end"]
    lines = (
        f"{one['name']}: {one['bytes']:,} bytes",
        f"offset {one['offset']:,} to {one['offset'] + one['bytes']:,}",
        f"live at positions {begin} to {end - 1}",
        f"gen: {_statement(kernel['steps'], begin)}",
        f"kill: {_statement(kernel['steps'], end - 1)}",
    )
    return "\n".join(lines)


def _statement(steps: Sequence[Entry], position: int) -> str:
    step = steps[position]
    return f"{shortened(step['text'], 60, step['touches'])}{step['place']}"


def _levels(kernel: Entry, plan: Entry, scale: float) -> Iterator[str]:
    for kind, value, _ in _drawn_levels(kernel, plan):
        if value <= scale:
            yield f'<i class="smem-{kind}"{_style(bottom=value / scale)}></i>'


def _drawn_levels(kernel: Entry, plan: Entry) -> Iterator[tuple[str, int, str]]:
    """The arena, the lower bound where it is less, and the limit of a block, with their words."""
    arena, bound, arch = plan["arena_bytes"], plan["lower_bound_bytes"], kernel["arch"]
    yield "arena", arena, f"arena {plan.get('arena', f'{arena:,}')}"
    if bound < arena:
        yield "bound", bound, f"lower bound {bound:,}"
    yield "limit", arch["per_block"], f"limit of a block on {arch['name']} {arch['per_block']:,}"


def _lanes(kernel: Entry, length: int) -> str:
    """Loops and branches by their depth, below the map."""
    bands = kernel["bands"]
    depth = 1 + max((band["depth"] for band in bands), default=-1)
    parts = []
    for band in bands:
        text = f"{band['text']}{band['place']}"
        about = escape(f"{band['kind']}: {text}")
        place = (
            f"left:{_percent(band['begin'] / length)}",
            f"width:{_percent((band['end'] - band['begin']) / length)}",
            f"top:{band['depth'] * _LANE}px",
            f"--tint:{_BANDS[band['kind']]}",
        )
        where = f' data-line="{band["line"]}"' if band["line"] else ""
        parts.append(
            f'<div class="smem-band"{where} title="{about}"'
            f' style="{";".join(place)}"><b>{escape(text)}</b></div>'
        )
    return f'<div class="smem-lanes" style="height:{depth * _LANE}px">{"".join(parts)}</div>'


def _positions(length: int) -> str:
    """Numbers of positions below, at most six of up to five digits."""
    step = next(
        one * 10**power for power in range(12) for one in (1, 2, 5) if 5 * one * 10**power >= length
    )
    numbers = (f"<span{_style(left=at / length)}>{at}</span>" for at in range(0, length + 1, step))
    return f'<div class="smem-positions" aria-hidden="true">{"".join(numbers)}</div>'


def map_legend(kernel: Entry, policy: str, top: int | None = None) -> str:
    """What the lines and lanes of a map mean, with their numbers; `top` as in `memory_map`."""
    plan = kernel["policies"][policy]
    scale = max(top or map_top(kernel), plan["arena_bytes"]) * _HEADROOM
    items = [
        (kind, words)
        for kind, value, words in _drawn_levels(kernel, plan)
        if kind != "limit" or value <= scale
    ]
    items.append(("peak", f"peak live {plan['peak']['bytes']:,}"))
    kinds = {one["kind"] for one in (*kernel["marks"], *kernel["bands"])}
    items += [(one, one) for one in ("barrier", "wait", "loop", "branch") if one in kinds]
    if plan["symbolic"]:
        names = ", ".join(one["name"] for one in plan["symbolic"])
        items.append(("none", f"not drawn, of symbolic size or place: {names}"))
    shown = (
        f'<span><i class="smem-key smem-key-{kind}"></i>{escape(words)}</span>'
        for kind, words in items
    )
    return f'<div class="smem-legend">{"".join(shown)}</div>'
