"""Run every fixture under every merge on a CUDA device, check the results, time them, write JSON.

    python -m scripts.run_on_gpu --out docs/results/h200.json
    python -m scripts.run_on_gpu --rehearse        # lower and compile only: needs no GPU

Each kernel is compared with its float64 reference on fresh random inputs, several times over, and
bit for bit with the kernel whose buffers lie side by side. Times are medians of CUDA events, the
variants of one fixture taken in turns so that a drift of the clock hits all of them alike.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from scripts.harness import (
    AGGRESSIVE,
    SIDE_BY_SIDE,
    SPEED,
    TILELANG,
    UNMERGED,
    Judged,
    Merge,
    event_times,
    fresh_inputs,
    launch,
    same_outputs,
)
from scripts.results import about_gpu, first_line, options_of, write

LOWERINGS: Mapping[str, Mapping[str, object]] = {
    "warp-specialized": {},
    "plain": {"tl.disable_warp_specialized": True, "tl.disable_tma_lower": True},
}
# Which of them a fixture is run under, by the variant of its dump.
LOWERING_OF_VARIANT = {"sm_90a": "warp-specialized", "sm_80": "plain", "sm_90a-plain": "plain"}
CHECKS = 5
LAUNCHES_PER_CHECK = 3
TIMED_ROUNDS = 5
LAUNCHES_PER_ROUND = 10


MERGES = (
    SIDE_BY_SIDE,
    TILELANG,
    AGGRESSIVE,
    Merge("smemreuse outer", policy="outer"),
    Merge("smemreuse inner", policy="inner"),
    Merge("smemreuse dataflow", policy="dataflow"),
    SPEED,
)


@dataclass
class Run(Judged):
    """One fixture, configuration, lowering and merge, with all that was found out about it."""

    fixture: str = ""
    config: str = ""
    lowering: str = ""
    shared_bytes: int | None = None
    barriers: int | None = None  # `__syncthreads()` in the source
    plan: dict[str, object] | None = None
    correct: bool | None = None
    times_ms: list[float] = field(default_factory=list)

    def as_data(self) -> dict[str, object]:
        data = {
            key: value for key, value in vars(self).items() if key not in ("kernel", "times_ms")
        }
        data["median_ms"] = statistics.median(self.times_ms) if self.times_ms else None
        data["fastest_ms"] = min(self.times_ms) if self.times_ms else None
        return data


def compile_all(groups: Sequence[tuple[Any, str]], arch: str, workers: int) -> list[Run]:
    """Compiles every variant of the `(fixture, config name)` pairs, several at a time."""
    runs = []
    for merge in MERGES:
        jobs = [
            (fixture, config, lowering, fixture.make(**fixture.configs[config]))
            for fixture, config in groups
            for lowering in lowerings_of(fixture)
        ]
        with merge.active() as session, ThreadPoolExecutor(workers) as pool:
            compiled = list(pool.map(partial(_compile, merge=merge, arch=arch), jobs))
        for run in compiled:
            run.plan = _plan_of(run, session)
        runs += compiled
    return runs


def _plan_of(run: Run, session: Any) -> dict[str, object] | None:
    """What the checker said of the plan that went into a kernel, and which one that was; no verdict
    where there are several kernels of its name and size, of which it said different things."""
    if session is None or run.kernel is None:
        return None
    names = {str(var.name_hint) for var in run.kernel.artifact.device_mod.functions}
    found = [
        one
        for one in session.plans
        if one.kernel.name.split("#")[0] in names and one.plan.arena_bytes == run.shared_bytes
    ]
    if not found:
        return None
    verdicts = {one.verdict.verdict for one in found}
    applied, is_known = found[0], len(verdicts) == 1
    violations = applied.verdict.violations if is_known else ()
    return {
        "policy": applied.plan.policy,
        "verdict": applied.verdict.verdict if is_known else None,
        "witnesses": [violation.witness for violation in violations],
        "rejected": [plan.policy for plan, _ in applied.rejected],
    }


def lowerings_of(fixture: Any) -> list[str]:
    """The lowerings that a fixture is run under."""
    if not fixture.variants:
        return list(LOWERINGS)
    return list(dict.fromkeys(LOWERING_OF_VARIANT[variant] for variant in fixture.variants))


def _compile(job: tuple[Any, str, str, Any], *, merge: Merge, arch: str) -> Run:
    import tilelang

    # An object: TileLang 0.1.9 takes no dictionary.
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": arch})
    fixture, config, lowering, func = job
    run = Run(merge.name, fixture=fixture.name, config=config, lowering=lowering)
    pass_configs = {**LOWERINGS[lowering], **merge.pass_configs}
    try:
        run.kernel = tilelang.compile(func, target=target, pass_configs=pass_configs)
    except Exception as error:  # a compiler's failure is a finding to be written down
        run.compile_error = first_line(error)
        return run
    run.shared_bytes = _arena_bytes(run.kernel)
    run.barriers = run.kernel.get_kernel_source().count("__syncthreads()")
    return run


def _arena_bytes(kernel: Any) -> int:
    """Dynamic shared memory that the lowered device module asks for, in bytes."""
    from smemreuse.tilelang import read_module

    kernels = read_module(kernel.artifact.device_mod)
    return sum(buffer.size or 0 for k in kernels for buffer in k.allocations("shared.dyn"))


def check(fixture: Any, runs: Sequence[Run]) -> None:
    """Runs the variants of one fixture and configuration on fresh inputs, `CHECKS` times.

    Every variant is launched several times on the same inputs: a race need not show at once.
    """
    config = fixture.configs[runs[0].config]
    for _ in range(CHECKS):
        args = fresh_inputs(fixture, config)
        expected = fixture.reference(args, config)
        unmerged: dict[str, dict[int, Any]] = {}
        for run in [*runs] * LAUNCHES_PER_CHECK:
            outputs = launch(run, args, expected)
            if outputs is None:
                continue
            if run.merge == UNMERGED:
                unmerged[run.lowering] = outputs
            run.judge(outputs, expected, fixture.tolerance)
            run.correct = not run.wrong_launches
            base = unmerged.get(run.lowering)
            if base is not None and run.merge != UNMERGED:
                run.compare(same_outputs(outputs, base))


def measure(fixture: Any, runs: Sequence[Run]) -> None:
    """Times the variants of one fixture and configuration in turns."""
    config = fixture.configs[runs[0].config]
    args = fresh_inputs(fixture, config)
    timed = [run for run in runs if run.kernel is not None and not run.launch_error]
    for round_number in range(TIMED_ROUNDS + 1):
        for run in timed:
            run.kernel(*args)  # warm up
            times = event_times(run.kernel, args, LAUNCHES_PER_ROUND)
            run.times_ms += times if round_number else []


def groups_of(runs: Sequence[Run]) -> Iterator[tuple[str, list[Run]]]:
    """The runs that share a fixture and configuration, and so inputs and a reference."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.fixture, run.config), []).append(run)
    for (fixture, _), members in groups.items():
        yield fixture, members


