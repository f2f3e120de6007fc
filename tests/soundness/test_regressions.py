"""Kernels for which the analysis or the checker was once wrong, each smallest and by name.

`run` is what the operational model says, so no test rests on an argument alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from smemreuse.explainer.pairs import Explainer
from smemreuse.ir.expr import Call, Const, Expr, Pointer, Var
from smemreuse.ir.kernel import (
    Assert,
    Bind,
    Buffer,
    Declare,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    While,
)
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.verdict import SOUND, UNSOUND
from smemreuse.versions import APACHE_TVM
from tests.pipeline.rules import plan_of_the_rules
from tests.soundness.compare import differing, inputs_from
from tests.soundness.kernels import (
    BX,
    INPUT,
    SCOPE,
    TX,
    Operand,
    call,
    copy_async,
    evaluate,
    load,
    loop,
    output,
    scalar,
    shared,
    store,
)
from tests.soundness.kernels import kernel as build
from tests.soundness.model.modes import BASE_MODES, FREE_MODES, Mode

A, B = shared("A", 32), shared("B", 32)
C = scalar("c")
J, K, V = Var("j"), Var("k"), Var("v")

SCRATCH = (store(B, call("sub", 31, TX), 99), output(load(B, TX)))
FILL = store(A, TX, load(INPUT, TX))
USE = output(load(A, TX))
COMMIT = evaluate("ptx_commit_group")
WAIT = evaluate("ptx_wait_group", 0)
STEP = store(C, 0, call("add", load(C, 0), 1))
DEAD = If(call("eq", call("floormod", load(C, 0), 2), 2), (USE,))  # makes a loop matter


def _kernel(*body: Stmt, threads: int = 32) -> Kernel:
    return build(*body, buffers=(A, B, C), threads=threads, outside=True)


def _even(values: np.ndarray) -> np.ndarray:
    """Inputs that are positive for even indices alone."""
    return np.where(np.arange(len(values)) % 2 == 0, values + 1, 0)


INPUTS = _even(inputs_from(0))


def _flag(index: int) -> If:
    """A condition on data that is the same for all threads, and does not hold."""
    return If(call("gt", load(INPUT, 2 * index + 1), 0), (COMMIT,))


CARRIED = {
    "threads that returned write nothing": _kernel(
        FILL,
        If(call("ge", TX, 16), (evaluate("thread_return"),)),
        loop(
            K,
            4,
            store(A, TX, K),
            output(load(A, call("bitwise_xor", TX, 16))),
            store(B, call("sub", 31, TX), 99),
            output(load(B, call("sub", 31, TX))),
        ),
    ),
    "nor do threads that broke off": _kernel(
        FILL,
        loop(
            K,
            1,
            If(call("ge", TX, 16), (evaluate("loop_break"),)),
            loop(
                J,
                4,
                store(A, TX, J),
                output(load(A, call("bitwise_xor", TX, 16))),
                store(B, call("sub", 31, TX), 99),
                output(load(B, call("sub", 31, TX))),
            ),
        ),
    ),
    "an iteration cut short by a break does not refill": _kernel(
        loop(
            K,
            5,
            *SCRATCH,
            If(call("eq", call("floormod", call("add", K, 1), 5), 0), (evaluate("loop_break"),)),
            store(A, TX, K),
        ),
        USE,
    ),
    "an iteration cut short by a continue does not refill": _kernel(
        loop(K, 4, *SCRATCH, If(call("ge", K, 2), (evaluate("continue_loop"),)), store(A, TX, K)),
        USE,
    ),
    "threads that data keep out of an arm do not write in it": _kernel(
        FILL,
        loop(
            K,
            4,
            If(
                call("gt", load(INPUT, TX), 0),
                (store(A, TX, K), output(load(A, call("bitwise_xor", TX, 1)))),
            ),
            *SCRATCH,
        ),
    ),
    "nor those behind a threshold that is data": _kernel(
        FILL,
        loop(
            K,
            4,
            If(
                call("lt", TX, call("mul", call("min", load(INPUT, 0), 1), 16)),
                (store(A, TX, K), output(load(A, call("bitwise_xor", TX, 16)))),
            ),
            *SCRATCH,
        ),
    ),
}
"""A is carried around a loop in which B is scratch, in ways that once were not seen."""

COUNT = scalar("w")


def _carried(*body: Stmt, extent: int = 4) -> Kernel:
    """`body` in a loop, then the scratch."""
    return _kernel(FILL, loop(K, extent, *body, *SCRATCH))


RULES = {
    "a buffer filled before the loop": _carried(USE),
    "a loop of two iterations": _carried(USE, extent=2),
    "a loop in a loop": _kernel(FILL, loop(V, 2, loop(K, 1, USE), *SCRATCH)),
    "a partial refill": _carried(store(A, call("floormod", TX, 16), K), USE),
    "a refill of a stage": _carried(
        store(
            A,
            call("add", call("floormod", TX, 16), call("mul", call("floormod", K, 2), 16)),
            K,
        ),
        USE,
    ),
    "a refill in every other iteration": _carried(
        If(call("eq", call("floormod", K, 2), 0), (store(A, TX, K),)), USE
    ),
    "a refill under a condition on data": _carried(
        If(call("gt", load(INPUT, K), 0), (store(A, TX, K),)), USE
    ),
    "a predicated refill": _carried(store(A, TX, K, call("eq", K, 0)), USE),
    "a refill in a loop that may not run": _carried(loop(V, load(INPUT, 1), store(A, TX, K)), USE),
    "a refill that the block index decides": _carried(
        If(call("gt", BX, 0), (store(A, TX, K),)), USE
    ),
    "a refill in a loop as long as the block index": _carried(loop(V, BX, store(A, TX, K)), USE),
    "one statement reads the one and writes the other": _kernel(
        FILL, store(B, call("sub", 31, TX), load(A, TX)), output(load(B, TX))
    ),
    "a refill after the use": _carried(USE, store(A, TX, K)),
    "a change in place": _carried(store(A, TX, call("add", load(A, TX), 1)), USE),
    "a last iteration that does not refill": _kernel(
        loop(K, 4, *SCRATCH, If(call("lt", K, 3), (store(A, TX, K),))), USE
    ),
    "`while` is a loop": build(
        store(COUNT, 0, 0),
        FILL,
        While(
            call("lt", load(COUNT, 0), 4),
            (USE, *SCRATCH, store(COUNT, 0, call("add", load(COUNT, 0), 1))),
        ),
        buffers=(A, B, COUNT),
        outside=True,
    ),
}
"""The rules of DESIGN, one kernel for each way to break them."""

IN_FLIGHT = {
    "an extra group that only one branch commits": _kernel(
        copy_async(A, TX, TX), COMMIT, _flag(0), evaluate("ptx_wait_group", 1), *SCRATCH
    ),
    "groups are counted for each thread": _kernel(
        If(call("lt", TX, 16), (copy_async(A, TX, TX), COMMIT), (COMMIT,)),
        evaluate("ptx_wait_group", 1),
        *SCRATCH,
    ),
    "a wait that one arm alone reaches": _kernel(
        copy_async(A, TX, TX),
        COMMIT,
        If(call("gt", load(INPUT, 1), 0), (WAIT,)),
        evaluate("ptx_wait_group", 1),
        *SCRATCH,
    ),
    "a wait that keeps the last group": _kernel(
        copy_async(A, TX, TX), COMMIT, evaluate("ptx_wait_group", 1), *SCRATCH
    ),
    "a copy that lands in the next iteration": _kernel(
        loop(K, 3, *SCRATCH, WAIT, copy_async(A, TX, TX), COMMIT), WAIT, USE
    ),
    "a break before the wait": _kernel(
        copy_async(A, TX, TX),
        COMMIT,
        loop(K, 4, If(call("gt", load(INPUT, 0), 0), (evaluate("loop_break"),)), WAIT),
        *SCRATCH,
    ),
    "a continue before the wait": _kernel(
        loop(
            K,
            4,
            copy_async(A, TX, TX),
            COMMIT,
            If(call("ge", load(INPUT, call("mul", K, 2)), 0), (evaluate("continue_loop"),)),
            WAIT,
        ),
        *SCRATCH,
    ),
    "a continue before the commit": _kernel(
        loop(
            K,
            4,
            copy_async(A, TX, TX),
            If(call("gt", load(INPUT, TX), 0), (evaluate("continue_loop"),)),
            COMMIT,
            WAIT,
        ),
        WAIT,
        *SCRATCH,
    ),
    "threads that return do not wait": _kernel(
        copy_async(A, TX, TX),
        COMMIT,
        If(call("lt", TX, 16), (evaluate("thread_return"),)),
        WAIT,
        store(B, TX, 99),
        output(load(B, TX)),
        store(B, call("sub", 31, TX), 98),
        output(load(B, call("sub", 31, TX))),
    ),
}
"""A copy to A is still in flight when B is used."""


def _second_half(*body: Stmt) -> Stmt:
    """The second five of ten iterations, by a variable that holds `k // 5`."""
    bound = Bind(V, call("floordiv", K, 5), may_be_address=False)
    return loop(K, 10, bound, If(call("eq", V, 1), body))


_address = call("address_of", load(C, 0))
_pointer_var = Var("p")
_view = Buffer("V", "int32", (Const(32),), SCOPE, _pointer_var)

TRACED = {
    "a store at an index that data choose": _kernel(
        FILL, store(B, call("floormod", load(INPUT, TX), 32), 99), USE
    ),
    "a variable hides the loop variable": _kernel(FILL, _second_half(USE, *SCRATCH)),
    "a counter after a loop that was cut short": _kernel(
        store(C, 0, 0),
        FILL,
        loop(K, 10, DEAD, STEP),
        *SCRATCH,
        If(call("eq", load(C, 0), 10), (USE,)),
    ),
    "a counter that every other iteration steps": _kernel(
        store(C, 0, 0),
        loop(
            K,
            16,
            If(call("eq", call("floormod", load(C, 0), 4), 1), (FILL,)),
            If(call("eq", call("floormod", load(C, 0), 4), 2), SCRATCH),
            If(call("eq", call("floormod", load(C, 0), 4), 3), (USE,)),
            If(call("eq", call("floormod", K, 2), 0), (STEP,)),
        ),
    ),
    "filled and used under the same condition": _kernel(
        If(call("gt", load(INPUT, 0), 0), (FILL,)),
        *SCRATCH,
        If(call("gt", load(INPUT, 0), 0), (USE,)),
    ),
    "the body of an assertion": _kernel(FILL, Assert(call("ge", TX, 0), (*SCRATCH, USE))),
    "a counter that an extern call steps": _kernel(
        store(C, 0, 0),
        FILL,
        evaluate("call_extern", Const("bump"), _address),
        *SCRATCH,
        If(call("eq", load(C, 0), 1), (USE,)),
    ),
    "a counter store whose predicate is off": _kernel(
        store(C, 0, 0),
        store(C, 0, 1, call("gt", 0, 1)),
        FILL,
        *SCRATCH,
        If(call("eq", load(C, 0), 0), (USE,)),
    ),
    "a cast to bool": _kernel(
        FILL, *SCRATCH, If(call("eq", call("cast", Const("bool"), 2), 1), (USE,))
    ),
    "a cast that wraps": _kernel(
        FILL, *SCRATCH, If(call("eq", call("cast", Const("uint8"), 256), 0), (USE,))
    ),
    "arms of whole warps": _kernel(
        If(
            call("lt", TX, 32),
            (FILL, USE),
            (
                store(B, call("sub", TX, 32), 5),
                output(load(B, call("sub", TX, 32))),
            ),
        ),
        threads=64,
    ),
    "arms that data send threads to": _kernel(
        If(
            call("gt", load(INPUT, TX), 0),
            (FILL, USE),
            (store(B, call("sub", 31, TX), 1), output(load(B, call("sub", 31, TX)))),
        ),
    ),
    "a condition that reads": _kernel(
        FILL, *SCRATCH, If(call("gt", load(A, TX), 5), (output(1),), (output(2),))
    ),
    "a loop's length that reads": _kernel(
        FILL, *SCRATCH, loop(V, call("floormod", load(A, 0), 7), output(V))
    ),
    "a `while` that reads": _kernel(
        store(C, 0, 0),
        FILL,
        *SCRATCH,
        While(call("lt", load(C, 0), call("floormod", load(A, 0), 7)), (output(load(C, 0)), STEP)),
    ),
    "a `while` that reads again": _kernel(
        store(C, 0, 0),
        store(A, TX, 0),
        While(
            call("lt", load(A, 0), 3), (store(A, TX, call("add", load(C, 0), 1)), STEP, *SCRATCH)
        ),
        output(load(C, 0)),
    ),
    "a variable of another period than the loop's": _kernel(
        FILL,
        loop(
            K,
            16,
            Bind(V, call("floordiv", K, 4), may_be_address=False),
            If(call("eq", call("floormod", V, 2), 1), SCRATCH),
            If(call("eq", call("floormod", V, 2), 0), (USE,)),
        ),
    ),
    "a counter that an inner loop steps, not always": _kernel(
        store(C, 0, 0),
        FILL,
        loop(
            K,
            16,
            loop(V, call("floordiv", call("floormod", K, 4), 3), STEP),
            If(call("eq", call("floormod", load(C, 0), 4), 3), (USE,)),
            If(call("eq", call("floormod", load(C, 0), 4), 2), SCRATCH),
        ),
    ),
    **CARRIED,
    **RULES,
    **IN_FLIGHT,
}
"""A and B at the same bytes must not be called sound."""


FREE = [Mode("shuffled", free=True, seed=seed) for seed in range(8)]


def _differs(kernel: Kernel, offsets: Mapping[Buffer, int]) -> bool:
    modes = [*BASE_MODES, *(Mode(late=delay) for delay in range(1, 9))]
    return bool(differing(kernel, [offsets], INPUTS, modes)[0])


@pytest.mark.parametrize("name", [*CARRIED, *RULES, *IN_FLIGHT])
def test_the_dataflow_plan_keeps_apart(name: str) -> None:
    kernel = {**CARRIED, **RULES, **IN_FLIGHT}[name]
    plan = plan_of_the_rules(kernel, SCOPE)
    assert _differs(kernel, {A: 0, B: 0})
    assert not _differs(kernel, plan.offsets)
    assert plan.arena_bytes == 256


@pytest.mark.parametrize("name", TRACED)
def test_the_checker_does_not_prove(name: str) -> None:
    kernel = TRACED[name]
    assert _differs(kernel, {A: 0, B: 0})
    plan = replace(plan_kernel(kernel, SCOPE), offsets={A: 0, B: 0}, arena_bytes=128)
    assert judge(kernel, plan).verdict != SOUND


_ARM = (store(B, call("bitwise_xor", TX, 2), 1), store(A, TX, 2), output(load(A, TX)))
APART: dict[str, Stmt] = {
    "an arm of part of a warp": If(
        call("lt", TX, 20), (store(B, call("sub", 19, TX), 1), *_ARM[1:])
    ),
    "an arm that data decide": If(call("gt", load(INPUT, TX), 0), _ARM),
    "a loop of another length for each thread": loop(
        K, call("floormod", load(INPUT, TX), 3), *_ARM
    ),
}


@pytest.mark.parametrize("name", APART)
def test_no_reuse_where_no_barrier_can_stand(name: str) -> None:
    kernel = _kernel(APART[name])
    plan = plan_kernel(kernel, SCOPE)
    assert differing(kernel, [{A: 0, B: 0}], INPUTS, FREE)[0]
    assert not differing(kernel, [plan.offsets], INPUTS, FREE)[0]
    assert judge(kernel, plan).verdict == SOUND


def test_a_block_that_decides_by_a_counter_is_not_taken_for_another() -> None:
    """Block 0 does not take the branch; block 1 does, which the counter's last value would hide."""
    kernel = _kernel(
        store(C, 0, 0), FILL, *SCRATCH, If(call("gt", BX, load(C, 0)), (USE,)), store(C, 0, 5)
    )
    plan = replace(plan_kernel(kernel, SCOPE), offsets={A: 0, B: 0}, arena_bytes=128)
    assert judge(kernel, plan).verdict != SOUND


