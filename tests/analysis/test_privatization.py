"""What is private to an iteration, by the clauses of `privatization`; 32 threads, 32 bytes."""

from __future__ import annotations

import pytest

from smemreuse.analysis import privatization
from smemreuse.analysis.privatization import is_private
from smemreuse.facts import facts_of
from smemreuse.ir.expr import Const, Expr, Load, Var
from smemreuse.ir.kernel import Bind, Block, For, If, Stmt, Store, While
from tests.analysis.trees import (
    BX,
    DATA,
    FOUR,
    TX,
    ZERO,
    K,
    access_ptr,
    call,
    kernel_of,
    load,
    op,
    repeat,
    shared,
    store,
    times,
    when,
)

X = shared("X", 32)
J, N = Var("j"), Var("n")
OTHER = op("sub", 31, TX)
ON_DATA = op("gt", Load(DATA, (TX,)), 0)
LOW, HIGH = op("lt", TX, 16), op("ge", TX, 16)
BREAK, CONTINUE, RETURN = "loop_break", "continue_loop", "thread_return"


def fill() -> Stmt:
    """Each thread writes its byte."""
    return store(X, ZERO, TX)


def use(index: Expr = OTHER) -> Stmt:
    """Each thread reads another one's byte."""
    return store(DATA, load(X, index), TX)


def private(*body: Stmt, before: Block = (), behind: Block = (), extent: Expr = FOUR) -> bool:
    """Whether X is private to the iterations of a loop over `k`."""
    loop = times(K, extent, *body)
    return private_to(loop, *before, loop, *behind)


def private_to(loop: For | While, *body: Stmt, threads: int = 32) -> bool:
    kernel = kernel_of(*body, buffers=(X,), threads=threads)
    return facts_of(kernel).ask(is_private, loop, X)


# P1 and P2


def test_p1_what_is_read_must_have_been_written() -> None:
    assert private(fill(), use())
    assert not private(use(), fill())
    assert not private(use())


def test_p1_every_byte_of_it() -> None:
    assert not private(when(LOW, fill()), use())
    assert private(when(LOW, fill()), when(LOW, use(op("sub", 15, TX))))


def test_p1_a_read_that_is_not_understood_is_of_all_bytes() -> None:
    for reads in (call(access_ptr(X, Const(1))), use(op("add", TX, 1)), use(Load(DATA, (TX,)))):
        assert private(fill(), reads)
        assert not private(when(LOW, fill()), reads)


def test_p2_a_write_whose_bytes_are_not_known_adds_none() -> None:
    assert not private(store(X, ZERO, Load(DATA, (TX,))), use())
    assert not private(store(X, ZERO, N), use())


def test_p2_a_write_that_may_not_happen_adds_none() -> None:
    assert not private(Store(X, (TX,), ZERO, predicate=ON_DATA), use())


def test_p2_a_write_by_some_threads_adds_none() -> None:
    assert not private(when(ON_DATA, fill(), use()))
    loop = times(K, FOUR, fill(), use())
    assert private_to(loop, when(LOW, loop)) is False  # the other half reads what nobody wrote
    low = times(K, FOUR, fill(), use(op("sub", 15, TX)))
    assert private_to(low, when(LOW, low))
    assert not private_to(low, when(ON_DATA, low))


def test_p2_threads_that_left_write_nothing() -> None:
    """Their bytes are read from before, by those who go on."""
    loop = times(K, FOUR, fill(), use())
    assert not private_to(loop, when(HIGH, call(op=RETURN)), loop)
    assert not private_to(loop, times(J, FOUR, when(HIGH, call(op=BREAK)), loop))
    assert private_to(loop, when(op("eq", BX, 0), call(op=RETURN)), loop)
    assert private_to(loop, times(J, FOUR, when(op("eq", BX, 0), call(op=BREAK)), loop))


# P3


def test_p3_alternatives_count_where_both_write() -> None:
    one = op("eq", BX, 0)
    assert private(when(one, fill(), orelse=(fill(),)), use())
    assert not private(when(one, fill()), use())
    assert private(when(one, fill(), use()))


def test_p3_arms_at_the_same_time_write_together() -> None:
    assert private(when(LOW, fill(), orelse=(fill(),)), use())
    assert private(when(LOW, fill()), when(HIGH, fill()), use())


