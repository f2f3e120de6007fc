"""Compile, launch and time every configuration of the spaces in fixtures/spaces, once.

    python -m scripts.spaces_on_gpu --out docs/results/spaces --seconds 500
    python -m scripts.spaces_on_gpu --rehearse --sample 2    # compiles only: needs no GPU

What is found goes to one file a family, and what is held out to another, so that nobody who makes
a model of these times sees it by accident. Kernels are compiled under `smemreuse.tilelang.merge()`,
several at a time; a lock gives the GPU to one of them. Nothing is begun after so many seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from scripts.results import about_gpu
from scripts.spaces.data import write
from scripts.spaces.team import Job, chunks, parser, run_apart, work

SECONDS_BETWEEN_WRITES = 20


def main() -> int:
    options = parser(__doc__).parse_args()
    started = time.monotonic()
    from fixtures.spaces import SPACES

    spaces = {name: SPACES[name] for name in options.families or SPACES}
    order = chunks(spaces, options.sample)
    total = sum(map(len, order))
    about: dict[str, Any] = {} if options.rehearse else about_gpu("space", tilelang=True)
    found: dict[str, dict[tuple[str, int], dict[str, Any]]] = {name: {} for name in spaces}
    tally: Counter[str] = Counter()
    written = [started]

    def save() -> None:
        if options.out:
            for name, space in spaces.items():
                write(options.out, space, about, found[name])
        written[0] = time.monotonic()

    def note(job: Job, data: dict[str, Any]) -> None:
        found[job.family][job.shape, job.index] = data
        tally[data["status"]] += 1
        print(line(job, data), flush=True)
        done = sum(tally.values())
        if done % 50 == 0:
            seconds = time.monotonic() - started
            print(f"{done} of {total} in {seconds:.0f} s: {dict(tally)}", flush=True)
        if time.monotonic() - written[0] > SECONDS_BETWEEN_WRITES:
            save()

    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "spaces.log" if options.out else os.devnull
    run_apart(order, options, started + options.seconds, note, log, work, options.arch)
    save()
    done = sum(tally.values())
    print(f"{done} of {total} in {time.monotonic() - started:.0f} s: {dict(tally)}")
    return int(done < total)


def line(job: Job, data: Mapping[str, Any]) -> str:
    """For the terminal. No times: who makes a model may be the one who looks at it."""
    config = ",".join(str(value) for value in job.config.values())
    status = data["status"] + (f": {data['error'][:90]}" if "error" in data else "")
    seconds = data.get("nvcc_seconds", 0.0) + data.get("other_seconds", 0.0)
    return f"{job.family:16} {job.shape:20} {config:22} {seconds:5.1f} s {status}"


if __name__ == "__main__":
    sys.exit(main())
