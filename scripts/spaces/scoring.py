"""Advice held against what was measured: what is feasible, and how good the first ones are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scripts.results import ARCH, RESULTS

CARD = "h200"
FOLDER = RESULTS / "spaces"
TOPS = (1, 5, 8)
LAUNCHES = ("ok", "wrong", "hangs")
"""What becomes of a configuration whose blocks find room."""


@dataclass(frozen=True)
class Measured:
    """One shape of a family: every configuration that was tried, and what became of it."""

    family: str
    shape: str
    held_out: bool
    configs: Sequence[Mapping[str, Any]]

    @property
    def times(self) -> dict[str, float]:
        """Microseconds of each configuration that ran, by `key_of` it."""
        return {
            key_of(one["config"]): one["median_us"] for one in self.configs if one["status"] == "ok"
        }


def key_of(config: Mapping[str, Any]) -> str:
    """A configuration as a key."""
    return json.dumps(dict(config), sort_keys=True)


def measured(folder: Path = FOLDER) -> list[Measured]:
    """All that was measured."""
    found = []
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text())
        found += [
            Measured(data["family"], one["name"], one["held_out"], one["configs"])
            for one in data["shapes"]
        ]
    return found


def advice_on(truth: Measured, **options: Any) -> Any:
    """What `smemreuse.tilelang.advise` says of all configurations of a shape."""
    from fixtures.spaces import SPACES
    from smemreuse.tilelang import advise

    space = SPACES[truth.family]
    configs = [dict(one["config"]) for one in truth.configs]
    options |= {"pass_configs": dict(space.pass_configs), **space.shapes[truth.shape]}
    return advise(space.make, configs, arch=ARCH, card=CARD, **options)


@dataclass(frozen=True)
class Score:
    """How advice did: of what was tried, which were wrongly let through or dropped; the best
    measured time over the best of the first few; and the rank correlation (Spearman's) of all."""

    family: str
    shape: str
    held_out: bool
    tried: int
    ran: int
    passed: tuple[str, ...]
    dropped: tuple[str, ...]
    top: Mapping[int, float]
    correlation: float

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Score:
        """What `as_data` gave, rounded as there."""
        return cls(
            data["family"],
            data["shape"],
            data["held_out"],
            data["tried"],
            data["ran"],
            tuple(data["infeasible_passed"]),
            tuple(data["feasible_dropped"]),
            {most: data[f"top{most}"] for most in TOPS},
            data["rank_correlation"],
        )

    def as_data(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "shape": self.shape,
            "held_out": self.held_out,
            "tried": self.tried,
            "ran": self.ran,
            "infeasible_passed": list(self.passed),
            "feasible_dropped": list(self.dropped),
            **{f"top{most}": round(part, 4) for most, part in self.top.items()},
            "rank_correlation": round(self.correlation, 4),
        }


def score(truth: Measured, advice: Any) -> Score:
    """Advice on all of a shape's configurations, held against what was measured."""
    times = truth.times
    order = [(key_of(one.config), one.seconds) for one in advice.ranked]
    feasible = {key for key, _ in order}
    launched = {key_of(one["config"]) for one in truth.configs if one["status"] in LAUNCHES}
    tried = {key_of(one["config"]) for one in truth.configs if one["status"] != "not measured"}
    ran = [(times[key], seconds) for key, seconds in order if key in times]
    best = min(times.values())
    return Score(
        truth.family,
        truth.shape,
        truth.held_out,
        len(tried),
        len(times),
        tuple(sorted(feasible & tried - launched)),
        tuple(sorted(launched - feasible)),
        {most: best / min(taken for taken, _ in ran[:most]) for most in TOPS},
        rank_correlation([taken for taken, _ in ran], [seconds for _, seconds in ran]),
    )


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's; equal values in the order in which they stand."""
    first, second = (np.argsort(np.argsort(values, kind="stable")) for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1])