def test_a_pointer_that_data_choose_touches_both() -> None:
    """Accesses through a view of such a pointer are accesses of either allocation."""
    other = shared("D", 32)
    choice = call("if_then_else", call("gt", load(INPUT, 0), 0), Pointer(A), Pointer(other))
    body = (
        store(other, TX, 1),
        Bind(_pointer_var, choice),
        Declare(_view),
        store(_view, TX, 7),
        *SCRATCH,
        output(load(_view, TX)),
    )
    kernel = build(*body, buffers=(A, B, other))
    offsets = {A: 0, B: 0, other: 128}
    plan = replace(plan_kernel(kernel, SCOPE), offsets=offsets, arena_bytes=256)
    assert judge(kernel, plan).verdict != SOUND


CELL = Buffer("p", "uint64", (Const(1),), "local")
_AT_A = call("reinterpret", Const("uint64"), Pointer(A))
_FOUND = Bind(_pointer_var, call("reinterpret", Const("handle"), load(CELL, 0)))
_PLAIN = Const("__device__ int f(void* at) { return *(int*)at; }")


def _function(name: str, *args: Operand, text: Const = _PLAIN, returns: str = "int32") -> Call:
    return call("cuda.func_call", Const(name), *args, text, Const(returns))


def _function_at(address: Operand) -> Stmt:
    return output(_function("f", call("add", address, call("mul", TX, 4))))


