"""Collects the functions that TileLang's examples compile, without a GPU and without compiling.

    python -m scripts.collect_kernels EXAMPLES OUT [--arch sm_90a] [-k NAME] [--jobs 2]

Every program under EXAMPLES is run in a process of its own, on a GPU that exists in name alone.
Each function that it would compile is written to OUT/ARCH/NAME.json: its TIR as TVM's JSON, and its
pass configuration. Functions that are structurally the same are kept once for each architecture.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scripts.applied.pool import forked
from scripts.results import chosen, options_of

SKIPPED = ("amd", "aws", "triton", "vllm_workspace", "FLA_KDA", "plot_layout", "autodd")
MISSING = (
    "scipy triton fla flash_attn transformers bitblas flash_mla deep_gemm vllm flash_attn_interface"
)
MOST_CASES = 6
# Of one program, functions of one name: many differ in the problem's size alone.
MOST_ALIKE = 8
MOST_ALIKE_LATE = 4
LATE = ("test_", "regression_", "benchmark_")
CAPABILITY = {"sm_80": (8, 0), "sm_90a": (9, 0)}


def programs(tree: Path) -> list[Path]:
    """The programs of a tree: those that define kernels first, then what tests and times them."""
    found = [
        path
        for path in tree.rglob("*.py")
        if not any(word in path.relative_to(tree).as_posix() for word in SKIPPED)
        and path.name not in ("conftest.py", "__init__.py")
        and "tilelang" in path.read_text()
    ]
    return sorted(found, key=lambda path: (path.name.startswith(LATE), path.as_posix()))


def run_program(path: Path, tree: Path, arch: str, folders: dict[Path, Path]) -> bool:
    """Runs one program, in this process, and records what it compiles in a folder of its own."""
    out = folders[path]
    os.chdir(out)
    from scripts.applied import lenient

    sys.meta_path.insert(0, lenient.Finder(tree, MISSING.split()))
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    from tilelang import tvm

    from scripts.applied.fake_cuda import fake_cuda
    from scripts.applied.recorder import Recorder, install

    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    install(Recorder(out, label(path, tree), target))
    module: dict[str, Any] = {"__name__": "__main__", "__file__": str(path), **lenient.NAMES}
    sys.modules["__main__"].__dict__.update(module)
    with target, fake_cuda(CAPABILITY[arch]):
        main = sys.modules["__main__"].__dict__
        guarded(lambda: exec(lenient.compiled(path.read_text(), str(path)), main))
        for name, function in list(main.items()):
            if inspect.isfunction(function) and function.__module__ == "__main__":
                if name.startswith(("test_", "regression_", "run_regression")):
                    for case in cases(function):
                        guarded(partial(function, **case))
    Path(out / "failures").write_text("\n".join(dict.fromkeys(lenient.failures)))
    return True


def guarded(run: Callable[[], Any]) -> None:
    """Runs; whatever ends it, a skipped test and an exit among them, is noted."""
    from scripts.applied.lenient import failures

    try:
        run()
    except BaseException as error:  # pytest's Skipped is none of Exception
        failures.append(f"ended: {type(error).__name__}: {str(error)[:300]}")


def cases(function: Any) -> Iterator[dict[str, Any]]:
    """The first of the arguments that pytest would give a test."""
    marks = [each for each in getattr(function, "pytestmark", []) if each.name == "parametrize"]
    axes = []
    for mark in marks:
        names, values = mark.args[:2]
        names = [each.strip() for each in names.split(",")] if isinstance(names, str) else names
        axes.append(
            [
                dict(zip(names, getattr(value, "values", value), strict=False))
                if len(names) > 1 or hasattr(value, "values")
                else {names[0]: value}
                for value in values
            ]
        )
    for case in itertools.islice(itertools.product(*axes), MOST_CASES):
        yield {name: value for each in case for name, value in each.items()}


def label(path: Path, tree: Path) -> str:
    return path.relative_to(tree).with_suffix("").as_posix().replace("/", "-")


def main() -> None:
    parser = options_of(__doc__, "jobs", "keywords")
    parser.add_argument("examples", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--arch", action="append", choices=sorted(CAPABILITY))
    parser.add_argument("--limit", type=float, default=120, help="seconds for each program")
    options = parser.parse_args()
    tree = options.examples.resolve()
    wanted = chosen(programs(tree), options.keywords)
    for arch in options.arch or sorted(CAPABILITY, reverse=True):
        collect_all(wanted, tree, arch, options)


def collect_all(wanted: list[Path], tree: Path, arch: str, options: Any) -> None:
    folder = options.out / arch
    if not options.keywords:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    target = json.dumps({"kind": "cuda", "arch": arch})
    os.environ.update(TILELANG_DEFAULT_TARGET=target, TILELANG_TARGET=target)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TILELANG_CACHE_DIR"] = f"{scratch}/cache"
        import scripts.applied.recorder  # noqa: F401  TileLang is imported once, for all programs

        folders = {path: Path(scratch, label(path, tree)) for path in wanted}
        for each in folders.values():
            each.mkdir()
        run = partial(run_program, tree=tree, arch=arch, folders=folders)
        for path, made, error in forked(wanted, run, options.jobs, options.limit):
            if made is None:
                (folders[path] / "failures").write_text(error)
            found = len(list(folders[path].glob("*.json")))
            print(arch, label(path, tree), found, file=sys.stderr, flush=True)
        keep_new(folders, tree, arch, options)


def keep_new(folders: dict[Path, Path], tree: Path, arch: str, options: Any) -> None:
    """Keeps of the recorded functions those that no program before has compiled."""
    kept = options.out / arch
    seen = {json.loads(path.read_text())["key"] for path in kept.glob("*.json")}
    with (options.out / f"{arch}.log").open("w") as log:
        for path, folder in folders.items():
            records = [json.loads(each.read_text()) for each in folder.glob("*.json")]
            records.sort(key=lambda each: int(each["name"].rpartition("__")[2]))
            most = MOST_ALIKE_LATE if path.name.startswith(LATE) else MOST_ALIKE
            alike: Counter[str] = Counter()
            for record in records:
                symbol = record["name"].rpartition("__")[0]
                if record["key"] not in seen and alike[symbol] < most:
                    alike[symbol] += 1
                    seen.add(record["key"])
                    text = json.dumps(record, sort_keys=True)
                    (kept / f"{record['name']}.json").write_text(text)
            noted = folder / "failures"
            said = noted.read_text() if noted.exists() else ""
            print(f"=== {label(path, tree)}: {len(records)}\n{said}\n", file=log)


if __name__ == "__main__":
    main()
