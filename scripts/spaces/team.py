"""Jobs in an even order, for processes that may hang or die; and what such a process does."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.apart import Ended, Worker, doing
from scripts.spaces.compiling import COMPILED, compiled
from scripts.spaces.launching import Launcher, alone

CHUNK = 6
"""Configurations of one shape that a worker takes at a time: it makes their inputs once."""
STARTING, COMPILING, WAITING = "starting", "compiling", "waiting"
SECONDS = {STARTING: 240.0, COMPILING: 150.0, WAITING: 300.0}
SECONDS_OF_THE_REST = 30.0


@dataclass(frozen=True)
class Job:
    family: str
    shape: str
    index: int
    config: Mapping[str, int]


def chunks(spaces: Mapping[str, Any]) -> list[list[Job]]:
    """All jobs, in the order in which they are to be begun.

    Each shape's first chunk, then each one's second, so that every space is covered as far as any
    other when time runs out; the larger spaces have more chunks, and those come last.
    """
    rounds: list[tuple[int, bytes, list[Job]]] = []
    for family, space in spaces.items():
        for shape, sizes in space.shapes.items():
            jobs = [Job(family, shape, at, one) for at, one in enumerate(space.configs(sizes))]
            for turn, begin in enumerate(range(0, len(jobs), CHUNK)):
                mixed = hashlib.sha256(f"{turn}/{family}/{shape}".encode()).digest()
                rounds.append((turn, mixed, jobs[begin : begin + CHUNK]))
    return [jobs for _, _, jobs in sorted(rounds, key=lambda each: each[:2])]


def seconds_of(step: str) -> float:
    return SECONDS.get(step, SECONDS_OF_THE_REST)


def done(job: Job, worker: Worker) -> dict[str, Any]:
    """What a worker finds of a job, or that it ended."""
    try:
        if worker.process is None:
            worker.ask(seconds_of)
        asked = {"family": job.family, "shape": job.shape, "config": dict(job.config)}
        return dict(worker.ask(seconds_of, asked))
    except Ended as ended:
        return failed(ended)


def failed(ended: Ended) -> dict[str, Any]:
    """What is written of a job that cost its worker."""
    if ended.doing == STARTING:
        status = "not measured"
    elif ended.doing == COMPILING:
        status = "compiler hangs" if ended.late else "lowering failed"
    else:
        status = "hangs" if ended.late else "does not launch"
    return {"status": status, "error": str(ended)}


def run_all(
    order: Sequence[Sequence[Job]],
    workers: Sequence[Worker],
    until: float,
    note: Callable[[Job, dict[str, Any]], None],
) -> None:
    """Every job on some worker, none begun after `until`; `note` is called by one at a time."""
    waiting, lock = list(reversed(order)), threading.Lock()

    def go(worker: Worker) -> None:
        while time.monotonic() < until:
            with lock:
                if not waiting:
                    break
                jobs = waiting.pop()
            for job in jobs:
                if time.monotonic() >= until:
                    break
                found = done(job, worker)
                with lock:
                    note(job, found)
        worker.end()

    threads = [threading.Thread(target=go, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Within a worker's process ------------------------------------------------------------------------


def work(arch: str, lock: str | None) -> Generator[Any, dict[str, Any], Any]:
    """Compiles each job's configuration and launches it; with no `lock` it only compiles.

    The answer after which its GPU can no longer be used is its last.
    """
    from fixtures.spaces import SPACES

    launcher = None
    if lock is not None:
        doing(WAITING)
        launcher = Launcher()
        with alone(Path(lock)):
            start_device()
    job = yield None
    while True:
        space = SPACES[job["family"]]
        doing(COMPILING)
        made = compiled(space, {**space.shapes[job["shape"]], **job["config"]}, arch)
        if launcher is not None and made.found["status"] == COMPILED:
            doing(WAITING)
            with alone(Path(lock or os.devnull)):
                made.found |= launcher.launch(space, job["shape"], made.kernel, doing)
            if launcher.broken:
                return made.found
        job = yield made.found


def start_device() -> None:
    """Uses the GPU once, which takes a second the first time."""
    import torch

    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