FOLLOWED_BY_NOBODY: dict[str, tuple[Stmt, ...]] = {
    "an address in a local": (store(CELL, 0, _AT_A), *SCRATCH, _function_at(load(CELL, 0))),
    "one that a function gave back": (
        store(CELL, 0, _function("f", Pointer(A), returns="uint64")),
        *SCRATCH,
        _function_at(load(CELL, 0)),
    ),
    "one that a function stored": (
        evaluate("call_extern", Const("void"), Const("__set"), Pointer(CELL), Pointer(A)),
        *SCRATCH,
        _function_at(load(CELL, 0)),
    ),
    "an address in a variable, then in a local": (
        Bind(V, _function("f", Pointer(A), returns="uint64"), may_be_address=False),
        store(CELL, 0, call("add", V, 16)),
        *SCRATCH,
        _function_at(load(CELL, 0)),
    ),
    "a view of what a local holds": (
        store(CELL, 0, _AT_A),
        _FOUND,
        Declare(_view),
        *SCRATCH,
        output(load(_view, TX)),
    ),
    "an address stored behind its use, in a loop": (
        loop(K, 2, _function_at(load(CELL, 0)), *SCRATCH, store(CELL, 0, _AT_A)),
    ),
    "arithmetic on what a function gave back": (
        Bind(V, _function("f", Pointer(A), returns="uint32"), may_be_address=False),
        *SCRATCH,
        _function_at(V),
    ),
}


