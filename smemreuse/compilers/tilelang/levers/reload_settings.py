"""The settings in which tiles are loaded again, those that cost little first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smemreuse.compilers.tilelang.levers.reloads import (
    SLICE_BYTES,
    LoadedTile,
    Reloading,
    loaded_tiles,
)
from smemreuse.compilers.tilelang.levers.rewrites import LeverSetting, pipelines, with_stages
from smemreuse.compilers.tilelang.levers.tile_ops import uses_in
from smemreuse.results.fitting import Lever, LeverKind

MOST_TILES = 4
"""Tiles that are loaded again one more at a time; after so many, all at once."""
SLICES = (2, 4)
_COST, _COST_SLICED, _COST_OF_ONE = 0.6, 0.9, 0.05


def reload_settings(func: Any) -> list[LeverSetting]:
    """For a function settings of which one can be chosen: the largest tile that is kept is loaded
    again, the two largest, and so on; and then products go in slices, more and more of them."""
    tiles = loaded_tiles(func)
    kept = [one for one in tiles if one.is_kept]
    counts = sorted({*range(1, min(len(kept), MOST_TILES) + 1), len(kept)} - {0})
    found = [_again(kept[:count], _COST + at * _COST_OF_ONE) for at, count in enumerate(counts)]
    for slices in SLICES:
        trial = Reloading(tiles, slices)
        trial.rewritten(func)
        of_products = [one for one in tiles if any(one.name in pair for pair in trial.sliced)]
        for some in (of_products, tiles) if trial.sliced else ():
            cost = _COST_SLICED + len(found) * _COST_OF_ONE
            found.append(_in_slices(some, trial.sliced, slices, cost))
    return found


def _again(tiles: Sequence[LoadedTile], cost: float) -> LeverSetting:
    names = " and ".join(dict.fromkeys(one.name for one in tiles))
    sentence = f"{names} {_is_or_are(tiles)} loaded again for each use"
    return _setting(LeverKind.RELOAD, sentence, tiles, 1, cost)


def _is_or_are(tiles: Sequence[LoadedTile]) -> str:
    return "is" if len(tiles) == 1 else "are"


def _in_slices(
    tiles: Sequence[LoadedTile], pairs: Sequence[tuple[str, str]], slices: int, cost: float
) -> LeverSetting:
    products = " and ".join(dict.fromkeys(f"{one} with {two}" for one, two in pairs))
    names = " and ".join(dict.fromkeys(one.name for one in tiles))
    sentence = (
        f"{names} {_is_or_are(tiles)} loaded again for each use, for products of {products} in "
        f"{slices} slices"
    )
    return _setting(LeverKind.SLICES, sentence, tiles, slices, cost)


def _setting(
    kind: LeverKind, sentence: str, tiles: Sequence[LoadedTile], slices: int, cost: float
) -> LeverSetting:
    buffers = [one.buffer for one in tiles]
    return LeverSetting(
        Lever(kind, sentence), lambda func: with_reloads(func, buffers, slices), cost
    )


def with_reloads(
    func: Any, buffers: Sequence[Any], slices: int = 1, least_bytes: int = SLICE_BYTES
) -> Any:
    """A function in which some tiles are loaded again for each use, and products of two of them go
    in slices of so many bytes of a row at least. Loops around that have no stages: a load that runs
    ahead takes bytes for longer, not less long."""
    loops = pipelines(func)
    for at in reversed(range(len(loops))):
        if any(uses_in(loops[at][0], one) for one in buffers):
            func = with_stages(func, at, 0)
    tiles = [one for one in loaded_tiles(func) if one.buffer in buffers]
    return Reloading(tiles, slices, least_bytes).rewritten(func)
