"""The order in which blocks run, held against a plain reading of TileLang's own functions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.advisor.grid import Grid
from smemreuse.errors import PlanError
from smemreuse.ir.expr import Var
from tests.advisor.dumps import kernel_of

X, Y, Z = Var("bx"), Var("by"), Var("bz")


def one_by_one(wide: int, high: int, panel: int, by_row: bool, place: int) -> tuple[int, int]:
    """As `threadblock_swizzle.h` renumbers the block of this linear index."""
    along = wide if by_row else high
    size, whole = panel * along, wide * high
    offset, number = place % size, place // size
    panels = -(-whole // size)
    stride = panel if number + 1 < panels else (whole - number * size) // along
    first = along - 1 - offset // stride if number & 1 else offset // stride
    second = offset % stride + number * panel
    return (first, second) if by_row else (second, first)


@given(
    wide=st.integers(1, 9),
    high=st.integers(1, 9),
    panel=st.integers(1, 12),
    by_row=st.booleans(),
)
def test_panels_are_those_of_the_device_functions(
    wide: int, high: int, panel: int, by_row: bool
) -> None:
    grid = Grid((wide, high, 1), {X: 0, Y: 1}, panel, by_row)
    found = grid.indices(np.arange(grid.blocks))
    expected = [one_by_one(wide, high, panel, by_row, at) for at in range(wide * high)]
    assert list(zip(found[X].tolist(), found[Y].tolist(), strict=True)) == expected
    assert len(set(expected)) == grid.blocks


def test_without_panels_x_runs_fastest() -> None:
    found = Grid((3, 2, 2), {X: 0, Y: 1, Z: 2}).indices(np.arange(12))
    assert found[X].tolist() == [0, 1, 2] * 4
    assert found[Y].tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert found[Z].tolist() == [0] * 6 + [1] * 6


@given(st.integers(1, 10_000), st.integers(1, 300))
def test_a_sample_is_spread_over_the_launch_and_repeats_nothing(blocks: int, most: int) -> None:
    chosen = Grid((blocks, 1, 1), {}).sample(most)
    assert len(chosen) == min(blocks, most) == len(set(chosen.tolist()))
    assert chosen.min() >= 0
    assert chosen.max() < blocks
    assert abs(float(chosen.mean()) - (blocks - 1) / 2) <= 2 * blocks / len(chosen)


@pytest.mark.parametrize("extents", [(8, 512, 1), (32, 16, 2), (16, 64, 4), (128, 32, 1)])
def test_a_sample_does_not_keep_step_with_the_grid(extents: tuple[int, int, int]) -> None:
    """Or causal loops, whose length hangs on one of the indices, would be counted askew."""
    grid = Grid(extents, {X: 0, Y: 1})
    found = grid.indices(grid.sample(48))
    for var, extent in ((X, extents[0]), (Y, extents[1])):
        assert abs(float(found[var].mean()) - (extent - 1) / 2) < 0.08 * extent


def test_a_grid_that_only_the_launch_tells_is_refused() -> None:
    kernel = kernel_of("for k in range(2):\n    O[tx] = k\n", grid="n")
    with pytest.raises(PlanError, match="known only at launch"):
        Grid.of(kernel.body)
