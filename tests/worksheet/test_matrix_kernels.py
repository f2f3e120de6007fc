"""GEMM, convolution and attention: terms against loops that count, and against dumps."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import PlanError
from smemreuse.targets.cards import CARDS, card
from smemreuse.worksheet import Attention, Convolution, Decode, Gemm, advise
from smemreuse.worksheet.attention import registers as attention_registers
from smemreuse.worksheet.convolution import halo_pixels
from smemreuse.worksheet.judge import judge
from smemreuse.worksheet.matrix import MatrixTile, MatrixUnit, engine_of, tiles
from tests.conftest import DUMPS

A100, H200, T4 = card("a100"), card("h200"), card("t4")
MMA = MatrixTile(MatrixUnit.MMA, 128, 128, 8)
EXTENT = st.integers(1, 9)


@given(m=EXTENT, n=EXTENT, k=EXTENT, bm=EXTENT, bn=EXTENT, bk=EXTENT)
def test_what_a_gemm_loads_from_l2(m: int, n: int, k: int, bm: int, bn: int, bk: int) -> None:
    """Every block, every step, every element within bounds; and each result is written once."""
    loaded = 0
    for row, column in itertools.product(range(0, m, bm), range(0, n, bn)):
        for step in range(0, k, bk):
            depth = min(bk, k - step)
            loaded += (min(bm, m - row) + min(bn, n - column)) * depth
    tile = MatrixTile(MatrixUnit.MMA, bm, bn, 4)
    work = Gemm(m, n, k).work(A100, "float16", tile, bk, 2)
    assert work.l2 == pytest.approx(2 * (loaded + m * n))
    assert work.grid == math.ceil(m / bm) * math.ceil(n / bn)
    padded = 2 * math.prod(math.ceil(one / by) * by for one, by in ((m, bm), (n, bn), (k, bk)))
    assert (work.tensor, work.flops) == (padded, 2 * m * n * k)


def test_a_gemm_that_l2_holds_reads_its_operands_once() -> None:
    work = Gemm(1024, 1024, 1024).work(A100, "float16", MMA, 32, 3)
    assert work.dram == 3 * 2 * 1024**2


def bytes_of(dump: str, *names: str) -> int:
    """What buffers of a dumped kernel take."""
    (kernel,) = read_dump(str(DUMPS / f"{dump}.tir")).kernels
    found = {one.name: one.size for one in kernel.allocations("shared.dyn")}
    return sum(found[name] or 0 for name in names)


def test_shared_memory_is_that_of_lowered_kernels() -> None:
    """`fixtures/kernels/gemm.py`: 128 x 128 x 32, two stages; and attention with 64 x 64 of 64."""
    gemm = Gemm(1024, 1024, 1024).work(A100, "float16", MMA, 32, 2)
    assert gemm.shared_bytes == bytes_of("gemm.sm_80", "As", "Bs")
    attention = Attention(1, 1, 1024, 1024, 64).work(H200, "float16", 64, 64, 4, 2)
    assert attention.shared_bytes == bytes_of("flash_attention.sm_90a", "Qs", "Ks", "Vs")


def test_registers_of_a_tile() -> None:
    """Sums over the threads that compute, a slice of each operand, and what is beside."""
    assert MMA.registers == 64 + (64 + 32) // 4 + 32
    assert MatrixTile(MatrixUnit.MMA, 128, 128, 4).registers == 128 + (64 + 64) // 4 + 32
    assert MatrixTile(MatrixUnit.WGMMA, 128, 256, 8).registers == 128 + 32
    assert MatrixTile(MatrixUnit.TCGEN05, 128, 256, 4).columns == 256
    assert MatrixTile(MatrixUnit.TCGEN05, 256, 192, 4).columns == 512


def test_a_tile_of_64_by_64_is_as_much_traffic_as_computation_on_hopper() -> None:
    """As is known of `wgmma`: both operands from shared memory ask for 128 columns or more."""
    cycles = {}
    for bn in (64, 128):
        tile = MatrixTile(MatrixUnit.WGMMA, 64, bn, 4)
        traffic = tile.operand_rows() * 64 * 2 / H200.shared
        cycles[bn] = traffic / (2 * 64 * bn * 64 / H200.tensor["float16"])
    assert cycles[64] == 1
    assert cycles[128] == 0.75


def test_operands_are_read_as_often_as_they_are_used() -> None:
    """An instruction's for 64 rows each; a warp's for its part; a lane's for its own 8 x 8."""
    assert MatrixTile(MatrixUnit.WGMMA, 128, 128, 8).operand_rows() == 128 + 2 * 128
    assert MatrixTile(MatrixUnit.WGMMA, 64, 256, 8).operand_rows() == 2 * 64 + 256, "side by side"
    assert MatrixTile(MatrixUnit.TCGEN05, 256, 128, 4).operand_rows() == 256 + 2 * 128
    assert MMA.operand_rows() == 8 * (32 + 64)
    assert MatrixTile(MatrixUnit.SIMT, 128, 128, 8).operand_rows() == 256 * (8 + 8)


