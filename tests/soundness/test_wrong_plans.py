"""The model is strong enough: it breaks every plan that is known to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from tests.soundness.model.modes import Mode, as_it_stands, held_at_each
from tests.soundness.model.run import Model
from tests.soundness.not_apart import NOT_APART
from tests.soundness.wrong_plans import WRONG_PLANS, WrongPlan

SEEDS = 12

PLANS = {**WRONG_PLANS, **NOT_APART}


def _executions(plan: WrongPlan) -> Iterator[tuple[int, Model, Mode]]:
    """With other inputs each time, of which about half are positive. Races that no value shows
    are no matter here."""
    kernel = plan.kernel()
    for seed in range(SEEDS):
        inputs = np.random.default_rng(seed).integers(-(1 << 15), 1 << 15, 4096)
        model = Model(kernel, [plan.places(kernel)], inputs)
        some = as_it_stands(12, seed, fences=plan.fences)
        for mode in chain(some, held_at_each(model.places, seed, fences=plan.fences)):
            yield seed, model, replace(mode, races=False)


@pytest.mark.parametrize("name", PLANS)
def test_a_wrong_plan_is_broken(name: str) -> None:
    """And the unmerged kernel is well defined as far as it was tried until then."""
    outputs: dict[int, tuple[bytes, int]] = {}
    for seed, model, mode in _executions(PLANS[name]):
        found = model.run(mode)
        assert outputs.setdefault(seed, found.outputs) == found.outputs
        if found.differs[1]:
            return
    pytest.fail("no execution breaks it")
