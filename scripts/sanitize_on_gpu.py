"""Hold compute-sanitizer beside `lint`: its tools on the files that show findings.

    python -m scripts.sanitize_on_gpu --out docs/results/sanitized-h200.json
    python -m scripts.sanitize_on_gpu --rehearse    # compiles only: needs no GPU

Each file of docs/findings, as it is and with its delays, is launched twice under each tool, in a
process of its own, which is killed after `SECONDS_EACH`. The sanitizer makes kernels slower by
orders of magnitude: what is not done by then says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.reproduce_on_gpu import rehearsed, variants_of
from scripts.results import ROOT, about_gpu, options_of, write
from scripts.sanitizer import TOOLS, sanitized, version
from smemreuse.results.reproduction import AS_IT_IS, DELAYED

FINDINGS = ROOT / "docs" / "findings"
SECONDS_EACH = 80
AT_ONCE = 14
HANGS_AFTER = 10


@dataclass(frozen=True)
class Task:
    """One variant of a file under one tool."""

    script: Path
    variant: str
    tool: str


def tasks(words: Sequence[str]) -> list[Task]:
    """All that are run, of the files in whose name one of the words is."""
    return [
        Task(script, variant, tool)
        for script in sorted(FINDINGS.glob("*.py"))
        if not words or any(word in script.name for word in words)
        for variant in variants_of(script)
        if variant in (AS_IT_IS, DELAYED)
        for tool in TOOLS
    ]


def measured(task: Task) -> dict[str, Any]:
    """What a tool tells of a variant, and what the launches themselves gave under it."""
    command = [sys.executable, str(task.script), task.variant, "1", str(HANGS_AFTER)]
    told = sanitized(task.tool, command, SECONDS_EACH)
    found = {"errors": told.errors, "first": told.first, "why": told.why, **_launched(told.out)}
    print(task.script.stem, task.variant, task.tool, found, flush=True)
    return found


def _launched(out: str) -> dict[str, Any]:
    """Whether a launch hung, or why none came to its end, by the file's own answer."""
    answers = [line for line in out.splitlines() if line.startswith("{")]
    answer = json.loads(answers[-1]) if answers else {}
    return {"hangs": bool(answer.get("hangs")), "error": answer.get("error", "")[:120]}


def rehearse(found: Sequence[Task]) -> int:
    """Compiles what would be launched."""
    pairs = dict.fromkeys((task.script, task.variant) for task in found)
    bad = 0
    for script, variant in pairs:
        error = rehearsed(script, variant)
        bad += bool(error)
        print(script.name, variant, error or "compiled", flush=True)
    return int(bad > 0)


def main() -> int:
    options = options_of(__doc__, "out", "rehearse", "keywords").parse_args()
    found = tasks(options.keywords)
    if options.rehearse:
        return rehearse(found)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        rows = [
            {"finding": task.script.stem, "variant": task.variant, "tool": task.tool, **told}
            for task, told in zip(found, pool.map(measured, found), strict=True)
        ]
    about = {**about_gpu("sanitized", tilelang=True), "sanitizer": version()}
    write(options.out, {**about, "seconds": SECONDS_EACH, "runs": rows}, 3)
    return int(all(row["errors"] is None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
