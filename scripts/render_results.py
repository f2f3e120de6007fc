"""Write the results into README.md and the pages of docs, between their markers.

They come from docs/results/*.json.

    python -m scripts.render_results [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scripts import findings_page
from scripts.ablations.pages import ablation_table
from scripts.applied.mistakes import audit_table, refuted_table
from scripts.applied.pages import applied_coverage, applied_families, applied_table, applied_times
from scripts.fitting_page import dumps_table, fits_table
from scripts.production.page import (
    production_counts,
    production_hazards,
    production_kernels,
    production_not_lowered,
    production_refuted,
)
from scripts.random_coverage import coverage_table
from scripts.regenerate_fixtures import renew
from scripts.results import ROOT, machine, markdown, options_of, read
from scripts.score_levers import errors_table, pairs_in
from scripts.spaces.pages import advice_table, tuning_table
from scripts.version_page import (
    version_counts,
    version_differences,
    version_launches,
    version_refuted,
    version_runs,
)

PAGES = (
    ROOT / "README.md",
    *(
        ROOT / "docs" / page
        for page in ("results.md", "advise.md", "how-to/batches.md", "soundness.md")
    ),
    ROOT / "docs" / "findings" / "index.md",
)

Run = Mapping[str, Any]
Row = tuple[str, ...]


SOUNDNESS_MERGES = (
    "TileLang default",
    "TileLang aggressive",
    "smemreuse inner",
    "smemreuse dataflow",
)
HEADLINES = (
    ("gemm", "large"),
    ("batched_gemm", "large"),
    ("batched_gemm", "wide"),
    ("stream_k", "large"),
    ("mmha_decode", "tile128"),
    ("mmha_decode", "tile256_free"),
)
SUMMARY_MERGES = (*SOUNDNESS_MERGES, "smemreuse speed")
HEADLINE_MERGES = (
    *("TileLang default", "TileLang aggressive"),
    *("smemreuse dataflow", "smemreuse speed"),
)
BENCHMARK_MERGES = ("side by side", "TileLang default", "smemreuse bytes", "smemreuse speed")
TVM_MERGES = ("side by side", "TVM default", "smemreuse outer", "smemreuse dataflow")


def soundness_table(runs: Sequence[Run]) -> str:
    """The kernels that tempt a merge: bytes, and how many launches went wrong under each."""
    tempting = [run for run in runs if run["median_ms"] is None and not run["launch_error"]]
    rows = _rows(tempting, lambda run: (f"`{run['fixture']}`",))
    return _table(("kernel",), SOUNDNESS_MERGES, rows, _soundness_cell)


def speed_table(runs: Sequence[Run]) -> str:
    """The kernels that are timed: bytes and median milliseconds under each merge."""
    named = {run["fixture"] for run in runs if run["median_ms"] is not None}
    timed = [run for run in runs if run["fixture"] in named]
    rows = _rows(timed, lambda run: (f"`{run['fixture']}` {run['config']}", run["lowering"]))
    merges = tuple(dict.fromkeys(run["merge"] for run in timed))
    return _table(("kernel", "lowering"), merges, rows, _speed_cell)


def tvm_table(runs: Sequence[Run]) -> str:
    """The kernels for Apache TVM: bytes, and what went wrong under each merge."""
    rows = _rows(runs, lambda run: (f"`{run['fixture']}` {run['config']}",))
    return _table(("kernel",), TVM_MERGES, rows, _soundness_cell)


def summary_table(runs: Sequence[Run], merges: Sequence[str]) -> str:
    """For each merge on how many kernels a launch gave a wrong result."""
    rows = []
    for merge in merges:
        own = [run for run in runs if run["merge"] == merge and not run["launch_error"]]
        wrong = {run["fixture"] for run in own if not run["correct"]}
        rows.append((merge, f"{len(wrong)} of {len({run['fixture'] for run in own})}"))
    return markdown(("merge", "kernels with wrong results"), rows)


def headline_table(runs: Sequence[Run]) -> str:
    """A few of the timed kernels, under the compiler's default and under ours."""
    wanted = [
        run
        for run in runs
        if (run["fixture"], run["config"]) in HEADLINES and run["lowering"] == "plain"
    ]
    rows = _rows(wanted, lambda run: (f"`{run['fixture']}` {run['config']}",))
    return _table(("kernel",), HEADLINE_MERGES, rows, _speed_cell)


