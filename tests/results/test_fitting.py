"""What a fitting says of itself in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.results.fitting import Fitting, Lever, LeverKind, LeverStep, Speedup


def fitting(slowdown: float | None, *kinds: LeverKind) -> Fitting:
    steps = tuple(LeverStep(Lever(kind, f"{kind} pulled"), 90) for kind in kinds)
    return Fitting("main", 120, steps, limit=100, slowdown=slowdown)


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


def test_a_speedup_says_what_holds_more_blocks_or_leaves_more_l1() -> None:
    lever = LeverStep(Lever(LeverKind.STAGES, "fewer stages"), 90)
    found = Speedup("main", 120, (lever,), blocks=(1, 2), gain=1.2)
    begin = "main: 120 bytes for each block: fewer stages (90)"
    assert found.sentence == f"{begin}; 2 on an SM instead of 1, 1.20 times as fast, estimated"
    same = replace(found, blocks=(2, 2)).sentence
    assert same == f"{begin}; 2 on an SM as before, and more L1, 1.20 times as fast, estimated"
    none = Speedup("main", 120, why="it gains nothing")
    assert (none.after, none.sentence) == (120, "main: no lever is pulled: it gains nothing")
