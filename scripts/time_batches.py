"""How long `smemreuse compare` takes for a folder of a thousand dumps, and how much memory.

    python -m scripts.time_batches --out docs/results/batch.json [--count 1000]

The dumps are the fixtures, varied: kernels and buffers have other names, buffers other sizes, and
the outermost loops other extents. They are compared by one process, by two, and by a Dask cluster
of two workers on this machine, one behind the other; the answers must be the same. Memory is
sampled, and that which processes share is counted once. Needs distributed and psutil.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.results import ROOT, about, options_of, write

DUMPS = sorted((ROOT / "fixtures" / "dumps").glob("*.tir"))
COUNT = 1000
WAYS = {
    "one process": ["--jobs", "1"],
    "two processes": ["--jobs", "2"],
    "a Dask cluster of two workers": ["--jobs", "2", "--backend", "dask"],
}
SAMPLED = 0.5
"""Seconds between two looks at the memory."""

_SHARED = re.compile(r"(\w+) = T\.alloc_buffer\(\((\d+),\)(.*scope=\"shared\.dyn\")")
_LOOP = re.compile(r"^( {8}for \w+ in range\()(\d+)\)", re.MULTILINE)


def varied(text: str, number: int) -> str:
    """A dump that is none of the others, but has the statements of the one given."""
    if not number:
        return text
    names = [match[1] for match in _SHARED.finditer(text)]
    sizes = itertools.count(number)
    text = _SHARED.sub(lambda found: _resized(found, next(sizes)), text)
    text = _LOOP.sub(lambda found: f"{found[1]}{int(found[2]) + number % 3})", text)
    text = re.sub(r"\b(\w+_kernel)(?=\w*\()", rf"\1_{number}", text)
    for name in names:
        text = re.sub(rf"\b{name}(?=\b|_\d+\b)", f"{name}_v{number}", text)
    return text


def _resized(found: re.Match[str], number: int) -> str:
    """A buffer of up to twice its size, which holds what it held."""
    size = int(found[2])
    return f"{found[1]} = T.alloc_buffer(({size + size // 4 * (number % 5)},){found[3]}"


def write_dumps(folder: Path, count: int) -> None:
    """So many dumps in folders below, one for each variation."""
    for number in range(count):
        variant, which = divmod(number, len(DUMPS))
        path = folder / f"variant{variant}" / DUMPS[which].name
        path.parent.mkdir(exist_ok=True)
        path.write_text(varied(DUMPS[which].read_text(), variant))


# Measuring --------------------------------------------------------------------------------------


@dataclass
class Peak:
    """The most memory that one process had, and all of them together at one time, in bytes."""

    one: int = 0
    all: int = 0
    processes: int = 0

    def look(self, process: Any) -> None:
        found = [*_memories(process)]
        self.one = max([self.one, *(whole for whole, _ in found)])
        self.all = max(self.all, sum(own for _, own in found))
        self.processes = max(self.processes, len(found))


def _memories(process: Any) -> Iterator[tuple[int, int]]:
    """What a process and those below it have each: the whole, and their share of it."""
    import psutil

    for each in [process, *process.children(recursive=True)]:
        try:
            memory = each.memory_full_info()
            yield memory.rss, memory.pss
        except psutil.Error:  # it has ended meanwhile
            continue


def measure(folder: Path, options: Sequence[str]) -> tuple[dict[str, object], bytes]:
    """What a command took, and a digest of its answer."""
    import psutil

    command = [sys.executable, "-m", "smemreuse", "compare", str(folder)]
    command += ["--format", "json", *options]
    peak, load = Peak(), os.getloadavg()[0]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("DASK_SCHEDULER_ADDRESS", None)
    with tempfile.TemporaryFile() as answer:
        spent, begin = sum(os.times()[2:4]), time.perf_counter()
        running = subprocess.Popen(command, stdout=answer, env=environment)
        process = psutil.Process(running.pid)
        while running.poll() is None:
            try:
                peak.look(process)
            except psutil.Error:
                break
            time.sleep(SAMPLED)
        code = running.wait()
        seconds = time.perf_counter() - begin
        answer.seek(0)
        text = answer.read()
    if code:
        raise SystemExit(f"{command} ended with {code}")
    found: dict[str, object] = {
        "seconds": round(seconds, 1),
        "processor_seconds": round(sum(os.times()[2:4]) - spent, 1),
        "processes": peak.processes,
        "largest_process_mb": round(peak.one / 1e6),
        "all_mb": round(peak.all / 1e6),
        "load_before": round(load, 1),
        "kernels": len(json.loads(text)["kernels"]),
        "answer_mb": round(len(text) / 1e6, 1),
    }
    return found, hashlib.blake2b(text).digest()


def main() -> None:
    parser = options_of(__doc__, "out")
    parser.add_argument("--count", type=int, default=COUNT)
    options = parser.parse_args()
    runs, answers = [], set()
    with tempfile.TemporaryDirectory() as folder:
        write_dumps(Path(folder), options.count)
        for how, arguments in WAYS.items():
            found, answer = measure(Path(folder), arguments)
            runs.append({"how": how, "options": arguments, **found})
            answers.add(answer)
            print(runs[-1], flush=True)
    if len(answers) > 1:
        raise SystemExit("the answers differ")
    counts = {"dumps": options.count, "fixtures": len(DUMPS)}
    write(options.out, {**about("batch"), **counts, "runs": runs})


if __name__ == "__main__":
    main()