def _rows(runs: Sequence[Run], key: Callable[[Run], Row]) -> dict[Row, dict[str, Run]]:
    rows: dict[Row, dict[str, Run]] = {}
    for run in runs:
        rows.setdefault(key(run), {})[run["merge"]] = run
    return rows


def _table(
    headings: Row,
    merges: Sequence[str],
    rows: Mapping[Row, Mapping[str, Run]],
    cell: Callable[[Run], str],
) -> str:
    shown = ([*key, *(cell(cells[merge]) for merge in merges)] for key, cells in rows.items())
    return markdown((*headings, *merges), shown)


def _soundness_cell(run: Run) -> str:
    if run["launch_error"]:
        return f"{run['shared_bytes']:,}, does not launch"
    if run["correct"]:
        return f"{run['shared_bytes']:,}"
    return f"{run['shared_bytes']:,} **wrong** {run['wrong_launches']}/{run['launches']}"


def _speed_cell(run: Run) -> str:
    size = f"{run['shared_bytes']:,} B"
    if run["launch_error"]:
        return f"{size}, does not launch"
    verdict = "" if run["correct"] else ", **wrong result**"
    differs = ", bits differ" if run["correct"] and run["bitwise_equal"] is False else ""
    return f"{size}, {run['median_ms']:.3f} ms{verdict}{differs}"


def hazard_table(data: Mapping[str, Any]) -> str:
    """How many launches went wrong with two buffers in one place, however synchronized."""
    rows = [
        (
            *(f"`{hazard['name']}`", ", ".join(map(str, hazard["rules"]))),
            *(one["plan"], _said_now(one["synchronization"]), _launches(one)),
        )
        for hazard in data["hazards"]
        for one in hazard["variants"]
    ]
    return markdown(("hazard", "rule", "buffers", "synchronization", "wrong launches"), rows)


def witness_table(data: Mapping[str, Any]) -> str:
    """What a GPU, lint and compute-sanitizer's tools say of kernels and of their fixed twins."""
    tools = tuple(data["kernels"][0]["variants"][0]["sanitizer"])
    rows = []
    for kernel in data["kernels"]:
        for one in kernel["variants"]:
            said = ", ".join(one["lint"]["certain"]) or one["lint"]["status"]
            told = (one["sanitizer"][tool] for tool in tools)
            seen = (f"{int(each):,}" if each.isdigit() else each for each in told)
            shown = ("" if each == "0" else each for each in seen)
            fixed = "fixed" if one["mended"] else ""
            rows.append((f"`{kernel['name']}`", fixed, _launches(one), said, *shown))
    return markdown(("kernel", "", "wrong launches", "lint", *tools), rows)


def mended_table(data: Mapping[str, Any]) -> str:
    """Kernels that go wrong, as they are and as they were fixed."""
    rows = [
        (
            *(f"`{kernel['name']}`", _said_now(one["variant"]), one["lint"]),
            *(_said_now("; ".join(one["put_in"])).replace("|", "\\|"), _launches(one)),
        )
        for kernel in data["witnesses"]
        for one in kernel["variants"]
    ]
    return markdown(("kernel", "", "lint", "put in", "wrong launches"), rows)


def mended_scan_table(data: Mapping[str, Any]) -> str:
    """The chunk scan as it is, fixed, and fenced by hand: right or not, steady, how fast."""
    heads = ("tile", "", "lint", "fences", "wrong launches", "differ from the first", "time")
    rows = []
    for tile in data["chunk_scan"]:
        for one in tile["variants"]:
            if one.get("hangs"):
                rows.append(
                    (tile["tile"], _said_now(one["variant"]), "", "", _launches(one), "", "")
                )
                continue
            differing = _launches({**one, "wrong_launches": one["differing_launches"]})
            counts = (one["fences"], _launches(one), differing)
            rows.append(
                (tile["tile"], _said_now(one["variant"]), one["lint"], *counts, _time_of(one))
            )
    return markdown(heads, rows)


