"""Compiles kernels to cubins, with what we say of their resident blocks; needs no GPU.

    python -m scripts.pack_cubins .gpu/cubins [--kernels KERNELS] [-k NAME] [--jobs 2]

The kernels are those of fixtures/kernels, and of KERNELS, which `scripts/collect_kernels.py` wrote.
Each is lowered by TileLang with smemreuse in force and compiled by nvcc for sm_90a, in a process of
its own. What is there already is kept, so that a run that was ended goes on.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from scripts.applied.pool import forked
from scripts.results import chosen, options_of

INDEX = "index.json"
FIXTURE = "fixture"


def main() -> None:
    parser = options_of(__doc__, "arch", "jobs", "keywords")
    parser.add_argument("out", type=Path)
    parser.add_argument("--kernels", type=Path, help="what `scripts/collect_kernels.py` wrote")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each function")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILELANG_CACHE_DIR"] = cache
        import tilelang  # noqa: F401  once, for all processes

        tasks = [task for task in wanted(options) if not told_of(options.out, task).exists()]
        run = partial(packed, folder=options.out, arch=options.arch)
        for task, made, error in forked(tasks, run, options.jobs, options.limit):
            told = made if made is not None else {"error": error.strip()[-400:]}
            told_of(options.out, task).write_text(json.dumps(told))
            print(task, len(told.get("kernels", ())), file=sys.stderr, flush=True)
    told = [json.loads(path.read_text()) for path in sorted(options.out.glob("*.told"))]
    rows = [row for one in told for row in one.get("kernels", ())]
    (options.out / INDEX).write_text(json.dumps(rows, indent=1))
    failed = sum("error" in one for one in told)
    print(f"{len(rows)} kernels of {len(told) - failed} functions; {failed} not compiled")


def wanted(options: Any) -> list[str]:
    """The functions that are asked for: fixtures by name, configuration and lowering, and files."""
    from fixtures.kernels import FIXTURES
    from scripts.run_on_gpu import lowerings_of

    named = [
        f"{FIXTURE}:{one.name}:{config}:{lowering}"
        for one in FIXTURES.values()
        for config in one.configs
        for lowering in lowerings_of(one)
        if not options.keywords or any(word in one.name for word in options.keywords)
    ]
    folder = options.kernels and options.kernels / options.arch
    files = chosen(folder.glob("*.json"), options.keywords) if folder else []
    return [*named, *map(str, files)]


def told_of(folder: Path, task: str) -> Path:
    """The file with what is known of a function's kernels."""
    name = Path(task).stem if task.endswith(".json") else task.replace(":", "-")
    return folder / f"{name}.told"


def packed(task: str, folder: Path, arch: str) -> dict[str, Any]:
    """Writes a function's cubin, and tells of each of its kernels."""
    import tilelang

    import smemreuse.tilelang
    from scripts.nvcc import watched

    func, configs = function_of(task)
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": arch})
    with watched() as seen, smemreuse.tilelang.merge() as session:
        tilelang.compile(func, target=target, pass_configs=dict(configs))
    cubin = told_of(folder, task).with_suffix(".cubin")
    cubin.write_bytes(seen.binary)
    return {"kernels": [*rows_of(cubin, session.kernels, arch)]}


def function_of(task: str) -> tuple[Any, Mapping[str, Any]]:
    """The function that a task names, and the configuration of the passes that lower it."""
    if not task.startswith(f"{FIXTURE}:"):
        from scripts.applied.measure import Function

        found = Function(Path(task))
        return found.func, found.configs
    from fixtures.kernels import FIXTURES
    from scripts.run_on_gpu import LOWERINGS

    _, name, config, lowering = task.split(":")
    fixture = FIXTURES[name]
    return fixture.make(**fixture.configs[config]), LOWERINGS[lowering]


def rows_of(cubin: Path, kernels: Any, arch: str) -> Iterator[dict[str, Any]]:
    """What we say of each kernel of a cubin: with the registers that ptxas gave, and before it."""
    from smemreuse.compilers.tilelang.binaries import barriers_of, registers_of
    from smemreuse.targets.architectures import architecture
    from smemreuse.targets.residents import residents_of

    given, on = registers_of(cubin.read_bytes()), architecture(arch)
    barriers = barriers_of(cubin.read_bytes())
    for one in kernels:
        symbol = one.kernel.name.partition("#")[0]
        plans = [applied.plan for applied in one.plans]
        before = residents_of(one.kernel, plans, on)
        held = barriers.get(symbol, 1)
        known = residents_of(one.kernel, plans, on, compiled=given.get(symbol), barriers=held)
        dynamic = sum(plan.arena_bytes for plan in plans if plan.scope == "shared.dyn")
        if symbol not in given or known is None or before is None:
            continue  # a size or a number of threads that only the launch tells
        assert before.registers is not None
        yield {
            "cubin": cubin.name,
            "symbol": symbol,
            "threads": known.threads,
            "dynamic_bytes": dynamic,
            "block_bytes": known.block_bytes,
            "registers": given[symbol],
            "barriers": held,
            "blocks": known.blocks,
            "registers_before": before.registers.count,
            "registers_from": before.registers.source.value,
            "blocks_before": before.blocks,
        }


if __name__ == "__main__":
    main()
