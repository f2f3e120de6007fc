"""Values of all threads at once: the same question gets the very same array."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.values.vectors import Vectors, identity
from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Threads

TX, K = Var("tx"), Var("k")
COUNT = 40
C = Load(Buffer("c", "int32", (Const(1),), "local"), (Const(0),))


def plus(one: Expr, number: int) -> Expr:
    return Call("add", (one, Const(number)))


@pytest.fixture
def vectors() -> Vectors:
    return Vectors(COUNT)


def all_of(vectors: Vectors) -> Threads:
    return Threads(vectors.everyone, {TX: vectors.everyone})


def test_an_expression_is_evaluated_once_for_the_same_threads(vectors: Vectors) -> None:
    threads, expr = all_of(vectors), plus(TX, 1)
    assert vectors.evaluate(expr, threads) is vectors.evaluate(expr, threads)


def test_other_values_are_another_question(vectors: Vectors) -> None:
    threads, expr = all_of(vectors), plus(K, 1)
    assert vectors.evaluate(expr, threads) is None
    assert [vectors.evaluate(expr, threads.bind(K, number)) for number in (1, 2, 1)] == [2, 3, 2]


def test_what_is_loaded_is_asked_for_again(vectors: Vectors) -> None:
    held = iter((3, 4))
    threads = Threads(vectors.everyone, {}, lambda load, asking: next(held))
    assert [vectors.evaluate(plus(C, 1), threads) for _ in range(2)] == [4, 5]
    assert vectors.key(plus(C, 1), threads) is None


def test_equal_arrays_that_were_loaded_are_one(vectors: Vectors) -> None:
    threads = Threads(vectors.everyone, {}, lambda load, asking: np.array(asking.ids))
    assert vectors.evaluate(plus(C, 1), threads) is vectors.evaluate(plus(C, 1), threads)


def test_what_is_loaded_where_a_variable_of_its_own_says_is_asked_for_again(
    vectors: Vectors,
) -> None:
    threads = Threads(vectors.everyone, {}, lambda load, asking: asking.values.get(K))
    expr = Call("let", (K, Const(5), plus(C, 1)))
    assert vectors.evaluate(expr, threads) == 6


def test_a_value_is_remembered_by_all_that_was_loaded(vectors: Vectors) -> None:
    """The same expression is worth another number where one load of two says another."""
    other = Load(C.buffer, (Const(1),))
    numbers = {C: 3, other: 4}
    threads = Threads(vectors.everyone, {}, lambda load, asking: numbers[load])
    expr = Call("sub", (C, other))
    assert vectors.evaluate(expr, threads) == -1
    numbers[other] = 1
    assert vectors.evaluate(expr, threads) == 2
    numbers[C] = 1
    assert vectors.evaluate(expr, threads) == 0


def test_a_number_is_told_by_its_value_and_an_array_by_its_identity() -> None:
    one, two = np.arange(2), np.arange(2)
    assert identity(5) == identity(5)
    assert identity(one) == identity(one) != identity(two)
    assert identity(None) != identity(0)
    assert identity(one) != identity(id(one))


def test_a_value_that_all_threads_have_is_a_number(vectors: Vectors) -> None:
    assert vectors.uniform(np.array([4, 4])) == 4
    differing = np.array([4, 5])
    assert vectors.uniform(differing) is differing
    assert vectors.uniform(None) is None


def test_the_threads_of_a_mask(vectors: Vectors) -> None:
    threads = all_of(vectors).bind(K, 7)
    yes, no = vectors.masks((vectors.everyone < 3).astype(np.int64))
    some = vectors.where(threads, yes)
    value = some.values[TX]
    assert isinstance(value, np.ndarray)
    assert some.ids.tolist() == value.tolist() == [0, 1, 2]
    assert some.values[K] == 7
    assert vectors.where(threads, yes).ids is some.ids
    assert vectors.where(threads, no).count == COUNT - 3
    assert vectors.where(threads, np.ones(COUNT, dtype=bool)) is threads


def test_who_chooses_alike(vectors: Vectors) -> None:
    low, even = vectors.everyone < 2, vectors.everyone % 2 == 0
    found = {choice: np.flatnonzero(mask) for choice, mask in vectors.choices([low, even])}
    assert found[True, True].tolist() == [0]
    assert found[True, False].tolist() == [1]
    assert len(found[False, True]) + len(found[False, False]) == COUNT - 2


def test_a_loop_at_once_is_every_thread_with_every_iteration(vectors: Vectors) -> None:
    threads = vectors.where(all_of(vectors), vectors.everyone < 2)
    repeated = vectors.repeated(threads, K, range(3, 9, 2))
    columns = [repeated.values[TX], repeated.values[K]]
    assert repeated.ids.tolist() == [0, 0, 0, 1, 1, 1]
    assert [np.asarray(column).tolist() for column in columns] == [
        [0, 0, 0, 1, 1, 1],
        [3, 5, 7, 3, 5, 7],
    ]


def test_an_axis_of_the_block(vectors: Vectors) -> None:
    assert vectors.digit(np.array([0, 5, 8, 13]), 4, 2).tolist() == [0, 1, 0, 1]


def test_a_warp_is_full_if_all_its_threads_that_exist_are_there(vectors: Vectors) -> None:
    assert vectors.warps(vectors.everyone).tolist() == [0, 1]
    assert vectors.full_warps(vectors.everyone).tolist() == [0, 1]  # the second has 8 threads
    assert vectors.full_warps(np.arange(32)).tolist() == [0]
    assert vectors.full_warps(np.arange(31)).tolist() == []
    assert vectors.full_warps(np.arange(32, 40)).tolist() == [1]
    assert vectors.warps(np.array([33])).tolist() == [1]
    assert vectors.full_warps(np.array([33])).tolist() == []
