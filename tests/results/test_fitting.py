"""What a fitting says of itself in one line."""

from __future__ import annotations

import pytest

from smemreuse.results.fitting import Fitting, FittingStep, Lever, LeverKind


def fitting(slowdown: float | None, *kinds: LeverKind) -> Fitting:
    steps = tuple(FittingStep(Lever(kind, f"{kind} pulled"), 90) for kind in kinds)
    return Fitting("main", 100, 120, steps, slowdown)


@pytest.mark.parametrize("kind", LeverKind)
def test_what_a_lever_costs_is_told(kind: LeverKind) -> None:
    begin = "main: 120 bytes for each block, 100 wanted"
    cost = "1.25 of the time, estimated"
    assert fitting(1.25, kind).sentence == f"{begin}: {kind} pulled (90); {cost}"
    assert fitting(None, kind).sentence.endswith("pulled (90)")


@pytest.mark.parametrize(
    ("kinds", "is_told"),
    [
        ([LeverKind.STAGES], True),
        ([LeverKind.DIRECT_STORE], True),
        ([LeverKind.LATER_LOADS], False),
        ([LeverKind.RELOAD], False),
        ([LeverKind.STAGES, LeverKind.SLICES], False),
    ],
)
def test_a_gain_is_told_only_where_the_model_was_right(
    kinds: list[LeverKind], is_told: bool
) -> None:
    assert ("of the time" in fitting(0.8, *kinds).sentence) is is_told
