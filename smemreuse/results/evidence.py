"""What hazards of each kind did on hardware: counts of committed measurements.

A static finding is as certain as its proof; this says beside it what kernels with such a hazard
have done. Each row is counted in a file of docs/results, which a test compares it with.
"""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.results.hazards import Hazard, HazardKind


@dataclass(frozen=True, slots=True)
class Sighting:
    """What kernels with one kind of hazard did on one GPU.

    Of `kernels` some `hung`; the others came back from so many `launches`, of which some were
    `wrong`. `how` says what was done to make it show, `result` names the file in docs/results.
    """

    kind: HazardKind
    card: str
    date: str
    kernels: int
    launches: int
    wrong: int
    hung: int
    how: str
    result: str

    @property
    def share(self) -> float:
        """The share of kernels that hung or, if larger, of launches that were wrong."""
        return max(self.hung / self.kernels, self.wrong / self.launches if self.launches else 0.0)

    @property
    def sentence(self) -> str:
        """What was seen, where and how; no full stop."""
        found = []
        if self.wrong:
            found.append(f"wrong in {self.wrong:,} of {self.launches:,} launches")
        if self.hung:
            found.append(f"hung in {self.hung:,} of {self.kernels:,} kernels")
        if not found:
            return f"not seen to show in {self.launches:,} launches on an {self.card}, {self.how}"
        return f"{' and '.join(found)} on an {self.card}, {self.how}"


_LATE, _PLAIN = "with some threads late by 20 us", "with nothing delayed"
_WARP = "with one warp late by 2 ms"
_WITNESSES, _MENDS = "lint-h100.json", "mends-h200.json"
_PACE, _PACE_H200 = "pace-h100.json", "pace-h200.json"

SEEN: tuple[Sighting, ...] = (
    Sighting(HazardKind.RACE, "H100", "2026-11-26", 2, 80, 80, 0, _LATE, _WITNESSES),
    Sighting(HazardKind.RACE, "H200", "2026-11-22", 2, 80, 80, 0, _LATE, _MENDS),
    Sighting(HazardKind.MISSING_WAIT, "H100", "2026-11-26", 1, 40, 40, 0, _PLAIN, _WITNESSES),
    Sighting(HazardKind.MISSING_WAIT, "H200", "2026-11-22", 1, 40, 40, 0, _PLAIN, _MENDS),
    Sighting(HazardKind.MISSING_FENCE, "H100", "2026-11-26", 1, 40, 40, 0, _PLAIN, _WITNESSES),
    Sighting(HazardKind.MISSING_FENCE, "H200", "2026-11-22", 1, 40, 40, 0, _PLAIN, _MENDS),
    Sighting(HazardKind.BARRIER_DIVERGENCE, "H100", "2026-11-26", 3, 80, 80, 1, _LATE, _WITNESSES),
    Sighting(HazardKind.BARRIER_DEADLOCK, "H100", "2026-11-26", 1, 0, 0, 1, _PLAIN, _WITNESSES),
    Sighting(HazardKind.OUT_OF_BOUNDS, "H100", "2026-11-26", 1, 40, 40, 0, _PLAIN, _WITNESSES),
    Sighting(HazardKind.UNINITIALISED_READ, "H100", "2026-11-26", 1, 40, 1, 0, _PLAIN, _WITNESSES),
    Sighting(HazardKind.MISSED_PHASE, "H200", "2026-11-24", 4, 0, 0, 4, _WARP, _PACE_H200),
    Sighting(HazardKind.MISSED_PHASE, "H100", "2026-11-25", 27, 140, 0, 20, _WARP, _PACE),
)


def seen_of(kind: HazardKind) -> tuple[Sighting, ...]:
    """What was seen of a kind of hazard, the most telling first."""
    return tuple(sorted((one for one in SEEN if one.kind is kind), key=lambda one: -one.share))


def severity(kind: HazardKind) -> float:
    """The largest share of kernels or launches that a kind of hazard broke; 0 where none did."""
    return max((one.share for one in seen_of(kind)), default=0.0)


def seen_words(kind: HazardKind) -> str:
    """The most telling of what was seen of a kind, after a colon; empty where nothing was tried."""
    found = seen_of(kind)
    return f"other kernels with a {kind}: {found[0].sentence}" if found else ""


def by_severity(hazard: Hazard) -> tuple[bool, float]:
    """Sorts what is certain before what is possible, and what broke more kernels before others."""
    return not hazard.certain, -severity(hazard.kind) if hazard.certain else 0.0
