"""What was seen of hazards on hardware is said of the same mechanism alone."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.results.evidence import (
    NOT_MEASURED,
    Sighting,
    by_severity,
    seen_of,
    seen_words,
    severity,
    sightings,
)
from smemreuse.results.hazards import Hazard, HazardKind, Mend, Remedy
from smemreuse.results.sites import Site

SITE = Site("wait")
MEND = Mend(Remedy.BARRIER, "meet.")


def hazard(kind: HazardKind, mechanism: str = "") -> Hazard:
    return Hazard(kind, True, SITE, ("As",), "why", MEND, mechanism=mechanism)


AFTER_READ = hazard(HazardKind.MISSING_FENCE, "TMA load write after read")
PUBLISHED = hazard(HazardKind.MISSING_FENCE, "mbarrier completed by TMA after its initialization")


def test_each_kind_of_hazard_was_tried() -> None:
    assert {one.kind for one in sightings()} == {*HazardKind}


def test_a_mechanism_has_the_evidence_of_no_other() -> None:
    assert {one.mechanism for one in seen_of(AFTER_READ)} == {AFTER_READ.mechanism}
    assert severity(AFTER_READ) == 1.0
    assert not seen_of(PUBLISHED)
    assert seen_words(PUBLISHED) == f"missing-fence ({PUBLISHED.mechanism}): {NOT_MEASURED}"


def test_what_showed_it_in_the_most_kernels_is_told() -> None:
    found = seen_of(hazard(HazardKind.MISSED_PHASE))
    counts = [(one.shown, one.kernels) for one in found]
    assert counts == sorted(counts, reverse=True)
    told = seen_words(hazard(HazardKind.MISSED_PHASE))
    assert told == (
        "of 27 other kernels with missed-phase, 20 hung on an H100 with one warp delayed on "
        "purpose by 2 ms; 7 did not fail"
    )


def test_what_always_showed_is_graver_than_what_rarely_did() -> None:
    always = hazard(HazardKind.RACE, "read after write")
    rare = hazard(HazardKind.RACE, "write after write")
    assert severity(always) == 1.0
    assert "17 of 20 launches" in seen_words(rare)
    ranked = sorted([PUBLISHED, rare, replace(always, certain=False), always], key=by_severity)
    assert ranked == [always, rare, PUBLISHED, replace(always, certain=False)]


def test_what_never_showed_says_so() -> None:
    counts = {"kernels": 1, "shown": 0, "launches": 40, "wrong": 0, "hung": 0}
    about = {"card": "H100", "date": "2026-11-26", "how": "with nothing delayed", "result": ""}
    row = Sighting.of({"kind": "race", "mechanism": "", **counts, **about})
    assert row.sentence == (
        "1 other kernel with race did not fail in 40 launches on an H100 with nothing delayed"
    )
