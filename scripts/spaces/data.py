"""What is written of a space: one file for what may be looked at, one for what is held out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCHEMA = "smemreuse.space/1"
HELD_OUT = ".held-out"


def write(folder: Path, space: Any, about: Mapping[str, Any], found: Mapping[Any, Any]) -> None:
    """`FAMILY.json` and `FAMILY.held-out.json`, one configuration a line, in the space's order.

    `found` is by the shape's name and the configuration's index; what is not in there is left out.
    """
    for held_out in (False, True):
        shapes = [name for name in space.shapes if space.is_held_out(name) == held_out]
        parts = [_shape(space, name, held_out, found) for name in shapes]
        if parts:
            path = folder / f"{space.name}{HELD_OUT if held_out else ''}.json"
            head = json.dumps({"schema": SCHEMA, "family": space.name, **about}, indent=1)
            path.write_text(head[:-2] + ',\n "shapes": [\n' + ",\n".join(parts) + "\n ]\n}\n")


def _shape(space: Any, name: str, held_out: bool, found: Mapping[Any, Any]) -> str:
    sizes = space.shapes[name]
    lines = [
        "   " + json.dumps({"config": config, **found[name, at]})
        for at, config in enumerate(space.configs(sizes))
        if (name, at) in found
    ]
    head = json.dumps({"name": name, "shape": dict(sizes), "held_out": held_out})
    listed = ",\n".join(lines)
    return f'  {head[:-1]}, "configs": [\n{listed}\n  ]}}'
