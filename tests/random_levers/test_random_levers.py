"""Random functions under levers and other rewrites: accepted is only what changes no result."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.random_kernels.choices import source_of
from tests.random_levers.edits import EDITS
from tests.random_levers.examine import Examination

pytestmark = pytest.mark.tilelang

SEEDS = 16


def test_what_is_accepted_changes_no_result() -> None:
    stats: Counter[str] = Counter()
    for seed in range(SEEDS):
        examination = Examination(source_of(seed), seed)
        for kind in EDITS:
            examination.examine(kind, stats)
    for kind in EDITS:
        assert stats[f"{kind}: accepted, same results"]
        assert stats[f"{kind}: refused, other results"]
