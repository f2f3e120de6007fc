"""Loads of slices of a tile, along the dimension over which a product adds up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from smemreuse.compilers.tilelang.levers.tile_ops import (
    buffer_of,
    copied,
    extent_of,
    int32,
    is_whole,
    number,
)
from smemreuse.compilers.tilelang.visitor import TIR, tirx

Load = Callable[[Any, Any, int], Any]
"""The statement that loads a slice into a tile of its own: that tile, where the slice begins, and
how many elements it has."""


@dataclass(frozen=True)
class SlicedMatrix:
    """A matrix of a product, as a region of a tile, and how its slices along an axis are loaded."""

    region: Any
    axis: int
    load: Load

    @property
    def buffer(self) -> Any:
        return buffer_of(self.region)

    def shape(self, size: int) -> list[Any]:
        """The extents of a slice of so many elements."""
        extents = [*self.region.args[2:]]
        extents[self.axis] = int32(size)
        return extents

    def matrix(self, tile: Any, size: int) -> Any:
        """A slice as the matrix of a product: all of its tile."""
        return _region(self.region, tile, self.shape(size))


def sliced_matrix(region: Any, axis: int, loads: Sequence[Any]) -> SlicedMatrix | None:
    """How slices of a matrix are loaded, of whose tile all `loads` are given; None where none of
    these brings just that matrix, or it does more than one copy or one gather."""
    for one in loads:
        pair = copied(one)
        if pair is not None and _is_same(pair[1], region):
            at = _same_axis(*pair, axis)
            return None if at is None else SlicedMatrix(region, axis, _copied(one, pair, at, axis))
    if len(loads) == 1 and isinstance(loads[0], tirx.For) and is_whole(region):
        gather = _gathered(loads[0], axis)
        return None if gather is None else SlicedMatrix(region, axis, gather)
    return None


# Copies -----------------------------------------------------------------------------------------


def _is_same(one: Any, other: Any) -> bool:
    """Whether two regions of a buffer are the same, as numbers say."""
    boxes = [
        [number(each) for each in (*region.args[0].indices, *region.args[2:])]
        for region in (one, other)
    ]
    return None not in boxes[0] and boxes[0] == boxes[1]


def _same_axis(source: Any, target: Any, axis: int) -> int | None:
    """The axis of a copy's source that is one of its target's; None where shapes differ."""
    extents = [[extent_of(one) for one in region.args[2:]] for region in (source, target)]
    above = [[at for at, one in enumerate(each) if one != 1] for each in extents]
    pairs = dict(zip(above[1], above[0], strict=False))
    same = [[each[at] for at in ats] for each, ats in zip(extents, above, strict=True)]
    return pairs.get(axis) if _fit(*same) else None


def _fit(one: list[int | None], other: list[int | None]) -> bool:
    """Whether extents are the same, as far as they are numbers; at most one may be none, for a copy
    has as many elements on both sides."""
    if len(one) != len(other):
        return False
    pairs = list(zip(one, other, strict=True))
    known = [pair for pair in pairs if None not in pair]
    return len(pairs) - len(known) <= 1 and all(here == there for here, there in known)


def _copied(load: Any, pair: tuple[Any, Any], source_axis: int, axis: int) -> Load:
    def made(tile: Any, begin: Any, size: int) -> Any:
        source, target = pair
        indices, extents = [*source.args[0].indices], [*source.args[2:]]
        indices[source_axis] = indices[source_axis] + begin
        extents[source_axis] = int32(size)
        shape = [*target.args[2:]]
        shape[axis] = int32(size)
        args = [
            _region(source, buffer_of(source), extents, indices),
            _region(target, tile, shape),
            *load.value.args[2:],
        ]
        call = load.value
        return tirx.Evaluate(tirx.Call(call.dtype, call.op, args, call.annotations))

    return made


def _region(region: Any, buffer: Any, extents: Sequence[Any], begins: Any = None) -> Any:
    indices = begins or [int32(0) for _ in extents]
    load = tirx.BufferLoad(buffer, indices)
    return tirx.Call(region.dtype, region.op, [load, region.args[1], *extents])


# Gathers ----------------------------------------------------------------------------------------


def _gathered(nest: Any, axis: int) -> Load | None:
    """The slices of `for i, j in Parallel: tile[i, j] = ...`, of loops over all of the tile."""
    loops, body = [], nest
    while isinstance(body, tirx.For):
        loops.append(body)
        body = body.body
    if not isinstance(body, tirx.BufferStore) or len(body.indices) != len(loops):
        return None
    by_var = {one.loop_var: one for one in loops}
    ordered = [by_var[one] for one in body.indices if one in by_var]
    shape = [number(one) for one in body.buffer.shape]
    if any(number(one.min) != 0 for one in ordered) or None in shape:
        return None
    if [number(one.extent) for one in ordered] != shape:
        return None
    chosen = ordered[axis]

    def made(tile: Any, begin: Any, size: int) -> Any:
        moved = {chosen.loop_var: chosen.loop_var + begin}
        value = tirx.stmt_functor.substitute(body.value, moved)
        found = tirx.BufferStore(tile, value, body.indices)
        for one in reversed(loops):
            extent = int32(size) if one.same_as(chosen) else one.extent
            binding, notes = one.thread_binding, one.annotations
            found = tirx.For(one.loop_var, one.min, extent, one.kind, found, binding, notes)
        return _with_own_variables(found)

    return made


def _with_own_variables(nest: Any) -> Any:
    """A nest whose loops have variables of their own: no two loops may have one."""

    def change(loop: Any) -> Any:
        var = tirx.Var(loop.loop_var.name, loop.loop_var.dtype)
        body = tirx.stmt_functor.substitute(loop.body, {loop.loop_var: var})
        binding, notes = loop.thread_binding, loop.annotations
        return tirx.For(var, loop.min, loop.extent, loop.kind, body, binding, notes)

    return tirx.stmt_functor.ir_transform(nest, None, change, [f"{TIR}.For"])
