"""What real kernels do is done by some random kernel of a family, in an execution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from tests.random_kernels.choices import source_of
from tests.random_kernels.text import TextGrower
from tests.soundness.as_it_stands import inputs_from
from tests.soundness.coverage import DIVERGENT, LANES, UNIFORM, WARPS, Counts, measure

MAX_KERNELS = 150

WANTED: Mapping[str, set[tuple[str, ...]]] = {
    "pipelines": {("executed", "continue"), ("branches", "registers", UNIFORM)},
    "copies": {("skipped", "data", "cp.async"), ("guards", LANES), ("branches", "data", WARPS)},
    "arms": {("branches", "data", "always true"), ("branches", "data", "always false")},
    "phases": {("skipped", "data", "mbarrier arrive")},
    "branches": {
        *(("executed", "continue"), ("skipped", "data", "warp barrier")),
        *(("loops", "data", "zero"), ("loops", "data", DIVERGENT)),
    },
    "ragged": {("branches", "data", WARPS), ("skipped", "data", "continue")},
}
"""Ways of branches, trip counts and synchronization, by family."""


@pytest.mark.parametrize("family", WANTED)
def test_a_family_takes_the_ways_that_it_is_about(family: str) -> None:
    found: Counts = Counter()
    for seed in range(MAX_KERNELS):
        found += measure(family, source_of(seed), seed)
        if found.keys() >= WANTED[family]:
            return
    pytest.fail(f"not taken: {WANTED[family] - found.keys()}")


def test_some_inputs_exceed_what_some_exceed() -> None:
    grow, inputs = TextGrower(source_of(0)), inputs_from(0)
    shares = [float((inputs > grow.some_exceed()).mean()) for _ in range(100)]
    assert 0 < min(shares) < 0.1 < 0.9 < max(shares) < 1


def test_blocks_of_a_grid_make_different_numbers_of_rounds() -> None:
    headers = {TextGrower(source_of(seed)).rounds("k", 2) for seed in range(200)}
    assert any("range(bx)" in one for one in headers)
    assert any("& 1" in one for one in headers), "no round at all, or one"
    cluster = TextGrower(source_of(0), blocks=2)
    assert not any("bx" in cluster.rounds("k", 2) for _ in range(200))
