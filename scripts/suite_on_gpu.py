"""Run a repository's tests under `smemreuse run -m pytest -n 2`, and write JSON.

    python -m scripts.suite_on_gpu --out suite.json      # fixtures/suite, on a machine with a GPU
    python -m scripts.suite_on_gpu --runs audited        # the part that needs none
    python -m scripts.suite_on_gpu --suite TILELANG --workers 8 --together --runs plain merged \\
        --tests testing/python/kernel testing/python/language

Four runs of the same tests: as they are, without smemreuse (`plain`); with its merge in every
worker of pytest-xdist (`merged`); with nothing changed and TileLang's merges judged (`judged`);
and likewise with nothing compiled and the GPU hidden (`audited`). Each has pytest's counts, its
exit code, and the tests that end otherwise than without smemreuse; those of smemreuse have the
table. Exit 1 where there is such a test among what was not hidden from the GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from scripts.results import ROOT, about_gpu, options_of, write

SUITE = ROOT / "fixtures" / "suite"
COUNTED = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed|warnings?)\b")

AUDITED = ("--lower-only", "--policy", "none", "--arch", "sm_90a")
RUNS: Mapping[str, Sequence[str] | None] = {
    "plain": None,
    "merged": (),
    "judged": ("--policy", "none"),
    "audited": AUDITED,
}
"""The options of `smemreuse run`, by the name of the run; None is without smemreuse."""

NEED_NO_GPU = ("audited",)


PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors")


def run_once(
    name: str, suite: Path, tests: Sequence[str], workers: int, limit: float = 3600
) -> dict[str, Any]:
    """One run of a suite, with a cache of TileLang that nobody else fills, of `limit` seconds."""
    options = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        table, outcomes = Path(folder, "table.json"), Path(folder, "outcomes.xml")
        smemreuse = ["-m", "smemreuse", "run", *(options or ())]
        asked = [*PYTEST, "-n", str(workers), *tests]
        command = [sys.executable]
        if options is not None:
            command += [*smemreuse, "--json", str(table)]
        command += [*asked, f"--junitxml={outcomes}"]
        started = time.monotonic()
        exit_code, output = _ended(
            command,
            limit,
            cwd=suite,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
                "TILELANG_CACHE_DIR": str(Path(folder, "cache")),
                **({"CUDA_VISIBLE_DEVICES": ""} if name in NEED_NO_GPU else {}),
            },
        )
        seconds = time.monotonic() - started
        told = json.loads(table.read_text()) if table.exists() else None
        ended = outcomes_in(outcomes)
    if told is not None:
        told.pop("python")  # which is of this machine alone, as is where outcomes are kept
        told["args"] = [arg for arg in told["args"] if not arg.startswith("--junitxml")]
    lines = [line for line in output.splitlines() if "generated xml file" not in line]
    summary = next((line for line in reversed(lines) if COUNTED.search(line)), "")
    return {
        "run": name,
        "command": ["python", *(smemreuse if options is not None else ()), *asked],
        "selected": os.environ.get("PYTEST_ADDOPTS", ""),
        "workers": workers,
        "exit_code": exit_code,
        "seconds": round(seconds, 1),
        "pytest": {word: int(count) for count, word in COUNTED.findall(summary)},
        "last_lines": lines[-12:],
        "outcomes": ended,
        "table": told,
    }


def _ended(command: Sequence[str], limit: float, **options: Any) -> tuple[int | None, str]:
    """The exit code of a process, None if it was ended after `limit` seconds with all that it
    started, and what it has printed."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        with subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, **options
        ) as process:
            try:
                exit_code: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                exit_code = None
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        return exit_code, output.read()


def outcomes_in(path: Path) -> dict[str, str]:
    """How each test ended, by its name: passed, failure, error or skipped."""
    if not path.exists():
        return {}
    return {
        f"{case.get('classname')}.{case.get('name')}": next(
            (part.tag for part in case if part.tag in ("failure", "error", "skipped")), "passed"
        )
        for case in ElementTree.parse(path).iter("testcase")
    }


def compared(found: list[dict[str, Any]]) -> None:
    """Puts in the place of all outcomes those that differ from the run without smemreuse."""
    plain: dict[str, str] = next((each["outcomes"] for each in found if each["run"] == "plain"), {})
    for each in found:
        ended = each.pop("outcomes")
        if plain and each["run"] not in NEED_NO_GPU:
            names = sorted(set(plain) | set(ended))
            each["otherwise"] = {
                name: [plain.get(name), ended.get(name)]
                for name in names
                if plain.get(name) != ended.get(name)
            }


def print_run(found: Mapping[str, Any]) -> None:
    counts = ", ".join(f"{count} {word}" for word, count in found["pytest"].items())
    print(f"{found['run']:8} exit code {found['exit_code']}, {found['seconds']} s: {counts}")
    if found["exit_code"] != 0:
        print(*found["last_lines"], sep="\n")
    for test, (before, after) in found.get("otherwise", {}).items():
        print(f"         {test}: {before} without smemreuse, {after} with it")
    table = found["table"]
    if table is not None:
        print(f"         {json.dumps(table['totals'])}")


def agrees(found: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no test ends otherwise than without smemreuse, and all workers' kernels were seen."""
    tables = [each["table"] for each in found if each["run"] != "plain"]
    seen = all(table is not None and table["kernels"] for table in tables)
    return seen and not any(each.get("otherwise") for each in found)


def parser() -> argparse.ArgumentParser:
    made = options_of(__doc__, "out")
    made.add_argument("--suite", type=Path, default=SUITE, help="the folder to run it in")
    made.add_argument("--tests", nargs="+", default=["tests"], help="what pytest is given")
    made.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    made.add_argument("--workers", type=int, default=2)
    made.add_argument("--limit", type=float, default=3600, help="seconds for each run")
    made.add_argument("--together", action="store_true", help="all runs at once")
    return made


def main() -> int:
    options = parser().parse_args()
    suite = options.suite.resolve()
    with ThreadPoolExecutor(len(options.runs) if options.together else 1) as pool:
        found = list(
            pool.map(
                lambda name: run_once(name, suite, options.tests, options.workers, options.limit),
                options.runs,
            )
        )
    compared(found)
    for each in found:
        print_run(each)
    write(options.out, {**about_gpu("suite", tilelang=True), "runs": found}, 3)
    return 0 if agrees(found) else 1


if __name__ == "__main__":
    sys.exit(main())
