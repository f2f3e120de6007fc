"""Show on a CUDA device what a late warp does to kernels as TileLang makes them, and mended.

    python -m scripts.pace_on_gpu --out docs/results/pace-h200.json
    python -m scripts.pace_on_gpu --rehearse         # lowers and compiles only: needs no GPU

Each kernel is launched as it is and mended by `merge(mend=True)`, and both once more with a delay:
the last warp of the producers, which waits and does nothing else, sleeps for about 2 ms in its
third round, in one thread block. Each in a process of its own, which is killed where it hangs, and
held against a reference in float64. With them is what `lint` says before and after. The first tile
of each, mended, is then timed in turns with the kernel as it is, unless that hangs. Exit 1 if a
mended one hangs or is wrong, or if `lint` calls one clean that is unstable.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scripts.apart import Ended, Worker, command_of, doing
from scripts.benchmarks.timing import measure
from scripts.benchmarks.variants import Variant
from scripts.harness import fresh_inputs, launch, ratio
from scripts.results import ARCH, about_gpu, options_of, write
from smemreuse.reproduce.cuda import DELAY, with_definitions

LAUNCHES = 20
LAUNCHING = "launching"
AT_ONCE = 14
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

Found = dict[str, Any]

Kernel = tuple[str, str, dict[str, Any]]
"""A benchmark, a tile, and the arguments that make the kernel."""


def seconds(step: str) -> float:
    """How long a step may take; a launch that takes longer hangs."""
    return 30.0 if step == LAUNCHING else 300.0


def kernels() -> list[Kernel]:
    """Every tile of every benchmark, and the small ones of the chunk scan."""
    from fixtures.benchmarks import BENCHMARKS

    scan = BENCHMARKS["chunk_scan"]
    small = [("chunk_scan", tile, {**scan.shape, **sizes}) for tile, sizes in SMALL_SCANS.items()]
    return small + [
        (name, tile, dict(benchmark.config(tile)))
        for name, benchmark in BENCHMARKS.items()
        for tile in benchmark.tiles
    ]


def delayed(source: str) -> str:
    """The CUDA in which one idle producer warp sleeps once; as it is without a wait in a loop."""
    before, waits, _ = source.partition(".wait(")
    loops = list(re.finditer(r"for \(int (\w+) = 0;[^\n]*\{\n", before))
    if not waits or not loops:
        return source
    loop = loops[-1]
    first = "blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0"
    threads = f"{32 * LATE_WARP}, {32 * LATE_WARP + 32}"
    call = f"{DELAY}({threads}, {CYCLES}, {first} && {loop[1]} == {LATE_ROUND});"
    at = loop.end()
    return with_definitions(f"{source[:at]}{call}\n{source[at:]}")


def compiled(name: str, config: Mapping[str, Any], mend: bool, late: bool) -> tuple[Any, Found]:
    """A kernel; and what was put into it, with what `lint` says before and after that."""
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
    told: Found = {"put_in": [f"{text} {one.side}" for one in edits for text in one.texts]}
    if mend:
        told["lint"] = [_lint(one.before) for one in session.mendings]
        told["lint_after"] = [_lint(one.after) for one in session.mendings]
    return kernel, told


def _lint(report: Any) -> str:
    """The status, and the kinds of hazards that are certain."""
    kinds = sorted({str(one.kind) for one in report.hazards if one.certain})
    return ": ".join((str(report.status), *filter(None, (", ".join(kinds),))))


def only_compiled(name: str, config: Mapping[str, Any], mend: bool, late: bool) -> Found:
    kernel, told = compiled(name, config, mend, late)
    return {**told, "sleeps": kernel.get_kernel_source().count("clock64()") // 2} if late else told


def launched(name: str, config: Mapping[str, Any], mend: bool, late: bool) -> Found:
    """Launches one kernel again and again on the same fresh inputs."""
    from fixtures.benchmarks import BENCHMARKS

    benchmark = BENCHMARKS[name]
    kernel, told = compiled(name, config, mend, late)
    doing(LAUNCHING)
    if late and "clock64()" not in kernel.get_kernel_source():
        return {**told, "sleeps": 0}
    variant = Variant("mended" if mend else "as it is", kernel=kernel)
    args = fresh_inputs(benchmark, config)
    expected = benchmark.reference(args, config)
    first: dict[int, Any] = {}
    for _ in range(LAUNCHES):
        outputs = launch(variant, args, expected)
        if outputs is None:
            return {**told, "error": variant.launch_error}
        first = first or outputs
        variant.judge(outputs, expected, benchmark.tolerance)
        variant.note_bits(outputs, first)
    return {
        **told,
        "launches": variant.launches,
        "wrong_launches": variant.wrong_launches,
        "differing_launches": max(variant.differing.values(), default=0),
    }


def timed(name: str, config: Mapping[str, Any]) -> Found:
    """The mended kernel's time over that of the kernel as it is, in turns."""
    from fixtures.benchmarks import BENCHMARKS

    variants = [
        Variant(which, kernel=compiled(name, config, mend, late=False)[0])
        for which, mend in (("as it is", False), ("mended", True))
    ]
    doing(LAUNCHING)
    measure(BENCHMARKS[name], config, variants)
    return ratio(variants[1].rounds_ms, variants[0].rounds_ms)


