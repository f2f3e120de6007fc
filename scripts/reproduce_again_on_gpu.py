"""Try the findings that docs/results says were not shown once more, with attempts not made then.

    python -m scripts.reproduce_again_on_gpu --out docs/results/reproduce-again-h200.json
    python -m scripts.reproduce_again_on_gpu --rehearse -k field     # needs no GPU
    python -m scripts.reproduce_again_on_gpu --merge two.json --out reproduce-again-h200.json

Each finding in a process of its own, some at a time; those that are not done within the time limit
are left out, with `left` naming them. The programs are those of `scripts.reproduce_on_gpu`, and
TILELANG_EXAMPLES is as there. With --merge nothing is launched: findings of another call on the
same GPU and day are added to --out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scripts.apart import answer, command_of
from scripts.reproduce_on_gpu import (
    LAUNCHES,
    PROGRAMS,
    SECONDS,
    faults_of,
    rehearsed,
    reproduced,
    variants_of,
)
from scripts.results import ARCH, RESULTS, about_gpu, options_of, write
from scripts.unshown_page import name_of, withdrawn
from smemreuse.results.reproduction import DELAYED, EXPECTED, Shown

STUDIES = ("field-h100", "plans-h100", "examples-h100", "h100")
AT_A_TIME, JOBS = 10, 3
"""Findings, and variants of each: most of their time is a compiler's."""

LIMIT = 540
"""Seconds for all findings of a call."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Unshown:
    """A finding that no attempt has shown yet: its study and program, and its row there."""

    study: str
    program: str
    row: Row

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What no other finding has."""
        return self.study, self.program, self.row["kernel"], self.row["finding"]

    @property
    def runs(self) -> str:
        """The program that has the kernel alone, where there is one: of those it is known what must
        come out."""
        alone = self.row["kernel"].removesuffix("_kernel")
        return alone if alone in PROGRAMS else self.program


def unshown(words: Sequence[str] = ()) -> Iterator[Unshown]:
    """The findings that were launched and not shown, of which a name has one of the words."""
    gone = withdrawn()
    for study in STUDIES:
        result = json.loads((RESULTS / f"reproduce-{study}.json").read_text())
        for program in result["programs"]:
            for row in program.get("findings", ()):
                one = Unshown(study, program["program"], row)
                asked = not words or any(word in " ".join(one.key) for word in words)
                if asked and Shown(row["shown"]) is Shown.NOT_SHOWN and name_of(row) not in gone:
                    yield one


def tried(
    key: Sequence[str], folder: str, options: Sequence[str], besides: Sequence[str] = ()
) -> dict[str, Any]:
    """What attempts that were not made yet, nor are `besides`, show of one finding: its row, or an
    error. All are new where it is known by now what must come out."""
    found = next(one for one in unshown() if one.key == tuple(key))
    study, program, kernel, finding = found.key
    where = Path(folder, "-".join(key))
    where.mkdir(parents=True, exist_ok=True)
    before = where.with_suffix(".json")
    known = PROGRAMS[found.runs].expected and found.row["reference"] != EXPECTED
    row = {**found.row, "tried": [*(() if known else found.row["tried"]), *besides]}
    before.write_text(json.dumps({"findings": [row]}))
    more = [*options, "--finding", finding, "--after", str(before)]
    told = reproduced(found.runs, str(where), more)
    about = {"study": study, "program": program, "kernel": kernel, "finding": finding}
    rows = [one for one in told.get("findings", ()) if one["kernel"] == kernel]
    return {**about, **(rows[0] if rows else {"error": told.get("error", "it is no finding now")})}


def rehearsed_all(one: Unshown, folder: Path) -> list[str]:
    """What nvcc says of all attempts at a finding, the errors alone."""
    options = ("--arch", ARCH, "--lower-only")
    errors, made = list[str](), list[str]()
    while not errors:
        row = tried(one.key, str(folder), options, made)
        if "error" in row:
            return [str(row["error"])]
        if not row["script"]:
            break
        script = folder / "-".join(one.key) / row["script"]
        news = [name for name in variants_of(script) if DELAYED in name or not made]
        errors = [*filter(None, (rehearsed(script, name) for name in news))]
        made.append(row["attempt"])
        print(f"{' '.join(one.key)}: {len(news)} variants of: {row['attempt']}", flush=True)
    return errors


def measured(one: Unshown, folder: Path, until: float) -> dict[str, Any]:
    """What is told of a finding; nothing where the time is over before."""
    left = until - time.monotonic()
    options = ["--launches", str(LAUNCHES), "--seconds", str(SECONDS), "--jobs", str(JOBS)]
    command = command_of(tried, list(one.key), str(folder), options)
    told = answer(command, int(left)) if left > 1 else {}
    row: dict[str, Any] = told.get("found") or {"left": "-".join(one.key), **told}
    print(f"{' '.join(one.key):90} {row.get('shown', told.get('error', 'left'))}", flush=True)
    return row


def merged(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The findings of several calls, each as the last one that was done with it has it.

    Raises `ValueError` for calls on other GPUs, of another day, or with other versions.
    """
    abouts = [{**run, "findings": None, "left": None} for run in runs]
    if any(about != abouts[0] for about in abouts):
        raise ValueError("these calls were not made on one GPU, on one day, by the same versions")
    keys = "study", "program", "kernel", "finding"
    rows = {tuple(row[key] for key in keys): row for run in runs for row in run["findings"]}
    done = {"-".join(key) for key in rows}
    left = {name: None for run in runs for name in run["left"] if name not in done}
    return {**runs[0], "findings": [*rows.values()], "left": [*left]}


def main() -> int:
    parser = options_of(__doc__, "out", "rehearse", "keywords")
    parser.add_argument("--merge", type=Path, nargs="+", default=(), metavar="JSON")
    options = parser.parse_args()
    if options.merge:
        files = [*filter(Path.exists, [options.out]), *options.merge]
        write(options.out, merged([json.loads(file.read_text()) for file in files]), 4)
        return 0
    asked = [*unshown(options.keywords)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out.with_suffix("") if options.out else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.rehearse:
            errors = {" ".join(one.key): rehearsed_all(one, folder) for one in asked}
            print("\n".join(f"{name}: {found or 'compiles'}" for name, found in errors.items()))
            return int(any(errors.values()))
        until = time.monotonic() + LIMIT
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            found = [*pool.map(partial(measured, folder=folder, until=until), asked)]
        rows = [row for row in found if "left" not in row]
        left = [row["left"] for row in found if "left" in row]
        about = {**about_gpu("reproduced-again", tilelang=True), "launches": LAUNCHES}
        write(options.out, {**about, "findings": rows, "left": left}, 4)
    told = {"findings": [row for row in rows if "error" not in row]}
    faults = faults_of(told)
    print("\n".join(faults) or "every fixed kernel was right")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