def late_table(data: Mapping[str, Any]) -> str:
    """Kernels whose idle producer warps may be late: as they are and fixed, with and without."""
    names = ("as it is", "as it is, delayed", "mended", "mended, delayed")
    rows = []
    for kernel in data["kernels"]:
        time = kernel.get("mended_of_as_it_is", {}).get("median")
        cells = [_late(kernel[name]) if name in kernel else "" for name in names]
        found = [one for one in kernel.values() if isinstance(one, dict)]
        said: list[str] = next((one["lint"] for one in found if "lint" in one), [])
        time_cell = f"{time:.3f}" if time else ""
        rows.append((kernel["kernel"], kernel["tile"], "; ".join(said), *cells, time_cell))
    heads = (*map(_said_now, names), "time, fixed of as it is")
    return markdown(("kernel", "tile", "lint", *heads), rows)


def _said_now(words: str) -> str:
    """What a record says, in the words of today."""
    return words.replace("mended", "fixed").replace(" behind ", " after ")


def _late(one: Run) -> str:
    if one.get("hangs"):
        return "**hangs**"
    if "launches" not in one:
        return str(one["error"])
    differing = f"{one['differing_launches']} of {one['launches']} differ"
    if one["wrong_launches"]:
        return f"**{one['wrong_launches']} of {one['launches']} wrong**"
    return differing if one["differing_launches"] else "right"


def _time_of(one: Run) -> str:
    ratio = one.get("of_as_it_is")
    return f"{one['median_ms']:.3f} ms" + (f", {ratio['median']:.3f}" if ratio else "")


def _launches(one: Run) -> str:
    if one.get("hangs"):
        return "**hangs**"
    wrong = f"{one['wrong_launches']} of {one['launches']}"
    return f"**{wrong}**" if one["wrong_launches"] else wrong


def benchmark_table(tiles: Sequence[Mapping[str, Any]]) -> str:
    """What is timed under TileLang's merge and ours in turns; the last column is noise."""
    heads = ("kernel", "tile", *BENCHMARK_MERGES, "default again")
    rows = []
    for tile in tiles:
        variants = {one["merge"]: one for one in tile.get("variants", ())}
        known = [variants.get(merge) for merge in BENCHMARK_MERGES]
        apart = variants.get(BENCHMARK_MERGES[0])
        cells = [_benchmark_cell(one, apart) if one else "" for one in known]
        again = variants.get("TileLang default, again", {}).get("of_default")
        last = tile.get("error", f"{again['median']:.3f}" if again else "")
        rows.append((f"`{tile['benchmark']}`", tile["tile"], *cells, last))
    return markdown(heads, rows)


def _benchmark_cell(one: Run, apart: Run | None) -> str:
    """Bytes, the carve-out, the time, and what it is of the default's; `apart` is unmerged."""
    if one["compile_error"] or one["dynamic_bytes"] is None:
        return "does not compile"
    size = f"{one['dynamic_bytes']:,} B"
    if one["launch_error"]:
        return f"{size}, does not launch"
    if one["median_ms"] is None:
        return size
    text = f"{size}, {one['carveout'] // 1024} KB, {one['median_ms']:.3f} ms"
    if one["merge"] != "TileLang default" and "of_default" in one:
        ratio = one["of_default"]["median"]
        text += f", **{ratio:.3f}**" if abs(ratio - 1) > 0.01 else f", {ratio:.3f}"
    if one["wrong_launches"]:
        text += f", **wrong** {one['wrong_launches']}/{one['launches']}"
    unsteady = [name for name, count in one["differing"].items() if count]
    if unsteady:
        steady_apart = apart is None or not any(apart["differing"].values())
        too = "" if steady_apart or one is apart else ", unmerged too"
        text += f", {' and '.join(f'`{name}`' for name in unsteady)} differs from itself{too}"
    return text + (", bits differ" if one["bitwise_equal"] is False else "")


