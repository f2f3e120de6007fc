"""A ranked space as a sequence, and what it tells."""

import pytest

from smemreuse.errors import PlanError
from smemreuse.results.ranking import (
    UNCALIBRATED,
    Failed,
    KernelEstimate,
    Ranked,
    Ranking,
    TooLarge,
    order,
)


def kernel(seconds: float, shared: int = 1024) -> KernelEstimate:
    terms = {"tensor cores": seconds, "DRAM": seconds / 2}
    return KernelEstimate(
        "main", seconds, 64, 2, 0.24, 96, 0, shared, 2e9, 1e6, 4e6, terms, ("data decide",)
    )


def ranked(tile: int, seconds: float, shared: int = 1024, by_reuse: bool = False) -> Ranked:
    return Ranked({"tile": tile}, (kernel(seconds, shared),), by_reuse, False)


FOUND = Ranking(
    order(
        [ranked(1, 3e-5), ranked(2, 1e-5, 2048), ranked(3, 1e-5), ranked(4, 2e-5, by_reuse=True)]
    ),
    (TooLarge({"tile": 5}, 300_000, 232_448),),
    (Failed({"tile": 6}, "ValueError: no layout"),),
    top=3,
    card="H200 SXM",
)


def test_the_fastest_come_first_and_of_equals_the_smaller() -> None:
    assert [one.config["tile"] for one in FOUND.ranked if isinstance(one.config, dict)] == [
        3,
        2,
        4,
        1,
    ]
    assert list(FOUND) == [{"tile": 3}, {"tile": 2}, {"tile": 4}]
    assert len(FOUND) == 3
    assert FOUND[0] == {"tile": 3}
    assert FOUND[:2] == [{"tile": 3}, {"tile": 2}]


def test_each_configuration_is_explained() -> None:
    best = FOUND.explain({"tile": 3})
    assert best.startswith(f"1 of 4: 10.0 us ({UNCALIBRATED})")
    assert "bound by tensor cores" in best
    assert "assumed: data decide" in best
    assert "only because buffers share bytes" in FOUND.explain({"tile": 4})
    assert "300,000 bytes of shared memory, of 232,448" in FOUND.explain({"tile": 5})
    assert "no layout" in FOUND.explain({"tile": 6})
    with pytest.raises(PlanError, match="no such configuration"):
        FOUND.explain({"tile": 7})


def test_what_was_measured_comes_before_what_is_predicted() -> None:
    timed = FOUND.timed({0: 4e-5, 2: 3e-5})
    assert list(timed) == [{"tile": 4}, {"tile": 3}, {"tile": 2}]
    assert timed.label.startswith("2 measured, then")
    assert [one.measured for one in timed.ranked] == [3e-5, 4e-5, None, None]


def test_its_text_is_short() -> None:
    assert repr(FOUND) == "Ranking(4 launch, 1 too large, 1 not lowered; for H200 SXM)"
