"""What was seen of hazards on hardware is what the committed measurements say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from smemreuse.results.evidence import SEEN, Sighting, seen_of, seen_words, severity
from smemreuse.results.hazards import HazardKind
from tests.conftest import ROOT

DELAYED = "as it is, delayed"


def _variants(result: dict[str, Any], kind: HazardKind) -> Iterable[dict[str, Any]]:
    """The kernels as they are that have such a hazard, as launched."""
    for one in result["witnesses"] if "witnesses" in result else result["kernels"]:
        if "variants" in one and one["kind"] == str(kind):
            yield one["variants"][0]
        elif DELAYED in one and _has(one, kind):
            yield one[DELAYED]


def _has(one: dict[str, Any], kind: HazardKind) -> bool:
    """Whether the kernel has that hazard and no other: `lint` said so, or guards alone mend it."""
    told = one.get("mended", one["as it is"])
    if "lint" in told:
        return bool(told["lint"] == [f"hazards: {kind}"])
    put_in = told["put_in"]
    return bool(put_in) and all(each.startswith("if ") for each in put_in)


def _counted(row: Sighting) -> tuple[int, int, int, int]:
    result = json.loads((ROOT / "docs" / "results" / row.result).read_text())
    found = [*_variants(result, row.kind)]
    back = [one for one in found if "launches" in one]
    return (
        len(found),
        sum(one["launches"] for one in back),
        sum(one["wrong_launches"] for one in back),
        sum(bool(one.get("hangs")) for one in found),
    )


@pytest.mark.parametrize("row", SEEN, ids=lambda row: f"{row.kind}-{row.result}")
def test_a_row_is_what_its_file_counts(row: Sighting) -> None:
    result = json.loads((ROOT / "docs" / "results" / row.result).read_text())
    assert (row.date, row.card in result["device"]) == (result["date"], True)
    assert (row.kernels, row.launches, row.wrong, row.hung) == _counted(row)


def test_each_kind_of_hazard_was_tried() -> None:
    assert {one.kind for one in SEEN} == {*HazardKind}


def test_what_always_showed_is_graver_than_what_rarely_did() -> None:
    rare = HazardKind.UNINITIALISED_READ
    assert severity(HazardKind.RACE) == 1.0
    assert severity(rare) == 1 / 40
    assert "1 of 40 launches" in seen_words(rare)
    assert seen_of(HazardKind.MISSED_PHASE)[0].share == severity(HazardKind.MISSED_PHASE)


def test_what_never_showed_says_so() -> None:
    row = Sighting(HazardKind.RACE, "H100", "2026-11-26", 1, 40, 0, 0, "with nothing delayed", "")
    assert row.sentence == "not seen to show in 40 launches on an H100, with nothing delayed"
