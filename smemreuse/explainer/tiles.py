"""Which tiles would have to be smaller so that a kernel fits, where no other change is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.explainer.changes import Changes, Trial, Trials
from smemreuse.planner.problem import heaviest_together
from smemreuse.results.headroom import ChangeKind, ChangeStep

MOST_HALVINGS = 8
"""Times that a tile is halved, all tiles together."""
LEAST_SHARE = 4
"""No tile gets smaller than its bytes over this."""


@dataclass(frozen=True)
class Tiling:
    """Changes, the bytes of the tiles that are halved after them, by item, and the arena then."""

    steps: Trials
    sizes: Mapping[int, int]
    arena: int
    halvings: int


def smaller_tiles(changes: Changes, least: Trials, most: int) -> Tiling | None:
    """The fewest halvings known that bring the arena to `most` bytes, with those of the changes in
    `least` without which there are more of them; None if none do. Live ranges stay as they are."""
    found = _halved(changes, least, most)
    for step in least:
        if found is None:
            return None
        fewer = tuple(one for one in found.steps if one is not step)
        without = _halved(changes, fewer, most)
        if without is not None and without.halvings <= found.halvings:
            found = without
    return found


def _halved(changes: Changes, steps: Trials, most: int) -> Tiling | None:
    """The largest tile of those heaviest together is halved, and again, until the arena fits."""
    whole = changes.problem_with(steps)
    sizes: dict[int, int] = {}
    for halvings in range(MOST_HALVINGS + 1):
        together = (*steps, _trial(sizes)) if sizes else steps
        arena = changes.packed(together, most)
        if arena is not None:
            return Tiling(steps, sizes, arena, halvings)
        problem = changes.problem_with(together)
        large = [
            item
            for item in heaviest_together(problem)
            if problem.sizes[item] * LEAST_SHARE >= 2 * whole.sizes[item]
            and problem.sizes[item] % (2 * problem.alignments[item]) == 0
        ]
        if not large:
            return None
        item = max(large, key=lambda item: (problem.sizes[item], -item))
        sizes[item] = problem.sizes[item] // 2
    return None


def _trial(sizes: Mapping[int, int]) -> Trial:
    return Trial(ChangeStep(ChangeKind.TILES, (), "", len(sizes)), sizes=tuple(sizes.items()))
