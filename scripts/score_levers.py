"""How far the model of `advise` is from what levers cost, from what was measured on GPUs.

    python -m scripts.score_levers docs/results/fitting-h100.json docs/results/fitting-h200.json

The files are what `scripts/fit_on_gpu.py` wrote. Of each tile that was launched with levers and as
it was written, to fit or for speed (`--speed`): the time with levers over the time without, as
measured and as the model said. Prints for each kind of lever the most that the model was wrong by,
of all tiles and of those that it said a gain of, and how many of these were slower.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.results import markdown
from scripts.spaces.compiling import outcome_of

KINDS = (
    ("products in slices", " slices"),
    ("tiles loaded again", "loaded again"),
    ("later loads", "where it is used"),
    ("direct stores", "left out"),
)
OTHERS = "fewer stages"


@dataclass(frozen=True)
class Pair:
    """A tile with levers over itself as it was written: the kind of lever that costs most, and the
    ratio of times, measured and as said."""

    kind: str
    measured: float
    said: float

    @property
    def error(self) -> float:
        """How many times as long it took as was said."""
        return self.measured / self.said


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path, nargs="+")
    results = [json.loads(path.read_text()) for path in parser.parse_args().results]
    print(errors_table([pair for one in results for pair in pairs_in(one)]))


def pairs_in(data: Mapping[str, Any]) -> Iterator[Pair]:
    """The tiles that ran both ways, with what the model said."""
    for one in (each for runs in data["runs"].values() for each in runs):
        outcome = outcome_of(one)
        written, gain = one.get("written") or {}, outcome.get("said")
        said = 1 / gain if gain else outcome.get("slowdown")
        if said and one["status"] == written.get("status") == "ok":
            yield Pair(kind_of(outcome["steps"]), one["median_us"] / written["median_us"], said)


def kind_of(steps: Sequence[str]) -> str:
    """The kind of the lever that costs most, of their sentences."""
    for kind, words in KINDS:
        if any(words in one for one in steps):
            return kind
    return OTHERS


def errors_table(pairs: Sequence[Pair]) -> str:
    """For each kind of lever the model's error, and what a gain above it would have pulled."""
    rows = [
        _row(kind, [one for one in pairs if one.kind == kind])
        for kind in (OTHERS, *(kind for kind, _ in reversed(KINDS)))
        if any(one.kind == kind for one in pairs)
    ]
    heads = (
        *("levers", "tiles", "error, median", "at most", "gain said", "at most, of these"),
        *("slower, of these", "gain said above the error"),
    )
    return markdown(heads, rows)


def _row(kind: str, pairs: Sequence[Pair]) -> tuple[Any, ...]:
    worst = max(one.error for one in pairs)
    gains = [one for one in pairs if one.said < 1]
    slower = sum(one.measured > 1.01 for one in gains)
    median = math.exp(statistics.median(abs(math.log(one.error)) for one in pairs))
    pulled = sum(one.said * worst < 1 for one in gains)
    most = f"{max(one.error for one in gains):.2f}" if gains else ""
    return kind, len(pairs), f"{median:.2f}", f"{worst:.2f}", len(gains), most, slower, pulled


if __name__ == "__main__":
    main()
