"""Jobs in an even order, for processes that may hang or die; and what such a process does."""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.apart import Ended, Worker, command_of, doing
from scripts.results import options_of
from scripts.spaces.compiling import COMPILED, compiled
from scripts.spaces.launching import Launcher, alone

CHUNK = 6
"""Configurations of one shape that a worker takes at a time: it makes their inputs once."""
STARTING, COMPILING, WAITING = "starting", "compiling", "waiting"
SECONDS = {STARTING: 240.0, COMPILING: 150.0, WAITING: 300.0}
SECONDS_OF_THE_REST = 30.0

Answers = Generator[Any, dict[str, Any], Any]
"""What a worker's process says: nothing when it is ready, then what it finds of each job."""


@dataclass(frozen=True)
class Job:
    family: str
    shape: str
    index: int
    config: Mapping[str, int]


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options of a script that measures spaces."""
    found = options_of(doc, "out", "rehearse", "arch")
    found.add_argument("--families", nargs="*", default=[], help="default: all")
    found.add_argument("--jobs", type=int, help="workers at once (default: by processors)")
    found.add_argument("--seconds", type=float, default=float("inf"), help="budget to begin in")
    found.add_argument("--sample", type=int, help="only so many configurations of each shape")
    return found


def chunks(spaces: Mapping[str, Any], sample: int | None = None) -> list[list[Job]]:
    """All jobs, or so many of each shape, in the order in which they are to be begun.

    Each shape's first chunk, then each one's second, so that every space is covered as far as any
    other when time runs out; the larger spaces have more chunks, and those come last.
    """
    most = sample or float("inf")
    rounds: list[tuple[int, bytes, list[Job]]] = []
    for family, space in spaces.items():
        for shape, sizes in space.shapes.items():
            jobs = [Job(family, shape, at, one) for at, one in enumerate(space.configs(sizes))]
            for turn, begin in enumerate(range(0, len(jobs), CHUNK)):
                mixed = hashlib.sha256(f"{turn}/{family}/{shape}".encode()).digest()
                chunk = [one for one in jobs[begin : begin + CHUNK] if one.index < most]
                rounds.append((turn, mixed, chunk))
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


def run_apart(
    order: Sequence[Sequence[Job]],
    options: argparse.Namespace,
    until: float,
    note: Callable[[Job, dict[str, Any]], None],
    log: str | Path,
    work: Callable[..., Answers],
    *arguments: object,
) -> None:
    """Every job by `work(*arguments, lock)`, in some processes of its own at once.

    `options` are those of `parser`; `lock` is none where they only rehearse.
    """
    with tempfile.TemporaryDirectory() as folder, open(log, "w") as stream:
        lock = None if options.rehearse else str(Path(folder) / "gpu.lock")
        command = command_of(work, *arguments, lock)
        at_once = options.jobs or len(os.sched_getaffinity(0))
        team = [Worker(command, stream) for _ in range(min(at_once, len(order)))]
        run_all(order, team, until, note)


# Within a worker's process ------------------------------------------------------------------------


@dataclass(frozen=True)
class Device:
    """The GPU, which several workers take in turns."""

    launcher: Launcher
    lock: Path

    @contextmanager
    def alone(self) -> Iterator[Launcher]:
        """Waits for the GPU, and has it until the end."""
        doing(WAITING)
        with alone(self.lock):
            yield self.launcher


Measure = Callable[[dict[str, Any], "Device | None"], dict[str, Any]]


def served(measure: Measure, lock: str | None) -> Answers:
    """What `measure` finds of each job; it has no GPU where there is no `lock`.

    The answer after which its GPU can no longer be used is its last.
    """
    device = None
    if lock is not None:
        device = Device(Launcher(), Path(lock))
        with device.alone():
            start_device()
    job = yield None
    while True:
        found = measure(job, device)
        if device is not None and device.launcher.broken:
            return found
        job = yield found


def work(arch: str, lock: str | None) -> Answers:
    """Compiles each job's configuration and launches it; with no `lock` it only compiles."""
    from fixtures.spaces import SPACES

    def measure(job: dict[str, Any], device: Device | None) -> dict[str, Any]:
        space = SPACES[job["family"]]
        doing(COMPILING)
        made = compiled(space, {**space.shapes[job["shape"]], **job["config"]}, arch)
        if device is not None and made.found["status"] == COMPILED:
            with device.alone() as launcher:
                made.found |= launcher.launch(space, job["shape"], made.kernel, doing)
        return made.found

    return served(measure, lock)


def start_device() -> None:
    """Uses the GPU once, which takes a second the first time."""
    import torch

    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
