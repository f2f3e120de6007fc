"""Hold `smemreuse.tilelang.advise` side by side with what others recommend, on measured spaces.

    python -m scripts.advice_peers --out docs/results/advice-peers.json

Needs TileLang, and no GPU. The others are tilelang.carver, which comes with TileLang, and, for
GEMM, nvMatmulHeuristics (`pip install nvidia-matmul-heuristics`); without it its rows say so. How
a recommendation is mapped onto a configuration is in scripts/peers/mapping.py.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from scripts.peers import carver, mapping, matmul_heuristics
from scripts.peers.mapping import (
    RULES,
    Named,
    Ran,
    best_of_tiles,
    different,
    random_tops,
    there,
    tops,
)
from scripts.results import markdown, options_of, today, write
from scripts.spaces.scoring import CARD, TOPS, Measured, advice_on, key_of, measured
from smemreuse.targets.cards import CARDS

GEMM, ATTENTION = "gemm", "attention"
ADVISE, AT_RANDOM = "advise", "random order"
NVIDIA, NVIDIA_PLAIN = "nvMatmulHeuristics", "nvMatmulHeuristics, told: no clusters"
CARVER, CARVER_LARGE = "carver", "carver, told: 227 KB"
CONTESTANTS = (ADVISE, NVIDIA, NVIDIA_PLAIN, CARVER, CARVER_LARGE, AT_RANDOM)
NOT_INSTALLED, NOTHING = "not installed", "recommends nothing"
SHOWN = 8

Recommender = Callable[[Mapping[str, int]], list[Named]]


def gemm_peers() -> dict[str, Recommender | None]:
    """Who recommends tiles for GEMM; None for who is not installed."""
    card, there = CARDS[CARD], matmul_heuristics.installed()
    return {
        NVIDIA: matmul_heuristics.gemm if there else None,
        NVIDIA_PLAIN: partial(matmul_heuristics.gemm, clusters=False) if there else None,
        CARVER: partial(carver.gemm, card=card, shared=carver.STATIC),
        CARVER_LARGE: partial(carver.gemm, card=card, shared=carver.OPT_IN),
    }


def advised(truth: Measured) -> list[Named]:
    """The configurations in the order of `advise`, those that launch."""
    return [Named(dict(one.config)) for one in advice_on(truth).ranked]


def compared(truth: Measured, sizes: Mapping[str, int]) -> dict[str, Any]:
    """One shape: what each names first, and how good that is by each rule."""
    ran = ran_of(truth)
    orders: dict[str, list[Named]] = {}
    seconds: dict[str, float] = {}
    without: dict[str, str] = {}
    peers = gemm_peers() if truth.family == GEMM else {}
    asked: dict[str, Callable[[], list[Named]] | None] = {ADVISE: partial(advised, truth)}
    asked |= {name: peer and partial(peer, sizes) for name, peer in peers.items()}
    for name, ask in asked.items():
        if ask is None:
            without[name] = NOT_INSTALLED
            continue
        begin = time.monotonic()
        orders[name] = ask()
        seconds[name] = round(time.monotonic() - begin, 2)
    found = {
        "family": truth.family,
        "shape": truth.shape,
        "held_out": truth.held_out,
        "ran": len(ran),
        "different": {rule: len(best_of_tiles(ran, rule)) for rule in RULES[:2]},
        "best_us": min(one.us for one in ran),
        "rules": {rule: by_rule(orders, ran, rule) for rule in RULES},
        "recommended": {
            name: [one.words or json.dumps(one.config) for one in order[:SHOWN]]
            for name, order in orders.items()
        },
        "seconds": seconds,
    }
    if truth.family == ATTENTION:
        without |= attention_without(sizes)
    return found | ({"without": without} if without else {})


def ran_of(truth: Measured) -> list[Ran]:
    """The configurations of a shape that ran."""
    return [Ran(one["config"], one["median_us"]) for one in truth.configs if one["status"] == "ok"]


def by_rule(
    orders: Mapping[str, Sequence[Named]], ran: Sequence[Ran], rule: str
) -> dict[str, dict[str, Any]]:
    """Each one's tops, how many different ones it names, and of how many of the first the space has
    the very tile."""
    best = min(one.us for one in ran)
    ours = {key_of(one.config) for one in ran}
    found: dict[str, dict[str, Any]] = {}
    for name, order in orders.items():
        # Ours names configurations of the space; what was not measured of them is passed over.
        wanted = [one.config for one in order]
        if name == ADVISE:
            wanted = [one for one in wanted if key_of(one) in ours]
        distinct = different(wanted, ran, rule)
        found[name] = {
            **told(tops(distinct, best)),
            "different": len(distinct),
            f"first {SHOWN} there": there(wanted[:SHOWN], ran, rule),
        }
    found[AT_RANDOM] = told(random_tops(ran, rule))
    return found


def told(values: Mapping[int, float]) -> dict[str, float]:
    return {f"top{most}": round(value, 4) for most, value in values.items()}


def attention_without(sizes: Mapping[str, int]) -> dict[str, str]:
    """Why carver is not among those compared, by what it is told of the block's memory."""
    found = {}
    for name, shared in ((CARVER, carver.STATIC), (CARVER_LARGE, carver.OPT_IN)):
        hints = carver.attention_hints(sizes, CARDS[CARD], shared)
        found[name] = f"{len(hints)} hints, all of whole rows of scores" if hints else NOTHING
    return found


