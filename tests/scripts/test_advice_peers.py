"""How recommendations of others are mapped onto a measured space, and what is told of them."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from types import SimpleNamespace
from typing import Any

import pytest

from scripts import advice_peers
from scripts.advice_peers import (
    ADVISE,
    AT_RANDOM,
    NVIDIA,
    NVIDIA_PLAIN,
    compared,
    gemm_peers,
    summary,
    table,
)
from scripts.peers import matmul_heuristics
from scripts.peers.mapping import (
    AS_NAMED,
    BY_OUTPUT_TILE,
    BY_TILE,
    RULES,
    Config,
    Named,
    Ran,
    different,
    mapped,
    random_tops,
    there,
    tops,
)
from scripts.spaces.scoring import TOPS, Measured


def ran(block_M: int, block_N: int, us: float, **rest: int) -> Ran:
    return Ran({"block_M": block_M, "block_N": block_N, "block_K": 64, **rest}, us)


def wanted(block_M: int, block_N: int, **rest: int) -> Config:
    return {"block_M": block_M, "block_N": block_N, "block_K": 64, **rest}


SPACE = [
    ran(64, 64, 50, num_stages=2, threads=128, swizzle=0),
    ran(128, 128, 20, num_stages=2, threads=128, swizzle=0),
    ran(128, 128, 10, num_stages=4, threads=256, swizzle=1),
    ran(128, 128, 15, num_stages=4, threads=256, swizzle=0),
    ran(128, 256, 30, num_stages=3, threads=256, swizzle=0),
]


def test_by_tile_the_best_measured_of_a_tile_stands_for_it() -> None:
    assert mapped(wanted(128, 128, num_stages=2), SPACE, BY_TILE).us == 10


def test_by_output_tile_any_block_k_stands_for_it() -> None:
    space = [*SPACE, Ran({"block_M": 128, "block_N": 128, "block_K": 32}, 5)]
    assert mapped(wanted(128, 128), space, BY_OUTPUT_TILE).us == 5
    assert mapped(wanted(128, 128), space, BY_TILE).us == 10
    assert math.isclose(random_tops(space, BY_OUTPUT_TILE)[1], (5 / 50 + 1 + 5 / 30) / 3)


@pytest.mark.parametrize(
    ("rest", "us"),
    [
        ({"num_stages": 2}, 20),
        ({"num_stages": 4, "swizzle": 0}, 15),
        ({"num_stages": 8}, 10),  # nearest: four, of which the better is taken
        ({"num_stages": 4, "threads": 256, "swizzle": 1, "clusters": 2}, 10),
        ({}, 10),
    ],
)
def test_as_named_all_that_is_named_counts(rest: dict[str, int], us: float) -> None:
    assert mapped(wanted(128, 128, **rest), SPACE, AS_NAMED).us == us


def test_the_tile_comes_before_all_else() -> None:
    named = wanted(128, 256, num_stages=2, threads=128, swizzle=1)
    assert mapped(named, SPACE, AS_NAMED).us == 30


@pytest.mark.parametrize(("block_N", "us"), [(192, 30), (96, 10), (512, 30), (16, 50)])
def test_a_tile_that_is_not_there_is_the_nearest(block_N: int, us: float) -> None:
    """By ratios: 192 is nearer to 256 than to 128, and 96 to 128 than to 64."""
    assert mapped(wanted(128 if block_N > 64 else 64, block_N), SPACE, BY_TILE).us == us


def test_of_two_tiles_equally_near_the_better_is_taken() -> None:
    space = [ran(64, 128, 9), ran(128, 64, 7), ran(256, 256, 1)]
    assert mapped(wanted(64, 64), space, BY_TILE).us == 7


def test_a_side_that_a_space_does_not_have_does_not_count() -> None:
    space = [Ran({"block_M": 64, "block_N": 128}, 3), Ran({"block_M": 128, "block_N": 128}, 2)]
    assert mapped(wanted(64, 128), space, BY_TILE).us == 3


def test_what_is_named_twice_counts_once_and_the_list_is_read_on() -> None:
    named = [wanted(128, 128, num_stages=2), wanted(128, 128, num_stages=4), wanted(64, 64)]
    assert [one.us for one in different(named, SPACE, BY_TILE)] == [10, 50]
    assert [one.us for one in different(named, SPACE, AS_NAMED)] == [20, 10, 50]


def test_tiles_that_the_space_has_are_counted() -> None:
    named = [wanted(128, 128), wanted(128, 192), {**wanted(64, 64), "block_K": 32}]
    assert there(named, SPACE, BY_OUTPUT_TILE) == 2
    assert there(named, SPACE, BY_TILE) == 1


def test_tops_are_best_of_all_over_best_of_the_first() -> None:
    order = [SPACE[0], SPACE[1], SPACE[2]]
    assert tops(order, 10) == {1: 0.2, 5: 1.0, 8: 1.0}
    assert tops([], 10) == {}


def test_a_random_order_is_the_mean_of_all_orders() -> None:
    space = [ran(64, 64 << at, us) for at, us in enumerate((10, 20, 25, 40, 50, 80))]
    for rule in RULES:
        found = random_tops(space, rule)
        for most in (1, 5):
            every = itertools.permutations(space)
            mean = statistics.mean(10 / min(one.us for one in order[:most]) for order in every)
            assert math.isclose(found[most], mean)
        assert found[8] == 1


def test_a_random_order_of_tiles_has_each_tile_once() -> None:
    assert math.isclose(random_tops(SPACE, BY_TILE)[1], (10 / 50 + 10 / 10 + 10 / 30) / 3)


def test_a_kernel_of_matmul_heuristics_is_read() -> None:
    kernel = SimpleNamespace(
        cta_tile_m=128, cta_tile_n=256, cta_tile_k=64, stages=7, swizzle_factor=4
    )
    assert matmul_heuristics.named(kernel).config == wanted(128, 256, num_stages=7, swizzle=1)


TRUTH = Measured(
    "gemm",
    "small",
    False,
    [
        *({"config": one.config, "status": "ok", "median_us": one.us} for one in SPACE),
        {"config": wanted(256, 256), "status": "does not launch"},
    ],
)
SIZES = {"M": 256, "N": 256, "K": 64}


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that names the worst first, one that is not there, and advice that names the best."""
    named = [Named(wanted(64, 64), "small"), Named(wanted(128, 256), "large")]
    known: dict[str, Any] = {NVIDIA: lambda sizes: named, NVIDIA_PLAIN: None}
    monkeypatch.setattr(advice_peers, "gemm_peers", lambda: known)
    monkeypatch.setattr(
        advice_peers, "advised", lambda truth: [Named(wanted(256, 256)), Named(SPACE[2].config)]
    )


