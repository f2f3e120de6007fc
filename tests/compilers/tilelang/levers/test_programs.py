"""Functions are read as programs; what levers make of those of the repository is equivalent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from fixtures.benchmarks import BENCHMARKS
from fixtures.kernels import FIXTURES
from smemreuse.compilers.tilelang.levers.programs import BY_THREAD, OVERLAP, ProgramReader
from smemreuse.compilers.tilelang.levers.rewrites import direct_stores, fewer_stages
from smemreuse.equivalence import TileProgram, Unfollowed, equivalence
from tests.compilers.tilelang.levers.kernels import gemm, overlapping

pytestmark = pytest.mark.tilelang

LEVERS = (
    *("gemm", "batched_gemm", "stream_k", "miss_tiles", "flash_attention", "persistent_gemm"),
    "gemm_two_consumers",
)
"""The fixtures that levers can be pulled in."""


def whys(func: Any) -> list[str]:
    """Of each lever of a function why it is refused; empty for one that is accepted."""
    reader = ProgramReader()
    original = reader.program("main", func)
    settings = [one for each in fewer_stages(func) for one in each] + direct_stores(func)
    changed = [reader.program("main", one.rewrite(func)) for one in settings]
    return [equivalence(original, one).why for one in changed]


@pytest.mark.parametrize("name", LEVERS)
def test_levers_of_fixtures_are_accepted(name: str) -> None:
    func = FIXTURES[name].make(**next(iter(FIXTURES[name].configs.values())))
    found = whys(func)
    assert found
    assert set(found) == {""}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_levers_of_benchmarks_are_accepted(name: str) -> None:
    benchmark = BENCHMARKS[name]
    found = whys(benchmark.make(**benchmark.config(next(iter(benchmark.tiles)))))
    assert found
    assert set(found) == {""}


def test_a_stage_is_refused_where_rounds_read_what_others_write() -> None:
    """A load that runs ahead reads what the round before has yet to write."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float16")) -> None:
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64,), "float16")
            for k in T.Pipelined(7, num_stages=2):
                T.copy(A[k, 0], a)
                T.copy(a, A[k + 1, 0])

    found = whys(main)
    assert len(found) == 2
    assert all("before any change, A may get other values" in one for one in found)


# What is not followed ---------------------------------------------------------------------------


def by_thread() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float16")) -> None:
        with T.Kernel(1, threads=64):
            A[T.get_thread_binding()] = T.float16(0)

    return main


def by_groups() -> Any:
    return FIXTURES["divergent_groups"].make(**FIXTURES["divergent_groups"].configs["small"])


def by_mbarriers() -> Any:
    fixture = FIXTURES["producer_consumer_private"]
    return fixture.make(**fixture.configs["small"])


def asynchronous() -> Any:
    fixture = FIXTURES["cp_async_past_loop"]
    return fixture.make(**fixture.configs["small"])


def gathered() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((4, 64), "float16")) -> None:
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((4, 64), "float16")
            T.copy(A[0:4, 0:64], a, annotations={"gather4_col": 0})
            T.copy(a, B)

    return main


def external() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float16")) -> None:
        with T.Kernel(1, threads=64):
            T.call_extern("handle", "mystery", A.data)

    return main


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (overlapping, OVERLAP),
        (by_thread, BY_THREAD),
        (by_groups, "it has the attribute warp_specialize"),
        (by_mbarriers, "what tl.mbarrier_wait_parity does is not followed"),
        (asynchronous, "what tl.tileop.async_copy does is not followed"),
        (gathered, "a copy is of a kind that is not followed (gather4_col)"),
        (external, "what tirx.call_extern does is not followed"),
    ],
)
def test_what_statements_do_not_say_is_not_followed(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(Unfollowed) as error:
        ProgramReader().program("main", make())
    assert str(error.value) == why


def test_two_forms_have_their_variables_and_buffers_in_common() -> None:
    func, reader = gemm(), ProgramReader()
    programs: list[TileProgram] = [reader.program("main", func) for _ in range(2)]
    assert equivalence(*programs).holds
    others = [ProgramReader().program("main", func) for _ in range(2)]
    assert not equivalence(*others).holds


@pytest.mark.parametrize("order", [None, "relaxed", "release"])
@pytest.mark.parametrize("whole", [False, True])
def test_an_atomic_operation_that_orders_others_is_not_followed(order: str, whole: bool) -> None:
    """A load that comes later than a release may find what another block has written since."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), F: T.Tensor((64,), "float32")) -> None:
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            if whole:
                T.atomic_add(F, a, memory_order=order)
            else:
                T.atomic_add(F[0], 1.0, memory_order=order)
            T.copy(a, F)

    if order == "release":
        with pytest.raises(Unfollowed, match="memory order"):
            ProgramReader().program("main", main)
    else:
        ProgramReader().program("main", main)


def test_what_is_called_inside_a_choice_is_not_followed() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")) -> None:
        with T.Kernel(1, threads=64) as bx:
            T.evaluate(T.if_then_else(bx < 1, T.call_extern("int32", "changes_memory"), 0))

    with pytest.raises(Unfollowed, match="call_extern"):
        ProgramReader().program("main", main)
