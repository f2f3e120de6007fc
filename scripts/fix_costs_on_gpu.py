"""Time kernels with the fixes of their findings, over the same kernels without.

    python -m scripts.fix_costs_on_gpu --group kernels --out docs/results/fix-costs-h100.json
    python -m scripts.fix_costs_on_gpu --rehearse        # compiles only: needs no GPU

The programs are those of `scripts.reproduce_on_gpu`; the files of each are written as `smemreuse
reproduce --lower-only` writes them. A kernel has its fixes together, so it is timed once for all
its findings: as it is, fixed, and as it is again, which tells the noise; in turns, from a cold L2
cache, with fresh random inputs in each. All processes compile at once, and one times at a time.
"""

from __future__ import annotations

import fcntl
import runpy
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scripts.apart import command_of, found_apart
from scripts.findings_page import AGAIN
from scripts.harness import FLUSH, event_times, ratio
from scripts.reproduce_on_gpu import GROUPS, PROGRAMS, asked_for, names_of, reproduced
from scripts.results import ARCH, about_gpu, write
from smemreuse.results.reproduction import AS_IT_IS, MENDED

TURNS, LAUNCHES = 21, 5
HEAD_START = 500_000
SECONDS_WRITING, SECONDS_TIMING = 260, 240
VARIANTS = {AS_IT_IS: AS_IT_IS, MENDED: MENDED, AGAIN: AS_IT_IS}


def timed(script: str, lock: str, turns: int) -> dict[str, list[float]]:
    """Milliseconds of each variant, a median for each turn; none without turns."""
    file = runpy.run_path(script)
    kernels = {name: file["compiled"](name) for name in dict.fromkeys(VARIANTS.values())}
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    if not turns:
        return found
    import torch

    with open(lock, "w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        flush = torch.empty(FLUSH, dtype=torch.uint8, device="cuda")
        for turn in range(turns + 1):
            random = torch.Generator("cuda").manual_seed(turn)
            rows = file["ARGUMENTS"]
            args = [file["argument"](*row, generator=random, device="cuda") for row in rows]
            names = [*VARIANTS]
            at = turn % len(names)  # who goes first changes, too
            for name in (*names[at:], *names[:at]):
                kernel = kernels[VARIANTS[name]]
                times = event_times(kernel, args, LAUNCHES, flush, HEAD_START)
                if turn:  # the first warms up
                    found[name].append(statistics.median(times))
    return found


def kernels_once(names: Iterable[str]) -> list[str]:
    """Of programs that compile the same kernels, for one finding each, the first."""
    return [*{PROGRAMS[name].arguments: name for name in reversed([*names])}.values()][::-1]


def kernels_of(name: str, folder: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """A program's kernels that have fixes, each with its findings and a file that has both."""
    options = ("--arch", ARCH, "--lower-only")
    found = found_apart(command_of(reproduced, name, str(folder), options), SECONDS_WRITING)
    if "error" in found:
        raise RuntimeError(found["error"])
    kernels: dict[str, tuple[dict[str, Any], Path]] = {}
    for one in found["findings"]:
        script = folder / one["script"] if one["script"] else None
        if script is not None and f'    "{MENDED}": [' in script.read_text():
            row = {"program": name, "kernel": one["kernel"], "findings": []}
            kernels.setdefault(one["kernel"], (row, script))[0]["findings"].append(
                {key: one[key] for key in ("finding", "kind", "mechanism")}
            )
    yield from kernels.values()


def cost_of(row: Mapping[str, Any], script: Path, lock: Path, turns: int) -> dict[str, Any]:
    """A kernel's times, and those of its fixed form over them."""
    times = found_apart(command_of(timed, str(script), str(lock), turns), SECONDS_TIMING)
    if "error" in times:
        return {**row, **times}
    if not turns:
        return dict(row)
    over = {name: ratio(times[name], times[AS_IT_IS]) for name in (MENDED, AGAIN)}
    medians = {name: statistics.median(each) for name, each in times.items()}
    found = {**row, "ms": medians, "over": over}
    print(
        f"{row['program']:18} {medians[AS_IT_IS]:8.4f} ms {over[MENDED]['median']:.3f}", flush=True
    )
    return found


def measured(names: Sequence[str], folder: Path, turns: int) -> list[dict[str, Any]]:
    """All kernels of programs; what a program lacks is printed."""
    lock = folder / "lock"

    def one(name: str) -> list[dict[str, Any]]:
        into = folder / name
        try:
            kernels = [*kernels_of(name, into)]
        except RuntimeError as error:
            return [{"program": name, "error": str(error)}]
        return [cost_of(row, script, lock, turns) for row, script in kernels]

    with ThreadPoolExecutor(len(names)) as pool:
        return [row for rows in pool.map(one, names) for row in rows]


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The geometric mean and the worst of the ratios, and of the noise."""
    found: dict[str, Any] = {"kernels": len(rows)}
    for name in (MENDED, AGAIN):
        ratios = [row["over"][name]["median"] for row in rows]
        found[name] = {"geometric_mean": statistics.geometric_mean(ratios), "worst": max(ratios)}
    return found


def main() -> int:
    options = asked_for(__doc__)
    names = kernels_once(names_of(options.group or GROUPS, options.keywords))
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(names, Path(folder), 0 if options.rehearse else TURNS)
    failed = [row for row in rows if "error" in row]
    print(
        "\n".join(f"{row['program']}: {row['error']}" for row in failed) or "every kernel was timed"
    )
    if not options.rehearse:
        good = [row for row in rows if "error" not in row]
        about = {**about_gpu("fix-costs", tilelang=True), "turns": TURNS, "launches": LAUNCHES}
        write(options.out, {**about, **summary(good), "rows": rows}, 3)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
