"""Recommendations of others as configurations of a measured space, and how good the first are.

Three rules, from the loosest to the strictest; each is kind to the one who recommends:

- `by output tile`: only `block_M` and `block_N` count. A recommendation stands for the best
  measured of all configurations of that output tile, whatever their `block_K`, stages, threads and
  order of blocks.
- `by tile`: the same with `block_K`.
- `as named`: a recommendation is one configuration: of the tile with its `block_K`, then nearest in
  all else that is named, and where that leaves several, the best measured of them.

A tile that the space lacks is the nearest one, by the sum of `|log2|` of the ratios of its sides;
of several equally near, the one with the best measured configuration. What is named twice counts
once: the list is read until there are as many different ones as are asked for, or it ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.spaces.scoring import TOPS

OUTPUT_TILE = ("block_M", "block_N")
TILE = (*OUTPUT_TILE, "block_K")
BY_OUTPUT_TILE, BY_TILE, AS_NAMED = "by output tile", "by tile", "as named"
SIDES = {BY_OUTPUT_TILE: OUTPUT_TILE, BY_TILE: TILE, AS_NAMED: TILE}
RULES = tuple(SIDES)

Config = Mapping[str, int]


@dataclass(frozen=True)
class Ran:
    """A configuration of a space that ran, and its median time in microseconds."""

    config: Config
    us: float


@dataclass(frozen=True)
class Named:
    """What is named of a configuration; what is left open is not in it. `words`: as it was said."""

    config: Config
    words: str = ""


def tile_distance(named: Config, config: Config, sides: Sequence[str] = TILE) -> float:
    """How far two tiles are from one another: doubling one side is 1."""
    known = [side for side in sides if side in named and side in config]
    return sum(abs(math.log2(config[side] / named[side])) for side in known)


def rest_distance(named: Config, config: Config) -> float:
    """How far all else is that both name: a stage is 1, so is twice the threads, so is a swizzle
    that is not there."""
    found = 0.0
    for name in sorted((set(named) & set(config)) - set(TILE)):
        if name == "threads":
            found += abs(math.log2(config[name] / named[name]))
        else:
            found += abs(config[name] - named[name])
    return found


def mapped(named: Config, ran: Sequence[Ran], rule: str) -> Ran:
    """The configuration that a recommendation stands for. `ran` must not be empty."""

    def key(one: Ran) -> tuple[float, float, float]:
        rest = rest_distance(named, one.config) if rule == AS_NAMED else 0.0
        return tile_distance(named, one.config, SIDES[rule]), rest, one.us

    return min(ran, key=key)


def there(named: Sequence[Config], ran: Sequence[Ran], rule: str) -> int:
    """How many have a tile that the space has, too."""
    return sum(
        any(not tile_distance(each, one.config, SIDES[rule]) for one in ran) for each in named
    )


def different(named: Sequence[Config], ran: Sequence[Ran], rule: str) -> list[Ran]:
    """What recommendations stand for, in their order, each once."""
    found: list[Ran] = []
    for one in named:
        stands = mapped(one, ran, rule)
        if stands not in found:
            found.append(stands)
    return found


def tops(order: Sequence[Ran], best: float) -> dict[int, float]:
    """Best time of all over the best of the first few; empty where nothing is recommended."""
    return {most: best / min(one.us for one in order[:most]) for most in TOPS if order}


def random_tops(ran: Sequence[Ran], rule: str) -> dict[int, float]:
    """What `tops` of an order at random is to be expected to be.

    Of `n` in the order of their times, the `i`-th is the best of `k` at random in
    `C(n - i, k - 1)` of `C(n, k)` cases.
    """
    times = sorted(one.us for one in (ran if rule == AS_NAMED else best_of_tiles(ran, rule)))
    count, found = len(times), {}
    for asked in TOPS:
        most = min(asked, count)
        found[asked] = sum(
            math.comb(count - place, most - 1) / math.comb(count, most) * times[0] / taken
            for place, taken in enumerate(times, 1)
        )
    return found


def best_of_tiles(ran: Sequence[Ran], rule: str) -> list[Ran]:
    """The best measured configuration of each tile."""
    found: dict[tuple[int, ...], Ran] = {}
    for one in ran:
        tile = tuple(one.config[side] for side in SIDES[rule] if side in one.config)
        if tile not in found or one.us < found[tile].us:
            found[tile] = one
    return list(found.values())
