"""Rows of functions that are called by their names."""

from __future__ import annotations

import pytest

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Var
from smemreuse.semantics.effects import (
    Effect,
    Engine,
    Fixed,
    Group,
    Mbarrier,
    Meeting,
    Operand,
    Proxy,
    Signal,
    Wait,
)
from smemreuse.semantics.rows.device_functions import function_row, inside


def _called(name: str, parameters: int = 0) -> Effect | None:
    arguments = (Var(f"x{at}") for at in range(parameters))
    return function_row(Call("call_extern", (Const("handle"), Const(name), *arguments)))


def _known(name: str, parameters: int = 0) -> Effect:
    effect = _called(name, parameters)
    assert effect is not None
    return effect


_REDUCE = "tl::AllReduce<tl::SumOp, {}>::{}"


@pytest.mark.parametrize(
    ("arguments", "function", "parameters", "uses_workspace"),
    [
        ("4, 1, 128, tl::NamedBarrier<128>", "run", 1, False),
        ("32, 1", "run", 1, False),  # a warp's registers
        ("64, 64", "run", 2, False),  # a thread alone
        ("64, 1", "run", 2, True),
        ("128, 64, 0, tl::NamedBarrier<256>", "run", 2, True),
        ("128, 1, 0, tl::SyncThreadsBarrier, 4, 128", "run_batch", 2, True),
        ("128, 1, 0, 256", "run_hopper", 2, True),
    ],
)
def test_a_reduction_beyond_a_warp_writes_its_workspace(
    arguments: str, function: str, parameters: int, uses_workspace: bool
) -> None:
    """It is written before it is read: nothing that was there before is ever read."""
    effect = _known(_REDUCE.format(arguments, function), parameters)
    workspace = [operand for operand in effect.operands if operand.at == 3]
    expected = [Operand(3, Access.WRITE, certain=False)] if uses_workspace else []
    assert workspace == expected
    assert effect.writes_locals == ((2,) if function == "run_batch" else ())


_BLOCK = Meeting(Group.BLOCK)
_PAIR = tuple(Meeting(Group.NAMED, threads=128, number=number) for number in (1, 2))


@pytest.mark.parametrize(
    ("arguments", "function", "within", "shuffles"),
    [
        ("32, 1", "run", (), True),
        ("64, 64", "run", (), False),
        ("64, 1", "run", (_BLOCK,) * 2, True),
        ("64, 32", "run", (_BLOCK,) * 2, False),
        ("64, 1, 0, tl::SyncThreadsBarrier", "run", (_BLOCK,) * 2, True),
        ("256, 1, 0, 256", "run", (_BLOCK,) * 6, True),  # a number of threads once stood there
        ("128, 1, 0, tl::NamedBarrier<128>", "run", _PAIR * 2, True),
        ("256, 64, 0, tl::NamedBarrier<128>", "run_batch", _PAIR * 2, False),
        ("128, 64", "run_hopper", _PAIR, False),
        ("64, 1, 0, 128", "run_hopper", _PAIR, True),
    ],
)
def test_a_reduction_beyond_a_warp_meets_twice_for_each_halving(
    arguments: str, function: str, within: tuple[Meeting, ...], shuffles: bool
) -> None:
    effect = _known(_REDUCE.format(arguments, function), 2)
    assert (effect.within, effect.meets_first) == (within, bool(within))
    assert effect.converges == shuffles


def test_a_reduction_with_a_barrier_that_is_not_known_is_not_understood() -> None:
    assert _called(_REDUCE.format("64, 1, 0, tl::NamedBarrier<n>", "run"), 2) is None
    assert _called(_REDUCE.format("64, 1, 0, mine::Barrier", "run"), 2) is None
    assert _called(_REDUCE.format("32, 1, 0, mine::Barrier", "run"), 1) is not None


def test_a_reduction_whose_arguments_are_not_known_is_not_understood() -> None:
    assert _called(_REDUCE.format("n, 1", "run"), 2) is None
    assert _called(_REDUCE.format("128, 1", "run"), 1) is None  # no workspace
    assert _called("tl::AllReduce::run", 2) is None


_GEMM = "64, 64, 32, 4, 1, 0, 0, 0"


@pytest.mark.parametrize(
    ("arguments", "engine", "proxy"),
    [
        (_GEMM, Engine.THREAD, Proxy.GENERIC),
        (f"{_GEMM}, 32, 64, 0, 0", Engine.THREAD, Proxy.GENERIC),
        (f"{_GEMM}, false", Engine.THREAD, Proxy.GENERIC),
        (f"{_GEMM}, true", Engine.THREAD, Proxy.ASYNC),
        (f"{_GEMM}, true, 0", Engine.THREAD, Proxy.ASYNC),
        (f"{_GEMM}, true, -1", Engine.WGMMA, Proxy.ASYNC),
        (f"{_GEMM}, 32, 64, 0, 0, true, 1", Engine.WGMMA, Proxy.ASYNC),  # its own group is left
        (f"{_GEMM}, -1", Engine.WGMMA, Proxy.ASYNC),
    ],
)
def test_a_gemm_may_leave_its_wgmma_to_be_waited_for(
    arguments: str, engine: Engine, proxy: Proxy
) -> None:
    effect = _known(f"tl::gemm_ss<{arguments}>", 3)
    assert (effect.engine, effect.proxy) == (engine, proxy)
    assert (effect.commits is Engine.WGMMA) == (engine is Engine.WGMMA)
    assert [operand.at for operand in effect.operands if operand.access is Access.READ] == [2, 3]


