"""Show on a CUDA device that a barrier which a merge brings can stop a kernel for ever.

    python -m scripts.held_up_on_gpu --out docs/results/held-up-h200.json
    python -m scripts.held_up_on_gpu --rehearse       # lowers and compiles only: needs no GPU

The kernel of `fixtures/witnesses/held_up.py` is compiled as TileLang merges it, side by side, and
under smemreuse, each launched in a process of its own, which is killed where it hangs. With ours
is how many bytes the two tiles take, and what the checker says of that layout and of TileLang's.
Exit 1 unless ours and the one side by side come back with what they must give.
"""

from __future__ import annotations

import sys
from typing import Any

from scripts.apart import Ended, Worker, command_of, doing
from scripts.harness import AGGRESSIVE, BYTES, SIDE_BY_SIDE, SPEED, TILELANG, fresh_generator
from scripts.results import ARCH, about_gpu, options_of, write

MERGES = {one.name: one for one in (SIDE_BY_SIDE, TILELANG, AGGRESSIVE, BYTES, SPEED)}
LAUNCHES = 20
LAUNCHING = "launching"


def seconds(step: str) -> float:
    """How long a step may take; a launch that takes longer hangs."""
    return 20.0 if step == LAUNCHING else 300.0


def compiled(name: str) -> tuple[Any, dict[str, Any]]:
    """The kernel under a merge; of ours with the bytes of its tiles and the verdict on them, and
    the same of TileLang's default merge."""
    import tilelang

    import smemreuse.tilelang  # noqa: F401 - `active` looks it up
    from fixtures.witnesses.held_up import make_waits_for_the_next_branch

    merge = MERGES[name]
    with merge.active() as session:
        kernel = tilelang.compile(
            make_waits_for_the_next_branch(),
            target={"kind": "cuda", "arch": ARCH},
            pass_configs=dict(merge.pass_configs),
        )
    if merge.policy is None:
        return kernel, {}
    (lowered,) = session.kernels
    (applied,) = lowered.plans
    scope = applied.plan.scope
    layouts = {
        "layout": (applied.plan, applied.verdict),
        "default": (lowered.stock.plan(lowered.kernel, scope), lowered.stock_verdict(scope)),
    }
    return kernel, {
        which: {"bytes": plan.arena_bytes, "verdict": str(verdict.verdict)}
        for which, (plan, verdict) in layouts.items()
    }


def only_compiled(name: str) -> dict[str, Any]:
    return compiled(name)[1]


def launched(name: str) -> dict[str, Any]:
    """Launches the kernel again and again on fresh inputs."""
    import torch

    from fixtures.witnesses.held_up import BLOCKS, HALF

    kernel, told = compiled(name)
    doing(LAUNCHING)
    right = 0
    for _ in range(LAUNCHES):
        given = torch.randint(1 << 30, (BLOCKS, HALF), generator=fresh_generator(), device="cuda")
        given = given.to(torch.int32)
        passed, back = torch.zeros_like(given), torch.zeros_like(given)
        kernel(given, passed, back)
        torch.cuda.synchronize()
        right += bool((passed == given).all() and (back == given).all())
    return {**told, "launches": LAUNCHES, "right": right}


def found_of(name: str, rehearse: bool) -> dict[str, Any]:
    """What came of one merge."""
    worker = Worker(command_of(only_compiled if rehearse else launched, name))
    try:
        return {"merge": name, **worker.ask(seconds)}
    except Ended as ended:
        hangs = ended.late and ended.doing == LAUNCHING
        return {"merge": name, **({"hangs": True} if hangs else {"error": str(ended)})}


def is_right(row: dict[str, Any]) -> bool:
    """Whether every launch came back with what it must give."""
    return "error" not in row and row.get("right") == row.get("launches")


def main() -> int:
    options = options_of(__doc__, "out", "rehearse").parse_args()
    rows = [found_of(name, options.rehearse) for name in MERGES]
    for row in rows:
        print(row, flush=True)
    if not options.rehearse:
        write(options.out, {**about_gpu("held-up", tilelang=True), "rows": rows}, 2)
    must = [row for row in rows if row["merge"] not in (TILELANG.name, AGGRESSIVE.name)]
    return int(not all(map(is_right, must)))


if __name__ == "__main__":
    sys.exit(main())
