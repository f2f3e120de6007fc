"""Hold `smemreuse.tilelang.advise` against the spaces that were measured on a GPU.

    python -m scripts.score_advice --out docs/results/advice-h200.json
    python -m scripts.score_advice --families decode --keep --out docs/results/advice-h200.json

Needs TileLang, and no GPU: each configuration is lowered once. Exit 1 where something infeasible
was let through, or something feasible dropped.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from scripts.results import options_of, write
from scripts.spaces.scoring import CARD, TOPS, Score, advice_on, measured, score

LOOKED_AT, HELD_OUT, LATER = "", ", held out", ", looked at later"
FIRST_HELD_OUT = ("chunk_scan", "convolution")
"""Families held out as a whole, whose first score showed what the model lacked."""


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Geometric means and worst cases of the first few, and the mean rank correlation."""
    found: dict[str, Any] = {"shapes": len(scores)}
    for most in TOPS:
        parts = [one.top[most] for one in scores]
        found[f"top{most}"] = round(statistics.geometric_mean(parts), 4)
        found[f"top{most}_worst"] = round(min(parts), 4)
    correlation = sum(one.correlation for one in scores) / len(scores)
    found["rank_correlation"] = round(correlation, 3)
    found["infeasible_passed"] = sum(len(one.passed) for one in scores)
    found["feasible_dropped"] = sum(len(one.dropped) for one in scores)
    return found


def by_kind(scores: Sequence[Score]) -> dict[str, dict[str, Any]]:
    """For each family what was looked at while the model was made, what was held out, and what was
    held out until its first score."""
    found = {}
    for family in [*dict.fromkeys(one.family for one in scores), "all"]:
        for kind in (LOOKED_AT, HELD_OUT, LATER):
            part = [one for one in scores if kind_of(one) == kind and family in ("all", one.family)]
            if part and (family != "all" or kind != LATER):
                found[f"{family}{kind}"] = summary(part)
    return found


def kind_of(one: Score) -> str:
    """Whether a shape had been looked at when the model was made."""
    if one.family in FIRST_HELD_OUT:
        return LATER
    return HELD_OUT if one.held_out else LOOKED_AT


def labels(scores: Sequence[Score]) -> dict[str, dict[str, Any]]:
    """Of each family, all its shapes together: what `smemreuse.advisor.validated` tells."""
    found = {}
    for family in dict.fromkeys(one.family for one in scores):
        told = summary([one for one in scores if one.family == family])
        found[family] = {name: told[name] for name in ("shapes", "rank_correlation", "top5")}
    return found


def kept(path: Path, anew: Collection[str]) -> list[Score]:
    """The scores that a file has of families that were not scored anew."""
    shapes = json.loads(path.read_text())["shapes"]
    return [Score.of_data(one) for one in shapes if one["family"] not in anew]


def main() -> int:
    parser = options_of(__doc__, "out")
    parser.add_argument("--label", type=Path, help="where to write what `advise` says of families")
    parser.add_argument("--families", nargs="*", help="default: all")
    parser.add_argument("--keep", action="store_true", help="what --out has of other families")
    options = parser.parse_args()
    scores, lowered, begin = [], 0, time.monotonic()
    for truth in measured():
        if options.families and truth.family not in options.families:
            continue
        lowered += len(truth.configs)
        scores.append(score(truth, advice_on(truth)))
        one = scores[-1]
        told = ", ".join(f"top {most} {part:.3f}" for most, part in one.top.items())
        print(f"{one.family:16} {one.shape:22} {told}, {one.correlation:.2f}", flush=True)
    if options.keep:
        scores += kept(options.out, {one.family for one in scores})
        scores.sort(key=lambda one: one.family)
    found = by_kind(scores)
    for name, one_kind in found.items():
        print(f"{name:28} {one_kind}")
    print(f"{lowered} configurations in {time.monotonic() - begin:.0f} s")
    head = {"schema": "smemreuse.advice-score/1", "card": CARD, "summary": found}
    write(options.out, {**head, "shapes": [one.as_data() for one in scores]})
    write(options.label, {CARD: labels(scores)})
    return int(any(one.passed or one.dropped for one in scores))


if __name__ == "__main__":
    sys.exit(main())
