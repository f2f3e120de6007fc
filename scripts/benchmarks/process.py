"""A process that compiles, waits for its turn, and launches; what it tells, and how it may fail.

It writes lines of JSON: `{"doing": ...}` before each step; `{"found": ...}` when all is compiled,
and once more when all has been launched; `{"failed": ...}` before it ends with an error. It goes on
to launch when a line comes in, and ends where its input ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any


@dataclass
class Worker:
    """Such a process, and the last that it told; `named` is what is known of it beforehand.

    What is found is `named` or more, with `error` where the process did not come to its end.
    """

    named: Mapping[str, Any]
    command: Sequence[str]
    process: subprocess.Popen[str] | None = None
    doing: str = "starting"
    failed: str = ""
    late: bool = False

    def compile(self, seconds: float, log: IO[str]) -> dict[str, Any]:
        """Starts the process and waits until it has compiled everything."""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        return self._found(seconds) or {**self.named, "error": self._end(seconds)}

    def launch(self, compiled: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Lets the process go on; what is told is less if it does not come to its end."""
        if "error" in compiled:
            return compiled
        self._go_on("launch\n")
        launched = self._found(seconds)
        if launched is None:
            return {**compiled, "error": self._end(seconds)}
        assert self.process is not None
        self.process.wait()
        return launched

    def end(self, compiled: dict[str, Any]) -> dict[str, Any]:
        """Lets a process that has compiled go, without any launch."""
        self._go_on("")
        return compiled

    def _go_on(self, word: str) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        # A process that has ended tells nothing, and is found out by that.
        with suppress(BrokenPipeError):
            self.process.stdin.write(word)
            self.process.stdin.flush()
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def _found(self, seconds: float) -> dict[str, Any] | None:
        """What the process finds; None where it ends before, or has not in so many `seconds`."""
        assert self.process is not None
        assert self.process.stdout is not None
        timer = threading.Timer(seconds, self._kill)
        timer.start()
        try:
            for line in self.process.stdout:
                told = json.loads(line)
                if "found" in told:
                    return dict(told["found"])
                self.doing = told.get("doing", self.doing)
                self.failed = told.get("failed", self.failed)
            return None
        finally:
            timer.cancel()

    def _kill(self) -> None:
        assert self.process is not None
        self.late = True
        self.process.kill()

    def _end(self, seconds: float) -> str:
        assert self.process is not None
        code = self.process.wait()
        why = f"not done in {seconds:.0f} s" if self.late else f"ended with {code}"
        return f"{why}, {self.doing}" + (f": {self.failed}" if self.failed else "")


def in_turn(team: Sequence[Worker], options: Any, seconds: float) -> Iterator[dict[str, Any]]:
    """What each worker finds: all compile at once, and launch one after the other.

    Of the `options` of a driver `workers` compile at a time, for so many `compile_seconds`; they
    only compile to `rehearse`; what they say goes to a log beside `out`.
    """
    log_path = options.out.with_suffix(".log") if options.out else Path(os.devnull)
    log_path.parent.mkdir(parents=True, exist_ok=True)
    at_once, begin = options.workers or len(os.sched_getaffinity(0)), time.monotonic()
    with open(log_path, "w") as log, ThreadPoolExecutor(at_once) as pool:
        compiled = list(pool.map(lambda one: one.compile(options.compile_seconds, log), team))
        print(f"compiled in {time.monotonic() - begin:.0f} s", flush=True)
        for one, made in zip(team, compiled, strict=True):
            yield one.end(made) if options.rehearse else one.launch(made, seconds)


def tell(out: IO[str], **data: object) -> None:
    """A line of JSON from within the process."""
    out.write(json.dumps(data) + "\n")
    out.flush()
