"""Random kernels: what runs wrong must not be called sound or clean, our own plans must run right.

Some hundred kernels; `scripts/random_kernels.py` runs tens of thousands.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from tests.random_kernels.choices import run_seed
from tests.random_kernels.families import FAMILIES
from tests.soundness.as_it_stands import examine
from tests.soundness.compare import compare

STATEMENTS = 80
EACH = 14


def test_what_is_called_sound_runs_alike() -> None:
    """Where the barriers are still to come."""
    stats: Counter[str] = Counter()
    for seed in range(STATEMENTS):
        run_seed(seed, partial(compare, seed=seed, stats=stats, arbitrary=6))
    # The test has to have something to find.
    assert stats["well defined"] > STATEMENTS // 3
    assert stats["dataflow shares"] > STATEMENTS // 20
    assert stats["arbitrary unsound, differs"] > STATEMENTS // 4


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_called_sound_runs_alike_as_it_stands(family: str) -> None:
    """Where the kernel has all its barriers; more kernels where these give nothing to find."""
    stats: Counter[str] = Counter()
    for seed in range(3 * EACH):
        if seed >= EACH and has_something_to_find(stats, family):
            return
        run_seed(seed, partial(examine, family, seed=seed, stats=stats))
    assert has_something_to_find(stats, family)


def has_something_to_find(stats: Counter[str], family: str) -> bool:
    is_clean = any("lint says clean" in one for one in stats) or family == "clusters"
    well_defined = stats[f"{family}: well defined"] > EACH // 8
    return is_clean and well_defined and stats["plans that differ"] > EACH // 5
