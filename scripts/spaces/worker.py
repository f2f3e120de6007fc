"""A process that compiles configurations one after the other, and launches each.

It reads a job from each line of its input, `{"family", "shape", "config"}`, and tells in lines of
JSON what it is `doing`, then what it has `found`, with `broken` where it is of no use any more.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from scripts.benchmarks.process import tell
from scripts.spaces.compiling import COMPILED, compiled
from scripts.spaces.launching import Launcher, alone

COMPILING, WAITING, LAUNCHING = "compiling", "waiting", "launching"


def work(arch: str, lock: Path | None, jobs: IO[str], out: IO[str]) -> None:
    """Until the end of its input, or the end of its GPU; with no `lock` it only compiles."""
    from fixtures.spaces import SPACES

    launcher = None
    if lock is not None:
        tell(out, doing=WAITING)
        launcher = Launcher()
        with alone(lock):
            _start_device()
    for line in jobs:
        job = json.loads(line)
        space = SPACES[job["family"]]
        tell(out, doing=COMPILING)
        made = compiled(space, {**space.shapes[job["shape"]], **job["config"]}, arch)
        if launcher is not None and made.found["status"] == COMPILED:
            tell(out, doing=WAITING)
            with alone(lock or Path(os.devnull)):
                made.found |= launcher.launch(
                    space, job["shape"], made.kernel, lambda what: tell(out, doing=what)
                )
        broken = launcher is not None and launcher.broken
        tell(out, found=made.found, broken=broken)
        if broken:
            return


def _start_device() -> None:
    import torch

    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()


def main(arguments: Sequence[str]) -> None:
    """Called as `worker ARCH [LOCK]`; compilers' own words go to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    lock: Any = Path(arguments[1]) if len(arguments) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILELANG_CACHE_DIR"] = folder
        work(arguments[0], lock, sys.stdin, out)
