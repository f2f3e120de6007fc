"""Functions called in processes of their own, which may hang or die and harm nothing else.

`python -m scripts.apart MODULE:FUNCTION ARGUMENTS` calls a function with a list of JSON. It answers
in lines of JSON: `doing`, before each step that the function names by `doing`; `found`, an answer,
and whether it is the `last`; `failed`, before it ends with an error. A generator answers with each
`yield`, which then gives it the next line of the input; what it returns in the end, as what any
other function returns, is the last answer. What compilers say goes to stderr.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from scripts.results import first_line

# Within the process -------------------------------------------------------------------------------

_out: IO[str] | None = None


def doing(what: str) -> None:
    """Names the step that begins, to whoever waits for this process."""
    _tell(doing=what)


def _tell(**data: object) -> None:
    if _out is not None:
        print(json.dumps(data), file=_out, flush=True)


def serve(name: str, arguments: str) -> None:
    """Calls a function and tells its answers, with a cache of TileLang that nobody else fills."""
    global _out
    _out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, _, function = name.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TILELANG_CACHE_DIR", folder)
        try:
            made = getattr(importlib.import_module(module), function)(*json.loads(arguments))
            if inspect.isgenerator(made):
                made = _last(made)
            _tell(found=made, last=True)
        except Exception as error:
            _tell(failed=f"{type(error).__name__}: {first_line(error)}")
            raise


def _last(answers: Generator[Any, Any, Any]) -> Any:
    """Tells all answers but the last, which it gives back. Ends where the input ends."""
    try:
        found = next(answers)
        while True:
            _tell(found=found, last=False)
            line = sys.stdin.readline()
            if not line:
                raise SystemExit
            found = answers.send(json.loads(line))
    except StopIteration as ended:
        return ended.value


# Outside of it ------------------------------------------------------------------------------------


class Ended(Exception):
    """The process is gone, and was doing this; `late` if it was killed for taking too long."""

    def __init__(self, doing: str, why: str, *, late: bool = False) -> None:
        super().__init__(why)
        self.doing, self.late = doing, late


def command_of(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """What calls a function of a module in a process of its own."""
    module = inspect.getmodule(function)
    spec = getattr(module, "__spec__", None)  # of a script that runs it has the name
    assert spec is not None
    name = f"{spec.name}:{function.__name__}"
    return [sys.executable, "-m", "scripts.apart", name, json.dumps(arguments)]


@dataclass
class Worker:
    """A process that answers, started when it is first asked, and again after it ended."""

    command: Sequence[str]
    log: IO[str] | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    _rest: bytes = b""

    def ask(self, seconds: float | Callable[[str], float], job: Any = None) -> Any:
        """The next answer. Raises `Ended` where the process hangs or dies of it.

        Each step may take so many `seconds`, by what it is doing. A process that has just been
        started is given no job: it answers first.
        """
        step, failed = "starting", ""
        if self.process is None:
            self._start()
        else:
            self._send(job)
        while True:
            limit = seconds if isinstance(seconds, (int, float)) else seconds(step)
            told = json.loads(self._line(step, limit, failed))
            if "found" in told:
                if told["last"]:
                    self.end()
                return told["found"]
            step, failed = told.get("doing", step), told.get("failed", failed)

    def _start(self) -> None:
        self._rest = b""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log or subprocess.DEVNULL,
            env={**os.environ, **self.environ},
            start_new_session=True,
        )

    def _send(self, job: Any) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        # A process that has ended tells nothing, and is found out by that.
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()

    def _line(self, step: str, limit: float, failed: str) -> bytes:
        assert self.process is not None
        assert self.process.stdout is not None
        until = time.monotonic() + limit
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            readable, _, _ = select.select([self.process.stdout], [], [], max(left, 0))
            part = os.read(self.process.stdout.fileno(), 1 << 16) if readable else b""
            if not part:
                late = not readable
                why = f"not done in {limit:.0f} s" if late else f"ended with {self.process.wait()}"
                self.end()
                raise Ended(step, f"{why}, {step}" + (f": {failed}" if failed else ""), late=late)
            self._rest += part
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def end(self) -> None:
        """Kills the process, with what it started."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def answer(command: Sequence[str], seconds: float, **environ: str) -> dict[str, Any]:
    """What a process has `found`; or that it `hangs`, or its `error`."""
    try:
        return {"found": Worker(command, environ=environ).ask(seconds)}
    except Ended as ended:
        return {"hangs": True} if ended.late else {"error": str(ended)}


def found_apart(command: Sequence[str], seconds: float, **known: Any) -> dict[str, Any]:
    """What a process has found; or what is `known`, with its `error`: that it hangs is one."""
    told = answer(command, seconds)
    error = {**known, "error": told.get("error", f"not done in {seconds} s")}
    found: dict[str, Any] = told.get("found") or error
    return found


Named = tuple[dict[str, Any], Worker]
"""What is known of a kernel beforehand, and the process that compiles it and launches it then."""


def in_turn(team: Sequence[Named], options: Any, seconds: float) -> Iterator[dict[str, Any]]:
    """What each worker finds: all compile at once, and launch one after the other.

    Of the `options` of a driver `workers` compile at a time, for so many `compile_seconds`; they
    only compile to `rehearse`; what they say goes to a log beside `out`. Where a process does not
    come to its end, what was known before has an `error`.
    """
    log_path = options.out.with_suffix(".log") if options.out else Path(os.devnull)
    log_path.parent.mkdir(parents=True, exist_ok=True)
    at_once, begin = options.workers or len(os.sched_getaffinity(0)), time.monotonic()
    with open(log_path, "w") as log, ThreadPoolExecutor(at_once) as pool:
        for _, worker in team:
            worker.log = log
        compiled = list(pool.map(lambda one: _found(one[0], one[1], options.compile_seconds), team))
        print(f"compiled in {time.monotonic() - begin:.0f} s", flush=True)
        for (_, worker), found in zip(team, compiled, strict=True):
            if not options.rehearse and "error" not in found:
                found = _found(found, worker, seconds, "launch")
            worker.end()
            yield found


def _found(
    known: dict[str, Any], worker: Worker, seconds: float, job: Any = None
) -> dict[str, Any]:
    try:
        return dict(worker.ask(seconds, job))
    except Ended as ended:
        return {**known, "error": str(ended)}


if __name__ == "__main__":
    from scripts import apart  # the one whose `doing` functions call

    apart.serve(*sys.argv[1:])
