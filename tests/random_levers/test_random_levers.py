"""Random functions under levers and other rewrites: accepted is only what changes no result."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.random_kernels.choices import source_of
from tests.random_levers.edits import EDITS
from tests.random_levers.examine import examine

pytestmark = pytest.mark.tilelang

SEEDS = 16


@pytest.mark.parametrize("kind", EDITS)
def test_what_is_accepted_changes_no_result(kind: str) -> None:
    stats: Counter[str] = Counter()
    for seed in range(SEEDS):
        examine(kind, source_of(seed), seed, stats)
    found = {way.partition(": ")[2] for way, count in stats.items() if count}
    assert {"accepted, same results", "refused, other results"} <= found
