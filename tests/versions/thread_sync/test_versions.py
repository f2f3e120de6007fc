"""Which collisions the `ThreadSync` of each version sees."""

from __future__ import annotations

import pytest

from smemreuse.checker.budget import Work
from smemreuse.checker.predicted.prediction import Prediction, view_of
from smemreuse.ir.kernel import Kernel, Stmt
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.versions import TILELANG
from tests.checker.small import SCOPE, kernel_of, under
from tests.versions.thread_sync.test_collisions import collides

OLD = ("tilelang-0.1.9", "tilelang-0.1.10", "tilelang-0.1.11", "tilelang-0.1.12")
NEW = ("tilelang-0.1.13", "tilelang-0.1.14", TILELANG)


def _accesses(kernel: Kernel) -> tuple[Stmt, Stmt]:
    """The first two statements that access shared memory."""
    entries = view_of(kernel, KernelAccesses.of(kernel.body).pointers).collisions.entries
    first, second = list(entries)[:2]
    return first, second


def found(version: str, body: str, declared: str = "") -> bool:
    """Whether the pass of a version surely takes the two accesses of a kernel to collide, with all
    buffers at one place."""
    kernel = kernel_of(body, declared=declared)
    kernel = Kernel(kernel.name, kernel.body, kernel.attrs, version)
    return collides(kernel, *_accesses(kernel))


@pytest.mark.parametrize("version", [*OLD, *NEW])
def test_a_thread_s_element_that_another_one_writes(version: str) -> None:
    assert found(version, "O[tx] = As[tx]\nBs[63 - tx] = tx\n")
    assert not found(version, "O[tx] = As[tx]\nBs[tx] = tx\n")


@pytest.mark.parametrize(
    ("version", "seen"), [(OLD[0], False), *((one, True) for one in (*OLD[1:], *NEW))]
)
@pytest.mark.parametrize("value", ["63 - tx", "D[tx]", "tx // 2"])
def test_0_1_9_sees_nothing_behind_a_variable_of_each_thread(
    version: str, seen: bool, value: str
) -> None:
    assert found(version, f"v: T.int32 = {value}\nO[v] = As[tx]\nBs[63 - tx] = tx\n") is seen


@pytest.mark.parametrize("version", [*OLD, *NEW])
@pytest.mark.parametrize("value", ["bx * 2", "D[0]", "7"])
def test_what_all_threads_have_in_common_hides_nothing(version: str, value: str) -> None:
    assert found(version, f"v: T.int32 = {value}\nO[v] = As[tx]\nBs[63 - tx] = tx\n")


@pytest.mark.parametrize("version", [*OLD, *NEW])
def test_up_to_0_1_12_a_variable_is_the_same_in_all_threads(version: str) -> None:
    assert found(version, "v: T.int32 = tx\nO[tx] = As[v]\nBs[v + 1] = tx\n") is (version in NEW)


@pytest.mark.parametrize("version", [*OLD, *NEW])
def test_up_to_0_1_10_an_index_is_an_element_of_any_size(version: str) -> None:
    declared = 'Es = T.alloc_buffer((256,), "int8", scope="shared.dyn")\n'
    body = 'O[tx] = As[tx]\nEs[tx] = T.Cast("int8", tx)\n'
    assert found(version, body, declared) is (version not in OLD[:2])
    other = under("if tx < 32", 'Es[tx] = T.Cast("int8", tx)\n')
    assert found(version, "O[tx] = As[tx]\n" + other, declared)


@pytest.mark.parametrize("version", [*OLD, *NEW])
def test_up_to_0_1_13_a_barrier_of_the_grid_is_none_of_the_block(version: str) -> None:
    kernel = kernel_of("As[tx] = tx\nT.sync_grid()\nO[tx] = As[63 - tx]\n")
    kernel = Kernel(kernel.name, kernel.body, kernel.attrs, version)
    pointers = KernelAccesses.of(kernel.body).pointers
    found = Prediction.of(kernel, pointers, {}, Work(10**9))
    assert bool(found.inserted[SCOPE]) is (version in (*OLD, NEW[0]))


@pytest.mark.parametrize("version", [*OLD, *NEW])
def test_up_to_0_1_12_no_barrier_surely_stays_in_a_branch_in_short_rows(version: str) -> None:
    body = under("if D[0] > 3", "As[ty * 16 + tx] = tx\nO[tx] = As[63 - ty * 16 - tx]\n")
    rows = 'ty = T.launch_thread("threadIdx.y", 4)\n'
    for kernel, stays in (
        (kernel_of(body, threads=16, elements=64, declared=rows), version in NEW),
        (kernel_of(body, declared=rows.replace("4", "1")), True),
    ):
        kernel = Kernel(kernel.name, kernel.body, kernel.attrs, version)
        pointers = KernelAccesses.of(kernel.body).pointers
        found = Prediction.of(kernel, pointers, {}, Work(10**9)).inserted[SCOPE]
        assert found
        assert all(found.values()) is stays
