"""How long reads must be under way for a TMA load to overtake them, on a CUDA device.

    python -m scripts.overtaken_on_gpu --out docs/results/overtaken-h100.json
    python -m scripts.overtaken_on_gpu --rehearse        # lowers and compiles only: needs no GPU

In kernels whose threads read a stage by plain loads, arrive, and have a TMA load overwrite it with
no proxy fence in between: the last read before the arrival comes behind more and more stores to one
bank, alone and while other warps store there, too. In SASS nothing waits between the stores, the
read and the arrival (`scripts.arrivals_in_sass`). For each number of stores in how many launches
the results differ from those of the kernel with its fixes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from scripts.reproduce_on_gpu import FOLDER, LAUNCHES, SECONDS, rehearsed
from scripts.results import ARCH, about_gpu, options_of, write
from smemreuse.commands.script import execute
from smemreuse.compilers.tilelang.reproducing import LaunchedKernel, collecting
from smemreuse.errors import BackendError
from smemreuse.ir.tree import StatementTree
from smemreuse.reproduce.cases import PLAIN
from smemreuse.reproduce.queued import OVERTAKEN, behind_stores
from smemreuse.reproduce.running import Launching, outcome_of
from smemreuse.reproduce.standalone import Standalone
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.reproduction import MENDED

STORES = (4, 16, 64)
JOBS = 16
KERNELS = (
    ("late_warps.py",),
    ("benchmarks.py", "chunk_scan"),
    ("benchmarks.py", "chunk_state"),
    ("benchmarks.py", "flash_backward"),
    ("benchmarks.py", "gated_delta"),
    ("benchmarks.py", "dequantize_gemm"),
    ("field.py", "stage_read_then_refilled", "one_warp_reads"),
)


def hazards(program: tuple[str, ...]) -> Iterator[tuple[LaunchedKernel, Hazard]]:
    """The reads of a program's kernels that a TMA load may overtake."""
    with collecting(lower_only=True, arch=ARCH) as compiled:
        execute(str(FOLDER / program[0]), program[1:])
    for kernel in (launch for made in compiled for launch in made.launches):
        for hazard in kernel.report.hazards:
            fence = hazard.certain and hazard.kind is HazardKind.MISSING_FENCE
            if fence and hazard.mechanism.startswith(OVERTAKEN):
                yield kernel, hazard


def variants(kernel: LaunchedKernel, hazard: Hazard) -> dict[str, str]:
    """The CUDA of all that is launched, with the fixes of other findings where they are apart."""
    name = kernel.kernel.name
    mark = hazard.fingerprint(name)
    fixes = [one.edit for one in kernel.mends]
    others = [one.edit for one in kernel.mends if one.hazard.fingerprint(name) != mark]
    edits = others if len(others) < len(fixes) else []
    found = {MENDED: kernel.source(PLAIN, fixes), "0": kernel.source(PLAIN, edits)}
    tree = StatementTree(kernel.body)
    for stores in STORES:
        ways = ("alone", "crowded")
        for way, attempt in zip(ways, behind_stores(hazard, tree, stores), strict=False):
            found[f"{stores} {way}"] = kernel.source(attempt, edits)
    return found


def studied(
    kernel: LaunchedKernel, hazard: Hazard, *, folder: Path, launching: Launching | None
) -> dict[str, Any]:
    """In how many launches each variant differs from the fixed kernel."""
    name = kernel.kernel.name
    row: dict[str, Any] = {"kernel": name, "buffers": list(hazard.buffers)}
    try:
        made = variants(kernel, hazard)
    except BackendError as error:
        return {**row, "error": str(error)}
    assert kernel.arguments is not None
    context = kernel.func, kernel.snippet, kernel.base, kernel.target, kernel.pass_configs
    script = folder / f"{name}-{hazard.fingerprint(name)}.py"
    script.write_text(Standalone(*context, kernel.arguments, made, MENDED).text(hazard.witness))
    if launching is None:
        return {**row, "errors": [*filter(None, (rehearsed(script, one) for one in made))]}
    told = launching.all_told(script, list(made))
    found = {one: outcome_of(told[one], told[MENDED]) for one in made}
    row["differing"] = {
        one: "hangs" if it.hangs else it.error or it.differing for one, it in found.items()
    }
    print(name, *hazard.buffers, row["differing"], flush=True)
    return row


def main() -> int:
    options = options_of(__doc__, "out", "rehearse", "keywords").parse_args()
    os.environ["TILELANG_DISABLE_CACHE"] = "1"
    words = options.keywords
    with tempfile.TemporaryDirectory() as folder:
        wanted = [one for one in KERNELS if not words or any(w in " ".join(one) for w in words)]
        pairs = [pair for program in wanted for pair in hazards(program)]
        launching = None if options.rehearse else Launching(LAUNCHES, SECONDS, JOBS)
        study = partial(studied, folder=Path(folder), launching=launching)
        with ThreadPoolExecutor(len(pairs) or 1) as pool:
            rows = [*pool.map(study, *zip(*pairs, strict=True))]
    errors = [str(row) for row in rows if row.get("error") or row.get("errors")]
    print("\n".join(errors) or f"{len(rows)} findings")
    if not options.rehearse:
        about = {**about_gpu("overtaken", tilelang=True), "launches": LAUNCHES}
        write(options.out, {**about, "rows": rows}, 3)
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