@pytest.mark.usefixtures("peers")
def test_a_shape_is_compared() -> None:
    found = compared(TRUTH, SIZES)
    assert (found["ran"], found["best_us"]) == (5, 10)
    assert found["different"] == {BY_OUTPUT_TILE: 3, BY_TILE: 3}
    assert found["without"] == {NVIDIA_PLAIN: "not installed"}
    assert found["recommended"][NVIDIA] == ["small", "large"]
    tile = found["rules"][BY_TILE]
    assert tile[NVIDIA] == {"top1": 0.2, "top5": 0.3333, "top8": 0.3333} | {
        "different": 2,
        "first 8 there": 2,
    }
    # What was not measured is passed over, as it is where advice is scored.
    assert tile[ADVISE] == {"top1": 1, "top5": 1, "top8": 1} | {
        "different": 1,
        "first 8 there": 1,
    }
    assert set(tile) == {NVIDIA, ADVISE, AT_RANDOM}


@pytest.mark.usefixtures("peers")
def test_means_leave_out_who_names_nothing() -> None:
    shapes = [compared(TRUTH, SIZES)]
    rows = {(one["who"], one["rule"]): one for one in summary(shapes)}
    assert {who for who, _ in rows} == {NVIDIA, ADVISE, AT_RANDOM}
    assert rows[NVIDIA, BY_TILE]["top1"] == 0.2
    shapes[0]["rules"][BY_TILE][NVIDIA] = {"different": 0}
    assert (NVIDIA, BY_TILE) not in {(one["who"], one["rule"]) for one in summary(shapes)}


@pytest.mark.usefixtures("peers")
def test_the_table_has_all_rules_on_a_line() -> None:
    lines = table(summary([compared(TRUTH, SIZES)])).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert any(NVIDIA in line and "| 0.200 | 0.333 | 0.333 | 0.200 |" in line for line in lines)
    assert len(lines) == 2 + 3
    alone = [one for one in summary([compared(TRUTH, SIZES)]) if one["who"] != NVIDIA]
    assert len(table(alone).splitlines()) == 2


@pytest.mark.tilelang
def test_carver_is_told_of_a_card_that_is_not_there() -> None:
    from scripts.peers import carver
    from smemreuse.targets.cards import CARDS

    with carver.described(CARDS["h200"], carver.STATIC) as device:
        assert device.sm_version == 90
        assert device.compute_max_core == CARDS["h200"].sms
        assert device.smem_cap == carver.STATIC
    found = carver.gemm({"M": 1024, "N": 1024, "K": 1024}, CARDS["h200"], carver.STATIC)
    assert found
    for one in found:
        assert set(one.config) == {*wanted(1, 1), "num_stages", "threads", "swizzle"}
        assert one.config["num_stages"] == 2


@pytest.mark.parametrize(("block_N", "fails"), [(512, False), (64, True)])
@pytest.mark.tilelang
def test_attention_hints_that_tile_the_scores_would_be_noticed(block_N: int, fails: bool) -> None:
    from scripts.peers import carver

    class Node:
        name = "MMA0"

    hint = {Node(): SimpleNamespace(block=[16, block_N])}
    if fails:
        with pytest.raises(ValueError, match="block_N"):
            carver.of_products(hint, 512)
    else:
        assert carver.of_products(hint, 512).startswith("MMA0")


def test_what_was_written_holds_together() -> None:
    """The summary follows from the shapes, and each value can be one."""
    from scripts.spaces.scoring import FOLDER

    data = json.loads((FOLDER.parent / "advice-peers.json").read_text())
    assert data["summary"] == summary(data["shapes"])
    for one in data["shapes"]:
        for rows in one["rules"].values():
            for row in rows.values():
                assert 0 < row["top1"] <= row["top5"] <= row["top8"] <= 1
                assert list(row)[: len(TOPS)] == [f"top{most}" for most in TOPS]


def test_without_its_package_matmul_heuristics_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matmul_heuristics, "MODULE", "a_module_that_nobody_has")
    assert [name for name, one in gemm_peers().items() if one is None] == [NVIDIA, NVIDIA_PLAIN]
