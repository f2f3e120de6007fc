"""How far an order is to be believed: what was measured of kernels of the same family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from smemreuse.errors import PlanError
from smemreuse.results.ranking import UNCALIBRATED
from smemreuse.targets.cards import CARDS, Card


@cache
def _measured() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """By the card's name and the family's, as `scripts/score_advice.py` wrote it."""
    text = (files("smemreuse.advisor") / "validated.json").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(text)
    return found


def label_for(card: Card, family: str | None) -> str:
    """The rank correlation of a family on a card, or that there is none.

    Raises `PlanError` for a family that has been measured on no card.
    """
    if family is None:
        return UNCALIBRATED
    families = sorted({name for one in _measured().values() for name in one})
    if family not in families:
        raise PlanError(f"unknown family {family!r}; measured are {', '.join(families)}")
    name = next((name for name, one in CARDS.items() if one == card), "")
    found = _measured().get(name, {}).get(family)
    if found is None:
        return f"{UNCALIBRATED} on this card"
    return (
        f"rank correlation {found['rank_correlation']:.2f} on {found['shapes']} shapes of "
        f"{family} measured on this card; best of the first five {100 * found['top5']:.1f} % of "
        "the best"
    )