def _of_block(*body: Stmt) -> Kernel:
    """With a barrier of all threads between the statements, as Apache TVM has them already."""
    barrier = evaluate("tvm_storage_sync", Const("shared"))
    apart = [one for stmt in body for one in (stmt, barrier)]
    return replace(build(*apart, buffers=(A, B, CELL)), version=APACHE_TVM)


@pytest.mark.parametrize("name", FOLLOWED_BY_NOBODY)
def test_an_address_kept_in_memory_keeps_its_buffer(name: str) -> None:
    """Rule 1: A is read through it when B has long been written."""
    kernel = _of_block(FILL, *FOLLOWED_BY_NOBODY[name])
    plan = plan_kernel(kernel, SCOPE)
    assert plan.shared_bytes(A, B) == 0
    together = replace(plan, offsets={A: 0, B: 0}, arena_bytes=128)
    assert judge(kernel, together).verdict != SOUND
    (explained,) = (one for one in Explainer(kernel, SCOPE).pairs() if one.buffers == (A, B))
    assert not explained.may_share
    assert any(cause.rule in (1, None) for cause in explained.causes)


_BULK = """__device__ int f(void* at) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" :: "l"(0), "l"(at));
}"""


@pytest.mark.parametrize(
    ("used", "is_over"),
    [
        (_function("f", Pointer(A)), True),
        (_function("f", Pointer(A), text=Const(_BULK)), False),
        (_function("g", Pointer(A)), False),
        (call("call_extern", Const("int32"), Const("f"), Pointer(A)), False),
        (call("call_extern", Const("int32"), Const("atomicAdd"), Pointer(A), 1), True),
        (call("call_extern", Const("int32"), Const("tl::gemm_ss<64, 64>"), Pointer(A)), False),
        (call("call_extern", Const("int32"), Const("tl::gemm_ss<64, -1>"), Pointer(A)), False),
    ],
)
def test_a_function_that_is_not_read_may_go_on_behind_its_call(used: Call, is_over: bool) -> None:
    """Rule 5: a bulk store reads A until another function waits for it."""
    kernel = _of_block(FILL, Evaluate(used), *SCRATCH)
    plan = plan_kernel(kernel, SCOPE)
    assert bool(plan.shared_bytes(A, B)) == is_over
    together = replace(plan, offsets={A: 0, B: 0}, arena_bytes=128)
    assert (judge(kernel, together).verdict == SOUND) == is_over


