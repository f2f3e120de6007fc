"""Run every fixture under every merge on a CUDA device, check the results, time them, write JSON.

    python scripts/run_on_gpu.py --out docs/results/h200.json
    python scripts/run_on_gpu.py --rehearse        # lower and compile only: needs no GPU

Each kernel is compared with its float64 reference on fresh random inputs, several times over, and
bit for bit with the kernel whose buffers lie side by side. Times are medians of CUDA events, the
variants of one fixture taken in turns so that a drift of the clock hits all of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

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


@dataclass(frozen=True)
class Merge:
    """A way to lay out shared memory: TileLang's own, by options, or one of ours."""

    name: str
    pass_configs: Mapping[str, object] = field(default_factory=dict)
    policy: str | None = None
    objective: str = "bytes"

    def active(self) -> AbstractContextManager[Any]:
        if self.policy is None:
            return nullcontext()
        import smemreuse.tilelang

        return smemreuse.tilelang.merge(
            self.policy, objective=self.objective, unchecked=self.policy != "dataflow"
        )


UNMERGED = "side by side"
SIDE_BY_SIDE = Merge(UNMERGED, {"tl.disable_shared_memory_reuse": True})
TILELANG = Merge("TileLang default")
AGGRESSIVE = Merge("TileLang aggressive", {"tl.enable_aggressive_shared_memory_merge": True})
MERGES = (
    SIDE_BY_SIDE,
    TILELANG,
    AGGRESSIVE,
    Merge("smemreuse outer", policy="outer"),
    Merge("smemreuse inner", policy="inner"),
    Merge("smemreuse dataflow", policy="dataflow"),
    Merge("smemreuse speed", policy="dataflow", objective="speed"),
)


@dataclass
class Run:
    """One fixture, configuration, lowering and merge, with all that was found out about it."""

    fixture: str
    config: str
    lowering: str
    merge: str
    kernel: Any = None
    shared_bytes: int | None = None
    barriers: int | None = None  # `__syncthreads()` in the source
    compile_error: str | None = None
    launch_error: str | None = None
    worst_error: float | None = None
    launches: int = 0
    wrong_launches: int = 0
    plan: dict[str, object] | None = None
    correct: bool | None = None
    bitwise_equal: bool | None = None
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
            for lowering in _lowerings(fixture)
        ]
        with merge.active() as session, ThreadPoolExecutor(workers) as pool:
            compiled = list(pool.map(partial(_compile, merge=merge, arch=arch), jobs))
        for run in compiled:
            run.plan = _plan_of(run, session)
        runs += compiled
    return runs


def _plan_of(run: Run, session: Any) -> dict[str, object] | None:
    """What the checker said of the plan that went into a kernel, and which one that was."""
    for applied in session.plans if session is not None and run.kernel is not None else ():
        names = {str(var.name_hint) for var in run.kernel.artifact.device_mod.functions}
        same = applied.plan.arena_bytes == run.shared_bytes
        if applied.kernel.name.split("#")[0] in names and same:
            return {
                "policy": applied.plan.policy,
                "verdict": applied.verdict.verdict,
                "witnesses": [violation.witness for violation in applied.verdict.violations],
                "rejected": [plan.policy for plan, _ in applied.rejected],
            }
    return None


def _lowerings(fixture: Any) -> list[str]:
    if not fixture.variants:
        return list(LOWERINGS)
    return list(dict.fromkeys(LOWERING_OF_VARIANT[variant] for variant in fixture.variants))


