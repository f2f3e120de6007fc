"""Kernels whose loops, counters and calls once deceived the checker, each smallest and by name.

A and B at the same bytes must not be called sound, and the default plan must keep them apart.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.audit.pointers import pointer_layout
from smemreuse.checker import check_plan
from smemreuse.ir.expr import Const, Expr, Pointer, Var
from smemreuse.ir.kernel import Bind, Buffer, Declare, For, If, Kernel, Stmt, Store, While
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.verdict import SOUND
from tests.soundness.kernels import (
    INPUT,
    OUTPUT,
    SCOPE,
    TX,
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
from tests.soundness.test_regressions import FILL, SCRATCH, USE, A, B, K, V

C, D, E = scalar("c"), scalar("d"), scalar("e")
FOUR = Buffer("four", "int32", (Const(4),), "local")
SIXTEEN = Buffer("sixteen", "int32", (Const(16),), "local")
LOCALS = (C, D, E, FOUR, SIXTEEN)

ARMS = ((FILL, USE), (store(B, call("sub", 31, TX), 1), output(load(B, call("sub", 31, TX)))))
ARM = (store(B, call("bitwise_xor", TX, 2), 1), store(A, TX, 2), output(load(A, TX)))
DATA = call("floormod", load(INPUT, TX), 3)


def _step(counter: Buffer) -> Store:
    return store(counter, 0, call("add", load(counter, 0), 1))


def _when(value: Expr, number: int, *body: Stmt) -> If:
    return If(call("eq", value, number), body)


def _modulo_3(number: Expr) -> Expr:
    return call("floormod", number, 3)


def _kernel(*body: Stmt, buffers: tuple[Buffer, ...] = (), threads: int = 32) -> Kernel:
    return build(*body, buffers=(A, B, *LOCALS, *buffers), threads=threads, outside=True)


_WRAPPING = Var("u", "uint32")
_WRAPPED = _modulo_3(call("add", _WRAPPING, Const(2**32 - 20, "uint32")))
_NARROW = Buffer("n", "uint8", (Const(1),), "local.var")
_SIGNED = Buffer("s", "int8", (Const(1),), "local.var")
_SHIFTED = Buffer("shifted", "int32", (Const(1),), "local", data=FOUR, elem_offset=Const(1))
_VECTOR = Buffer("vector", "int32x4", (Const(1),), "local", data=FOUR)
_FLAG = Buffer("flag", "int32", (Const(4),), "global")
_CELL = Buffer("p", "uint64", (Const(1),), "local.var")


def _narrow(counter: Buffer) -> Kernel:
    phase = _modulo_3(load(counter, 0))
    body = (_when(phase, 0, USE, *SCRATCH), _when(phase, 2, FILL), _step(counter))
    return _kernel(store(counter, 0, 0), FILL, loop(K, 300, *body), buffers=(counter,))


def _by_reference(text: str) -> Kernel:
    """`p` keeps A's address, and gives it to whoever is handed `p`."""
    target = call("address_of", load(A, 0))
    return _kernel(
        FILL,
        evaluate("cuda.func_call", Const("save"), load(_CELL, 0), target, Const(text)),
        *SCRATCH,
        evaluate("cuda.func_call", Const("use"), load(_CELL, 0), Pointer(OUTPUT), Const(text)),
        buffers=(_CELL,),
    )


