"""The parent's side: jobs in an even order, and worker processes that may hang or die."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from scripts.spaces.worker import COMPILING, WAITING

CHUNK = 6
"""Configurations of one shape that a worker takes at a time: it makes their inputs once."""
SECONDS = {COMPILING: 150.0, WAITING: 300.0}
SECONDS_OF_THE_REST = 30.0
SECONDS_TO_START = 240.0


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


class Ended(Exception):
    """The worker is gone, and was doing this."""

    def __init__(self, doing: str, why: str) -> None:
        super().__init__(f"{why}, {doing}")
        self.doing = doing


@dataclass
class Worker:
    """A process of `scripts.spaces.worker`, started when it is first needed, and again after it
    ended."""

    command: Sequence[str]
    log: IO[str]
    seconds: Mapping[str, float] = field(default_factory=lambda: SECONDS)
    process: subprocess.Popen[bytes] | None = None
    _rest: bytes = b""

    def do(self, job: Job) -> dict[str, Any]:
        """What the process finds of a job. Raises `Ended` where it hangs or dies of it."""
        doing, limit = "starting", SECONDS_TO_START
        if self.process is None:
            self._rest = b""
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log
            )
        asked = {"family": job.family, "shape": job.shape, "config": dict(job.config)}
        assert self.process.stdin is not None
        # A process that has ended tells nothing, and is found out by that.
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
        while True:
            line = self._line(doing, limit)
            told = json.loads(line)
            if "found" in told:
                if told["broken"]:
                    self.end()
                return dict(told["found"])
            doing = told["doing"]
            limit = self.seconds.get(doing, SECONDS_OF_THE_REST)

    def _line(self, doing: str, limit: float) -> bytes:
        assert self.process is not None
        assert self.process.stdout is not None
        until = time.monotonic() + limit
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            readable, _, _ = select.select([self.process.stdout], [], [], max(left, 0))
            part = os.read(self.process.stdout.fileno(), 1 << 16) if readable else b""
            if not part:
                late = not readable
                self.end()
                raise Ended(doing, f"not done in {limit:.0f} s" if late else "ended")
            self._rest += part
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def end(self) -> None:
        """Kills the process; what it compiles with ends by itself."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def failed(ended: Ended) -> dict[str, Any]:
    """What is written of a job that cost its worker."""
    late = "not done" in str(ended)
    if ended.doing == "starting":
        status = "not measured"
    elif ended.doing == COMPILING:
        status = "compiler hangs" if late else "lowering failed"
    else:
        status = "hangs" if late else "does not launch"
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
                try:
                    found = worker.do(job)
                except Ended as ended:
                    found = failed(ended)
                with lock:
                    note(job, found)
        worker.end()

    threads = [threading.Thread(target=go, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
