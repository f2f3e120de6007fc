"""Show on a CUDA device what a late warp does to kernels as TileLang makes them, and mended.

    python -m scripts.pace_on_gpu --out docs/results/pace-h200.json
    python -m scripts.pace_on_gpu --rehearse         # lowers and compiles only: needs no GPU

Each kernel is launched as it is and mended by `merge(mend=True)`, and both once more with a delay:
the last warp of the producers, which waits and does nothing else, sleeps for about 2 ms in its
third round, in one thread block. Each in a process of its own, which is killed where it hangs, and
held against a reference in float64. Mended kernels are then timed in turns with what does not hang.
Exit 1 if a mended one hangs or is wrong.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scripts.apart import answer, command_of
from scripts.benchmarks.timing import measure
from scripts.benchmarks.variants import Variant
from scripts.harness import launch, ratio
from scripts.results import ARCH, about_gpu, options_of, write

LAUNCHES = 20
SECONDS = 60
AT_ONCE = 10
CYCLES = 4_000_000
LATE_WARP = 3
LATE_ROUND = 2


def _scan(m: int, n: int, k: int, stages: int) -> dict[str, int]:
    return {"block_M": m, "block_N": n, "block_K": k, "num_stages": stages, "threads": 128}


SMALL_SCANS = {
    f"{m}x{n}x{k}, {stages} stages": _scan(m, n, k, stages)
    for m, n, k, stages in (
        (64, 32, 32, 1),
        (64, 32, 64, 1),
        (64, 64, 32, 1),
        (64, 32, 32, 2),
        (64, 64, 32, 2),
    )
}
"""Tiles of the chunk scan that never came back without any delay."""

OTHERS = (
    *("flash_forward_128", "flash_forward_256", "flash_backward", "mla_decode"),
    *("chunk_state", "dequantize_gemm", "batched_gemm", "persistent_gemm"),
)
"""Benchmarks, each at its first tile."""


def kernels() -> list[tuple[str, str, dict[str, Any]]]:
    """Benchmark, tile and the arguments that make the kernel."""
    from fixtures.benchmarks import BENCHMARKS

    scan = BENCHMARKS["chunk_scan"]
    found = [("chunk_scan", tile, {**scan.shape, **sizes}) for tile, sizes in SMALL_SCANS.items()]
    for name in ("chunk_scan", *OTHERS):
        tile = next(iter(BENCHMARKS[name].tiles))
        found.append((name, tile, dict(BENCHMARKS[name].config(tile))))
    return found


def delayed(source: str) -> str:
    """The CUDA in which one idle producer warp sleeps once. Raises `ValueError` without a loop."""
    wait = source.index(".wait(")
    loops = list(re.finditer(r"for \(int (\w+) = 0;[^\n]*\{\n", source[:wait]))
    if not loops:
        raise ValueError("the first wait is in no loop")
    loop = loops[-1]
    first = "blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0"
    late = f"(((int)threadIdx.x) >> 5) == {LATE_WARP} && {loop[1]} == {LATE_ROUND}"
    spin = f"for (long long from = clock64(); clock64() - from < {CYCLES};) {{ }}"
    at = loop.end()
    return f"{source[:at]}if ({first} && {late}) {{ {spin} }}\n{source[at:]}"


def compiled(name: str, config: Mapping[str, Any], mend: bool, late: bool) -> tuple[Any, list[str]]:
    """A kernel, and what was put into it."""
    import tilelang
    from tilelang.engine.callback import register_cuda_postproc

    import smemreuse.tilelang
    from fixtures.benchmarks import BENCHMARKS

    benchmark = BENCHMARKS[name]
    if late:
        register_cuda_postproc(lambda source, _target: delayed(source))
    with smemreuse.tilelang.merge(mend=mend) as session:
        kernel = tilelang.compile(
            benchmark.make(**config),
            target={"kind": "cuda", "arch": ARCH},
            pass_configs=dict(benchmark.pass_configs),
        )
    edits = [one.edit for found in session.mendings for one in found.mends]
    return kernel, [f"{text} {one.side}" for one in edits for text in one.texts]


def only_compiled(name: str, config: Mapping[str, Any], mend: bool, late: bool) -> dict[str, Any]:
    kernel, put_in = compiled(name, config, mend, late)
    return {"put_in": put_in, "sleeps": kernel.get_kernel_source().count("clock64()") // 2}


def launched(name: str, config: Mapping[str, Any], mend: bool, late: bool) -> dict[str, Any]:
    """Launches one kernel again and again on the same fresh inputs."""
    import torch

    from fixtures.benchmarks import BENCHMARKS

    benchmark = BENCHMARKS[name]
    kernel, put_in = compiled(name, config, mend, late)
    variant = Variant("mended" if mend else "as it is", kernel=kernel)
    generator = torch.Generator(device="cuda").manual_seed(time.time_ns() % 2**31)
    args = benchmark.inputs(config, generator, torch.device("cuda"))
    expected = benchmark.reference(args, config)
    first: dict[int, Any] = {}
    for _ in range(LAUNCHES):
        outputs = launch(variant, args, expected)
        if outputs is None:
            return {"error": variant.launch_error}
        first = first or outputs
        variant.judge(outputs, expected, benchmark.tolerance)
        variant.note_bits(outputs, first)
    return {
        "put_in": put_in,
        "launches": variant.launches,
        "wrong_launches": variant.wrong_launches,
        "differing_launches": max(variant.differing.values(), default=0),
    }


def timed(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The mended kernel's time over that of the kernel as it is, in turns."""
    from fixtures.benchmarks import BENCHMARKS

    variants = [
        Variant(which, kernel=compiled(name, config, mend, late=False)[0])
        for which, mend in (("as it is", False), ("mended", True))
    ]
    measure(BENCHMARKS[name], config, variants)
    return ratio(variants[1].rounds_ms, variants[0].rounds_ms)