def _compile(job: tuple[Any, str, str, Any], *, merge: Merge, arch: str) -> Run:
    import tilelang

    fixture, config, lowering, func = job
    run = Run(fixture.name, config, lowering, merge.name)
    pass_configs = {**LOWERINGS[lowering], **merge.pass_configs}
    try:
        run.kernel = tilelang.compile(
            func, target={"kind": "cuda", "arch": arch}, pass_configs=pass_configs
        )
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


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def check(fixture: Any, runs: Sequence[Run]) -> None:
    """Runs the variants of one fixture and configuration on fresh inputs, `CHECKS` times.

    Every variant is launched several times on the same inputs: a race need not show at once.
    """
    import torch

    device = torch.device("cuda")
    config = fixture.configs[runs[0].config]
    for seed in range(CHECKS):
        generator = torch.Generator(device="cuda").manual_seed(time.time_ns() % 2**31 + seed)
        args = fixture.inputs(config, generator, device)
        expected = fixture.reference(args, config)
        unmerged: dict[str, dict[int, Any]] = {}
        for run in [*runs] * LAUNCHES_PER_CHECK:
            outputs = launch(run, args, expected)
            if outputs is None:
                continue
            if run.merge == UNMERGED:
                unmerged[run.lowering] = outputs
            _judge(run, outputs, expected, unmerged.get(run.lowering), fixture.tolerance)


class Launched(Protocol):
    """A kernel, or None where there is none, and why it does not launch."""

    kernel: Any
    launch_error: str | None


def launch(
    run: Launched, args: Sequence[Any], expected: Mapping[int, Any]
) -> dict[int, Any] | None:
    """The outputs of one launch on the same inputs, with outputs of its own; None if there is
    none."""
    import torch

    if run.kernel is None or run.launch_error:
        return None
    own = [arg.clone() if index in expected else arg for index, arg in enumerate(args)]
    try:
        run.kernel(*own)
        torch.cuda.synchronize()
    except Exception as error:  # asking for too much shared memory is a finding
        run.launch_error = first_line(error)
        return None
    return {index: own[index] for index in expected}


def _judge(
    run: Run,
    outputs: Mapping[int, Any],
    expected: Mapping[int, Any],
    unmerged: Mapping[int, Any] | None,
    tolerance: float,
) -> None:
    for index, reference in expected.items():
        difference = (outputs[index].double() - reference).norm()
        error = float(difference / reference.norm())
        run.worst_error = worse(run.worst_error, error)
        right = error < tolerance  # NaN is never smaller
        run.correct = run.correct is not False and right
        run.launches += 1
        run.wrong_launches += not right
        if unmerged is not None and run.merge != UNMERGED:
            equal = same_bits(outputs[index], unmerged[index])
            run.bitwise_equal = run.bitwise_equal is not False and equal


def same_bits(one: Any, other: Any) -> bool:
    import torch

    return bool(torch.equal(one.view(torch.uint8), other.view(torch.uint8)))


def worse(one: float | None, two: float) -> float:
    """The larger error; NaN and infinity, which JSON does not know, become 1e30."""
    return max(one or 0.0, two if two < 1e30 else 1e30)


def measure(fixture: Any, runs: Sequence[Run]) -> None:
    """Times the variants of one fixture and configuration in turns."""
    import torch

    device = torch.device("cuda")
    config = fixture.configs[runs[0].config]
    generator = torch.Generator(device="cuda").manual_seed(time.time_ns() % 2**31)
    args = fixture.inputs(config, generator, device)
    timed = [run for run in runs if run.kernel is not None and not run.launch_error]
    for round_number in range(TIMED_ROUNDS + 1):
        for run in timed:
            run.kernel(*args)  # warm up
            events = [
                (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
                for _ in range(LAUNCHES_PER_ROUND)
            ]
            for start, end in events:
                start.record()
                run.kernel(*args)
                end.record()
            torch.cuda.synchronize()
            if round_number:
                run.times_ms += [start.elapsed_time(end) for start, end in events]


def environment() -> dict[str, object]:
    import tilelang
    import torch

    import smemreuse

    cuda = torch.cuda.is_available()
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "device": torch.cuda.get_device_name() if cuda else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "tilelang": tilelang.__version__,
        "smemreuse": smemreuse.__version__,
    }


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    parser.add_argument("--rehearse", action="store_true", help="compile only; needs no GPU")
    parser.add_argument("--arch", default="sm_90a")
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
                if FIXTURES[name].timed:  # the others are there for their results alone
                    measure(FIXTURES[name], members)
    print_summary(runs)
    if options.out:
        data = {**environment(), "arch": options.arch, "runs": [run.as_data() for run in runs]}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(data, indent=1) + "\n")
    failed = [run for run in runs if run.compile_error]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
