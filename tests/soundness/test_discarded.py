"""What is read in a race and is called harmless changes no result in any execution."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from tests.checker.small import SYNC, kernel_of
from tests.linter.test_harmless import FILL, READ, READS, USES
from tests.random_kernels.choices import run_seed
from tests.soundness.as_it_stands import examine_discarding, inputs_from
from tests.soundness.linted import goes_wrong, many_modes
from tests.soundness.model.run import Model

BODIES = [(FILL + READ + use, left) for use, left in USES]
BODIES += [(FILL + read, left) for read, left in READS]

CLEARED = f"As[tx % 64] = 0\n{SYNC}"
"""So that the first one to come finds something."""

TRIED = 20
SEED = 5


def is_ill_defined(model: Model) -> bool:
    """Whether values that decide anything come out one way or the other. No order is asked for."""
    modes = (replace(one, races=False) for one in many_modes(model, SEED, TRIED))
    return goes_wrong(model, modes) != ""


@pytest.mark.parametrize(("body", "left"), BODIES)
def test_a_value_decides_something_where_a_race_is_left(body: str, left: list[str]) -> None:
    model = Model(kernel_of(CLEARED + body, threads=128), [], inputs_from(SEED))
    assert is_ill_defined(model) is bool(left)


def test_random_kernels_of_which_that_is_said_are_well_defined() -> None:
    """`scripts/random_kernels.py --discarding` runs more, of all families."""
    stats: Counter[str] = Counter()
    for seed in range(60):
        run_seed(seed, partial(examine_discarding, "reductions", seed=seed, stats=stats))
    assert stats["reductions: lint says clean with races that decide nothing"] > 1
