"""Colours that colour-blind readers can distinguish (Okabe and Ito, 2008), never the only cue."""

from __future__ import annotations

from collections.abc import Sequence

COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)


ANSI = ("cyan", "yellow", "magenta", "green", "white", "red", "blue")
"""For terminals of 8 colours, where several of `COLOURS` would look alike."""


def colour(number: int, palette: Sequence[str] = COLOURS) -> str:
    """The colour of the `number`th buffer or group; they come round."""
    return palette[number % len(palette)]


def tint(number: int, strength: float = 0.45) -> str:
    """The same colour mixed with white, so that black text reads well on it."""
    value = colour(number)
    parts = (int(value[index : index + 2], 16) for index in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * strength):02X}" for part in parts)
