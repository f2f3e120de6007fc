"""Whether real kernels whose merge the checker refutes go wrong on a CUDA device.

    python -m scripts.mistakes_on_gpu KERNELS APPLIED --out docs/results/mistakes-h200.json
    python -m scripts.mistakes_on_gpu KERNELS APPLIED --rehearse       # compiles only: needs no GPU

KERNELS is what `scripts/collect_kernels.py` wrote, APPLIED what `scripts/measure_applied.py`
found with `--audit`. Of the functions whose default or aggressive plan is refuted, a few are
compiled as TileLang merges them and as smemreuse does, and launched on fresh random inputs. A
launch counts as differing where its bits are not the unmerged kernel's, or the default's where that
does not fit, in arguments in which that one agrees with itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.apart import Named, Worker, command_of, in_turn
from scripts.applied.summary import refuted
from scripts.benchmarks import mistakes
from scripts.results import about_gpu, first_line, options_of, write

SECONDS_TO_COMPILE = 75
SECONDS_EACH = 15
MOST = 6
MOST_BYTES = 4 << 30


def chosen(functions: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> list[str]:
    """Names of functions whose plan is refuted: those of the default first.

    One of each name in a folder of examples, whose programs and their tests have much in common.
    """
    found: dict[tuple[str, str], str] = {}
    for merge in ("default", "aggressive"):
        for function, _, _ in refuted(functions, merge):
            name = function["name"]
            wanted = not options.keywords or any(word in name for word in options.keywords)
            if function["arch"] == options.arch and wanted:
                program, symbol, _ = name.rsplit("__", 2)
                found.setdefault((program.partition("-")[0], symbol), name)
    return list(found.values())


def can_be_launched(path: Path) -> str | None:
    """None, or why not: what a kernel is given has to be made up from types and shapes."""
    from scripts.applied.measure import Function

    try:
        given = mistakes.arguments(Function(path).func)
    except Exception as error:
        return first_line(error)
    size = mistakes.bytes_of(given)
    return f"takes {size:,} bytes" if size > MOST_BYTES else None


def worker(path: Path) -> Named:
    named = {"name": path.stem, "arch": path.parent.name, "variants": []}
    return named, Worker(command_of(mistakes.work, str(path)))


def brief(found: Mapping[str, Any]) -> str:
    """A line for the terminal."""
    cells = []
    for one in found["variants"]:
        failed = one["compile_error"] or one["launch_error"]
        told = failed[:60] if failed else f"{one['differing_launches']}/{one['launches']}"
        cells.append(f"{one['merge']} {one['block_bytes']} {told}")
    error = f"{found['error']}: " if "error" in found else ""
    return f"{found['name']}: {error}{' | '.join(cells)}"


def parser() -> argparse.ArgumentParser:
    made = options_of(__doc__, "out", "rehearse", "arch", "keywords")
    made.add_argument("kernels", type=Path)
    made.add_argument("applied", type=Path)
    made.add_argument("--most", type=int, default=MOST, help="functions that are launched")
    made.add_argument("--workers", type=int, help="how many compile at once (default: by cores)")
    made.add_argument("--compile-seconds", type=float, default=SECONDS_TO_COMPILE)
    return made


def main() -> int:
    options = parser().parse_args()
    started = time.monotonic()
    names = chosen(json.loads(options.applied.read_text())["functions"], options)
    paths = [options.kernels / options.arch / f"{name}.json" for name in names]
    passed_over: dict[str, str] = {}
    team: list[Named] = []
    for path in paths:
        why = "enough others" if len(team) == options.most else can_be_launched(path)
        if why is None:
            team.append(worker(path))
        else:
            passed_over[path.stem] = why
            print(f"{path.stem}: passed over, {why}", flush=True)
    about = {**about_gpu("mistakes", tilelang=True), "arch": options.arch}
    found: list[dict[str, Any]] = []
    for one in in_turn(team, options, SECONDS_EACH):
        found.append(one)
        print(brief(one), flush=True)
        write(options.out, {**about, "passed_over": passed_over, "functions": found})
    print(f"{time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
