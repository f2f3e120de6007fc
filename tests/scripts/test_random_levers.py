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
    class Wrong:
        def __init__(self, _pick: object, seed: int) -> None:
            self.seed = seed

        def examine(self, kind: str, _stats: Counter[str]) -> None:
            if (kind, self.seed) == (LEVERS, 5):
                raise AssertionError("accepted, and changes C\nwith more lines")

    monkeypatch.setattr(random_levers, "Examination", Wrong)
    _, failed, _ = random_levers._batch(range(4, 6))
    assert failed == [(LEVERS, 5, "AssertionError: accepted, and changes C")]
    assert random_levers.summed(Counter(), failed, 4, 2)["failing_seeds"] == [
        f"{LEVERS} 5: AssertionError: accepted, and changes C"
    ]


def test_a_wrong_proof_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that always holds is one that runs on numbers refute."""
    from smemreuse.equivalence import Proof, Reference

    monkeypatch.setattr(Reference, "equivalence", lambda _reference, _changed: Proof())
    _, failed, _ = random_levers._batch(range(4))
    assert any("is accepted, and changes" in way for _, _, way in failed)


def test_one_rewrite_by_itself_is_what_it_is_among_all() -> None:
    """What is made smaller is the failure that was found."""
    from tests.random_kernels.choices import source_of
    from tests.random_levers.examine import Examination, examine

    together, alone = Counter[str](), Counter[str]()
    for seed in range(2):
        examination = Examination(source_of(seed), seed)
        for kind in EDITS:
            examination.examine(kind, together)
            examine(kind, source_of(seed), seed, alone)
    assert together == alone