def _answer(function: Any, *arguments: Any) -> dict[str, Any]:
    told = answer(command_of(function, *arguments), SECONDS)
    found: dict[str, Any] = told.get("found", told)
    return found


def main() -> int:
    parser = options_of(__doc__, "out", "rehearse", "jobs")
    parser.add_argument("--untimed", action="store_true", help="launches alone")
    options = parser.parse_args()
    work = [
        (kernel, mend, late) for kernel in kernels() for mend in (False, True) for late in (0, 1)
    ]
    function = only_compiled if options.rehearse else launched
    with ThreadPoolExecutor(min(options.jobs, AT_ONCE)) as pool:
        answers = pool.map(
            lambda one: _answer(function, one[0][0], one[0][2], one[1], bool(one[2])), work
        )
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for ((name, tile, _), mend, late), found in zip(work, answers, strict=True):
        row = rows.setdefault((name, tile), {"kernel": name, "tile": tile})
        which = ("mended" if mend else "as it is") + (", delayed" if late else "")
        row[which] = found
        print(f"{name:22} {tile:24} {which:18} {found}"[:200], flush=True)
    if options.rehearse:
        return int(any("error" in found for row in rows.values() for found in row.values()))
    about = about_gpu("pace", tilelang=True)
    write(options.out, {**about, "kernels": list(rows.values())}, 3)
    for (name, tile, config), row in (
        () if options.untimed else zip(kernels(), rows.values(), strict=True)
    ):
        if "hangs" not in row["as it is"] and row["mended"].get("put_in"):
            row["mended_of_as_it_is"] = _answer(timed, name, config)
            print(f"{name:22} {tile:24} {row['mended_of_as_it_is']}", flush=True)
            write(options.out, {**about, "kernels": list(rows.values())}, 3)
    mended = [row[which] for row in rows.values() for which in ("mended", "mended, delayed")]
    return int(any("launches" not in one or one["wrong_launches"] for one in mended))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