def batch_table(data: Run) -> str:
    """What comparing a folder of dumps took, one row for each way of spreading it."""
    head = (
        f"{data['dumps']:,} dumps, the {data['fixtures']} fixtures varied, on {data['machine']}, "
        f"{data['date']}. `load` is the machine's, when a run began:\n\n"
    )
    keys = ("load_before", "seconds", "processor_seconds")
    rows = [
        (
            *(run["how"], *(f"{run[key]:,.0f}" for key in keys)),
            *(f"{run[key]:,} MB" for key in ("largest_process_mb", "all_mb")),
        )
        for run in data["runs"]
    ]
    columns = ("", "load", "seconds", "of processors", "largest process", "all together")
    return head + markdown(columns, rows)


def parts() -> Iterator[tuple[str, str]]:
    """What stands between the markers of each name."""
    data, tvm, applied = read("h200"), read("h200-tvm"), read("applied")
    yield "machine", machine(data, "tilelang")
    yield "summary", summary_table(data["runs"], SUMMARY_MERGES)
    yield "headline", headline_table(data["runs"])
    yield "soundness", soundness_table(data["runs"])
    yield "speed", speed_table(data["runs"])
    yield "tvm-machine", machine(tvm, "apache-tvm")
    yield "tvm-summary", summary_table(tvm["runs"], TVM_MERGES)
    yield "tvm", tvm_table(tvm["runs"])
    functions, audits = applied["functions"], read("tvm-audits")
    yield "applied-coverage", applied_coverage(applied)
    yield "applied", applied_table(functions)
    yield "applied-families", applied_families(functions)
    yield "applied-times", applied_times(applied)
    yield "audits", audit_table(functions, audits)
    yield "refuted", refuted_table(functions, audits, read("mistakes-h200"))
    hazards, witnesses, mends = read("hazards-h100"), read("lint-h100"), read("mends-h200")
    yield "hazards-machine", machine(hazards)
    yield "hazards", hazard_table(hazards)
    yield "lint-machine", machine(witnesses)
    yield "lint", witness_table(witnesses)
    yield "mends-machine", machine(mends)
    yield "mends", mended_table(mends)
    yield "mends-scan", mended_scan_table(mends)
    yield from findings_page.parts()
    pace = read("pace-h200")
    yield "pace-machine", machine(pace, "tilelang")
    yield "pace", late_table(pace)
    tiles = read("pace-h100")
    yield "pace-tiles-machine", machine(tiles, "tilelang")
    yield "pace-tiles", late_table(tiles)
    benchmarks = read("benchmarks-h200")
    yield "benchmarks-machine", machine(benchmarks, "tilelang")
    yield "benchmarks", benchmark_table(benchmarks["tiles"])
    yield "advice", advice_table(read("advice-h200"))
    yield "tuning", tuning_table(read("tuning-h200"))
    yield "batch", batch_table(read("batch"))
    yield "random-coverage", coverage_table(read("random-coverage"))
    yield "ablation", ablation_table(read("ablation"))
    yield "fits", fits_table(read("fits-examples"))
    yield "fits-dumps", dumps_table(read("fits-dumps"))
    fitted = map(read, ("fitting-h100", "fitting-h200", "speed-levers-h200"))
    yield "lever-errors", errors_table([pair for one in fitted for pair in pairs_in(one)])
    versions = version_runs()
    yield "versions", version_counts(versions)
    yield "versions-differences", version_differences(versions)
    yield "versions-refuted", version_refuted(versions)
    old = read("h100-tilelang-0.1.9")
    yield "versions-launched-machine", machine(old, "tilelang")
    yield "versions-launched", version_launches(old, read("h100-untimed"))
    production = version_runs("production")
    yield "production", production_counts(production)
    yield "production-refuted", production_refuted(production)
    yield "production-hazards", production_hazards(production)
    yield "production-not-lowered", production_not_lowered(production)
    yield "production-kernels", production_kernels(production)


def filled(text: str) -> str:
    """A page with the text between each pair of markers that it has made anew."""
    for name, made in parts():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        if begin in text:
            head, rest = text.split(begin)
            text = head + begin + made + end + rest.split(end)[1]
    return text


def main() -> int:
    options = options_of(__doc__, "check").parse_args()
    return renew({page: filled(page.read_text()) for page in PAGES}, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