def test_cuda_cores_multiply_and_add_in_one() -> None:
    work = next(Gemm(128, 128, 128).candidates(A100, "float32"))
    assert (work.tensor, work.lanes) == (0, 128**3)


def test_a_thread_has_at_most_255_registers_whoever_gives_it_theirs() -> None:
    """Four warps for 128 x 256 sums: 256 of each thread, though 128 others hardly need any."""
    tile = MatrixTile(MatrixUnit.WGMMA, 128, 256, 4)
    work = Gemm(4096, 4096, 4096).work(H200, "float16", tile, 32, 2)
    assert work.launched <= 255 < work.registers
    found = judge(H200, "float16", work)
    assert (found.blocks, found.refused) == (0, "288 of 255 registers, and would spill")
    given = Gemm(4096, 4096, 4096).work(
        H200, "float16", MatrixTile(MatrixUnit.WGMMA, 256, 192, 8), 64, 3
    )
    assert (given.registers, given.launched) == (224, -(-(256 * 224 + 128 * 24) // 384 // 8) * 8)
    assert judge(H200, "float16", given).blocks == 1


@pytest.mark.parametrize(("bn", "bk", "stages"), [(128, 32, 4), (128, 64, 3), (256, 64, 3)])
def test_stages_that_a_tile_needs_on_an_h200(bn: int, bk: int, stages: int) -> None:
    """From a load's issue to its last byte, over what a step takes, and one more."""
    warps = 4 if bn == 128 else 8
    tile = MatrixTile(MatrixUnit.WGMMA, 128, bn, warps)
    found = judge(H200, "float16", Gemm(4096, 4096, 4096).work(H200, "float16", tile, bk, 2))
    transfer = (128 + bn) * bk * 2 / (H200.l2 / H200.sms / H200.clock)
    compute = 2 * 128 * bn * bk / 4096 * (1.98 / 1.83)
    step = max(transfer, compute)
    assert found.stages_needed == math.ceil((700 + transfer) / step) + 1 == stages


def test_one_block_gets_no_more_from_l2_than_its_port_lets_through() -> None:
    """64 bytes in a cycle, though all of L2's bandwidth is there for it."""
    tile = MatrixTile(MatrixUnit.WGMMA, 128, 128, 4)
    work = Gemm(128, 128, 65536).work(H200, "float16", tile, 32, 8)
    found = judge(H200, "float16", work)
    cycles = work.l2 / 64
    assert work.grid == 1
    assert found.terms["port to L2"] / found.balance == pytest.approx(cycles / H200.clock)
    assert found.seconds >= cycles / H200.clock > 50 * found.terms["L2"]
    transfer, compute = 16_384 / 64, 2 * 128 * 128 * 32 / 4096 * (1.98 / 1.83)
    assert found.stages_needed == math.ceil((700 + transfer) / max(transfer, compute)) + 1 == 5


def test_of_tiles_that_take_the_same_whole_lines_and_enough_stages_come_first() -> None:
    found = advise(Gemm(4096, 4096, 4096), H200, "float16")
    assert found.best is not None
    ties = [one for one in found.estimates if one.seconds == found.best.seconds]
    assert min(int(one.config["BK"]) for one in ties) == 32
    assert found.best.config["BK"] == 64, "128 bytes"
    decode = advise(Decode(8, 32, 8, 8192, 128), H200, "float16").estimates
    enough = [one.stages >= one.stages_needed for one in decode if one.seconds == decode[0].seconds]
    assert set(enough) == {True, False}
    assert enough == sorted(enough, reverse=True)


@given(engine=st.sampled_from(list(MatrixUnit)))
def test_tiles_are_divided_without_a_rest(engine: MatrixUnit) -> None:
    for tile in tiles(engine):
        assert tile.bm * tile.bn % (tile.warps * 32) == 0
        assert tile.operand_rows() >= tile.bm + tile.bn
        assert tile.threads <= 1024
        assert tile.bm % engine.rows == 0


def test_instructions_by_architecture() -> None:
    for name, engine in {
        "v100": MatrixUnit.MMA,
        "h200": MatrixUnit.WGMMA,
        "b200": MatrixUnit.TCGEN05,
        "thor": MatrixUnit.TCGEN05,
        "rtx5090": MatrixUnit.MMA,
        "gb10": MatrixUnit.MMA,
    }.items():
        assert engine_of(card(name), "float16") is engine
    assert engine_of(A100, "float8") is engine_of(H200, "float32") is MatrixUnit.SIMT


def test_hopper_has_a_warps_instruction_for_few_rows_at_a_lower_rate() -> None:
    """16 rows and not 64; but 63 % of the rate, so that no large GEMM takes it."""
    few, many = (advise(Gemm(m, 4096, 4096), H200, "float16") for m in (16, 4096))
    assert {one.config.get("instruction") for one in few.estimates} == {None, "mma"}
    assert many.best is not None
    assert "instruction" not in many.best.config
    tile = MatrixTile(MatrixUnit.MMA, 128, 128, 8)
    work = Gemm(4096, 4096, 4096).work(H200, "float16", tile, 64, 3)
    assert work.tensor == pytest.approx(2 * 4096**3 / 0.63)
    assert {"instruction"} & {
        name for one in advise(Gemm(16, 64, 64), A100, "float16").estimates for name in one.config
    } == set()


def test_before_asynchronous_copies_a_stage_waits_in_registers() -> None:
    """Half the buffers, and the registers of the other half."""
    problem = Gemm(1024, 1024, 1024)
    early, late = (problem.work(one, "float16", MMA, 32, 2) for one in (T4, A100))
    assert early.shared_bytes * 2 == late.shared_bytes == 32_768
    assert early.registers == late.registers + 16_384 // 256 // 4
    assert {work.stages for work in problem.candidates(T4, "float16")} == {2}


def test_splitting_k_is_tried_where_tiles_are_too_few() -> None:
    few, many = Gemm(64, 64, 65536), Gemm(8192, 8192, 64)
    assert {work.config["splits"] for work in many.candidates(A100, "float16")} == {1}
    assert max(int(work.config["splits"]) for work in few.candidates(A100, "float16")) > 32
    best = advise(few, A100, "float16").best
    assert best is not None
    assert int(best.config["splits"]) > 8
    once, parts = (few.work(A100, "float16", MMA, 32, 2, splits) for splits in (1, 8))
    assert parts.dram - once.dram == 2 * 8 * 4 * 64 * 64


# Convolution ----------------------------------------------------------------------------------


@given(height=EXTENT, width=EXTENT, kh=EXTENT, kw=EXTENT, stride=st.integers(1, 3))
def test_the_halo_is_every_pixel_from_the_first_tap_to_the_last(
    height: int, width: int, kh: int, kw: int, stride: int
) -> None:
    rows = [row * stride + tap for row in range(height) for tap in range(kh)]
    columns = [column * stride + tap for column in range(width) for tap in range(kw)]
    box = (max(rows) + 1) * (max(columns) + 1)
    assert halo_pixels(height, width, kh, kw, stride) == box


def test_a_convolution_of_one_tap_is_a_gemm() -> None:
    convolution = Convolution(1, 64, 64, 512, 256, 1, 1)
    gemm = Gemm(4096, 256, 512)
    tile = MatrixTile(MatrixUnit.MMA, 128, 128, 8)
    one = convolution.work(A100, "float16", tile, 32, 64, 3)
    other = gemm.work(A100, "float16", tile, 64, 3)
    for term in ("shared_bytes", "registers", "grid", "flops", "tensor", "l2", "dram", "shared"):
        assert getattr(one, term) == getattr(other, term), term


def test_the_halo_costs_shared_memory_and_saves_traffic() -> None:
    """3 x 3 of 16 x 8 pixels: 180 pixels are loaded for nine taps, not 9 x 128."""
    work = Convolution(1, 56, 56, 64, 64, 3, 3, padding=1).work(
        A100, "float16", MatrixTile(MatrixUnit.MMA, 128, 64, 4), 8, 32, 2
    )
    assert work.shared_bytes == 2 * (180 + 9 * 64) * 32 * 2


def test_filters_larger_than_the_image() -> None:
    with pytest.raises(PlanError, match="filters of 5 x 5 do not fit into 4 x 4 pixels; --padding"):
        Convolution(1, 4, 4, 8, 8, 5, 5)
    assert Convolution(1, 4, 4, 8, 8, 5, 5, padding=2).p == 4


# Attention ------------------------------------------------------------------------------------


@given(queries=st.integers(1, 40), keys=st.integers(1, 40), br=st.integers(1, 9), bc=EXTENT)
def test_causal_pairs_and_tiles(queries: int, keys: int, br: int, bc: int) -> None:
    """A query sees the keys up to its own, the last query the last key."""
    seen = {
        (query, key)
        for query in range(queries)
        for key in range(keys)
        if key <= query + keys - queries
    }
    problem = Attention(1, 1, queries, keys, 8, causal=True)
    assert problem.pairs == len(seen)
    assert problem.steps(br, bc) == len({(query // br, key // bc) for query, key in seen})
    whole = Attention(1, 1, queries, keys, 8)
    assert whole.steps(br, bc) == math.ceil(queries / br) * math.ceil(keys / bc)


def test_what_lies_in_shared_memory_is_q_and_every_stage_of_k_and_v() -> None:
    """And not `BC D b` alone: `(BR + 2 S BC) D b`."""
    work = Attention(1, 1, 1024, 1024, 128).work(A100, "float16", 128, 64, 4, 2)
    assert work.shared_bytes == (128 + 2 * 2 * 64) * 128 * 2


def test_every_warp_reads_all_of_k_and_v() -> None:
    """And the queries again at each step; each tile of keys is written once."""
    problem = Attention(1, 1, 1024, 1024, 128)
    loaded, queries, steps = 2 * 64 * 128 * 2, 128 * 128 * 2, 8 * 16
    by_warps = problem.work(A100, "float16", 128, 64, 4, 2)
    assert by_warps.shared == steps * (queries + (4 + 1) * loaded)
    by_instructions = problem.work(H200, "float16", 128, 64, 8, 2)
    assert by_instructions.shared == steps * (queries + (128 // 64 + 1) * loaded)


def test_a_large_head_leaves_no_registers_for_many_queries() -> None:
    by_dim = [attention_registers(MatrixUnit.MMA, 128, 64, dim, 4) for dim in (64, 128, 256)]
    assert by_dim[0] < by_dim[1] < 255 < by_dim[2]
    assert attention_registers(MatrixUnit.MMA, 64, 64, 256, 4) < 255


@pytest.mark.parametrize("name", CARDS)
def test_exponentials_may_bound_attention_where_tensor_cores_are_fast(name: str) -> None:
    """4 D flops on a score take `D / 1024` cycles of Hopper's SM, its exponential 1/16."""
    found = CARDS[name]
    one = judge(found, "float16", Attention(8, 16, 4096, 4096, 64).work(
        found, "float16", 128, 64, 8 if found.arch == "sm_90" else 4, 2
    ))  # fmt: skip
    per_score = 4 * 64 / found.tensor["float16"] * found.clock
    faster = per_score / (found.tensor_clock or found.clock) < 1 / found.special
    assert (one.terms["special functions"] > one.terms["tensor cores"]) == faster
