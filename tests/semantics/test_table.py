"""Looking operations up: what has no row, or another form, is unknown."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, format_expr
from smemreuse.ir.kernel import Bind, Block, Buffer, Evaluate, For, If, Stmt
from smemreuse.semantics import rows
from smemreuse.semantics.effects import Answer, Effect, Engine, Mbarrier, OperandKind, Signal, Wait
from smemreuse.semantics.table import (
    BLOCK_BARRIER,
    any_effect,
    calls_of,
    counted,
    deciding_operands,
    effect_of,
    evaluated_call,
    evaluated_effect,
    is_block_barrier,
    is_mbarrier,
    leaves,
    mbarrier_operand,
    returns,
    varies_by_thread,
    waits,
    waits_for_phase,
)

FULL = Buffer("full", "uint64", (Const(2),), "shared.barrier")
S = Buffer("S", "int32", (Const(4),), "shared.dyn")
SLOT = Load(FULL, (Const(1),))


def statements(body: str) -> Block:
    """The statements of a body that may name a barrier buffer `full`."""
    header = 'full = T.alloc_buffer((4,), "uint64", scope="shared.barrier")\n'
    (kernel,) = parse_dump(f"{header}{body}").kernels
    return tuple(one for one in kernel.body if not hasattr(one, "buffer"))


def call(op: str, *args: Expr | int | str) -> Call:
    return Call(op, tuple(Const(arg) if isinstance(arg, (int, str)) else arg for arg in args))


# Rows ---------------------------------------------------------------------------------------------


def test_an_operation_without_a_row_may_do_anything_at_any_time() -> None:
    effect = effect_of(call("mangle", Pointer(S)))
    assert effect.unknown == "`mangle` has no row in the table of effects"
    assert effect.engine is Engine.UNKNOWN_ASYNC
    assert effect.answer is Answer.VARIES
    assert effect.hands_on
    assert effect.follows
    assert effect.address
    assert effect.may_swizzle


def test_a_row_that_hangs_on_the_call_may_not_know_its_form() -> None:
    assert effect_of(call("tvm_storage_sync", "shared")).unknown == ""
    effect = effect_of(call("tvm_storage_sync", "elsewhere"))
    assert effect.unknown == "`tvm_storage_sync` is not known in this form"


def test_another_number_of_operands_is_another_form_with_the_same_engine() -> None:
    effect = effect_of(call("ptx_cluster_store", Pointer(S), 1))
    assert effect.unknown == "`ptx_cluster_store` is not known with 2 operands"
    assert effect.operands == ()
    assert effect.hands_on
    assert effect.engine is Engine.REMOTE


def test_a_function_without_a_row_is_judged_by_its_name_and_its_text() -> None:
    assert effect_of(call("call_extern", "int32", "scale", Pointer(S))).unknown == ""
    assert effect_of(call("call_extern", "int32", "scale")).engine is Engine.UNKNOWN_ASYNC


def test_a_function_with_a_row_has_that() -> None:
    assert effect_of(call("call_extern", "handle", "__syncthreads")).meeting is not None


def test_whether_threads_may_get_different_results() -> None:
    assert varies_by_thread(call("get_lane_idx"))
    assert varies_by_thread(call("mangle"))
    assert not varies_by_thread(call("add", 1, 2))


# Statements ---------------------------------------------------------------------------------------


def test_an_evaluated_operation_is_that_of_the_statement_alone() -> None:
    evaluated = Evaluate(call("ptx_commit_group"))
    bound = Bind(Var("t"), call("ptx_commit_group"))
    assert evaluated_call(evaluated) is evaluated.value
    assert evaluated_call(Evaluate(Const(0))) is None
    assert evaluated_call(bound) is None
    effect = evaluated_effect(evaluated)
    assert effect is not None
    assert effect.commits is Engine.CP_ASYNC
    assert evaluated_effect(bound) is None


def test_the_operations_of_a_statement_are_those_inside_others_too() -> None:
    stmt = Evaluate(call("add", call("mul", 2, Load(S, (call("sub", 3, 1),))), 1))
    assert [one.op for one in calls_of(stmt)] == ["add", "mul", "sub"]
    assert [one.op for one in calls_of(If(call("lt", 1, 2), (stmt,)))] == ["lt"]


def looped(*body: Stmt) -> Block:
    return (For(Var("k"), Const(0), Const(4), Const(1), "serial", body),)


def test_what_is_done_anywhere_in_a_block() -> None:
    block = looped(If(Const(1), (), (Evaluate(call("thread_return")),)))
    assert any_effect(block, lambda effect: effect.returns)
    assert not any_effect(block, lambda effect: effect.commits is not None)
    assert returns(block)
    assert leaves(block[0])
    assert not leaves(Evaluate(call("ptx_commit_group")))


def test_a_break_leaves_a_loop_and_returns_from_nothing() -> None:
    block = looped(Evaluate(call("loop_break")))
    assert leaves(block[0])
    assert not returns(block)


@pytest.mark.parametrize(
    ("op", "is_wait", "is_phase"),
    [
        ("ptx_wait_group", True, False),
        ("tma_store_wait", True, False),
        ("warpgroup_wait", True, False),
        ("mbarrier_wait_parity", True, True),
        ("ptx_commit_group", False, False),
        ("ptx_arrive_barrier", False, False),
    ],
)
def test_what_waits_for_something_asynchronous(op: str, is_wait: bool, is_phase: bool) -> None:
    stmt = Evaluate(call(op, SLOT, 0) if "barrier" in op else call(op, 0))
    assert waits(stmt) is is_wait
    assert waits_for_phase(looped(stmt)) is is_phase


# Barriers of threads ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "is_barrier"),
    [
        (BLOCK_BARRIER, True),
        (call("tvm_storage_sync", "shared.dyn"), True),
        (call("tvm_storage_sync", "shared", 1, 64), False),
        (call("tvm_storage_sync", "shared", 1, -1), True),  # Apache TVM's all
        (call("tvm_storage_sync", "warp"), False),
        (call("sync_warp"), False),
        (call("sync_grid"), True),
        (call("cluster_sync"), True),
        (call("cluster_arrive"), False),
        (call("cluster_wait"), False),
        (call("call_extern", "handle", "__syncthreads"), True),
        (call("call_extern", "handle", "tl::NamedBarrier<64>::sync<1>"), False),
        (call("mangle"), False),
    ],
    ids=str,
)
def test_where_all_threads_of_a_block_meet(found: Call, is_barrier: bool) -> None:
    assert is_block_barrier(Evaluate(found)) is is_barrier


@pytest.mark.parametrize(
    ("found", "count"),
    [
        (call("tvm_storage_sync", "shared"), None),
        (call("tvm_storage_sync", "shared", 1), None),
        (call("tvm_storage_sync", "shared", 1, 64), 64),
        (call("tvm_storage_sync", "shared", 1, -1), None),
        (call("call_extern", "handle", "tl::NamedBarrier<96>::sync<1>"), 96),
    ],
    ids=str,
)
def test_how_many_threads_meet(found: Call, count: int | None) -> None:
    meeting = effect_of(found).meeting
    assert meeting is not None
    assert counted(found, meeting) == (None if count is None else Const(count))


# Operands -----------------------------------------------------------------------------------------


def test_an_mbarrier_is_an_element_of_a_buffer_of_them() -> None:
    assert is_mbarrier(SLOT)
    assert not is_mbarrier(Load(S, (Const(0),)))
    assert not is_mbarrier(Pointer(FULL))


def test_the_mbarrier_of_an_operation_stands_in_its_place_or_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operands = (Const(7), SLOT, Load(FULL, (Const(0),)))

    def operand(at: int | OperandKind) -> Expr | None:
        found = Call("mangle", operands)
        monkeypatch.setitem(rows.TABLE, "mangle", Effect(mbarrier=Mbarrier(Signal.ARRIVE, at)))
        return mbarrier_operand(found, effect_of(found))

    assert operand(2) is operands[2]
    assert operand(-2) is SLOT
    assert operand(OperandKind.BARRIER) is SLOT
    assert operand(3) is None
    assert mbarrier_operand(Call("mangle", operands), Effect()) is None


def texts(found: Iterable[Expr]) -> list[str]:
    return [format_expr(one) for one in found]


@pytest.mark.parametrize(
    ("body", "deciding"),
    [
        ("T.ptx_wait_group(n)", ["n"]),
        ("T.mbarrier_wait_parity(full[n], n % 2)", ["n", "n % 2"]),
        ("T.ptx_arrive_barrier(full[n])", ["n"]),
        ("T.tvm_storage_sync('shared', 1, n)", ["n", "1"]),
        ("T.sync_warp(n)", ["n"]),
        ("T.ptx_commit_group()", []),
        ("T.tma_load(n, full[n + 1], n)", ["n + 1"]),
    ],
)
def test_the_operands_that_say_for_what_and_for_whom_order_is_made(
    body: str, deciding: list[str]
) -> None:
    (stmt,) = statements(f"n = T.int32()\n{body}\n")
    found = evaluated_call(stmt)
    assert found is not None
    assert texts(deciding_operands(found, effect_of(found))) == deciding


def test_an_operand_that_is_not_there_decides_nothing() -> None:
    effect = Effect(waits=Wait(Engine.CP_ASYNC, keep=5))
    assert texts(deciding_operands(call("ptx_wait_group", 0), effect)) == []
