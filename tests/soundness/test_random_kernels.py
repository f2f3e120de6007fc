"""Random kernels: what runs wrong must not be called sound, and our own plans must run right.

A few hundred kernels; `scripts/random_kernels.py` runs tens of thousands.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from tests.random_kernels.choices import run_seed
from tests.soundness.compare import compare

SEEDS = 240


def test_what_is_called_sound_runs_alike() -> None:
    stats: Counter[str] = Counter()
    for seed in range(SEEDS):
        run_seed(seed, partial(compare, seed=seed, stats=stats, arbitrary=6))
    # The test has to have something to find.
    assert stats["well defined"] > SEEDS // 3
    assert stats["dataflow shares"] > SEEDS // 20
    assert stats["arbitrary unsound, differs"] > SEEDS // 4
