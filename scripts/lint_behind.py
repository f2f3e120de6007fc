"""Whether `lint` says of a TileLang dump what it says of it behind the passes that insert barriers,
and whether these are where they were predicted.

    python -m scripts.lint_behind DIR --out docs/results/lint-behind.json

Each dump, as it is before the merge, is read with TVM's own parser, merged with every buffer at a
place of its own, and goes through `InjectFenceProxy` and `ThreadSync`. A dump that the parser does
not take is counted, with the reason. Of the text of a dump nothing is told.
"""

from __future__ import annotations

import ast
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from scripts.barrier_places import outcomes
from scripts.results import dumped, options_of, write
from scripts.tilelang_passes import apart, behind, device_function
from smemreuse.audit import BarrierStage
from smemreuse.linter import lint
from smemreuse.results.hazards import LintReport

T = TypeVar("T")


class Ramps(ast.NodeTransformer):
    """`a[i:i + 8]` as `a[T.Ramp(i, 1, 8)]`: the parser takes no slices among values."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        found = node.slice
        if isinstance(found, ast.Slice) and found.lower is not None and found.upper is not None:
            lanes = _distance(found.lower, found.upper)
            ramp = f"T.Ramp({ast.unparse(found.lower)}, 1, {lanes})"
            node.slice = ast.parse(ramp, mode="eval").body
        return node


def _distance(lower: ast.expr, upper: ast.expr) -> int:
    """How far two bounds of a slice are apart. Raises `ValueError` where that is not seen."""
    (base, low), (other, high) = _parts(lower), _parts(upper)
    if base != other:
        raise ValueError(f"a slice of unknown length, {ast.unparse(lower)}")
    return high - low


def _parts(bound: ast.expr) -> tuple[str, int]:
    """What a bound is beside a number that is added to it, and that number."""
    number = _number(bound)
    if number is not None:
        return "", number
    if isinstance(bound, ast.BinOp) and isinstance(bound.op, (ast.Add, ast.Sub)):
        number = _number(bound.right)
        if number is not None:
            base, more = _parts(bound.left)
            return base, more + (number if isinstance(bound.op, ast.Add) else -number)
    return ast.dump(bound), 0


def _number(expr: ast.expr) -> int | None:
    if isinstance(expr, ast.Call) and len(expr.args) == 1:  # `T.int64(4)`
        expr = expr.args[0]
    return expr.value if isinstance(expr, ast.Constant) and type(expr.value) is int else None


def device_text(dump: str) -> str:
    """The source of a module with a dump's first device kernel, as the parser takes it."""
    functions = re.split(r"(?m)^    @T\.prim_func", dump)[1:]
    text = next(one for one in functions if "launch_thread" in one)
    text = re.sub(r"(?m)^.*pragma_import_c.*$", "", text).replace('"local.var"', '"local"')
    text = re.sub(r"def \w+\(", "def main(", text, count=1)
    module = f"@I.ir_module\nclass Module:\n    @T.prim_func{text}"
    return ast.unparse(Ramps().visit(ast.parse(module)))


def reports(dump: str) -> tuple[LintReport, LintReport, Counter[str]]:
    """That of a dump, that of the kernel behind the passes, and how its barriers were predicted."""
    function = device_function(device_text(dump))
    (kernel,) = function.kernels
    there = behind(function)
    predicted = outcomes(kernel, there, apart(kernel).offsets)
    return lint(kernel, BarrierStage.LATER), lint(there, BarrierStage.PRESENT), predicted


def dump_name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def of_each_dump(doc: str | None, ask: Callable[[Path], T]) -> tuple[Path | None, list[T]]:
    """The file to write, and what is found of each dump in the folder that the command names."""
    parser = options_of(doc, "out", "jobs")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    files = sorted(options.folder.rglob("sm_*/*.tir"))
    with multiprocessing.Pool(options.jobs) as pool:
        return options.out, pool.map(ask, files, chunksize=1)


def compared(file: Path) -> dict[str, Any]:
    name = dump_name(file)
    try:
        before, behind, predicted = reports(file.read_text())
    except Exception as error:  # the parser's errors are of many types
        return {"dump": name, "not read": type(error).__name__}
    statuses = {"before": str(before.status), "behind": str(behind.status)}
    return {"dump": name, **statuses, "barriers": predicted}


def _is_misjudged(barriers: Mapping[str, int]) -> bool:
    """Whether a barrier is missing that was sure, or there though none was predicted."""
    return bool(barriers["sure, not there"] or barriers["not predicted, there"])


def main() -> int:
    out, found = of_each_dump(__doc__, compared)
    read = [one for one in found if "not read" not in one]
    summary: dict[str, Any] = {
        "schema": "smemreuse.lint-behind/1",
        "dumps": len(found),
        "read": len(read),
        "before / behind": dict(Counter(f"{one['before']} / {one['behind']}" for one in read)),
        "differ": [
            {key: one[key] for key in ("dump", "before", "behind")}
            for one in read
            if one["before"] != one["behind"]
        ],
        "barriers": dict(sum((one["barriers"] for one in read), Counter[str]())),
        "misjudged": [one["dump"] for one in read if _is_misjudged(one["barriers"])],
        "not read": dict(Counter(one["not read"] for one in found if "not read" in one)),
    }
    print(dumped(summary))
    write(out, summary)
    return int(any(one["before"] == "clean" for one in summary["differ"]))


if __name__ == "__main__":
    sys.exit(main())