def _answer(function: Any, *arguments: Any) -> Found:
    """What a process found, that it hangs where it launches, or its error."""
    try:
        return dict(Worker(command_of(function, *arguments)).ask(seconds))
    except Ended as ended:
        return {"hangs": True} if ended.late and ended.doing == LAUNCHING else {"error": str(ended)}


def tried(kernel: Kernel, function: Any) -> Found:
    """One kernel in all its variants; mended ones only where something was put in."""
    name, tile, config = kernel
    row: Found = {"kernel": name, "tile": tile}
    for mend in (True, False):
        if mend or row["mended"].get("put_in") or "error" in row["mended"]:
            which = "mended" if mend else "as it is"
            row[which] = _answer(function, name, config, mend, False)
        else:
            row["as it is"] = row.pop("mended")
    for which in ("as it is", "mended"):
        if which in row and row[which].get("sleeps", 1):
            late = _answer(function, name, config, which == "mended", True)
            if late.get("sleeps", 1):
                row[f"{which}, delayed"] = late
    return row


def is_unstable(row: Found) -> bool:
    """Whether a kernel as it is hangs, is wrong or does not come to its end, delayed or not."""
    found = [row[which] for which in ("as it is", "as it is, delayed") if which in row]
    return any("launches" not in one or one["wrong_launches"] for one in found)


def faults_of(row: Found) -> list[str]:
    """What should not be: a mended kernel that is wrong, or an unstable one that `lint` passes."""
    found = [row[which] for which in ("mended", "mended, delayed") if which in row]
    faults = [str(one) for one in found if "launches" not in one or one["wrong_launches"]]
    judged: Found = row["mended"] if "mended" in row else row["as it is"]
    said = judged.get("lint", [])
    if is_unstable(row) and not any(one.startswith("hazards") for one in said):
        faults.append(f"unstable, and lint says {said}")
    return faults


def main() -> int:
    parser = options_of(__doc__, "out", "rehearse", "jobs", "keywords")
    parser.add_argument("--untimed", action="store_true", help="launches alone")
    options = parser.parse_args()
    work = [
        one
        for one in kernels()
        if not options.keywords or any(word in f"{one[0]} {one[1]}" for word in options.keywords)
    ]
    function = only_compiled if options.rehearse else launched
    about, rows = about_gpu("pace", tilelang=True), list[Found]()
    with ThreadPoolExecutor(min(options.jobs, AT_ONCE)) as pool:
        for row in pool.map(lambda one: tried(one, function), work):
            rows.append(row)
            said = row if options.rehearse else faults_of(row) or "fine"
            print(f"{row['kernel']:20} {row['tile']:24} {said}", flush=True)
            write(options.out, {**about, "kernels": rows}, 3)
    if options.rehearse:
        return int(any("error" in found for row in rows for found in row.values()))
    first = {name: tile for name, tile, _ in reversed(work)}
    for (name, tile, config), row in zip(work, rows, strict=True):
        hangs = "launches" not in row["as it is"]
        if options.untimed or tile != first[name] or "mended" not in row or hangs:
            continue
        row["mended_of_as_it_is"] = _answer(timed, name, config)
        print(f"{name:20} {tile:24} {row['mended_of_as_it_is']}", flush=True)
        write(options.out, {**about, "kernels": rows}, 3)
    return int(any(map(faults_of, rows)))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