KERNELS = {
    "a sum that wraps out of its loop's period": _kernel(
        loop(
            _WRAPPING,
            40,
            _when(_modulo_3(_WRAPPING), 0, FILL),
            _when(_WRAPPED, 2, USE),
            *SCRATCH,
        )
    ),
    "a counter of 8 bits": _narrow(_NARROW),
    "a signed counter of 8 bits": _narrow(_SIGNED),
    "a step of its own for each thread": _kernel(
        For(V, Const(0), Const(2), call("add", call("floormod", TX, 2), 1), "serial", ARM)
    ),
    "a counter that is each thread's own against data": _kernel(
        store(C, 0, TX), If(call("gt", load(C, 0), call("floormod", load(INPUT, 0), 32)), *ARMS)
    ),
    "a loop as long as such a counter": _kernel(
        store(C, 0, call("floormod", TX, 3)),
        loop(V, call("add", load(C, 0), call("floormod", load(INPUT, 0), 2)), *ARM),
    ),
    "data in a local behind a variable": _kernel(
        store(C, 0, load(INPUT, TX)),
        Bind(V, load(C, 0), may_be_address=False),
        If(call("gt", V, 0), *ARMS),
    ),
    "a counter stepped in a `while` on data": _kernel(
        store(C, 0, 0),
        While(call("lt", load(C, 0), DATA), (_step(C),)),
        If(call("gt", load(C, 0), 0), *ARMS),
    ),
    "a counter stepped in a loop on data": _kernel(
        store(C, 0, 0), loop(K, DATA, _step(C)), If(call("gt", load(C, 0), 0), *ARMS)
    ),
    "a step of another element each time": _kernel(
        loop(V, 16, store(SIXTEEN, V, 0)),
        FILL,
        loop(
            K,
            16,
            store(SIXTEEN, K, call("add", load(SIXTEEN, K), 1)),
            *SCRATCH,
            If(call("eq", call("floormod", load(SIXTEEN, 12), 2), 1), (USE,), (FILL,)),
        ),
    ),
    "what a loop counted, bound to a variable": _kernel(
        store(C, 0, 0),
        FILL,
        loop(K, 10, _when(call("floormod", load(C, 0), 2), 2, USE), _step(C)),
        *SCRATCH,
        Bind(V, load(C, 0), may_be_address=False),
        _when(V, 10, USE),
    ),
    "what a loop counted, copied to a local": _kernel(
        store(C, 0, 0),
        FILL,
        loop(K, 10, _when(call("floormod", load(C, 0), 2), 2, USE), _step(C)),
        *SCRATCH,
        store(E, 0, load(C, 0)),
        _when(load(E, 0), 10, USE),
    ),
    "a wait that keeps more in later rounds": _kernel(
        loop(
            K,
            16,
            copy_async(A, TX, TX),
            evaluate("ptx_commit_group"),
            evaluate("ptx_wait_group", call("floordiv", K, 8)),
            *SCRATCH,
        )
    ),
    "counters that follow one another": _kernel(
        *(store(one, 0, 0) for one in (C, D, E)),
        FILL,
        loop(
            K,
            call("add", 6, call("floormod", load(INPUT, 0), 4)),
            _when(load(E, 0), 1, *SCRATCH),
            store(E, 0, load(D, 0)),
            store(D, 0, load(C, 0)),
            store(C, 0, 1),
        ),
        USE,
    ),
    "an element that one outcome alone has set": _kernel(
        FILL,
        *SCRATCH,
        If(
            call("gt", load(INPUT, 1), 0),
            (store(FOUR, 0, 1),),
            (store(FOUR, call("floormod", load(INPUT, 1), 4), 0),),
        ),
        _when(load(FOUR, 0), 0, USE),
    ),
    "a local set through a view that begins behind": _kernel(
        Declare(_SHIFTED),
        store(FOUR, 1, 0),
        FILL,
        store(_SHIFTED, 0, 1),
        *SCRATCH,
        _when(load(FOUR, 1), 1, USE),
    ),
    "a local set through a view of vectors": _kernel(
        Declare(_VECTOR),
        store(FOUR, 1, 0),
        FILL,
        store(_VECTOR, 0, call("broadcast", 1, 4)),
        *SCRATCH,
        _when(load(FOUR, 1), 1, USE),
    ),
    "an address kept by reference": _by_reference("void save(long &p, int *a) {} void use() {}"),
    "a counter stepped by reference": _kernel(
        store(C, 0, 0),
        FILL,
        evaluate("call_extern", Const("void"), Const("bump"), load(C, 0)),
        *SCRATCH,
        _when(load(C, 0), 1, USE),
    ),
    "a flag set by reference": _kernel(
        evaluate("call_extern", Const("int32"), Const("tl::AtomicAdd"), load(_FLAG, 0), 1),
        If(call("gt", load(_FLAG, 0), 0), *ARMS),
    ),
    "a label that is no text of a function": _kernel(
        FILL,
        loop(
            K,
            4,
            store(A, 0, K),
            evaluate("call_extern", Const("int"), Const("tl::f"), Const("label"), load(A, 0)),
            *SCRATCH,
        ),
    ),
}


def _judged_together(kernel: Kernel, one: Buffer = A, arena: int = 128) -> str:
    plan = plan_kernel(kernel, SCOPE)
    assert plan.shared_bytes(one, B) == 0
    together = replace(plan, offsets={one: 0, B: 0}, arena_bytes=arena)
    return judge(kernel, together).verdict


