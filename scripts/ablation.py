"""Switches each mechanism off, and says what changes: plans, verdicts, lint, CPU.

    python -m scripts.ablation DUMPS [--kernels KERNELS] --out ablation.json [--jobs 2]

DUMPS is a folder of dumps, KERNELS what `scripts/collect_kernels.py` wrote: those functions are
lowered in TileLang. First everything is probed: which mechanisms give any answer that they would
not give off. Then each of them is off where it gave one; elsewhere nothing can change.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.ablations.subjects import VERBS, Task, brief, measured
from scripts.ablations.switches import SWITCHES, Switch, named
from scripts.applied.pool import forked
from scripts.results import chosen, options_of, today, write

LIMIT = 60
"""Seconds for one task: what keeps traces short is switched off too."""


def main() -> int:
    options = _parse()
    begin, work = time.monotonic(), _subjects(options)
    switches = [one for one in SWITCHES if not options.only or one.name in options.only]
    if any(kind == "lower" for _, kind in work):
        os.environ["TILELANG_CACHE_DIR"] = tempfile.mkdtemp(prefix="smemreuse-ablation-")
        from scripts.applied.measure import warmed_up

        warmed_up()
    import smemreuse.commands.lint
    import smemreuse.commands.plan  # noqa: F401  imported once, before processes are forked

    results: dict[Task, Any] = {}
    _run([(path, kind, "?") for path, kind in work], options, results, begin)
    _write(options, work, results, switches)
    acted = {(path, kind): results[path, kind, "?"].get("acted", ()) for path, kind in work}
    _run([(path, kind, "") for path, kind in work], options, results, begin)
    for switch in switches:
        tasks = [(*one, switch.name) for one in work if switch.name in acted[one]]
        _run(tasks, options, results, begin)
        _write(options, work, results, switches)
        print(
            f"{time.monotonic() - begin:5.0f} s  {_line(_row(switch, work, results))}", flush=True
        )
    return 0


def _parse() -> argparse.Namespace:
    parser = options_of(__doc__, "jobs", "keywords")
    parser.add_argument("dumps", type=Path, nargs="*")
    parser.add_argument("--kernels", type=Path, help="lower these functions in TileLang")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", metavar="MECHANISM")
    parser.add_argument("--verb", action="append", choices=[*VERBS])
    parser.add_argument("--seconds", type=float, default=1e9, help="when no new task begins")
    parser.add_argument("--one-each", action="store_true", help="of functions alike, the first")
    return parser.parse_args()


def _subjects(options: Any) -> list[tuple[str, str]]:
    """The dumps and functions, each with what is asked of it."""
    dumps = [path for folder in options.dumps for path in folder.rglob("*.tir")]
    functions = options.kernels.rglob("*.json") if options.kernels else ()
    dumps = chosen(dumps, options.keywords)
    functions = chosen(functions, options.keywords, one_each=options.one_each)
    found = [(str(path), verb) for path in dumps for verb in options.verb or VERBS]
    return [*found, *((str(path), "lower") for path in functions)]


def _run(tasks: list[Task], options: Any, results: dict[Task, Any], begin: float) -> None:
    if time.monotonic() - begin > options.seconds:
        tasks = []
    for task, made, error in forked(tasks, measured, options.jobs, LIMIT):
        results[task] = made or {"decided": {"failed": error.splitlines()[0]}, "cpu": 0.0}


def _row(switch: Switch, work: list[tuple[str, str]], results: dict[Task, Any]) -> dict[str, Any]:
    """What a mechanism does: where it acted, what changed without it, and the CPU of both."""
    asked: Counter[str] = Counter()
    changed: defaultdict[str, list[Any]] = defaultdict(list)
    cpu: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for path, kind in work:
        on, off = results.get((path, kind, "")), results.get((path, kind, switch.name))
        if on is None or off is None:
            continue
        asked[kind] += 1
        cpu[kind][0] += on["cpu"]
        cpu[kind][1] += off["cpu"]
        if on["decided"] != off["decided"]:
            both = [brief(one["decided"], kind) for one in (on, off)]
            changed[kind].append([_short(path), *_difference(*both)])
    return {
        "name": switch.name,
        "off": switch.meaning,
        "lines": switch.lines,
        "kinds": {
            kind: {
                "acted": asked[kind],
                "changed": changed[kind],
                "cpu": [round(one, 1) for one in cpu[kind]],
            }
            for kind in dict.fromkeys(kind for _, kind in work)
        },
    }


def _difference(on: Any, off: Any) -> tuple[Any, Any]:
    """The parts of two lists that differ; "offsets" where none of what is brief does."""
    if isinstance(on, list) and isinstance(off, list) and len(on) == len(off):
        pairs = [(a, b) for a, b in zip(on, off, strict=True) if a != b]
        return ([a for a, _ in pairs] or "offsets", [b for _, b in pairs] or "offsets")
    return on, off


def _short(path: str) -> str:
    return "/".join(Path(path).parts[-2:]).removesuffix(".tir").removesuffix(".json")


def _line(row: dict[str, Any]) -> str:
    kinds = "; ".join(
        f"{kind}: {len(one['changed'])} of {one['acted']} change, "
        f"CPU {one['cpu'][0]:.0f} -> {one['cpu'][1]:.0f} s"
        for kind, one in row["kinds"].items()
    )
    return f"{row['name']} ({row['lines']} lines): {kinds}"


def _write(
    options: Any, work: list[tuple[str, str]], results: dict[Task, Any], switches: list[Switch]
) -> None:
    """What is known so far, so that nothing is lost of a run that is ended."""
    totals = {
        kind: {
            "count": sum(one == kind for _, one in work),
            "cpu": round(sum(made["cpu"] for _, made in _all_on(kind, results)), 1),
            "failed": sorted(_failed(kind, results)),
        }
        for kind in dict.fromkeys(kind for _, kind in work)
    }
    measured_ones = [one for one in switches if any(task[2] == one.name for task in results)]
    document = {
        "schema": "smemreuse.ablation/1",
        "date": today(),
        "machine": {"python": platform.python_version(), "cpus": os.cpu_count()},
        "kinds": totals,
        "rows": [_row(named(one.name), work, results) for one in measured_ones],
    }
    write(options.out, document, 3)


def _all_on(kind: str, results: dict[Task, Any]) -> Iterator[tuple[str, Any]]:
    """The files of one kind, and what came of them with all mechanisms on."""
    for (path, of_kind, off), made in results.items():
        if of_kind == kind and off == "":
            yield path, made


def _failed(kind: str, results: dict[Task, Any]) -> Iterator[str]:
    for path, made in _all_on(kind, results):
        if isinstance(made["decided"], dict) and "failed" in made["decided"]:
            yield f"{_short(path)}: {made['decided']['failed']}"


if __name__ == "__main__":
    sys.exit(main())