def summary(shapes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Geometric means by family, by what was looked at or held out, by who and by rule."""
    found = []
    kinds = sorted({(one["family"], one["held_out"]) for one in shapes})
    for kind, who, rule in itertools.product(kinds, CONTESTANTS, RULES):
        part = [one["rules"][rule] for one in shapes if (one["family"], one["held_out"]) == kind]
        rows = [one[who] for one in part if "top1" in one.get(who, {})]
        if rows:
            family, held_out = kind
            head = {"family": family, "held_out": held_out, "who": who, "rule": rule}
            means = {
                most: statistics.geometric_mean([row[f"top{most}"] for row in rows])
                for most in TOPS
            }
            found.append({**head, "shapes": len(rows), **told(means)})
    return found


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The summary in Markdown, of the families of which others recommend anything."""
    compared = {one["family"] for one in rows if one["who"] not in (ADVISE, AT_RANDOM)}
    known = {(one["family"], one["held_out"], one["who"], one["rule"]): one for one in rows}
    heads = [
        f"{rule}: top {most}" if most == TOPS[0] else f"{most}" for rule in RULES for most in TOPS
    ]
    shown = []
    for family, held_out, who in dict.fromkeys(key[:3] for key in known):
        if family in compared:
            each = [known[family, held_out, who, rule] for rule in RULES]
            values = [f"{one[f'top{most}']:.3f}" for one in each for most in TOPS]
            space = f"`{family}`{', held out' * held_out}, {each[0]['shapes']} shapes"
            shown.append((space, who, *values))
    return markdown(("space", "who", *heads), shown)


def about() -> dict[str, Any]:
    """What was compared, and what carver was told of the GPU that is not there."""
    packages = ["tilelang", "smemreuse"]
    if matmul_heuristics.installed():
        packages.append(matmul_heuristics.PACKAGE)
    return {
        "schema": "smemreuse.advice-peers/1",
        "date": today(),
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "rules": inspect.getdoc(mapping),
        NVIDIA: {
            "gpu": matmul_heuristics.GPU,
            "precision": matmul_heuristics.PRECISION,
            "backend": "CUTLASS3",
            "flags": "PERF_MODEL_BASED_AUTO_TUNING",
            "split K": "left out",
        },
        CARVER: {"the driver's answers, by hand": carver.answers(CARDS[CARD], carver.STATIC)},
    }


def main() -> None:
    parser = options_of(__doc__, "out")
    parser.add_argument("--families", nargs="*", default=[GEMM, ATTENTION])
    options = parser.parse_args()
    from fixtures.spaces import SPACES

    shapes = []
    for truth in measured():
        if truth.family in options.families:
            print(f"{truth.family}: {truth.shape}", file=sys.stderr, flush=True)
            shapes.append(compared(truth, SPACES[truth.family].shapes[truth.shape]))
    rows = summary(shapes)
    print(table(rows))
    write(options.out, {**about(), "summary": rows, "shapes": shapes}, 3)


if __name__ == "__main__":
    main()
