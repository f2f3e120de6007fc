"""The methodology's formulas: its worked example, its slips of units, and their invariants."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.targets.architectures import ARCHITECTURES, most_by_registers
from smemreuse.targets.cards import H200
from smemreuse.worksheet.elementwise import Elementwise, flight_of_a_block
from smemreuse.worksheet.matrix import MatrixTile, MatrixUnit
from smemreuse.worksheet.terms import (
    attainable,
    balance,
    bytes_in_flight,
    compute_cycles,
    gemm_tile_bytes,
    gemm_tile_flops,
    intensity,
    pipeline_time,
    ridge_point,
    stages_needed,
    wave_traffic,
    waves,
)

COUNT = st.integers(1, 10_000)


class TestWorkedExample:
    """Tile 128 x 128 x 32 of two bytes; 50 TFLOPS, 1 TB/s, 1 GHz, 500 cycles; 256 threads."""

    flops = gemm_tile_flops(128, 128, 32)
    loaded = gemm_tile_bytes(128, 128, 32, 2)

    def test_flops_and_bytes_of_a_tile(self) -> None:
        assert self.flops == 1_048_576
        assert self.loaded == 16_384

    def test_intensity_against_the_ridge(self) -> None:
        assert intensity(self.flops, self.loaded) == 64
        assert ridge_point(50e12, 1e12) == 50

    def test_cycles_of_a_tile(self) -> None:
        """500 GFLOPS at 1 GHz are 500 flops a cycle; the time is 2.1 us, and not 2.1 ms."""
        assert compute_cycles(self.flops, 500e9 / 1e9) == pytest.approx(2097.15, abs=0.01)
        assert self.flops / 500e9 == pytest.approx(2.097e-6, rel=1e-3)

    def test_stages(self) -> None:
        assert stages_needed(500, compute_cycles(self.flops, 500)) == 2

    def test_blocks_by_registers(self) -> None:
        assert most_by_registers(256, 32) == 8

    def test_what_it_takes_for_granted_does_not_hold(self) -> None:
        """Its sums alone are 64 registers; its two stages take twice the bytes that it counts."""
        tile = MatrixTile(MatrixUnit.MMA, 128, 128, 8)
        assert tile.sums == 128 * 128 / 256 == 64 > 32
        assert most_by_registers(256, tile.registers) == 2
        hopper = ARCHITECTURES["sm_90"]
        assert hopper.unified == 256 * 1024 > hopper.per_sm > hopper.per_block
        assert hopper.most_by_bytes(2 * int(self.loaded)) == 6
        assert 256 * 1024 // int(self.loaded) == 16


def test_an_addition_is_a_twelfth_of_a_flop_for_each_byte() -> None:
    """And not a half: two operands of four bytes in, one result out."""
    problem = Elementwise(1000)
    assert intensity(problem.flops, problem.moved("float32")) == pytest.approx(1 / 12)
    assert intensity(problem.flops, problem.moved("float16")) == pytest.approx(1 / 6)
    activation = Elementwise(1000, operands=1)
    assert intensity(activation.flops, activation.moved("float32")) == pytest.approx(1 / 8)


def test_bytes_in_flight_are_seconds_times_bytes_a_second() -> None:
    """700 cycles of 1.98 GHz x 4.8 TB/s: 1.7 MB in the card, 12.9 KB in an SM."""
    asked = bytes_in_flight(H200.dram_latency, H200.dram, H200.clock)
    assert asked == pytest.approx(1.697e6, rel=1e-3)
    assert asked / H200.sms == pytest.approx(12_856, rel=1e-3)
    by_time = (H200.dram_latency / H200.clock) * H200.dram
    assert asked == pytest.approx(by_time)
    # warps alone say nothing: 32 threads, and bytes of every operand
    assert flight_of_a_block(threads=64 * 32, items=1, width=4, operands=1) < asked / H200.sms
    assert flight_of_a_block(threads=64 * 32, items=1, width=16, operands=1) > asked / H200.sms


@given(bm=COUNT, bn=COUNT, bk=COUNT, other=COUNT, size=st.sampled_from((0.5, 1.0, 2.0, 4.0)))
def test_the_intensity_of_a_tile_does_not_depend_on_bk(
    bm: int, bn: int, bk: int, other: int, size: float
) -> None:
    """`2 BM BN / ((BM + BN) b)`: BK cancels wholly."""
    found = intensity(gemm_tile_flops(bm, bn, bk), gemm_tile_bytes(bm, bn, bk, size))
    again = intensity(gemm_tile_flops(bm, bn, other), gemm_tile_bytes(bm, bn, other, size))
    assert found == pytest.approx(again)
    assert found == pytest.approx(2 * bm * bn / ((bm + bn) * size))


@given(latency=COUNT, step=COUNT, blocks=st.integers(1, 32))
def test_stages_are_the_fewest_that_hide_a_latency(latency: int, step: int, blocks: int) -> None:
    found = stages_needed(latency, step, blocks)
    assert (found - 1) * blocks * step >= latency > (found - 2) * blocks * step
    assert found >= stages_needed(latency, step, blocks + 1)


@given(
    latency=COUNT,
    transfer=st.integers(0, 1000),
    compute=COUNT,
    turns=st.integers(1, 20),
    stages=st.integers(2, 8),
)
def test_buffers_that_go_round(
    latency: int, transfer: int, compute: int, turns: int, stages: int
) -> None:
    """No longer than what a simulated ring of buffers takes with nothing else in its way."""
    steps = turns * stages
    free, computed = [0.0] * stages, 0.0
    for step in range(steps):
        filled = free[step % stages] + latency + transfer
        computed = free[step % stages] = max(filled, computed) + compute
    least = pipeline_time(latency, transfer, compute, steps, stages)
    assert least <= computed
    assert pipeline_time(latency, transfer, compute, steps, stages + 1) <= least
    if stages >= stages_needed(latency + transfer, compute):
        assert computed == latency + transfer + steps * compute, (
            "nothing but the first is waited for"
        )
    elif turns > 1:
        assert computed > latency + transfer + steps * compute


@given(grid=COUNT, sms=st.integers(1, 200), blocks=st.integers(1, 32))
def test_waves_and_their_quantization(grid: int, sms: int, blocks: int) -> None:
    assert waves(grid, sms, blocks) * sms * blocks == pytest.approx(grid)
    even = balance(grid, sms)
    assert 0 < even <= 1
    assert (even == 1) == (grid % sms == 0)
    busiest = max(grid // sms + (number < grid % sms) for number in range(sms))
    assert even == pytest.approx(grid / sms / busiest)


@given(peak=COUNT, bandwidth=COUNT, point=st.floats(0.001, 1e6))
def test_the_roof_breaks_at_the_ridge(peak: int, bandwidth: int, point: float) -> None:
    roof = attainable(peak, bandwidth, point)
    assert roof <= peak
    assert roof <= bandwidth * point
    assert (roof == peak) == (bandwidth * point >= peak)


@given(
    rows=st.integers(1, 200),
    columns=st.integers(1, 200),
    row=st.integers(1, 1000),
    column=st.integers(1, 1000),
    slots=st.integers(1, 300),
    l2=st.integers(0, 100_000),
)
def test_dram_gives_all_once_and_no_block_more_than_it_reads(
    rows: int, columns: int, row: int, column: int, slots: int, l2: int
) -> None:
    once = rows * row + columns * column
    found = wave_traffic(rows, columns, row, column, slots, l2)
    assert min(once, rows * columns * (row + column)) <= found <= rows * columns * (row + column)
    assert found >= wave_traffic(rows, columns, row, column, slots, l2 + 100_000)
    if once <= l2 or slots >= rows * columns:
        assert found == once
    if slots == 1 and once > l2 and math.gcd(rows, columns):
        assert found == rows * columns * (row + column)


def test_each_wave_reads_its_rows_and_columns_once() -> None:
    """10 x 10 blocks in squares of 3 x 3, the last ones cut: 16 waves of 3 rows and 3 columns."""
    assert wave_traffic(10, 10, 100, 1, 9, 0) == 16 * (3 * 100 + 3 * 1)
    assert wave_traffic(9, 9, 100, 1, 9, 0) == 9 * (3 * 100 + 3 * 1)
    assert wave_traffic(100, 2, 100, 1, 9, 0) == 20 * (5 * 100 + 2 * 1)