def _pool(elements: int) -> tuple[Kernel, Buffer]:
    """A pool, a view of it that is larger, and B, which lives together with that."""
    pool = shared("pool", elements)
    view = Buffer("X", "int32", (Const(32),), SCOPE, pool)
    body = (Declare(view), store(view, TX, 1), *SCRATCH, output(load(view, TX)))
    return build(*body, buffers=(pool, B)), pool


def test_an_allocation_without_a_size_lies_behind_all_others() -> None:
    """Rule 9: `SMEMPool` allocates no bytes and has views of any number of them."""
    kernel, pool = _pool(0)
    plan = plan_kernel(kernel, SCOPE)
    assert plan.offsets == {B: 0}
    assert plan.symbolic_offsets == {pool: Const(128)}
    assert plan.arena_expr is not None
    together = replace(plan, offsets={pool: 0, B: 0}, symbolic_offsets={})
    assert judge(kernel, together).verdict == UNSOUND


def test_a_view_larger_than_its_allocation_proves_nothing() -> None:
    kernel, pool = _pool(16)
    plan = replace(plan_kernel(kernel, SCOPE), offsets={pool: 0, B: 64}, arena_bytes=192)
    assert judge(kernel, plan).uncovered == ("X, a view of pool, is larger than that",)


def test_an_arm_that_nobody_takes_does_not_crash() -> None:
    dead = If(call("lt", TX, 16), (USE,))
    kernel = _kernel(FILL, If(call("lt", TX, 32), (USE,), (dead, USE)), *SCRATCH)
    assert plan_kernel(kernel, SCOPE).arena_bytes


