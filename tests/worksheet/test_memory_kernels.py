"""Decode, elementwise, reduction: what is bound by memory."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.errors import PlanError
from smemreuse.results.advice import Estimate
from smemreuse.targets.cards import card
from smemreuse.worksheet import Decode, Elementwise, Reduction, advise
from smemreuse.worksheet.judge import DRAM, LATENCY, judge
from smemreuse.worksheet.reduction import LEVELS, REGISTERS, SHARED, TWICE
from smemreuse.worksheet.terms import bytes_in_flight

H200, A100 = card("h200"), card("a100")


def best_of(problem: Decode | Elementwise | Reduction) -> Estimate:
    found = advise(problem, H200, "float16").best
    assert found is not None
    return found


# Decode ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kv_heads", "per_byte"), [(32, 1), (8, 4), (1, 32)])
def test_flops_for_each_byte_are_twice_the_group_over_the_bytes(
    kv_heads: int, per_byte: int
) -> None:
    problem = Decode(8, 32, kv_heads, 8192, 128)
    assert problem.flops / problem.cache_bytes("float16") == per_byte == 2 * problem.group / 2
    assert f"{problem.group} query heads on a KV head are {per_byte} flops" in "".join(
        problem.notes(H200, "float16")
    )


def test_a_group_is_a_matrix_and_one_head_a_vector() -> None:
    """GEMM reads the cache once for the group, GEMV once for each of its heads."""
    assert best_of(Decode(8, 32, 32, 8192, 128)).config["way"] == "gemv"
    assert best_of(Decode(8, 64, 4, 8192, 128)).config["way"] == "gemm"
    problem = Decode(8, 64, 4, 8192, 128)
    vector = problem.gemv(H200, "float16", 256, 4, 1)
    matrix = problem.gemm(H200, "float16", 64, 3, 1)
    assert vector.l2 / matrix.l2 == pytest.approx(problem.group, rel=0.01)
    assert vector.dram == matrix.dram


def test_a_group_is_padded_to_the_rows_of_an_instruction() -> None:
    problem = Decode(2, 32, 8, 1024, 128)
    assert problem.group == 4
    pairs = 2 * 8 * 1024 * 128
    assert problem.gemm(A100, "float16", 64, 2, 1).tensor == 4 * 16 * pairs
    assert problem.gemm(H200, "float16", 64, 2, 1).tensor == 4 * 64 * pairs
    vector = problem.gemv(A100, "float16", 128, 4, 1)
    scores = 2 * 32 * 1024
    assert vector.lanes == 2 * (2 * 4 * pairs) + 4 * scores, "K and V, for each of four heads"
    assert vector.tensor == 0


def test_few_heads_are_split_until_the_card_is_full() -> None:
    """One sequence of 8 KV heads is 8 blocks for 132 SMs."""
    few, many = Decode(1, 32, 8, 65536, 128), Decode(64, 32, 8, 65536, 128)
    found = best_of(few)
    assert found.grid >= 64
    assert best_of(many).config["splits"] == 1
    whole = judge(H200, "float16", few.gemm(H200, "float16", 64, 3, 1))
    assert whole.seconds > 2 * found.seconds
    assert whole.balance == pytest.approx(8 / 132)


def test_parts_are_merged_at_a_price() -> None:
    problem = Decode(1, 32, 8, 65536, 128)
    assert problem.merge_bytes(1) == 0
    assert problem.merge_bytes(4) == 2 * 4 * 32 * 4 * (128 + 2)
    assert list(Decode(1, 1, 1, 512, 8).splits()) == [1, 2, 4]
    assert list(Decode(1, 1, 1, 1, 8).splits()) == [1]


def test_heads_that_cannot_be_shared() -> None:
    with pytest.raises(PlanError, match="32 heads cannot share 5 KV heads evenly; give a multiple"):
        Decode(1, 32, 5, 100, 64)


# Elementwise ----------------------------------------------------------------------------------


@given(
    threads=st.sampled_from((128, 256, 512, 1024)),
    items=st.sampled_from((1, 2, 4, 8)),
    width=st.sampled_from((4, 8, 16)),
    operands=st.integers(1, 4),
)
@settings(deadline=None)
def test_enough_in_flight_is_when_latency_no_longer_bounds(
    threads: int, items: int, width: int, operands: int
) -> None:
    """Little's law from both sides, for reads: what is under way against latency x bandwidth."""
    problem = Elementwise(1 << 28, operands)
    work = problem.work(H200, "float32", threads, items, width)
    found = judge(H200, "float32", work)
    if not found.fits:
        return
    under_way = found.blocks * threads * items * width * operands
    share = operands / (operands + 1)  # of the bytes are read
    asked = bytes_in_flight(H200.dram_latency, H200.dram, H200.clock) / H200.sms * share
    ratio = found.terms[LATENCY] / found.terms[DRAM]
    assert ratio == pytest.approx(asked / under_way, rel=0.05)


