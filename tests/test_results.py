"""The results in the README are those that were committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.render_results import (
    BENCHMARK_MERGES,
    PAGES,
    benchmark_table,
    filled,
    mended_scan_table,
    mended_table,
)
from scripts.results import read
from smemreuse.targets.architectures import architecture


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_show_the_committed_results(page: Path) -> None:
    text = page.read_text()
    assert text.count("<!-- ") >= 2
    assert filled(text) == text


@pytest.mark.parametrize(("name", "kernels"), [("h200", 40), ("h200-tvm", 9)])
def test_no_result_was_wrong_under_the_dataflow_policy(name: str, kernels: int) -> None:
    runs = read(name)["runs"]
    dataflow = [run for run in runs if run["merge"] == "smemreuse dataflow"]
    assert len({run["fixture"] for run in dataflow}) > kernels
    for run in dataflow:
        assert run["correct"] or run["launch_error"], run
        assert run["bitwise_equal"] is not False, run


def test_stock_tvm_was_wrong_through_address_of() -> None:
    """And the wide batched GEMM ran only where its output tile took the operands' bytes."""
    runs = read("h200-tvm")["runs"]
    by_key = {(run["fixture"], run["config"], run["merge"]): run for run in runs}
    stock = by_key["address_of_alias", "small", "TVM default"]
    assert stock["wrong_launches"] == stock["launches"]
    assert by_key["batched_gemm", "wide", "TVM default"]["launch_error"]
    assert by_key["batched_gemm", "wide", "smemreuse dataflow"]["correct"]


def test_a_benchmark_s_row_tells_bytes_carve_out_and_time() -> None:
    variant = {
        "dynamic_bytes": 182_272,
        "carveout": 196 * 1024,
        "median_ms": 0.9141,
        "compile_error": None,
        "launch_error": None,
        "wrong_launches": 0,
        "launches": 6,
        "differing": {"dQ": 5, "dK": 0},
        "bitwise_equal": True,
        "of_default": {"median": 0.9655},
    }
    merges = [*BENCHMARK_MERGES, "TileLang default, again"]
    variants = [{**variant, "merge": merge} for merge in merges]
    variants[0]["launch_error"] = "too much"
    tiles: list[dict[str, Any]] = [
        {"benchmark": "flash_backward", "tile": "64x128", "variants": variants},
        {"benchmark": "other", "tile": "64x128", "error": "the process ended with 1"},
    ]
    *_, row, failed = benchmark_table(tiles).splitlines()
    assert failed.endswith("the process ended with 1 |")
    apart, default, _, speed, again = row.strip("| ").split(" | ")[2:]
    assert apart == "182,272 B, does not launch"
    assert default == "182,272 B, 196 KB, 0.914 ms, `dQ` differs from itself, unmerged too"
    assert speed == "182,272 B, 196 KB, 0.914 ms, **0.966**, `dQ` differs from itself, unmerged too"
    assert again == "0.966"


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_the_driver_carves_out_what_holds_all_resident_blocks(gpu: str) -> None:
    """Exactly that above 100 KB, and up to twice as much below, where over half is left for L1."""
    found = read(f"carveout-{gpu}")
    arch = architecture(found["arch"])
    assert found["steps"] == list(arch.carveouts)
    asked = 0
    for name, section in found["sections"].items():
        if name.startswith("chase") or name in ("metrics", "preferred"):
            continue
        for one in section["launches"]:
            size, threads, registers = one["bytes"], one["threads"], one["registers"]
            assert arch.resident_blocks(size, threads, registers) == one["resident"]
            needed = one["resident"] * arch.taken(size)
            foretold = arch.carveout(size, threads, registers)
            assert one["carveout"] == foretold or (
                needed <= 100 * 1024 and foretold < one["carveout"] <= 132 * 1024
            )
            asked += 1
    assert asked > 500


def test_lint_finds_what_goes_wrong_and_nothing_where_it_is_mended() -> None:
    for kernel in read("lint-h100")["kernels"]:
        wrong, mended = kernel["variants"]
        assert wrong["lint"]["certain"] == [kernel["kind"]]
        # What memory that nobody has written holds hangs on what ran there before.
        often = 0 if kernel["kind"] == "uninitialised-read" else 0.9
        assert wrong.get("hangs") or wrong["wrong_launches"] > often * wrong["launches"]
        assert mended["lint"]["status"] == "clean"
        assert mended["wrong_launches"] == 0


MADE = {
    "witnesses": [
        {
            "name": "race",
            "variants": [
                {
                    "variant": "as it is",
                    "lint": "hazards",
                    "put_in": [],
                    "launches": 40,
                    "wrong_launches": 39,
                },
                {
                    "variant": "mended",
                    "lint": "clean",
                    "put_in": ["a fence before `x | y`"],
                    "launches": 40,
                    "wrong_launches": 0,
                },
            ],
        }
    ],
    "chunk_scan": [
        {
            "tile": "64x64",
            "variants": [
                {
                    "variant": "mended",
                    "lint": "clean",
                    "fences": 6,
                    "launches": 40,
                    "wrong_launches": 0,
                    "differing_launches": 3,
                    "median_ms": 0.9431,
                    "of_as_it_is": {"median": 1.0012},
                }
            ],
        }
    ],
}


def test_what_was_mended_has_a_row() -> None:
    *_, wrong, mended = mended_table(MADE).splitlines()
    assert wrong == "| `race` | as it is | hazards |  | **39 of 40** |"
    assert mended == "| `race` | fixed | clean | a fence before `x \\| y` | 0 of 40 |"
    (*_, row) = mended_scan_table(MADE).splitlines()
    assert row == "| 64x64 | fixed | clean | 6 | 0 of 40 | **3 of 40** | 0.943 ms, 1.001 |"


def test_what_was_mended_is_right() -> None:
    data = read("mends-h200")
    for kernel in (*data["witnesses"], *data["chunk_scan"]):
        mended = next(one for one in kernel["variants"] if one["variant"] == "mended")
        assert (mended["lint"], mended["wrong_launches"]) == ("clean", 0)
        assert not mended.get("differing_launches")
