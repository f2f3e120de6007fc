"""What is counted of a kernel, held against what a reader counts by hand."""

from pathlib import Path

import numpy as np
import pytest

from smemreuse.advisor.grid import Grid
from smemreuse.advisor.walk import Walk
from smemreuse.advisor.work import BlockWork, Resource
from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.targets.cards import H200
from tests.advisor.dumps import kernel_of

DUMPS = Path(__file__).parents[2] / "fixtures" / "dumps"


def work_of(kernel: Kernel, most: int = 64) -> BlockWork:
    grid = Grid.of(kernel.body)
    return Walk(kernel, H200, grid, grid.sample(most), {}).work


def moved(work: BlockWork) -> dict[tuple[str, bool], float]:
    """Bytes by tensor, and whether written, of all blocks that were looked at."""
    found: dict[tuple[str, bool], float] = {}
    for one in work.transfers:
        key = (one.name, one.written)
        found[key] = found.get(key, 0.0) + float(one.bytes.sum())
    return found


@pytest.mark.parametrize(
    ("dump", "flops", "loaded"),
    [
        ("gemm.sm_80.tir", 2 * 512**3, 4 * 512 * 512 * 2),
        ("gemm.sm_90a.tir", 2 * 512**3, 4 * 512 * 512 * 2),
        ("gemm.sm_90a-plain.tir", 2 * 512**3, 4 * 512 * 512 * 2),
        ("batched_gemm.sm_90a.tir", 4 * 2 * 512**3, 4 * 4 * 512 * 512 * 2),
    ],
)
def test_a_gemm_of_tiles_of_128(dump: str, flops: int, loaded: int) -> None:
    """Each element of A is loaded once for each of the four columns of tiles, B for the rows."""
    (kernel,) = read_dump(DUMPS / dump).kernels
    work = work_of(kernel)
    assert work.flops == {"float16": pytest.approx(flops)}
    found = moved(work)
    assert found["A", False] == found["B", False] == pytest.approx(loaded)
    assert found["C", True] == pytest.approx(flops / 512)
    tensor = work.demand[Resource.TENSOR].sum()
    rate = H200.rate("float16") * (H200.mma if "sm_80" in dump else 1)
    assert tensor == pytest.approx(flops / rate)


def test_elements_that_threads_load_and_store() -> None:
    work = work_of(kernel_of("R[0] = A[bx * 128 + tx]\nO[bx * 128 + tx] = R[0]\n"))
    assert moved(work) == {("A_1", False): 8 * 128 * 4, ("O_1", True): 8 * 128 * 4}


def test_a_loop_that_gets_longer_with_the_block_counts_as_often_as_it_goes_round() -> None:
    body = "for k in range(bx * 3):\n    R[0] = R[0] + A[(bx * 32 + k) * 128 + tx]\n"
    work = work_of(kernel_of(body))
    assert [one.bytes.tolist() for one in work.transfers] == [[b * 3 * 512.0 for b in range(8)]]


def test_a_branch_on_the_block_and_one_on_the_thread() -> None:
    body = "if bx < 2:\n    O[tx] = 1.0\nif tx < 32:\n    O[tx] = 2.0\nelse:\n    R[0] = A[tx]\n"
    first, second, third = work_of(kernel_of(body)).transfers
    assert first.bytes.tolist() == [512.0] * 2 + [0.0] * 6
    assert second.bytes.tolist() == [128.0] * 8
    assert third.bytes.tolist() == [384.0] * 8


def test_the_first_round_and_the_last_count_once_each() -> None:
    stores = "    if k == 0:\n        O[tx] = 1.0\n    if k == 99:\n        O[tx] = 2.0\n"
    body = "for k in range(100):\n" + stores
    assert moved(work_of(kernel_of(body))) == {("O_1", True): 2 * 8 * 512}


@pytest.mark.parametrize(
    ("index", "cycles"), [("tx", 1), ("tx * 2", 2), ("tx * 32", 32), ("0", 1), ("tx * 33", 1)]
)
def test_conflicts_between_banks(index: str, cycles: int) -> None:
    work = work_of(kernel_of(f"As[{index}] = 1.0\n", threads=32))
    assert work.demand[Resource.SHARED].tolist() == [cycles] * 8


def test_a_vector_of_16_bytes_is_served_in_quarters() -> None:
    work = work_of(kernel_of("As[tx * 4:tx * 4 + 4] = T.Broadcast(T.float32(1.0), 4)\n"))
    assert work.demand[Resource.SHARED].tolist() == [4 * 4] * 8


def test_special_functions_take_a_unit_that_serves_sixteen_lanes() -> None:
    work = work_of(kernel_of("R[0] = T.exp2(R[1])\n"))
    assert work.demand[Resource.SPECIAL].tolist() == [4 * 32 / 16] * 8


def test_a_loop_of_loads_waits_for_each_round_and_unrolled_ones_come_together() -> None:
    loads = "for k in {}(8):\n    R[k] = A[bx * 1024 + k * 128 + tx]\n"
    apart, at_once = (
        work_of(kernel_of(loads.format(kind))).critical_path() for kind in ("range", "T.unroll")
    )
    assert np.all(apart > 7 * at_once)


def test_what_stands_in_loops_is_told_apart() -> None:
    loop = "for k in range(8):\n    for j in range(4):\n        R[0] = R[0] + T.float32(1)\n"
    whole, inside = work_of(kernel_of(loop + "R[1] = R[1] + T.float32(1)\n")), 4 * 8
    assert np.all(whole.chain * inside == whole.loop_chain * (inside + 1))
    issued, looped = (one[Resource.ISSUE] for one in (whole.demand, whole.loop_demand))
    assert np.all(issued * inside == looped * (inside + 1))
    assert np.all(whole.straight() == whole.chain[:, 0] / (inside + 1))


def test_what_the_blocks_of_a_wave_read_alike_is_told() -> None:
    kernel = kernel_of("R[0] = A[tx]\nR[1] = A[bx // 2 * 128 + tx]\nR[2] = A[bx * 128 + tx]\n")
    grid = Grid.of(kernel.body)
    found = Walk(kernel, H200, grid, grid.wave(8)).seen
    assert sorted(found.values()) == [1 / 8, 1 / 2, 1]


def test_what_had_to_be_guessed_is_told() -> None:
    body = "if A[0] > T.float32(0):\n    O[tx] = 1.0\n"
    assert "data" in "".join(work_of(kernel_of(body)).assumed)


@pytest.mark.parametrize(("operation", "lanes"), [("addx4", 4), ("addx2", 2)])
def test_an_atomic_operation_on_a_vector_moves_the_vector(operation: str, lanes: int) -> None:
    pointer = 'T.tvm_access_ptr(T.type_annotation("float32"), O_1, tx * 4, 1, 3)'
    kernel = kernel_of(f"T.atomic_{operation}_elem_op({pointer}, R[0:{lanes}], 0)")
    assert moved(work_of(kernel)) == {("O_1", True): 8 * 128 * lanes * 4}
