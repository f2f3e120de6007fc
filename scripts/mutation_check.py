"""Breaks one rule of the analysis or of the checker at a time; the tests must notice every time.

    python -m scripts.mutation_check [-k NAME] [TEST ...]

Works on a copy of the package in a temporary folder. Runs the tests of the room that is broken,
then the soundness tests and those given as arguments, against each mutant. Exit 1 if one survives,
2 if one no longer applies to the source.
"""

from __future__ import annotations

import argparse
import multiprocessing.pool
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from scripts.mutants import GROUPS, Mutation, Stale  # noqa: E402

SOUNDNESS = ("tests/soundness/test_regressions.py", "tests/soundness/test_random_kernels.py")
TIMEOUT = 240


def main() -> int:
    options = _parse()
    begin = time.monotonic()
    groups = [
        (tests, [mutation for mutation in mutations if options.k in mutation.name])
        for tests, mutations in GROUPS
    ]
    left_out = _deselected(sorted({test for tests, some in groups if some for test in tests}))
    chosen = [
        (mutation, [*tests, *SOUNDNESS, *options.tests, *left_out])
        for tests, mutations in groups
        for mutation in mutations
    ]
    outcomes = {}
    with multiprocessing.pool.ThreadPool(options.jobs) as pool:
        runs = pool.imap(lambda one: (one[0], *noticed_by(*one)), chosen)
        for mutation, by, seconds in runs:
            outcomes[mutation.name] = by
            verdict = f"noticed by {by}" if by else "SURVIVED"
            print(f"{mutation.name}: {verdict} ({seconds:.0f} s)", flush=True)
    survivors = [name for name, by in outcomes.items() if not by]
    stale = [name for name, by in outcomes.items() if by.startswith("nothing:")]
    seconds = time.monotonic() - begin
    print(
        f"{len(outcomes)} mutants, {len(survivors)} survived, {len(stale)} stale, {seconds:.0f} s"
    )
    return 1 if survivors else 2 if stale else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tests", nargs="*", help="further tests, for instance tests/planner")
    parser.add_argument("-k", default="", help="only mutations whose names contain this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def noticed_by(mutation: Mutation, tests: list[str]) -> tuple[str, float]:
    """The test that fails on a mutant, "" if none does, and how long it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="smemreuse-mutant-") as folder:
        copy = _copy_to(folder)
        try:
            mutation.apply(copy / "smemreuse")
        except Stale as error:
            return f"nothing: it does not apply ({error})", 0.0
        try:
            result = _pytest(copy, ["-x", *tests])
        except subprocess.TimeoutExpired:
            return "the time limit", time.monotonic() - begin
    seconds = time.monotonic() - begin
    if result.returncode == 0:
        return "", seconds
    failed = _failed(result.stdout)
    return (failed[0] if failed else "nothing: " + result.stdout[-500:]), seconds


def _deselected(tests: list[str]) -> list[str]:
    """What leaves out the tests that fail on the package as it is."""
    with tempfile.TemporaryDirectory(prefix="smemreuse-mutant-") as folder:
        failing = _failed(_pytest(_copy_to(folder), tests, timeout=None).stdout)
    for test in failing:
        print(f"left out, fails without any mutation: {test}", flush=True)
    return [option for test in failing for option in ("--deselect", test)]


def _copy_to(folder: str) -> Path:
    copy = Path(folder)
    for part in ("smemreuse", "tests", "fixtures", "scripts"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", copy)
    return copy


def _pytest(
    copy: Path, arguments: list[str], timeout: float | None = TIMEOUT
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", "not tilelang and not tvm and not gpu"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*command, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _failed(report: str) -> list[str]:
    """The tests that a report of pytest says failed."""
    lines = [line for line in report.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines]


if __name__ == "__main__":
    sys.exit(main())
