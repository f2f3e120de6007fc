"""The label of an order says what was measured, and nothing more."""

import json

import pytest

from smemreuse.advisor.validated import label_for
from smemreuse.errors import PlanError
from smemreuse.results.ranking import UNCALIBRATED
from smemreuse.targets.cards import H200, card
from tests.conftest import ROOT


def test_without_a_family_it_is_uncalibrated() -> None:
    assert label_for(H200, None) == UNCALIBRATED
    assert label_for(card("a100"), "gemm") == f"{UNCALIBRATED} on this card"
    with pytest.raises(PlanError, match="unknown family 'fft'; measured are attention, chunk_scan"):
        label_for(H200, "fft")


def test_a_family_has_what_was_measured() -> None:
    data = json.loads((ROOT / "docs" / "results" / "advice-h200.json").read_text())
    shapes = [one for one in data["shapes"] if one["family"] == "gemm"]
    mean = sum(one["rank_correlation"] for one in shapes) / len(shapes)
    assert f"rank correlation {mean:.2f} on {len(shapes)} shapes of gemm" in label_for(H200, "gemm")