def print_summary(runs: Sequence[Run]) -> None:
    for run in runs:
        verdict = {True: "ok", False: "WRONG", None: "-"}[run.correct]
        bits = {True: "=", False: "differs", None: "-"}[run.bitwise_equal]
        median = f"{statistics.median(run.times_ms):.4f}" if run.times_ms else "-"
        error = run.compile_error or run.launch_error or ""
        print(
            f"{run.fixture:24} {run.config:6} {run.lowering:16} {run.merge:20} "
            f"{run.shared_bytes or 0:>7} {verdict:5} {bits:7} {median:>8} {error[:50]}"
        )


def main() -> int:
    parser = options_of(__doc__, "out", "rehearse", "arch")
    parser.add_argument("--untimed", action="store_true", help="only check the results")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("names", nargs="*", help="fixtures (default: all)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILELANG_CACHE_DIR"] = folder
        from fixtures.kernels import FIXTURES

        names = options.names or list(FIXTURES)
        wanted = [(FIXTURES[name], config) for name in names for config in FIXTURES[name].configs]
        started = time.monotonic()
        runs = compile_all(wanted, options.arch, options.workers)
        print(f"compiled {len(runs)} kernels in {time.monotonic() - started:.0f} s")
        if not options.rehearse:
            for name, members in groups_of(runs):
                check(FIXTURES[name], members)
                # The others are there for their results alone.
                if FIXTURES[name].timed and not options.untimed:
                    measure(FIXTURES[name], members)
    print_summary(runs)
    about = {**about_gpu("runs", tilelang=True), "arch": options.arch}
    write(options.out, {**about, "runs": [run.as_data() for run in runs]})
    failed = [run for run in runs if run.compile_error]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