def test_copies_count_the_bytes_that_their_template_names() -> None:
    effect = _known("tl::cp_async_gs<16>", 2)
    assert effect.engine is Engine.CP_ASYNC
    assert Operand(2, Access.WRITE, Fixed(16)) in effect.operands
    under_a_predicate = _known("tl::cp_async_gs_conditional<8>", 3)
    assert Operand(3, Access.READ, Fixed(8), certain=False) in under_a_predicate.operands
    assert Operand(2, Access.WRITE, Fixed(8)) in under_a_predicate.operands  # zeros, if off
    assert _called("tl::cp_async_gs<N>", 2) is None


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("tl::cp_async_wait<{}>", Engine.CP_ASYNC),
        ("tl::tma_store_wait<{}, true>", Engine.TMA_STORE),
        ("tl::warpgroup_wait<{}>", Engine.WGMMA),
    ],
)
def test_a_wait_leaves_as_many_groups_as_its_name_says(name: str, engine: Engine) -> None:
    assert _known(name.format(0)).waits == Wait(engine)
    assert _known(name.format(2)).waits == Wait(engine, left=2)


def test_an_mbarrier_of_another_block_is_told_by_the_parameters() -> None:
    assert _known("tl::mbarrier_arrive", 1).mbarrier == Mbarrier(Signal.ARRIVE, 2)
    assert not _known("tl::mbarrier_arrive", 1).remote
    assert _known("tl::mbarrier_arrive", 3).remote
    assert _called("tl::mbarrier_arrive", 2) is None
    assert _known("tl::mbarrier_test_wait", 2).mbarrier == Mbarrier(Signal.WAIT, 2, count=3)
    assert _known("tl::mbarrier_test_wait", 3).mbarrier is None


def test_barriers_of_threads_say_how_many_meet() -> None:
    assert _known("__syncthreads").meeting == Meeting(Group.BLOCK)
    assert _known("tl::NamedBarrier<96>::sync<1>").meeting == Meeting(
        Group.NAMED, threads=96, number=1
    )
    named = Meeting(Group.NAMED, identity=2, count=3)
    assert _known("tl::__sync_thread_partial", 2).meeting == named
    old = _known("tl::__sync_thread_partial<1, 128>")
    assert old.meeting == Meeting(Group.NAMED, threads=128, number=1)
    assert _known("tl::NamedBarrier<96>::sync").meeting == Meeting(
        Group.NAMED, threads=96, number=1
    )
    assert _called("tl::__sync_thread_partial", 1) is None
    assert _called("tl::__sync_thread_partial<1, n>") is None
    assert _called("tl::__sync_thread_partial<n, 128>") is None
    assert _called("tl::NamedBarrier<96>::sync<n>") is None
    assert _called("tl::NamedBarrier<n>::sync<1>") is None


def test_positions_are_those_of_the_call() -> None:
    by_type = _known("tl::store_shared_64", 2)
    assert by_type.operands == (Operand(2, Access.WRITE, Fixed(8)),)
    inlined = function_row(
        Call("cuda.func_call", (Const("tl::store_shared_64"), Var("p"), Var("v"), Const("")))
    )
    assert inlined is not None
    assert inlined.operands == (Operand(1, Access.WRITE, Fixed(8)),)


def test_a_text_that_comes_with_the_call_says_what_the_function_is() -> None:
    text = "__device__ int atomicAdd(int* p, int v) { return 0; }"
    call = Call("cuda.func_call", (Const("atomicAdd"), Var("p"), Const(1), Const(text)))
    assert function_row(call) is None
    assert _called("atomicAdd", 2) is not None


@pytest.mark.parametrize("name", ["f", "tl::never_heard_of", "tl::detail::call_fma", "not a name"])
def test_a_function_that_nobody_knows_has_no_row(name: str) -> None:
    assert _called(name, 1) is None


def test_a_call_without_a_name_has_no_row() -> None:
    assert function_row(Call("call_extern", (Const("handle"),))) is None
    assert function_row(Call("call_extern", (Const("handle"), Var("f")))) is None


def test_what_is_inside_the_library_is_known_by_its_beginning() -> None:
    assert inside("tl::detail::call_fma")
    assert inside("operator")
    assert inside("operators") is None
    assert inside("tl::gemm_ss") is None