def test_p3_neither_arm_counts_on_the_other() -> None:
    assert not private(when(LOW, fill(), orelse=(use(),)))
    assert not private(when(LOW, fill(), use(), orelse=(fill(),)))


def test_p3_an_arm_that_nobody_takes_counts_for_nothing() -> None:
    assert private(fill(), when(op("ge", TX, 32), store(X, ZERO, N)), use())
    assert private(when(op("lt", TX, 32), fill(), orelse=(use(),)), use())


def test_p3_a_condition_of_the_iteration() -> None:
    assert not private(when(op("eq", op("floormod", K, 2), 0), fill()), use())
    assert private(when(op("eq", op("floormod", K, 2), 0), fill(), use()))


# P4


def rounds(*body: Stmt, extent: Expr = FOUR) -> Stmt:
    return times(J, extent, *body)


QUARTER = op("add", op("mul", J, 8), op("floormod", TX, 8))


def test_p4_rounds_add_up() -> None:
    assert private(rounds(store(X, ZERO, QUARTER)), use())
    assert not private(rounds(store(X, ZERO, QUARTER), extent=op("sub", 4, 1)), use())


def test_p4_the_bytes_of_a_round_are_there_in_the_next() -> None:
    before = op("floormod", op("sub", QUARTER, 8), 32)
    first = when(op("gt", J, 0), use(before))
    assert private(rounds(first, store(X, ZERO, QUARTER)))
    assert not private(rounds(use(before), store(X, ZERO, QUARTER)))


def test_p4_each_round_may_take_another_arm() -> None:
    """Round 0 takes one arm and round 3 the other: both write the first quarter."""
    backwards = op("add", op("mul", op("sub", 3, J), 8), op("floormod", TX, 8))
    unknown = op("gt", BX, J)

    def filled(other: Expr) -> Stmt:
        return rounds(when(unknown, store(X, ZERO, QUARTER), orelse=(store(X, ZERO, other),)))

    assert private(filled(QUARTER), use())
    assert not private(filled(backwards), use())


def test_p4_rounds_may_be_told_apart_by_what_is_bound_in_them() -> None:
    """More than are gone through one by one; no data decide in which arm."""
    bound = Bind(N, op("floordiv", J, 2))
    store_each = store(X, ZERO, op("floormod", J, 32))
    low = when(op("lt", N, 32), store_each, orelse=(store_each,))
    assert private(rounds(bound, low, extent=Const(128)), use())
    some = when(op("lt", N, 8), store_each)
    assert not private(rounds(bound, some, extent=Const(128)), use())


def test_p4_a_loop_of_unknown_length_may_have_no_round() -> None:
    assert not private(rounds(fill(), extent=N), use())
    assert private(rounds(fill(), use(), extent=N))
    assert private(fill(), rounds(use(), extent=N))
    assert not private(repeat(op("lt", N, 3), fill()), use())


def test_p4_some_threads_may_go_round_alone() -> None:
    assert not private(rounds(fill(), use(), extent=Load(DATA, (TX,))))
    assert not private(repeat(ON_DATA, fill(), use()))


def test_p4_a_period_is_enough() -> None:
    """1,000 rounds that differ by `k % 2` are two; by `k` they are too many to look at."""
    many = op("add", 999, 1)
    stage = op("add", op("mul", op("floormod", K, 2), 16), op("floormod", TX, 16))
    assert private(store(X, ZERO, stage), use(stage), extent=many)
    assert not private(store(X, ZERO, stage), use(), extent=many)
    other = op("add", op("mul", op("floormod", op("add", K, 1), 2), 16), op("floormod", TX, 16))
    assert not private(store(X, ZERO, stage), use(other), extent=many)
    crooked = op("add", op("mul", op("bitwise_and", K, 1), 16), op("floormod", TX, 16))
    assert not private(store(X, ZERO, crooked), use(crooked), extent=many)
    assert private(store(X, ZERO, crooked), use(crooked), extent=FOUR)


