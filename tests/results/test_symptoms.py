"""What is seen of hazards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.results.hazards import HazardKind
from smemreuse.results.symptoms import symptom_of, symptom_of_kind
from tests.results.test_hazard_groups import CERTAIN


@pytest.mark.parametrize(
    ("kind", "mechanism", "told"),
    [
        (HazardKind.MISSING_FENCE, "TMA load write after read", "read overwritten data"),
        (HazardKind.MISSING_FENCE, "TMA load write after read that is stored", "read overw"),
        (HazardKind.RACE, "wgmma read after cp.async write", "read stale data"),
        (HazardKind.RACE, "write after write", "keep the wrong value"),
        (HazardKind.RACE, "writes in one statement", "give wrong results"),
        (HazardKind.UNINITIALISED_READ, "read", "read what nothing has written"),
        (HazardKind.MISSED_PHASE, "", "hang"),
        (
            HazardKind.MISSING_FENCE,
            "mbarrier completed by TMA after its initialization",
            "hang, or read too early",
        ),
    ],
)
def test_two_accesses_say_what_they_make_of_data_and_other_hazards_their_kind(
    kind: HazardKind, mechanism: str, told: str
) -> None:
    for certain, verb in ((True, "can"), (False, "may")):
        hazard = replace(CERTAIN, kind=kind, mechanism=mechanism, certain=certain)
        assert symptom_of(hazard).startswith(f"{verb} {told}")


def test_every_kind_has_one() -> None:
    assert all(symptom_of_kind(one, certain=True).startswith("can ") for one in HazardKind)
