"""Runs tasks in processes that are forked for one task each: a task cannot harm the next."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

Task = TypeVar("Task")


def forked(
    tasks: Sequence[Task], run: Callable[[Task], Any], jobs: int, limit: float
) -> Iterator[tuple[Task, Any, str]]:
    """For each task as it ends: what `run` made of it, in terms of JSON, or None and why not.

    So many `jobs` run at a time. One that takes longer than `limit` seconds is ended, with all the
    processes that it started.
    """
    fork, waiting = multiprocessing.get_context("fork"), list(enumerate(tasks))
    running: dict[int, tuple[Any, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, task = waiting.pop(0)
                process = fork.Process(target=_work, args=(run, task, Path(folder, str(number))))
                process.start()
                running[number] = (process, time.monotonic())
            multiprocessing.connection.wait([each.sentinel for each, _ in running.values()], 1)
            for number, (process, since) in list(running.items()):
                late = time.monotonic() - since > limit
                if process.is_alive() and not late:
                    continue
                if process.is_alive():
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid or 0, signal.SIGKILL)
                process.join()
                del running[number]
                made = Path(folder, str(number))
                if made.exists() and process.exitcode == 0:
                    yield tasks[number], json.loads(made.read_text()), ""
                else:
                    why = f"longer than {limit:.0f} s" if late else f"exit {process.exitcode}"
                    said = Path(f"{made}.output")
                    tail = said.read_text(errors="replace")[-2000:] if said.exists() else ""
                    yield tasks[number], None, f"{why}\n{tail}"


def _work(run: Callable[[Task], Any], task: Task, made: Path) -> None:
    os.setsid()
    output = Path(f"{made}.output").open("w", buffering=1)  # noqa: SIM115  open to the end
    for stream in (1, 2):
        os.dup2(output.fileno(), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = sys.stderr = output
    made.write_text(json.dumps(run(task)))
