"""The best tile of kernels whose blocks are held to a limit, with and without levers.

    python -m scripts.fit_on_gpu --out docs/results/fitting-h100.json --seconds 540
    python -m scripts.fit_on_gpu --speed --out speed-h200.json --seconds 540
    python -m scripts.fit_on_gpu --rehearse --sample 2      # compiles only: needs no GPU

Every configuration of fixtures/spaces/limited.py is compiled under `merge(objective="fit")`. Those
that fit as they are, merged by smemreuse, are what a tuner has without levers; the others fit by
what was changed in them, and are compared bit for bit with themselves as they were written, which
this GPU can launch. With `--speed` there is no limit, and it is `merge(levers=True)`: what that
changes is compared with itself as it was written, too. Several are compiled at a time; a lock gives
the GPU to one of them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from scripts.apart import doing
from scripts.results import about_gpu, write
from scripts.spaces.compiling import COMPILED, compiled, outcome_of
from scripts.spaces.launching import OK
from scripts.spaces.team import COMPILING, Answers, Device, Job, chunks, parser, run_apart, served

LIMIT = 101_376
"""Bytes of a block on sm_86, 89 and 120."""
DOES_NOT_FIT = "does not fit"


def work(arch: str, options: dict[str, Any], lock: str | None) -> Answers:
    """Compiles each job's configuration with these options of `merge` and launches it; with no
    `lock` it only compiles."""
    from fixtures.spaces.limited import LIMITED

    def measure(job: dict[str, Any], device: Device | None) -> dict[str, Any]:
        space, shape = LIMITED[job["family"]], job["shape"]
        arguments = {**space.shapes[shape], **job["config"]}
        doing(COMPILING)
        made = compiled(space, arguments, arch, options)
        found = made.found
        if found["status"] == COMPILED and not outcome_of(found).get("fits", True):
            found["status"] = DOES_NOT_FIT
        if device is None or found["status"] != COMPILED:
            return found
        written = compiled(space, arguments, arch) if outcome_of(found)["steps"] else None
        with device.alone() as launcher:
            found |= launcher.launch(space, shape, made.kernel, doing)
            if written is not None and written.kernel is not None and found["status"] == OK:
                doing("comparing")
                found["written"] = launcher.launch(space, shape, written.kernel, doing)
                if found["written"]["status"] == OK:
                    pair = made.kernel, written.kernel
                    found["same_bits"] = launcher.same_bits(space, shape, *pair)
        return found

    return served(measure, lock)


def summary(family: str, shape: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The best tile without levers and with them, and how much faster the latter is; tiles that
    levers make faster are without them, too, as they were written."""
    ok = [one for one in runs if one["status"] == OK]
    plain = [one for one in ok if not outcome_of(one)["steps"]]
    changed = [one for one in ok if outcome_of(one)["steps"]]
    written = [
        {**one, **one["written"]}
        for one in changed
        if "speedup" in one and one["written"]["status"] == OK
    ]
    best = {
        name: min(which, key=lambda one: float(one["median_us"]), default=None)
        for name, which in (("without", plain + written), ("with", ok))
    }
    without, with_levers = best["without"], best["with"]
    gain = without["median_us"] / with_levers["median_us"] if without and with_levers else None
    return {
        "family": family,
        "shape": shape,
        "as_they_are": len(plain),
        "by_levers": len(changed),
        "statuses": dict(Counter(one["status"] for one in runs)),
        "not_same_bits": sum(one.get("same_bits") is False for one in changed),
        "gain": None if gain is None else round(gain, 4),
        **{
            name: one and {"config": one["config"], "us": one["median_us"], **outcome_of(one)}
            for name, one in best.items()
        },
    }


def _options() -> argparse.Namespace:
    found = parser(__doc__)
    found.add_argument("--limit", type=int, default=LIMIT, help="bytes of a block")
    found.add_argument("--speed", action="store_true", help="levers for speed, without a limit")
    return found.parse_args()


def main() -> int:
    options = _options()
    started = time.monotonic()
    from fixtures.spaces.limited import LIMITED

    spaces = {name: LIMITED[name] for name in options.families or LIMITED}
    order = chunks(spaces, options.sample)
    total = sum(map(len, order))
    merged = {"levers": True} if options.speed else {"objective": "fit", "limit": options.limit}
    about: dict[str, Any] = {} if options.rehearse else about_gpu("fitting", tilelang=True)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in spaces}

    def document() -> Mapping[str, Any]:
        rows = [
            summary(name, next(iter(spaces[name].shapes)), runs) for name, runs in found.items()
        ]
        gains = [one["gain"] for one in rows if one["gain"]]
        mean = statistics.geometric_mean(gains) if gains else None
        about_all = {**merged, "geometric_mean": mean and round(mean, 4)}
        return {**about, **about_all, "best": rows, "runs": found}

    def note(job: Job, data: dict[str, Any]) -> None:
        found[job.family].append({"config": dict(job.config), **data})
        if sum(map(len, found.values())) % 40 == 0:
            write(options.out, document())

    until, arguments = started + options.seconds, (options.arch, merged)
    run_apart(order, options, until, note, os.devnull, work, *arguments)
    write(options.out, document())
    done = sum(map(len, found.values()))
    for row in document()["best"]:
        steps = "; ".join(row["with"]["steps"]) if row["with"] else ""
        print(row["family"], row["statuses"], row["gain"], row["not_same_bits"], steps, flush=True)
    print(f"{done} of {total} in {time.monotonic() - started:.0f} s")
    return int(done < total)


if __name__ == "__main__":
    sys.exit(main())
