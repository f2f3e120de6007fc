"""Measures the plans that are applied inside real TileLang lowerings; needs no GPU.

    python -m scripts.measure_applied KERNELS --out applied.json [--jobs 16] [--audit]

KERNELS is what `scripts/collect_kernels.py` wrote. Each function is lowered up to where code
generation begins, in a process of its own: by TileLang alone, and with smemreuse for each
objective. Prints a summary, and writes one line of JSON for each function.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scripts.applied.pages import applied_table
from scripts.applied.pool import forked
from scripts.results import chosen, options_of, write

OBJECTIVES = {"speed": "speed", "bytes": "bytes"}


def main() -> None:
    parser = options_of(__doc__, "out", "jobs", "keywords")
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--arch", action="append", help="only this architecture")
    parser.add_argument("--audit", action="store_true", help="judge TileLang's own plans too")
    parser.add_argument("--one-each", action="store_true", help="of functions alike, the first")
    parser.add_argument("--rough", action="store_true", help="lower once each: the times are rough")
    parser.add_argument("--repeat", type=int, default=1, help="times that each is lowered anew")
    parser.add_argument("--resume", action="store_true", help="keep what --out holds already")
    parser.add_argument("--limit", type=float, default=900, help="seconds for each function")
    options = parser.parse_args()
    paths = wanted(options)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILELANG_CACHE_DIR"] = cache
        from scripts.applied.measure import measured, warmed_up

        warmed_up()
        run = partial(measured, objectives=OBJECTIVES, audit=options.audit, rough=options.rough)
        found = already(options)
        fresh = [path for path in paths if path not in found]
        tasks = [path for path in fresh for _ in range(options.repeat)]
        for path, made, error in forked(tasks, run, options.jobs, options.limit):
            named = {"name": path.stem, "arch": path.parent.name}
            found[path] = quickest(found.get(path), made or {**named, "error": error})
            print(path.parent.name, path.stem, file=sys.stderr, flush=True)
            if options.out:  # so that nothing is lost of a run that is ended
                results = [found[each] for each in sorted(found)]
                write(options.out, {**about_lowerings(options), "functions": results})
    functions = [found[path] for path in sorted(found)]
    print(*tables(functions), sep="\n")


def already(options: Any) -> dict[Path, dict[str, Any]]:
    """What an earlier run has measured, by its file."""
    if not (options.resume and options.out and options.out.exists()):
        return {}
    functions = json.loads(options.out.read_text())["functions"]
    return {options.kernels / each["arch"] / f"{each['name']}.json": each for each in functions}


def wanted(options: Any) -> list[Path]:
    """The functions that are asked for, in order."""
    archs = options.arch or [path.name for path in options.kernels.iterdir() if path.is_dir()]
    paths = [path for arch in archs for path in (options.kernels / arch).glob("*.json")]
    return chosen(paths, options.keywords, one_each=options.one_each)


def quickest(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """What was measured twice, with the shorter times: others work on this machine too."""
    if one is None or "seconds" not in one or "seconds" not in other:
        return other if one is None else one
    taken = one["seconds"], other["seconds"]
    added = {key: min(each["added"][key] for each in taken) for key in one["seconds"]["added"]}
    stock = min(each["stock"] for each in taken)
    return {**one, "seconds": {"stock": stock, "added": added}}


def about_lowerings(options: Any) -> dict[str, Any]:
    import tilelang

    versions = {"tilelang": tilelang.__version__, "python": platform.python_version()}
    how = {"audit": options.audit, "rough": options.rough}
    return {**versions, **how, "one_each": options.one_each or bool(options.keywords)}


def tables(functions: list[dict[str, Any]]) -> Iterator[str]:
    """What came of it, and which functions were not lowered or not left as they should be."""
    yield applied_table(functions)
    for one in functions:
        said = one.get("not_lowered") or one.get("error") or one.get("said")
        if said:
            yield f"{one['arch']}/{one['name']}: {said}"


if __name__ == "__main__":
    main()
