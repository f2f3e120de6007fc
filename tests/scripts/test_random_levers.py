"""What `scripts/random_levers.py` counts, and what it does where a rewrite is wrongly accepted."""

from __future__ import annotations

from collections import Counter

import pytest

from scripts import random_levers
from tests.random_levers.edits import EDITS, LEVERS

pytestmark = pytest.mark.tilelang

REFUSED = "refused, other results"


def test_outcomes_are_counted_by_rewrite() -> None:
    stats, failed, count = random_levers._batch(range(2))
    found = random_levers.summed(stats, failed, 0, count)
    assert (found["functions"], found["failures"]) == (2, 0)
    assert found["outcomes"].keys() == EDITS.keys()
    counted = sum(sum(one.values()) for one in found["outcomes"].values())
    assert 0 < counted == found["rewrites"] <= 2 * len(EDITS)


def test_levers_that_would_change_a_result_are_told() -> None:
    stats = Counter({f"{LEVERS}: {REFUSED}": 3, f"{LEVERS}: accepted, same results": 4})
    found = random_levers.summed(stats, [], 0, 7)
    assert found["outcomes"][LEVERS][REFUSED] == 3


def test_what_goes_wrong_is_named_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(kind: str, _pick: object, seed: int, _stats: Counter[str]) -> None:
        if (kind, seed) == (LEVERS, 5):
            raise AssertionError("accepted, and changes C\nwith more lines")

    monkeypatch.setattr(random_levers, "examine", wrong)
    _, failed, _ = random_levers._batch(range(4, 6))
    assert failed == [(LEVERS, 5, "AssertionError: accepted, and changes C")]
    assert random_levers.summed(Counter(), failed, 4, 2)["failing_seeds"] == [
        f"{LEVERS} 5: AssertionError: accepted, and changes C"
    ]


def test_a_wrong_proof_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that always holds is one that runs on numbers refute."""
    from smemreuse.equivalence import Proof
    from tests.random_levers import examine

    monkeypatch.setattr(examine, "equivalence", lambda _original, _changed: Proof())
    _, failed, _ = random_levers._batch(range(4))
    assert any("is accepted, and changes" in way for _, _, way in failed)
