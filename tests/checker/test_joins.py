"""A join claims no more than either side, seen from outside.

If a kernel is proved in which data choose between two ways, it must be proved with each of them
alone; and if it is proved with a loop of unknown length, with every number of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker import check_plan
from smemreuse.ir.expr import Const, Expr, Var
from smemreuse.ir.kernel import Buffer, If, Stmt, Store, While
from tests.soundness.kernels import (
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

THREADS = 64
A, B = shared("A", THREADS), shared("B", THREADS)
C = scalar("c")
DATA = Buffer("D", "int32", (Const(THREADS),), "global")
MIRRORED = call("sub", THREADS - 1, TX)
PLACES: tuple[Expr, ...] = (TX, MIRRORED, call("add", load(C, 0), 3))

PIECES: tuple[Stmt, ...] = (
    *(store(buffer, place, TX) for buffer in (A, B) for place in PLACES),
    *(output(load(buffer, place)) for buffer in (A, B) for place in PLACES),
    evaluate("tvm_storage_sync", Const("shared")),
    evaluate("sync_warp"),
    *(copy_async(buffer, place, TX) for buffer in (A, B) for place in PLACES[:2]),
    evaluate("ptx_commit_group"),
    *(evaluate("ptx_wait_group", keep) for keep in (0, 1)),
    *(store(C, 0, value) for value in (0, 1, load(DATA, 0))),
    If(call("lt", TX, 32), (store(A, TX, TX),), (evaluate("ptx_commit_group"),)),
    If(call("lt", call("floormod", TX, 32), 16), (evaluate("ptx_commit_group"),), ()),
    If(call("lt", TX, 16), (evaluate("ptx_wait_group", 0),), ()),
    *(Store(buffer, (TX,), TX, predicate=call("gt", load(DATA, 1), 0)) for buffer in (A, B)),
)
piece = st.sampled_from(PIECES)
pieces = st.lists(piece, max_size=4).map(tuple)


def proved(*body: Stmt) -> bool:
    kernel = build(*body, buffers=(A, B, C), threads=THREADS)
    plan = {A: 0, B: 0}
    return check_plan(kernel, SCOPE, plan, 4 * THREADS, {}, assume_barriers=False).sound


@settings(max_examples=120, deadline=None)
@given(pieces, pieces, pieces, pieces, st.booleans())
def test_what_is_proved_of_a_branch_on_data_holds_of_either_arm(
    before: Sequence[Stmt],
    one: tuple[Stmt, ...],
    other: tuple[Stmt, ...],
    after: Sequence[Stmt],
    varies: bool,
) -> None:
    """All threads may take one arm, whether or not they have to."""
    branch = If(call("gt", load(DATA, TX if varies else 0), 0), one, other)
    if proved(*before, branch, *after):
        assert proved(*before, *one, *after)
        assert proved(*before, *other, *after)


@settings(max_examples=80, deadline=None)
@given(pieces, pieces, pieces, st.booleans())
def test_what_is_proved_of_a_loop_on_data_holds_of_every_number_of_rounds(
    before: Sequence[Stmt], body: tuple[Stmt, ...], after: Sequence[Stmt], is_while: bool
) -> None:
    data = load(DATA, 0)
    rounds = While(call("gt", data, 0), body) if is_while else loop(Var("k"), data, *body)
    if proved(*before, rounds, *after):
        for count in range(5):
            assert proved(*before, *(body * count), *after)


@settings(max_examples=80, deadline=None)
@given(pieces, pieces, pieces, st.integers(1, 9))
def test_what_is_proved_of_a_loop_holds_of_its_rounds_written_out(
    before: Sequence[Stmt], body: tuple[Stmt, ...], after: Sequence[Stmt], count: int
) -> None:
    if proved(*before, loop(Var("k"), count, *body), *after):
        assert proved(*before, *(body * count), *after)


@pytest.mark.parametrize("varies", [False, True])
def test_a_branch_may_be_proved_at_all(varies: bool) -> None:
    """The properties above are not empty."""
    branch = If(call("gt", load(DATA, TX if varies else 0), 0), (PIECES[0],), ())
    sync = evaluate("tvm_storage_sync", Const("shared"))
    assert proved(branch, sync, store(B, MIRRORED, 1), output(load(B, MIRRORED)))
