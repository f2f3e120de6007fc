"""The time of a kernel: what must hold whatever the card, and what each term adds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.advisor.model import BLOCK_START, alone, estimate, together, waves_of
from smemreuse.advisor.work import BlockWork, Resource, Ring, StageReading
from smemreuse.ir.kernel import Buffer
from smemreuse.targets.cards import H200
from tests.advisor.dumps import kernel_of
from tests.dumps import kernels_of

DUMPS = sorted((Path(__file__).parents[2] / "fixtures" / "dumps").glob("*.tir"))
POSITIVE = st.floats(1e-9, 1e9)


@given(st.lists(POSITIVE, min_size=1, max_size=6))
def test_what_overlaps_takes_at_least_the_longest_and_at_most_all(terms: list[float]) -> None:
    found = together(terms)
    assert max(terms) <= found * (1 + 1e-9)
    assert found <= sum(terms) * (1 + 1e-9)


@given(st.integers(1, 4000), st.integers(1, 4), st.floats(1, 1e6), st.floats(1, 1e6))
def test_waves_take_what_their_blocks_do(
    blocks: int, resident: int, path: float, demand: float
) -> None:
    def taken(count: int) -> float:
        return waves_of(count, 100, resident, np.array([path]), {Resource.TENSOR: demand})

    assert taken(blocks) <= taken(blocks + 1) * (1 + 1e-9)
    assert taken(blocks) >= max(path, blocks * demand / 100) * (1 - 1e-9)
    whole = taken(100 * resident)
    assert taken(3 * 100 * resident) == pytest.approx(3 * whole)


def test_a_block_more_than_a_wave_holds_takes_another_one() -> None:
    one = waves_of(132, 132, 1, np.array([1000.0]), {})
    assert waves_of(133, 132, 1, np.array([1000.0]), {}) == pytest.approx(2 * one)


def test_a_second_block_hides_what_stands_round_the_loops_of_the_first() -> None:
    """Alone each takes 1,500 cycles, of which it asks 1,000 of the SM."""

    def each(resident: int) -> float:
        path = np.array([1500.0])
        return waves_of(resident, 1, resident, path, {Resource.SHARED: 1000.0}) / resident

    assert [each(1), each(2), each(3)] == [1500, 1000, 1000]


def pipelined(looped: float, demand: float, arrival: float) -> BlockWork:
    """One block of two warps: 100 cycles before a loop of ten rounds and 300 behind it, and one
    buffer of two stages that the first warp fills and the second one reads."""
    work = BlockWork.empty(1, 2)
    work.loop_chain += np.array([[looped / 10, looped]])
    work.chain += work.loop_chain + np.array([[100.0, 400.0]])
    work.loop_demand[Resource.TENSOR] += demand
    work.demand[Resource.TENSOR] += demand
    stages, rounds = Buffer("As", "float32", (), "shared.dyn"), np.array([10.0])
    work.rings.append(Ring(stages, rounds, 2, np.array([arrival])))
    work.readings[stages] = [StageReading(rounds, np.array([looped]))]
    return work


@pytest.mark.parametrize(
    ("looped", "demand", "arrival", "expected"),
    [
        (1000.0, 0.0, 50.0, 400 + 50 + 1000),  # stages come in time, but for the first
        (0.0, 1000.0, 50.0, 400 + 50 + 1000),  # what is asked of the SM does not begin before
        (1000.0, 0.0, 500.0, 400 + 10 * (500 + 100) / 2),  # they do not, the first among them
    ],
)
def test_a_block_alone_takes_what_stands_round_its_loops_and_these(
    looped: float, demand: float, arrival: float, expected: float
) -> None:
    taken = alone(pipelined(looped, demand, arrival))
    assert taken == pytest.approx(expected + BLOCK_START, rel=1e-3)


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_every_fixture_has_an_estimate(path: Path) -> None:
    for kernel in kernels_of(path):
        found = estimate(kernel, H200, 48 * 1024)
        assert 0 < found.seconds < 1e-3
        assert all(taken >= 0 for taken in found.terms.values())
        assert found.bound_by in found.terms


def test_a_card_twice_as_fast_takes_half_the_time_of_what_bounds() -> None:
    body = "for k in range(64):\n    O[bx * 8192 + k * 128 + tx] = A[bx * 8192 + k * 128 + tx]\n"
    kernel = kernel_of(body, grid="4096")
    slow = estimate(kernel, H200, 1024).terms["DRAM"]
    fast = estimate(kernel, replace(H200, dram=2 * H200.dram), 1024).terms["DRAM"]
    assert slow == pytest.approx(2 * fast)
    assert slow == pytest.approx(2 * 4096 * 64 * 512 / (H200.dram * 0.92))


def test_what_the_blocks_share_comes_from_dram_once_for_each_wave() -> None:
    def moved(place: str) -> float:
        body = f"for k in range(64):\n    R[0] = R[0] + A[{place} + k * 128 + tx]\n"
        return estimate(kernel_of(body, grid="1024"), H200, 1024).dram_bytes

    shared, own = moved("0"), moved("bx * 8192")
    assert own == 1024 * 64 * 512
    assert shared < own / 100


def test_a_tensor_smaller_than_the_cache_is_read_once() -> None:
    body = "for k in range(64):\n    R[0] = R[0] + A[bx % 8 * 8192 + k * 128 + tx]\n"
    kernel = kernel_of(body, grid="65536")
    assert estimate(kernel, H200, 1024, {"A_1": 8 * 64 * 512}).dram_bytes == 8 * 64 * 512


def test_more_shared_memory_leaves_fewer_blocks_and_takes_no_less_time() -> None:
    kernel = kernel_of(
        "for k in range(64):\n    R[0] = R[0] + A[bx * 8192 + k * 128 + tx]\n", "999"
    )
    times = [estimate(kernel, H200, size * 1024) for size in (8, 32, 64, 128, 220)]
    assert [one.blocks_per_sm for one in times] == [16, 6, 3, 1, 1]
    assert times == sorted(times, key=lambda one: one.seconds)
