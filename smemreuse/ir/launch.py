"""The threads and blocks that a kernel is launched with, from its `thread_extent` attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from smemreuse.ir.expr import Const, Var, constant
from smemreuse.ir.kernel import THREAD_EXTENT, Attr, Block, walk_statements

AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
"""The axes of a block's threads; x runs fastest."""

MAX_THREADS = 1024

LEAST_BLOCKS = "tl.min_blocks_per_sm"
"""The attribute by which TileLang asks ptxas that so many blocks be resident on an SM."""


class UnknownThreads(Exception):
    """The threads of a block are not known; the message says why."""


def tag_of(launch: Attr) -> str:
    """Which axis a `thread_extent` is of; empty if it does not say."""
    return str(launch.node.value) if isinstance(launch.node, Const) else ""


def launches(body: Block) -> Iterator[Attr]:
    """Every `thread_extent` of a kernel, in program order."""
    for stmt in walk_statements(body):
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT:
            yield stmt


def thread_indices(body: Block) -> frozenset[Var]:
    """The variables of the indices of threads in their block."""
    return frozenset(
        one.var for one in launches(body) if tag_of(one) in AXES and one.var is not None
    )


def thread_extents(body: Block) -> dict[Var, int]:
    """How many values each of those variables has, where that is a constant."""
    axes = ((one.var, constant(one.value)) for one in launches(body) if tag_of(one) in AXES)
    return {var: extent for var, extent in axes if var is not None and extent is not None}


def least_blocks(body: Block) -> int:
    """How many blocks ptxas is asked to keep resident on an SM, by registers: 1 if nobody asks."""
    asked = (
        constant(stmt.value)
        for stmt in walk_statements(body)
        if isinstance(stmt, Attr) and stmt.key == LEAST_BLOCKS
    )
    return max((one for one in asked if one is not None), default=1)


def stride_of(tag: str, axes: Mapping[str, int]) -> int:
    """The distance between the numbers of neighbours on an axis of a block with these extents."""
    return math.prod(axes.get(axis, 1) for axis in AXES[: AXES.index(tag)])


def thread_axes(body: Block) -> dict[str, int]:
    """The extents of the axes of a block's threads, x of 1 if there is none.

    Raises `UnknownThreads` where a launch does not say which axis it is of, where an axis has not
    one constant extent, or where there are more threads than a block can have.
    """
    axes: dict[str, int] = {}
    for launch in launches(body):
        tag, extent = tag_of(launch), constant(launch.value)
        if "." not in tag:
            name = launch.var.name if launch.var is not None else tag
            raise UnknownThreads(f"which axis of the launch {name} is, is not known")
        if tag in AXES:
            if extent is None or extent < 1 or axes.setdefault(tag, extent) != extent:
                raise UnknownThreads(f"the extent of {tag} is not one constant")
    if math.prod(axes.values()) > MAX_THREADS:
        raise UnknownThreads(f"more than {MAX_THREADS:,} threads in a block")
    return axes or {AXES[0]: 1}
