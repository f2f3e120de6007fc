"""Write the GPU results into README.md and docs/results.md, between their markers.

They come from docs/results/*.json.

python scripts/render_results.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # where this file is run by its path

from scripts.ablations.pages import ablation_table  # noqa: E402
from scripts.applied.mistakes import audit_table, refuted_table  # noqa: E402
from scripts.applied.pages import applied_coverage, applied_families, applied_table, applied_times  # noqa: E402
from scripts.spaces.pages import advice_table, tuning_table  # noqa: E402

RESULTS = ROOT / "docs" / "results" / "h200.json"
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / page for page in ("results.md", "advise.md", "how-to/batches.md")),
)
TVM_RESULTS = RESULTS.with_name("h200-tvm.json")
HAZARDS = RESULTS.with_name("hazards-h200.json")
WITNESSES = RESULTS.with_name("lint-h200.json")
BENCHMARKS = RESULTS.with_name("benchmarks-h200.json")
APPLIED = RESULTS.with_name("applied.json")
TVM_AUDITS = RESULTS.with_name("tvm-audits.json")
MISTAKES = RESULTS.with_name("mistakes-h200.json")

MENDS = RESULTS.with_name("mends-h200.json")
ADVICE = RESULTS.with_name("advice-h200.json")
TUNING = RESULTS.with_name("tuning-h200.json")
BATCH = RESULTS.with_name("batch.json")
ABLATION = RESULTS.with_name("ablation.json")

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
    lines = ["| merge | kernels with wrong results |", "|---|---|"]
    for merge in merges:
        own = [run for run in runs if run["merge"] == merge and not run["launch_error"]]
        wrong = {run["fixture"] for run in own if not run["correct"]}
        lines.append(f"| {merge} | {len(wrong)} of {len({run['fixture'] for run in own})} |")
    return "\n".join(lines) + "\n"


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
    columns = [*headings, *merges]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for key, cells in rows.items():
        shown = [cell(cells[merge]) for merge in merges]
        lines.append(f"| {' | '.join([*key, *shown])} |")
    return "\n".join(lines) + "\n"


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


def machine(data: Mapping[str, Any], compiler: str, key: str) -> str:
    return (
        f"{data['device']}, {data['date']}, {compiler} {data[key]}, CUDA {data['cuda']}; "
        f"code for {data['arch']}.\n"
    )


def hazard_table(data: Mapping[str, Any]) -> str:
    """How many launches went wrong with two buffers in one place, however synchronized."""
    lines = [
        "| hazard | rule | buffers | synchronization | wrong launches |",
        "|---|---|---|---|---|",
    ]
    for hazard in data["hazards"]:
        rules = ", ".join(map(str, hazard["rules"]))
        for one in hazard["variants"]:
            how = (one["plan"], one["synchronization"], _launches(one))
            cells = (f"`{hazard['name']}`", rules, *how)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def witness_table(data: Mapping[str, Any]) -> str:
    """What a GPU, lint and compute-sanitizer's tools tell of kernels and of their mended twins."""
    tools = tuple(data["kernels"][0]["variants"][0]["sanitizer"])
    heads = ("kernel", "", "wrong launches", "lint", *tools)
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for kernel in data["kernels"]:
        for one in kernel["variants"]:
            said = ", ".join(one["lint"]["certain"]) or one["lint"]["status"]
            told = (one["sanitizer"][tool] for tool in tools)
            seen = [
                "" if each == "0" else f"{int(each):,}" if each.isdigit() else each for each in told
            ]
            row = (
                f"`{kernel['name']}`",
                "mended" if one["mended"] else "",
                _launches(one),
                said,
                *seen,
            )
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def mended_table(data: Mapping[str, Any]) -> str:
    """Kernels that go wrong, as they are and as they were mended."""
    lines = ["| kernel |  | lint | put in | wrong launches |", "|---|---|---|---|---|"]
    for kernel in data["witnesses"]:
        for one in kernel["variants"]:
            put_in = "; ".join(one["put_in"]).replace("|", "\\|")
            row = (f"`{kernel['name']}`", one["variant"], one["lint"], put_in, _launches(one))
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def mended_scan_table(data: Mapping[str, Any]) -> str:
    """The chunk scan as it is, mended, and fenced by hand: right or not, steady, how fast."""
    heads = ("tile", "", "lint", "fences", "wrong launches", "differ from the first", "time")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for tile in data["chunk_scan"]:
        for one in tile["variants"]:
            if one.get("hangs"):
                row = (tile["tile"], one["variant"], "", "", _launches(one), "", "")
                lines.append(f"| {' | '.join(row)} |")
                continue
            differing = {**one, "wrong_launches": one["differing_launches"]}
            row = (
                *(tile["tile"], one["variant"], one["lint"], str(one["fences"])),
                *(_launches(one), _launches(differing)),
                _time_of(one),
            )
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


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
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for tile in tiles:
        variants = {one["merge"]: one for one in tile.get("variants", ())}
        known = [variants.get(merge) for merge in BENCHMARK_MERGES]
        apart = variants.get(BENCHMARK_MERGES[0])
        cells = [_benchmark_cell(one, apart) if one else "" for one in known]
        again = variants.get("TileLang default, again", {}).get("of_default")
        last = tile.get("error", f"{again['median']:.3f}" if again else "")
        row = (f"`{tile['benchmark']}`", tile["tile"], *cells, last)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


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
    runs: Sequence[Run] = data["runs"]
    lines = [
        f"{data['dumps']:,} dumps, the {data['fixtures']} fixtures varied, on {data['machine']}, "
        f"{data['date']}. `load` is the machine's, when a run began:\n",
        "| | load | seconds | of processors | largest process | all together |",
        "|---" * 6 + "|",
    ]
    for run in runs:
        memory = f"{run['largest_process_mb']:,} MB | {run['all_mb']:,} MB"
        spent = f"{run['seconds']:,.0f} | {run['processor_seconds']:,.0f}"
        lines.append(f"| {run['how']} | {run['load_before']:.0f} | {spent} | {memory} |")
    return "\n".join(lines) + "\n"