def test_a_barrier_may_stand_before_a_divergent_branch() -> None:
    """Not unsound: all threads can meet where the threads of the branch part from the others."""
    fill = If(call("lt", TX, 16), (store(B, TX, load(INPUT, TX)),))
    body = (FILL, USE, fill, output(load(B, call("floormod", TX, 16))))
    kernel = _kernel(*body)
    plan = plan_kernel(kernel, SCOPE)
    assert plan.arena_bytes == 128
    assert judge(kernel, plan).verdict != UNSOUND


def test_no_barrier_stands_between_the_statements_of_an_arm_that_data_decide() -> None:
    """The `int8` elements of four threads lie where one thread's `int32` element does."""
    narrow = shared("D", 32, "int8")
    arm = (
        store(A, TX, load(INPUT, TX)),
        output(load(A, TX)),
        store(narrow, TX, load(INPUT, TX)),
        output(load(narrow, TX)),
    )
    kernel = build(If(call("gt", load(INPUT, TX), 0), arm), buffers=(A, narrow))
    offsets = {A: 0, narrow: 0}
    assert differing(kernel, [offsets], INPUTS, FREE_MODES)[0]
    plan = replace(plan_kernel(kernel, SCOPE), offsets=offsets, arena_bytes=128)
    assert judge(kernel, plan).verdict != SOUND


_OPAQUE = {
    "a call": call("call_extern", Const("int32"), Const("my_thread")),
    "an elected lane": call("cuda.elect_sync"),
    "a vote": call("cuda.any_sync", 1, call("gt", load(INPUT, 0), 0)),
}


def _apart_and_unproved(kernel: Kernel) -> None:
    """The model does not know what such a kernel does; so nothing may be concluded."""
    assert plan_kernel(kernel, SCOPE).arena_bytes == 256
    plan = replace(plan_kernel(kernel, SCOPE), offsets={A: 0, B: 0}, arena_bytes=128)
    assert judge(kernel, plan).verdict != SOUND


@pytest.mark.parametrize("name", _OPAQUE)
def test_what_a_call_answers_may_differ_from_thread_to_thread(name: str) -> None:
    asked = call("lt", _OPAQUE[name], 16)
    _apart_and_unproved(_kernel(If(asked, (FILL, USE), SCRATCH)))
    _apart_and_unproved(_kernel(If(asked, (FILL, USE, *SCRATCH))))
    bound = Bind(V, asked, may_be_address=False)
    _apart_and_unproved(_kernel(bound, If(V, (FILL, USE), SCRATCH)))