@pytest.mark.parametrize("name", KERNELS)
def test_it_is_not_proved(name: str) -> None:
    assert _judged_together(KERNELS[name]) != SOUND


BARRIERS = Buffer("bar", "uint64", (Const(3),), "shared.barrier")
FIRST, SECOND, THIRD = (load(BARRIERS, slot) for slot in range(3))


def _arrive(barrier: Expr) -> Stmt:
    return evaluate("ptx_arrive_barrier", barrier)


def _wait(barrier: Expr) -> Stmt:
    return evaluate("mbarrier_wait_parity", barrier, 0)


def _begun(*counts: tuple[Expr, int]) -> tuple[Stmt, ...]:
    """The barriers made for so many threads each; all arrive at the first."""
    made = (evaluate("ptx_init_barrier_thread_count", *each) for each in counts)
    sync = evaluate("tvm_storage_sync", Const("shared.dyn"))
    return (_when(TX, 0, *made), sync, _arrive(FIRST))


def test_phases_go_on_in_rounds_that_are_not_run() -> None:
    """One warp arrives five times, so that the phase is odd and it does not wait for another."""
    second = If(
        call("eq", call("floordiv", TX, 32), 1),
        (
            _wait(FIRST),
            store(B, call("sub", 63, TX), 1),
            output(load(B, call("sub", TX, 32))),
            *(_arrive(SECOND), _wait(THIRD), _arrive(SECOND)),
        ),
    )
    third = If(call("ge", TX, 64), (_wait(FIRST), _arrive(THIRD)))
    rounds = loop(K, 5, _wait(FIRST), _arrive(SECOND))
    first = If(call("lt", TX, 32), (rounds, _wait(SECOND), FILL, USE))
    begun = _begun((FIRST, 96), (SECOND, 32), (THIRD, 32))
    kernel = _kernel(*begun, third, second, first, buffers=(BARRIERS,), threads=96)
    assert _judged_together(kernel) != SOUND


def test_a_condition_that_an_earlier_branch_sets() -> None:
    """The first warp comes by the second branch too, where B has overwritten what it reads."""
    wide = shared("wide", 64)
    set_here = (store(B, TX, 1), output(load(B, TX)), store(C, 0, 1))
    kernel = _kernel(
        *_begun((FIRST, 64)),
        store(C, 0, call("floordiv", TX, 32)),
        store(wide, TX, load(INPUT, TX)),
        _when(call("floordiv", TX, 32), 0, _wait(FIRST), *set_here),
        _when(load(C, 0), 1, _wait(FIRST), output(load(wide, TX))),
        buffers=(wide, BARRIERS),
        threads=64,
    )
    assert _judged_together(kernel, wide, 256) != SOUND


def _pointed(name: str) -> tuple[Var, Buffer]:
    pointer = Var(f"{name}_ptr")
    return pointer, Buffer(name, "int32", (Const(32),), SCOPE, pointer)


_ARENA = Buffer("arena", "uint8", (Const(128),), SCOPE)
(_A_PTR, _A), (_B_PTR, _B) = _pointed("A"), _pointed("B")
_NUMBER = call("floormod", load(_A, 0), 7)
READS: dict[str, Stmt] = {
    "the first value of a loop": For(V, _NUMBER, Const(3), Const(1), "serial", (output(V),)),
    "the length of a loop": For(V, Const(0), _NUMBER, Const(1), "serial", (output(V),)),
    "the step of a loop": For(V, Const(0), Const(9), _NUMBER, "serial", (output(V),)),
    "a predicate": store(OUTPUT, TX, 7, call("gt", load(_A, TX), 5)),
}


@pytest.mark.parametrize("name", READS)
def test_an_audit_follows_every_read(name: str) -> None:
    places = (call("handle_add_byte_offset", Pointer(_ARENA), 0) for _ in range(2))
    kernel = build(
        *(Bind(_A_PTR, next(places)), Declare(_A), Bind(_B_PTR, next(places)), Declare(_B)),
        store(_A, TX, load(INPUT, TX)),
        *(store(_B, call("sub", 31, TX), 99), output(load(_B, TX))),
        READS[name],
        buffers=(_ARENA,),
        outside=True,
    )
    layout = pointer_layout(kernel, SCOPE)
    assert layout is not None
    assert check_plan(layout.kernel, SCOPE, layout.offsets, 128, {}).verdict != SOUND
