"""Breaks a sample of functions, one place at a time; the tests must notice every time.

    python -m scripts.mutation_check --sample 40 --seed 1 [smemreuse/checker ...]

Mutants are made of the syntax tree (`scripts/mutants/operators.py`): a condition is negated, a
statement left out, an operator exchanged, an answer made constant, a column of the table of effects
dropped. Works on copies of the package in a temporary folder, and runs the tests of the module that
is broken, then those of its room, then the soundness tests. Exit 1 if one survives.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.mutants import ROOMS, Mutant, modules, noticing, sampled
from scripts.results import ROOT, options_of

TIMEOUT = 240


def main() -> int:
    options = _parse()
    begin = time.monotonic()
    chosen = sampled(modules(options.paths), options.sample, options.seed)
    if options.list:
        for one in chosen:
            print(f"{one.name} (line {one.line}): {one.change}")
        return 0
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="smemreuse-mutants-") as folder:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(options.jobs):
            copies.put(copied_to(Path(folder, str(number))))

        def judged(mutant: Mutant) -> tuple[Mutant, str, float]:
            copy = copies.get()
            try:
                started = time.monotonic()
                by = noticed_by(mutant, noticing(mutant.module), copy, options.seconds)
                return mutant, by, time.monotonic() - started
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.jobs) as pool:
            for mutant, by, seconds in pool.map(judged, chosen):
                survivors += not by
                verdict = f"noticed by {by}" if by else f"SURVIVED: {mutant.change}"
                print(
                    f"{mutant.name} (line {mutant.line}): {verdict} ({seconds:.0f} s)", flush=True
                )
    taken = time.monotonic() - begin
    print(f"{len(chosen)} mutants, {survivors} survived, {taken:.0f} s")
    return int(survivors > 0)


def _parse() -> argparse.Namespace:
    parser = options_of(__doc__, "jobs")
    rooms = [f"smemreuse/{room}" for room in ROOMS]
    parser.add_argument("paths", nargs="*", default=rooms, help="modules and folders of them")
    parser.add_argument("--sample", type=int, default=40, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=TIMEOUT, help="for one mutant")
    parser.add_argument("--list", action="store_true", help="only print the mutants")
    return parser.parse_args()


def noticed_by(mutant: Mutant, tests: Sequence[str], copy: Path, seconds: float = TIMEOUT) -> str:
    """The test that fails on a mutant, in a copy of the package; "" if none does."""
    path = copy / "smemreuse" / mutant.module
    before = path.read_text()
    path.write_text(mutant.source(before))
    try:
        result = _pytest(copy, ["-x", *tests], seconds)
    except subprocess.TimeoutExpired:
        return "the time limit"
    finally:
        path.write_text(before)
    if result.returncode == 0:
        return ""
    lines = [one for one in result.stdout.splitlines() if one.startswith(("FAILED ", "ERROR "))]
    failed = [one.split(" ", 1)[1].split(" - ")[0] for one in lines]
    return failed[0] if failed else f"pytest, which ends with {result.returncode}"


def copied_to(copy: Path) -> Path:
    """A copy of all that the tests need."""
    for part in ("smemreuse", "tests", "fixtures", "scripts"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", copy)
    return copy


def _pytest(
    copy: Path, arguments: Sequence[str], seconds: float
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["-n", "0", "-m", "not tilelang and not tvm and not gpu"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*command, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