def test_a_local_vector_that_is_stored_at_once_differs_from_thread_to_thread() -> None:
    lanes = Buffer("L", "int32", (Const(4),), "local")
    ramp = call("ramp", 0, 1, 4)
    ours = call("ramp", call("mul", TX, 4), 1, 4)
    arms = If(call("gt", load(lanes, 0), 0), (FILL, USE), SCRATCH)
    kernel = build(store(lanes, ramp, load(INPUT, ours)), arms, buffers=(A, B, lanes))
    _apart_and_unproved(kernel)


def test_a_loop_that_begins_elsewhere_for_each_thread() -> None:
    arms = If(call("eq", call("floormod", K, 2), 0), (FILL, USE), SCRATCH)
    _apart_and_unproved(_kernel(For(K, TX, Const(2), Const(1), "serial", (arms,))))


def test_a_read_that_leaves_its_buffer_may_be_of_any_byte() -> None:
    """Sound while all of A is there; not when B has overwritten it."""
    beyond = output(load(A, call("add", TX, 16)))
    before, behind = _kernel(FILL, beyond, *SCRATCH), _kernel(FILL, *SCRATCH, beyond)
    plan = plan_kernel(before, SCOPE)
    assert plan.arena_bytes == 128
    assert judge(before, plan).verdict == SOUND
    assert judge(behind, replace(plan, offsets={A: 0, B: 0})).verdict != SOUND


def test_a_write_that_leaves_its_buffer_is_named() -> None:
    kernel = _kernel(store(A, call("add", TX, 16), 1), *SCRATCH)
    plan = replace(plan_kernel(kernel, SCOPE), offsets={A: 0, B: 0}, arena_bytes=128)
    verdict = judge(kernel, plan)
    assert verdict.verdict != SOUND
    assert any("leaves A, which has 128 bytes" in reason for reason in verdict.uncovered)


def _unsigned(value: Expr) -> Expr:
    return call("cast", Const("uint32"), value)


_LEFT_OUT = {
    "a range check by one comparison": call("lt", call("sub", _unsigned(TX), 8), 24),
    "by way of a variable": call("lt", call("sub", Var("u", "uint32"), 8), 24),
}


@pytest.mark.parametrize("name", _LEFT_OUT)
def test_threads_that_unsigned_arithmetic_leaves_out_do_not_refill(name: str) -> None:
    """`uint32(tx) - 8 < 24` holds for 8 <= tx < 32 alone."""
    condition = _LEFT_OUT[name]
    assert isinstance(condition, Call)
    difference = condition.args[0]
    assert isinstance(difference, Call)
    bound: tuple[Stmt, ...] = ()
    if isinstance(difference.args[0], Var):
        bound = (Bind(difference.args[0], _unsigned(TX), may_be_address=False),)
    refill = If(condition, (store(A, TX, K),))
    kernel = _kernel(FILL, *bound, loop(K, 4, refill, USE, *SCRATCH))
    _apart_and_unproved(kernel)


def _extern(name: str, argument: Expr, *texts: str) -> Call:
    return call("call_extern", Const("int32"), Const(name), argument, *map(Const, texts))


_FIRST = load(A, 0)


@pytest.mark.parametrize("name", ["fill", "AtomicAdd", "tl::fill"])
def test_a_function_may_take_an_element_by_reference(name: str) -> None:
    """And write it, and all that is behind it: C++ does not tell where it is called."""
    fill = Evaluate(_extern(name, _FIRST))
    _apart_and_unproved(_kernel(fill, *SCRATCH, USE))


@pytest.mark.parametrize(
    "value",
    [
        _extern("__expf", _FIRST),
        _extern("f", call("add", _FIRST, 1)),
        call(
            "cuda.func_call", Const("f"), _FIRST, Const("__device__ int f(int x);"), Const("int32")
        ),
    ],
    ids=["a function of CUDA", "no element, but a sum", "the text says so"],
)
def test_a_value_is_read_and_no_more(value: Expr) -> None:
    assert plan_kernel(_kernel(FILL, output(value), *SCRATCH), SCOPE).arena_bytes == 128
