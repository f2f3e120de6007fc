"""Show on a CUDA device what `lint` finds, and what compute-sanitizer finds of it.

    python -m scripts.lint_on_gpu --out docs/results/lint-h100.json
    python -m scripts.lint_on_gpu --rehearse        # lints, lowers and compiles only: needs no GPU

Each kernel of fixtures/witnesses, wrong and mended, is linted, and launched many times on fresh
inputs in a process of its own; its results are compared with what it must give. Then it is launched
once more under each tool of compute-sanitizer. Exit 1 if a mended kernel was wrong.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scripts.apart import answer, command_of
from scripts.results import ARCH, about_gpu, options_of, write
from scripts.sanitizer import TOOLS, sanitized, version

LAUNCHES = 40
SECONDS_EACH = 60
AT_ONCE = 12


def witness(name: str) -> Any:
    from fixtures.witnesses.kernels import WITNESSES

    return next(each for each in WITNESSES if each.name == name)


def linted(name: str, mended: bool) -> dict[str, Any]:
    """What `lint` says of a kernel as TileLang's merge receives it, with all its barriers."""
    import smemreuse
    from fixtures.kernels.lowering import capture
    from fixtures.witnesses.kernels import PASS_CONFIGS

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.tir")
        path.write_text(capture(witness(name).make(mended), ARCH, PASS_CONFIGS))
        (kernel,) = smemreuse.read(path)
    report = smemreuse.lint(kernel, "present")
    found = [str(hazard.kind) for hazard in report.hazards if hazard.certain]
    return {"status": str(report.status), "certain": found}


def launched(name: str, mended: bool, launches: int) -> dict[str, int]:
    """Compiles and launches a kernel, in this process."""
    import tilelang
    import torch

    from fixtures.witnesses.kernels import PASS_CONFIGS

    each = witness(name)
    kernel = tilelang.compile(each.make(mended), pass_configs=PASS_CONFIGS)
    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    return judged(each, kernel, launches)


def judged(each: Any, kernel: Any, launches: int) -> dict[str, int]:
    """Launches a kernel on fresh inputs: how many launches, and how many elements, were wrong."""
    import torch

    wrong = elements = 0
    for _ in range(launches):
        given = torch.randint(1, 1001, each.shape, dtype=torch.int32).cuda()
        must = each.expected(given.cpu()).contiguous().cuda()
        found = torch.full(must.shape, -1, dtype=torch.int32).cuda()
        torch.cuda.synchronize()
        kernel(given, found)
        torch.cuda.synchronize()
        differ = int((found.cpu() != must.cpu()).sum())
        wrong += differ > 0
        elements += differ
    return {"launches": launches, "wrong_launches": wrong, "wrong_elements": elements}


def measured(variant: tuple[str, bool]) -> dict[str, Any]:
    """Launches one kernel in a process of its own: what `answer` tells, and what was wrong."""
    told = answer(command_of(launched, *variant, LAUNCHES), SECONDS_EACH)
    found = told.pop("found", {})
    return {**told, **found}


def sanitized_of(task: tuple[str, bool, str]) -> str:
    """How many errors or hazards a tool of compute-sanitizer tells in one launch."""
    name, mended, tool = task
    told = sanitized(tool, command_of(launched, name, mended, 1), SECONDS_EACH)
    if told.errors is not None:
        return str(told.errors)
    return "failed" if told.why.startswith("failed") else "hangs"


def rehearsed(names: list[str]) -> None:
    from fixtures.kernels.lowering import compile_cuda, cuda_source
    from fixtures.witnesses.kernels import PASS_CONFIGS

    for name in names:
        for mended in (False, True):
            source = cuda_source(witness(name).make(mended), ARCH, PASS_CONFIGS)
            compile_cuda(source, ARCH)
            print(name, "mended" if mended else "wrong", linted(name, mended))


def main() -> int:
    options = options_of(__doc__, "out", "rehearse").parse_args()
    from fixtures.witnesses.kernels import WITNESSES

    names = [each.name for each in WITNESSES]
    if options.rehearse:
        rehearsed(names)
        return 0
    with tempfile.TemporaryDirectory() as cache:  # the tools find what was compiled before
        os.environ["TILELANG_CACHE_DIR"] = cache
        return measure_all(names, options.out)


def measure_all(names: list[str], out: Path | None) -> int:
    """Lints all, launches all, then all under the tools, several at a time."""
    both = [*itertools.product(names, (False, True))]
    tasks = [(*variant, tool) for variant in both for tool in TOOLS]
    said = {variant: linted(*variant) for variant in both}  # TileLang lowers in one thread
    found: list[dict[str, Any]] = [
        {"name": name, "kind": witness(name).kind, "variants": []} for name in names
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for (name, mended), told in zip(both, pool.map(measured, both), strict=True):
            variant = {"mended": mended, "lint": said[name, mended], **told}
            found[names.index(name)]["variants"].append(variant)
        for (name, mended, tool), seen in zip(tasks, pool.map(sanitized_of, tasks), strict=True):
            variant = found[names.index(name)]["variants"][mended]
            variant.setdefault("sanitizer", {})[tool] = seen
    for each in found:
        for variant in each["variants"]:
            print(each["name"], variant)
    write(out, {**about_gpu("witnesses"), "sanitizer": version(), "kernels": found}, 5)
    return int(not all(each["variants"][1].get("wrong_launches") == 0 for each in found))


if __name__ == "__main__":
    sys.exit(main())