def test_p4_where_something_is_loaded_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is not known in any round: one round stands for all, unless more decides."""
    on_its_data = op("gt", Load(DATA, (K,)), 0)
    monkeypatch.setattr(privatization, "MAX_STEPS", 3)
    assert private(fill(), when(on_its_data, use()))
    monkeypatch.undo()
    later = op("and", op("ge", J, 1), op("gt", Load(DATA, (J,)), 0))
    assert not private(times(J, FOUR, when(later, use())))
    assert private(fill(), times(J, FOUR, when(later, use())))


def test_p4_an_extent_that_is_not_known_has_a_period_too() -> None:
    stage = op("add", op("mul", op("floormod", K, 2), 16), op("floormod", TX, 16))
    assert private(store(X, ZERO, stage), use(stage), extent=N)
    assert not private(store(X, ZERO, K), use(K), extent=N)


def test_p4_a_bound_variable_is_known() -> None:
    half = Var("half")
    bound = Bind(half, op("floormod", K, 2))
    index = op("add", op("mul", half, 16), op("floormod", TX, 16))
    assert private(bound, store(X, ZERO, index), use(index))


def test_p4_a_jump_out_of_an_inner_loop() -> None:
    """Behind it counts what was written before the jump."""
    late = rounds(when(op("eq", J, 2), call(op=BREAK)), store(X, ZERO, QUARTER))
    assert not private(late, use())
    early = rounds(fill(), when(op("eq", J, 2), call(op=BREAK)))
    assert private(early, use())
    some = rounds(when(LOW, call(op=BREAK)), fill())
    assert not private(some, use())
    skipped = rounds(when(op("eq", J, 2), call(op=CONTINUE)), store(X, ZERO, QUARTER))
    assert not private(skipped, use())


# P5 and P6


def test_p5_what_is_read_behind_the_loop_is_written_in_every_iteration() -> None:
    assert private(fill(), use(), behind=(use(),))
    assert not private(when(LOW, fill()), when(LOW, use(op("sub", 15, TX))), behind=(use(),))
    assert not private(when(op("eq", K, 3), fill(), use()), behind=(use(),))


def test_p5_what_is_written_before_the_loop_is_read_outside() -> None:
    assert private(when(LOW, fill()), before=(fill(),))
    assert not private(when(LOW, fill()), before=(fill(), use()))


@pytest.mark.parametrize("op_name", [BREAK, CONTINUE])
def test_p5_an_iteration_cut_short_is_one(op_name: str) -> None:
    third = when(op("eq", K, 3), call(op=op_name))
    assert not private(third, fill(), use(), behind=(use(),))
    assert private(fill(), third, use(), behind=(use(),))
    assert private(third, fill(), use())
    assert not private(third, use())


def test_p5_who_may_be_missing_in_the_next_iteration() -> None:
    for some in (LOW, ON_DATA):
        assert not private(fill(), use(), when(some, call(op=BREAK)))
        assert not private(fill(), use(), when(some, call(op=RETURN)))
    assert private(fill(), use(), when(LOW, call(op=CONTINUE)))


def test_p5_behind_a_return_nothing_is_read() -> None:
    third = when(op("eq", K, 3), call(op=RETURN))
    assert private(third, fill(), use(), behind=(use(),))


def test_p6_nothing_is_private_to_a_while() -> None:
    loop = repeat(op("lt", N, 3), fill(), use())
    assert not private_to(loop, loop)


# Bounds of the proof


def test_it_gives_up_where_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (fill(), use())
    monkeypatch.setattr(privatization, "MAX_STEPS", 1)
    assert not private(*body)
    monkeypatch.setattr(privatization, "MAX_STEPS", 2)
    assert private(*body)
    monkeypatch.setattr(privatization, "MAX_BYTES", 31)
    assert not private(*body)


def test_a_buffer_of_unknown_size_is_not_private() -> None:
    loop = times(K, FOUR, fill())
    kernel = kernel_of(loop, buffers=(X,))
    unknown = type(X)("X", "uint8", (N,), "shared.dyn")
    assert not facts_of(kernel).ask(is_private, loop, unknown)


def test_a_loop_of_reads_alone_is_looked_at_at_once() -> None:
    """A thousand rounds of it: one visit, not a thousand."""
    monitored = times(J, op("add", 999, 1), use(op("floormod", op("add", J, TX), 32)))
    assert private(fill(), monitored)


def test_what_does_not_concern_the_buffer_is_passed_over() -> None:
    noise = [store(DATA, ZERO, TX) for _ in range(privatization.MAX_STEPS + 1)]
    assert private(fill(), *noise, If(ON_DATA, tuple(noise)), use())
