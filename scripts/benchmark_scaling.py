"""Measure how analysis, planning and checking grow with the length of a kernel. Needs no GPU.

    python -m scripts.benchmark_scaling [--out docs/results/scaling.json]

The kernel is a serial loop over phases, each filling a buffer and reading it by other threads; all
phases are local to the iteration, so that every proof has to be made and every buffer shares.
"""

from __future__ import annotations

import time

from scripts.results import about, options_of, write
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel, walk_statements
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel

BUFFERS = 8
STATEMENTS = (100, 300, 1_000, 3_000, 10_000)


def kernel_of(statements: int) -> Kernel:
    """A kernel with about so many statements inside one serial loop."""
    lines = [
        'X = T.handle("float32", "global")',
        "Y = T.decl_buffer((1024,), data=X)",
        'bx = T.launch_thread("blockIdx.x", 4)',
        *(f'B{n} = T.alloc_buffer((512,), scope="shared.dyn")' for n in range(BUFFERS)),
        'tx = T.launch_thread("threadIdx.x", 128)',
        "for b in range(3):",
    ]
    for phase in range(statements // 4):
        buffer = f"B{phase * BUFFERS // max(statements // 4, 1)}"
        lines += [
            "    for i in T.unroll(4):",
            f"        {buffer}[i * 128 + tx] = Y[tx + i]",
            "    for i in T.unroll(4):",
            f"        Y[i * 128 + tx] = {buffer}[511 - tx - i * 128]",
        ]
    (kernel,) = parse_dump("\n".join(lines)).kernels
    return kernel


def measure(statements: int) -> dict[str, object]:
    kernel = kernel_of(statements)
    started = time.perf_counter()
    plan = plan_kernel(kernel, "shared.dyn")
    planned = time.perf_counter()
    verdict = judge(kernel, plan)
    checked = time.perf_counter()
    return {
        "statements": sum(1 for _ in walk_statements(kernel.body)),
        "plan_ms": round(1e3 * (planned - started), 1),
        "check_ms": round(1e3 * (checked - planned), 1),
        "arena_bytes": plan.arena_bytes,
        "side_by_side_bytes": plan.total_bytes,
        "verdict": verdict.verdict,
    }


def main() -> None:
    options = options_of(__doc__, "out").parse_args()
    rows = []
    for statements in STATEMENTS:
        rows.append(measure(statements))
        print(*rows[-1].values(), sep="\t")
    write(options.out, {**about("scaling"), "rows": rows}, 3)


if __name__ == "__main__":
    main()
