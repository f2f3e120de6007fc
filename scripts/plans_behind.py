"""Whether the checker says of a plan for a TileLang dump what it says of it once it is applied.

    python -m scripts.plans_behind DIR --out docs/results/plans-behind.json

For each dump, four plans are judged twice: that of TileLang's default merge, of its aggressive
one, and ours for either objective. Once on the dump, where the checker foresees the barriers; once
after `InjectFenceProxy` and `ThreadSync`, with the plan applied. Nothing of a dump's text is
written.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scripts.lint_behind import device_text, dump_name, of_each_dump
from scripts.results import dumped, write
from scripts.tilelang_passes import applied, device_function
from smemreuse.compilers.functions import DeviceFunction
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge, judge_as_it_is
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import SOUND
from smemreuse.versions import version_of
from smemreuse.versions.merges import configured

Compared = dict[str, object]


def plans_of(kernel: Kernel, scope: str) -> Iterator[tuple[str, Plan]]:
    """The plans that are judged, by what makes them."""
    version = version_of(kernel)
    for aggressive in (False, True):
        merge = configured(version, aggressive=aggressive)
        yield merge.name, merge.plan(kernel, scope)
    for objective in ("bytes", "speed"):
        yield f"ours, for {objective}", plan_kernel(kernel, scope, objective=objective)


def both(function: DeviceFunction) -> Iterator[Compared]:
    """The verdicts on each plan of each storage scope, once where two makers have the same plan."""
    (kernel,) = function.kernels
    for scope in kernel.shared_scopes():
        seen: list[Plan] = []
        for maker, plan in plans_of(kernel, scope):
            if len(plan.offsets) < 2 or any(one.offsets == plan.offsets for one in seen):
                continue
            seen.append(plan)
            before = judge(kernel, plan)
            row: Compared = {"scope": scope, "plan": maker, "before": str(before.verdict)}
            try:
                behind = judge_as_it_is(applied(function, plan), plan)
            except Exception as error:  # the passes' errors are of many types
                yield {**row, "behind": f"{type(error).__name__} of the passes"}
                continue
            yield {**row, "behind": str(behind.verdict)}


def compared(file: Path) -> list[Compared]:
    name = dump_name(file)
    try:
        function = device_function(device_text(file.read_text()))
        return [{"dump": name, **row} for row in both(function)]
    except Exception as error:  # the parser's errors are of many types
        return [{"dump": name, "not read": f"{type(error).__name__}: {error}"[:200]}]


def main() -> int:
    out, found = of_each_dump(__doc__, compared)
    rows = [row for rows in found for row in rows]
    read = [one for one in rows if "not read" not in one]
    wrong = [one for one in read if one["before"] == SOUND and one["behind"] != SOUND]
    summary = {
        "schema": "smemreuse.plans-behind/1",
        "dumps": len(found),
        "plans": len(read),
        "before / behind": dict(Counter(f"{one['before']} / {one['behind']}" for one in read)),
        "differ": [one for one in read if one["before"] != one["behind"]],
        "not read": [one for one in rows if "not read" in one],
    }
    print(dumped({key: summary[key] for key in ("dumps", "plans", "before / behind")}))
    write(out, summary)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
