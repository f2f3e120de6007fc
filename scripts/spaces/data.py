"""What is written of a space: one file for what may be looked at, one for what is held out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.results import write as write_json

HELD_OUT = ".held-out"


def write(folder: Path, space: Any, about: Mapping[str, Any], found: Mapping[Any, Any]) -> None:
    """`FAMILY.json` and `FAMILY.held-out.json`, one configuration a line, in the space's order.

    `found` is by the shape's name and the configuration's index; what is not in there is left out.
    """
    head = {"schema": "smemreuse.space/1", "family": space.name, **about}
    for held_out in (False, True):
        shapes = [
            {"name": name, "shape": dict(sizes), "held_out": held_out}
            | {"configs": _configs(space.configs(sizes), name, found)}
            for name, sizes in space.shapes.items()
            if space.is_held_out(name) == held_out
        ]
        if shapes:
            path = folder / f"{space.name}{HELD_OUT if held_out else ''}.json"
            write_json(path, {**head, "shapes": shapes}, 4)


def _configs(configs: Any, shape: str, found: Mapping[Any, Any]) -> list[dict[str, Any]]:
    known = ((config, found.get((shape, at))) for at, config in enumerate(configs))
    return [{"config": config, **one} for config, one in known if one is not None]
