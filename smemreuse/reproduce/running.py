"""Runs the variants of a standalone file, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock, Semaphore
from typing import Any

from smemreuse.reproduce.template import compared
from smemreuse.results.reproduction import VariantOutcome

COMPILE_SECONDS = 300
"""What a variant may take until it is compiled."""

Told = Mapping[str, Any]
"""What a process answers: the bits of its launches, that one hangs, or an error."""


@dataclass(eq=False)
class Launching:
    """How often a variant is launched, after how many seconds a launch hangs, and how many
    processes there are at a time.

    Cases run in threads, of which only the one that holds `turn` is not waiting for processes:
    compilers are not made for more, nor is `ast.parse` before Python 3.11.9 and 3.12.2
    (python/cpython 106905).
    """

    launches: int = 40
    seconds: float = 20.0
    jobs: int = 4
    turn: Lock = field(default_factory=Lock, init=False, repr=False)

    @cached_property
    def _free(self) -> Semaphore:
        return Semaphore(self.jobs)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside, it is the turn of others."""
        self.turn.release()
        try:
            yield
        finally:
            self.turn.acquire()

    def all_told(self, script: Path, variants: Sequence[str]) -> dict[str, Told]:
        """What the processes of variants answer, which run at the same time."""
        with ThreadPoolExecutor(max(len(variants), 1)) as pool:
            found = pool.map(lambda variant: self.told(script, variant), variants)
            return dict(zip(variants, found, strict=True))

    def told(self, script: Path, variant: str) -> Told:
        """What the process of a variant answers. It is killed where it does not."""
        with self._free:
            return self._told(script, variant)

    def _told(self, script: Path, variant: str) -> Told:
        command = [sys.executable, str(script), variant, str(self.launches), str(self.seconds)]
        limit = COMPILE_SECONDS + self.launches + 2 * self.seconds
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that it is killed with the compiler that it started
        ) as process:
            try:
                out, err = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return {"error": f"not done in {limit:.0f} s"}
        lines = out.splitlines()
        if not lines or not lines[-1].startswith("{"):
            last = next(iter(reversed(err.splitlines())), "")
            return {"error": f"ended with {process.returncode}: {last[:200]}"}
        told: Told = json.loads(lines[-1])
        return told


def outcome_of(told: Told, reference: Told) -> VariantOutcome:
    """What a variant gave, held against what the reference gave on the same inputs; or against what
    was expected, if the process itself has done that.

    Tensors that the reference does not give the same twice, as those that are added up by atomics,
    are left out where there are others.
    """
    if "error" in told:
        return VariantOutcome(error=str(told["error"]))
    must = reference.get("bits", [])
    before = str(reference.get("before", ""))
    written, kept = compared(must[:1], before), compared(must, before)
    bits = [one.split() for one in told["bits"]]
    right = [one.split() for one in must]
    wrong = told.get("wrong")
    differing = _apart(bits[::2], right[::2], kept) if wrong is None else sum(wrong[::2])
    return VariantOutcome(
        launches=len(bits) // 2,
        differing=differing,
        unsteady=_apart(bits[::2], bits[1::2], kept or written),
        hangs=bool(told.get("hangs")),
        left_out=len(written) - len(kept) if kept else 0,
    )


def _apart(one: Sequence[Sequence[str]], two: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    """How many launches gave other bits in one of the tensors that are compared."""
    pairs = zip(one, two, strict=False)
    return sum(any(first[at] != second[at] for at in kept) for first, second in pairs)
