"""The blocks of a launch in the order in which they start, and which of them stand for all.

Blocks start in the order of their linear index, x fastest (the CUDA guide promises none; every card
measured does so). TileLang renumbers them in panels: `rasterization2DRow` and `...Column` of its
`threadblock_swizzle.h`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemreuse.errors import PlanError
from smemreuse.ir.expr import Call, Const, Var, constant
from smemreuse.ir.kernel import Attr, Block, walk_statements
from smemreuse.ir.launch import launches, tag_of

BLOCK_AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
GOLDEN = (math.sqrt(5) - 1) / 2
SWIZZLE = "threadblock_swizzle_pattern"
_BY_ROW = {"rasterization2DRow": True, "rasterization2DColumn": False}


@dataclass(frozen=True)
class Grid:
    """Extents along x, y and z, the variables that stand for each, and the panels of blocks.

    `panel` is how many rows, or columns, of blocks are walked together; 0 for none.
    """

    extents: tuple[int, int, int]
    variables: Mapping[Var, int]
    panel: int = 0
    by_row: bool = True

    @staticmethod
    def of(body: Block) -> Grid:
        """The grid of a kernel. Raises `PlanError` if its extents are known only at launch."""
        extents, variables = [1, 1, 1], {}
        for launch in launches(body):
            tag = tag_of(launch)
            if tag not in BLOCK_AXES:
                continue
            extent = constant(launch.value)
            if extent is None or extent < 1:
                raise PlanError("a grid whose size is known only at launch: give constant sizes")
            axis = BLOCK_AXES.index(tag)
            extents[axis] = extent
            if launch.var is not None:
                variables[launch.var] = axis
        return Grid((extents[0], extents[1], extents[2]), variables, **_panels(body))

    @property
    def blocks(self) -> int:
        """How many blocks are launched."""
        return math.prod(self.extents)

    def indices(self, started: np.ndarray) -> dict[Var, np.ndarray]:
        """What the variables hold in the blocks that start at these places of the order."""
        wide, high, _ = self.extents
        plane, rest = started // (wide * high), started % (wide * high)
        x, y = rest % wide, rest // wide
        if self.panel:
            x, y = self._in_panels(rest)
        by_axis = (x, y, plane)
        return {var: by_axis[axis] for var, axis in self.variables.items()}

    def _in_panels(self, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The block indices (x, y) of positions in the launch order, if blocks are walked in
        panels.

        Every second panel is walked backwards, as TileLang's swizzle does.
        """
        along, across = self.extents[:2] if self.by_row else self.extents[1::-1]
        size = self.panel * along
        offset, number = rest % size, rest // size
        last = (along * across - number * size) // along
        stride = np.where(number + 1 < -(-along * across // size), self.panel, last)
        position = np.where(number % 2 == 1, along - 1 - offset // stride, offset // stride)
        other = offset % stride + number * self.panel
        return (position, other) if self.by_row else (other, position)

    def sample(self, most: int) -> np.ndarray:
        """At most `most` blocks: one of each equal part of the launch order.

        Its place in the part varies by the golden ratio, so as not to keep step with the grid's
        extents.
        """
        if self.blocks <= most:
            return np.arange(self.blocks)
        bounds = np.arange(most + 1) * self.blocks // most
        within = np.arange(most) * GOLDEN % 1 * np.diff(bounds)
        places: np.ndarray = bounds[:-1] + within.astype(np.int64)
        return places

    def wave(self, size: int) -> np.ndarray:
        """The blocks that are resident together in the middle of the launch."""
        size = min(size, self.blocks)
        begin = (self.blocks // size // 2) * size
        return np.arange(begin, min(begin + size, self.blocks))


def panels_of(name: str, width: int) -> dict[str, Any]:
    """The fields of a grid whose blocks run in panels of this kind; none for an unknown one."""
    return {"panel": width, "by_row": _BY_ROW[name]} if name in _BY_ROW else {}


def _panels(body: Block) -> dict[str, Any]:
    """The panel width and direction that a kernel's swizzle annotation asks for; empty
    without one.
    """
    for stmt in walk_statements(body):
        if isinstance(stmt, Attr) and stmt.key == SWIZZLE and isinstance(stmt.value, Call):
            name, width = stmt.value.args[0], constant(stmt.value.args[1])
            if isinstance(name, Const) and width:
                return panels_of(str(name.value), width)
    return {}