def _if_there(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None


def filled(text: str) -> str:
    """A page with the text between each pair of markers that it has made anew."""
    pages = (RESULTS, TVM_RESULTS, HAZARDS, APPLIED)
    data, tvm, hazards, applied = (json.loads(path.read_text()) for path in pages)
    parts = {
        "machine": machine(data, "TileLang", "tilelang"),
        "summary": summary_table(data["runs"], SUMMARY_MERGES),
        "headline": headline_table(data["runs"]),
        "soundness": soundness_table(data["runs"]),
        "speed": speed_table(data["runs"]),
        "tvm-machine": machine(tvm, "Apache TVM", "apache-tvm"),
        "tvm-summary": summary_table(tvm["runs"], TVM_MERGES),
        "tvm": tvm_table(tvm["runs"]),
        "hazards-machine": f"{hazards['device']}, {hazards['date']}, CUDA {hazards['cuda']}.\n",
        "hazards": hazard_table(hazards),
        "applied-coverage": applied_coverage(applied),
        "applied": applied_table(applied["functions"]),
        "applied-families": applied_families(applied["functions"]),
        "applied-times": applied_times(applied),
    }
    witnesses = json.loads(WITNESSES.read_text())
    versions = f"CUDA {witnesses['cuda']}, compute-sanitizer {witnesses['sanitizer']}"
    parts["lint-machine"] = f"{witnesses['device']}, {witnesses['date']}, {versions}.\n"
    parts["lint"] = witness_table(witnesses)
    if applied.get("audit"):
        audits, launched = (_if_there(path) for path in (TVM_AUDITS, MISTAKES))
        parts["audits"] = audit_table(applied["functions"], audits)
        parts["refuted"] = refuted_table(applied["functions"], audits, launched)
    if BENCHMARKS.exists():
        benchmarks = json.loads(BENCHMARKS.read_text())
        parts["benchmarks-machine"] = machine(benchmarks, "TileLang", "tilelang")
        parts["benchmarks"] = benchmark_table(benchmarks["tiles"])
    advice = _if_there(ADVICE)
    if advice is not None:
        parts["advice"] = advice_table(advice)
    tuning = _if_there(TUNING)
    if tuning is not None:
        parts["tuning"] = tuning_table(tuning)
    batch = _if_there(BATCH)
    if batch is not None:
        parts["batch"] = batch_table(batch)
    ablation = _if_there(ABLATION)
    if ablation is not None:
        parts["ablation"] = ablation_table(ablation)
    mends = _if_there(MENDS)
    if mends is not None:
        when = f"{mends['device']}, {mends['date']}, CUDA {mends['cuda']}"
        parts["mends-machine"] = f"{when}; code for {mends['arch']}.\n"
        parts["mends"] = mended_table(mends)
        parts["mends-scan"] = mended_scan_table(mends)
    for name, made in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        if begin in text:
            head, rest = text.split(begin)
            text = head + begin + made + end + rest.split(end)[1]
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    options = parser.parse_args()
    stale = False
    for page in PAGES:
        before = page.read_text()
        after = filled(before)
        stale = stale or before != after
        if not options.check:
            page.write_text(after)
    return int(stale and options.check)


if __name__ == "__main__":
    sys.exit(main())