def test_one_narrow_load_of_each_thread_does_not_fill_the_bandwidth() -> None:
    """2,048 threads with 4 bytes each are 8 KB in an SM of a B200, and 11.4 KB are asked for."""
    b200, problem = card("b200"), Elementwise(1 << 28, 1)
    narrow = judge(b200, "float16", problem.work(b200, "float16", 128, 1, 4))
    wide = judge(b200, "float16", problem.work(b200, "float16", 128, 4, 16))
    assert (narrow.limit, wide.limit) == (LATENCY, DRAM)
    read = bytes_in_flight(b200.dram_latency, b200.dram, b200.clock) / b200.sms / 2
    assert narrow.seconds / wide.seconds == pytest.approx(read / 8192, rel=0.01)
    assert problem.moved("float16") / wide.seconds == pytest.approx(b200.dram)


def test_every_load_that_is_under_way_has_registers() -> None:
    """4 items x 16 bytes x 2 operands are 32 registers, and 16 beside."""
    assert Elementwise(1 << 20).work(H200, "float16", 128, 4, 16).registers == 48
    assert Elementwise(1 << 20, 1).work(H200, "float16", 128, 4, 16).registers == 32


# Reduction ------------------------------------------------------------------------------------


def test_a_row_is_kept_where_registers_hold_it() -> None:
    assert best_of(Reduction(8192, 4096)).config["row"] == REGISTERS


def test_a_row_that_fits_nowhere_is_read_twice_or_shared_by_blocks() -> None:
    """2^22 columns are more than 1,024 threads have registers, and than shared memory has bytes."""
    found = advise(Reduction(16, 1 << 22), H200, "float16")
    fitting = {one.config["row"] for one in found.estimates if one.fits}
    assert fitting == {TWICE, LEVELS}
    assert found.best is not None
    assert found.best.config["row"] == LEVELS, "what 16 SMs draw does not fill the bandwidth"
    refused = {one.refused for one in found.estimates if one.config["row"] == REGISTERS}
    assert refused
    assert all("of 255 registers" in one for one in refused)


def test_reading_twice_costs_half_as_much_again() -> None:
    """Read, read, write against read, write; unless L2 keeps the rows that are under way."""
    problem = Reduction(64, 1 << 22)
    twice = problem.work(H200, "float16", TWICE, 1024)
    row_bytes = 64 * (1 << 22) * 2
    assert twice.dram == 3 * row_bytes
    short = Reduction(8192, 4096)
    assert short.work(H200, "float16", TWICE, 256).dram == 2 * 8192 * 4096 * 2
    kept = short.work(H200, "float16", SHARED, 256)
    assert kept.dram == 2 * 8192 * 4096 * 2
    assert kept.shared_bytes == 4096 * 2 + 8 * 4


def test_a_second_reading_waits_as_long_as_the_first() -> None:
    """4,096 columns of 128 threads are four loads of 16 bytes each, which are under way at once."""
    short, long = Reduction(8192, 4096), Reduction(8192, 16384)
    assert [short.work(H200, "float16", way, 128).rounds for way in (SHARED, TWICE)] == [1, 2]
    assert [long.work(H200, "float16", way, 128).rounds for way in (SHARED, TWICE)] == [4, 8]
    assert long.work(H200, "float16", REGISTERS, 128).rounds == 1
    assert short.work(H200, "float16", LEVELS, 128, 4).rounds == 2 + 2


def test_sums_alone_are_read_once() -> None:
    work = Reduction(8192, 4096, sums_only=True).work(H200, "float16", "once", 256)
    assert work.dram == 8192 * 4096 * 2 + 8192 * 2
    assert best_of(Reduction(4, 1 << 24, sums_only=True)).config["row"] == LEVELS
