"""What hazards did on hardware: counts of committed measurements, by kind and mechanism.

A static finding is as certain as its proof; this says beside it what kernels with such a hazard
have done. What was not measured says so: what one mechanism does tells nothing of another of the
same kind. `scripts/render_evidence.py` counts the rows in docs/results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from smemreuse.results.hazards import Hazard, HazardKind

NOT_MEASURED = "wrong by the PTX ISA, not yet measured on a GPU"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What kernels with one mechanism of one kind of hazard did on one GPU.

    Of `kernels` so many were `shown` to be wrong, of which some `hung`; the others came back from
    so many `launches`, of which some were `wrong`. `how` says what was done to make it show,
    `result` names the file in docs/results.
    """

    kind: HazardKind
    mechanism: str
    card: str
    date: str
    kernels: int
    shown: int
    launches: int
    wrong: int
    hung: int
    how: str
    result: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Sighting:
        """A row as `scripts/render_evidence.py` writes it."""
        return cls(**{**row, "kind": HazardKind(row["kind"])})

    @property
    def share(self) -> float:
        """The share of kernels that hung or, if larger, of launches that were wrong."""
        return max(self.hung / self.kernels, self.wrong / self.launches if self.launches else 0.0)

    @property
    def sentence(self) -> str:
        """How many kernels failed, how, where and under what; no full stop."""
        kernels = f"{self.kernels:,} other {'kernel' if self.kernels == 1 else 'kernels'}"
        what = f"{kernels} with {named(self.kind, self.mechanism)}"
        where = f"on an {self.card} {self.how}"
        if not self.shown:
            return f"{what} did not fail in {self.launches:,} launches {where}"
        counts = [f"{self.hung:,} hung"] if self.hung else []
        launches = ""
        if self.wrong:
            counts.append(f"{self.shown - self.hung:,} gave wrong results")
            launches = f", in {self.wrong:,} of {self.launches:,} launches"
        others = self.kernels - self.shown
        fine = f"; {others:,} did not fail" if others else ""
        return f"of {what}, {' and '.join(counts)} {where}{launches}{fine}"


@cache
def sightings() -> tuple[Sighting, ...]:
    """All that was measured."""
    text = (files("smemreuse.results") / "evidence.json").read_text(encoding="utf-8")
    return tuple(map(Sighting.of, json.loads(text)))


def seen_of(hazard: Hazard) -> tuple[Sighting, ...]:
    """What was seen of hazards of the same kind and mechanism: what showed it in the most kernels
    first, then the broadest measurement."""
    key = hazard.kind, hazard.mechanism
    found = (one for one in sightings() if (one.kind, one.mechanism) == key)
    return tuple(sorted(found, key=lambda one: (-one.shown, -one.kernels, -one.share)))


def severity(hazard: Hazard) -> float:
    """The largest share of kernels or launches that such a hazard broke; 0 where none did."""
    return max((one.share for one in seen_of(hazard)), default=0.0)


def seen_words(hazard: Hazard) -> str:
    """What was seen of such hazards in the most kernels; or that nothing was measured."""
    found = seen_of(hazard)
    what = named(hazard.kind, hazard.mechanism)
    return found[0].sentence if found else f"{what}: {NOT_MEASURED}"


def named(kind: HazardKind, mechanism: str) -> str:
    """A kind of hazard, and its mechanism in brackets if it has several."""
    return f"{kind} ({mechanism})" if mechanism else str(kind)


def by_severity(hazard: Hazard) -> tuple[bool, float]:
    """Sorts what is certain before what is possible, and what broke more kernels before others."""
    return not hazard.certain, -severity(hazard) if hazard.certain else 0.0
