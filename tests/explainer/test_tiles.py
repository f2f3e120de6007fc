"""Which tiles would have to be smaller: held against the problem with these sizes."""

from __future__ import annotations

import pytest

from smemreuse.explainer.changes import Changes
from smemreuse.explainer.pairs import explainer_of
from smemreuse.explainer.search import least_known
from smemreuse.explainer.tiles import LEAST_SHARE, smaller_tiles
from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.planner import PACKERS
from smemreuse.planner.problem import with_sizes
from tests.conftest import DUMPS
from tests.dumps import kernels_of


def changes_of(name: str) -> Changes:
    (kernel,) = kernels_of(DUMPS / name)
    plan = plan_kernel(kernel, DYNAMIC_SCOPE, objective="bytes")
    return Changes(kernel, plan, explainer_of(kernel, DYNAMIC_SCOPE), None)


@pytest.mark.parametrize("most", [24_000, 17_000, 12_000])
def test_the_kernel_fits_with_the_tiles_and_not_with_one_halving_less(most: int) -> None:
    changes = changes_of("flash_attention.sm_90a.tir")
    least, arenas = least_known(changes)
    assert arenas[-1] > most
    found = smaller_tiles(changes, least, most)
    assert found is not None
    before = changes.problem_with(found.steps)
    sizes = [found.sizes.get(item, size) for item, size in enumerate(before.sizes)]
    assert PACKERS["best"](with_sizes(before, sizes)).arena == found.arena <= most
    assert found.halvings >= 1
    for item, size in found.sizes.items():
        assert before.sizes[item] // LEAST_SHARE <= size < before.sizes[item]
        back = [2 * one if item == at else one for at, one in enumerate(sizes)]
        assert PACKERS["best"](with_sizes(before, back)).arena > most


def test_changes_that_are_not_needed_are_not_made() -> None:
    changes = changes_of("flash_attention.sm_90a.tir")
    least, _ = least_known(changes)
    found = smaller_tiles(changes, least, 41_000)
    assert found is not None
    assert len(found.steps) < len(least) or found.halvings == 0


def test_no_tile_gets_smaller_than_a_quarter() -> None:
    assert smaller_tiles(changes_of("gemm.sm_80.tir"), (), 8_000) is None
