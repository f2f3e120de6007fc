"""Estimates against what was measured on an H200: bounds they are, and not fitted to it.

`docs/results/benchmarks-h200.json`, TileLang's kernels under four merges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from smemreuse.results.advice import Estimate
from smemreuse.targets.cards import H200
from smemreuse.worksheet import Attention, Decode, Gemm, TileWork
from smemreuse.worksheet.judge import judge
from smemreuse.worksheet.matrix import MatrixTile, MatrixUnit
from tests.conftest import ROOT

FP16 = "float16"


@dataclass(frozen=True)
class Measured:
    """A tile's estimate, and its variants as they were measured."""

    name: str
    estimate: Estimate
    variants: tuple[Mapping[str, Any], ...]

    @property
    def fastest(self) -> float:
        """Milliseconds of the fastest merge, at the median of its rounds."""
        return min(float(one["median_ms"]) for one in self.variants if one["median_ms"])


def work_of(benchmark: str, config: Mapping[str, int]) -> TileWork | None:
    """What the worksheet makes of a benchmark's tile; None of a kernel that it has no form for."""
    stages, warps = config.get("num_stages", 0), config.get("threads", 0) // 32
    if stages < 2:
        return None
    if benchmark in ("batched_gemm", "persistent_gemm"):
        gemm = Gemm(config["M"] * config.get("batch", 1), config["N"], config["K"])
        tile = MatrixTile(MatrixUnit.WGMMA, config["block_M"], config["block_N"], warps)
        return gemm.work(H200, FP16, tile, config["block_K"], stages)
    if benchmark.startswith("flash_forward"):
        length = config["length"]
        attention = Attention(1, config["heads"], length, length, config["dim"])
        return attention.work(H200, FP16, config["block_M"], config["block_N"], warps, stages)
    if benchmark == "gqa_decode":
        groups = config["groups"]
        heads = config["heads"] * groups
        decode = Decode(config["batch"], heads, groups, config["length"], config["dim"])
        return decode.gemm(H200, FP16, config["block_N"], stages, config["splits"])
    return None


def measured() -> Iterator[Measured]:
    found = json.loads((ROOT / "docs" / "results" / "benchmarks-h200.json").read_text())
    for tile in found["tiles"]:
        work = work_of(tile["benchmark"], tile.get("config", {}))
        if work is not None:
            name = f"{tile['benchmark']} {tile['tile']}"
            yield Measured(name, judge(H200, FP16, work), tuple(tile["variants"]))


TILES = tuple(measured())


def test_there_are_some_of_each_kind() -> None:
    kinds = [one.name.split()[0] for one in TILES]
    assert len(TILES) >= 15
    assert {"batched_gemm", "persistent_gemm", "flash_forward_128", "gqa_decode"} <= set(kinds)


@pytest.mark.parametrize("one", TILES, ids=lambda one: one.name)
def test_no_estimate_is_above_what_was_measured(one: Measured) -> None:
    assert one.estimate.fits
    assert one.estimate.seconds * 1e3 <= one.fastest


@pytest.mark.parametrize("one", TILES, ids=lambda one: one.name)
def test_bytes_are_those_of_the_merged_kernel_to_the_last(one: Measured) -> None:
    """The output's tile takes the bytes of stages that are dead."""
    least = min(each["dynamic_bytes"] for each in one.variants if each["dynamic_bytes"])
    assert one.estimate.shared_bytes == least


@pytest.mark.parametrize("one", TILES, ids=lambda one: one.name)
def test_resident_blocks_are_those_of_the_kernel(one: Measured) -> None:
    """But of decode, where ptxas takes 240 registers since a second block is not asked for."""
    resident = max(each["resident"] or 0 for each in one.variants)
    assert one.estimate.blocks == resident or "decode" in one.name
    assert one.estimate.blocks >= resident


def test_registers_of_a_gemm_are_about_those_of_ptxas() -> None:
    for one in TILES:
        if "gemm" in one.name:
            for each in one.variants:
                if each["registers"]:
                    assert one.estimate.registers == pytest.approx(each["registers"], rel=0.1)
