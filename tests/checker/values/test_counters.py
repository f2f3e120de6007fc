"""Local scalars whose values are followed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.values.counters import Counters
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Value

THREADS = 4
EVERYONE = np.arange(THREADS)
ODD = np.array([1, 3])
C = Buffer("c", "int32", (Const(2),), "local")
D = Buffer("d", "int32", (Const(2),), "local")


def plain(value: Value) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_a_local_is_not_known_before_it_is_set() -> None:
    assert Counters(EVERYONE).get(C, 0, EVERYONE) is None


def test_a_value_of_all_is_known_to_all() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, EVERYONE, 7)
    assert counters.get(C, 0, EVERYONE) == 7
    assert counters.get(C, 0, ODD) == 7
    assert counters.get(C, 1, EVERYONE) is None
    assert counters.get(D, 0, EVERYONE) is None


def test_each_thread_may_have_a_value_of_its_own() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, EVERYONE, EVERYONE * 10)
    assert plain(counters.get(C, 0, EVERYONE)) == [0, 10, 20, 30]
    assert plain(counters.get(C, 0, ODD)) == [10, 30]


def test_a_value_that_threads_share_is_one_number() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, EVERYONE, EVERYONE % 2)
    assert counters.get(C, 0, ODD) == 1


def test_some_threads_set_it_and_the_others_keep_what_they_have() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, EVERYONE, 7)
    counters.set(C, 0, ODD, 9)
    assert plain(counters.get(C, 0, EVERYONE)) == [7, 9, 7, 9]


def test_a_value_is_known_only_if_it_is_for_all_who_ask() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, ODD, 9)
    assert counters.get(C, 0, EVERYONE) is None
    assert counters.get(C, 0, ODD) == 9


def test_setting_it_to_what_is_not_known_makes_it_unknown() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, EVERYONE, 7)
    counters.set(C, 0, ODD, None)
    assert counters.get(C, 0, ODD) is None
    assert counters.get(C, 0, np.array([0])) == 7


def test_an_element_that_is_not_known_may_be_any() -> None:
    counters = Counters(EVERYONE)
    for index in (0, 1):
        counters.set(C, index, EVERYONE, index)
    counters.set(D, 0, EVERYONE, 5)
    counters.forget(C, ODD)
    assert counters.get(C, 0, ODD) is None
    assert counters.get(C, 1, ODD) is None
    assert counters.get(C, 1, np.array([2])) == 1
    assert counters.get(D, 0, EVERYONE) == 5


def test_a_copy_changes_alone() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, EVERYONE, 7)
    twin = counters.copy()
    assert twin.same(counters)
    twin.set(C, 0, ODD, 8)
    assert counters.get(C, 0, EVERYONE) == 7
    assert not twin.same(counters)


# A join claims no more than either side -----------------------------------------------------------

threads = st.sampled_from([EVERYONE, ODD, np.array([0])])
value = st.sampled_from([None, 0, 1])
setting = st.tuples(st.sampled_from([C, D]), st.integers(0, 1), threads, value)
sequences = st.lists(setting, max_size=4)

Setting = tuple[Buffer, int, np.ndarray, Value]


def run(counters: Counters, taken: Sequence[Setting]) -> Counters:
    counters = counters.copy()
    for buffer, index, ids, found in taken:
        counters.set(buffer, index, ids, found)
    return counters


def claims(counters: Counters) -> set[tuple[str, int, int, object]]:
    """Which value every thread is known to have."""
    found = set()
    for buffer in (C, D):
        for index in (0, 1):
            for thread in range(THREADS):
                known = counters.get(buffer, index, np.array([thread]))
                if known is not None:
                    found.add((buffer.name, index, thread, plain(known)))
    return found


@settings(max_examples=60, deadline=None)
@given(sequences, sequences, sequences, sequences)
def test_a_join_claims_no_more_than_either_side(
    before: Sequence[Setting],
    one: Sequence[Setting],
    other: Sequence[Setting],
    after: Sequence[Setting],
) -> None:
    start = run(Counters(EVERYONE), before)
    left, right = run(start, one), run(start, other)
    joined = run(left.joined(right), after)
    assert claims(joined) <= claims(run(left, after)) & claims(run(right, after))


@given(sequences, sequences)
def test_what_is_known_alike_is_the_same(one: Sequence[Setting], other: Sequence[Setting]) -> None:
    left, right = run(Counters(EVERYONE), one), run(Counters(EVERYONE), other)
    assert left.same(right) == (claims(left) == claims(right))


def test_what_is_joined_may_differ_between_threads_that_held_different_values() -> None:
    each, alike = Counters(EVERYONE), Counters(EVERYONE)
    each.set(C, 0, EVERYONE, EVERYONE * 10)
    alike.set(C, 0, EVERYONE, 7)
    joined = each.joined(alike)
    assert joined.get(C, 0, EVERYONE) is None
    assert joined.may_differ(C, 0, EVERYONE)
    assert joined.may_differ(C, None, ODD)
    assert joined.copy().may_differ(C, 0, ODD)
    assert not joined.same(alike.joined(Counters(EVERYONE)))
    assert not alike.joined(Counters(EVERYONE)).may_differ(C, 0, EVERYONE)
    joined.set(C, 0, EVERYONE, None)
    assert not joined.may_differ(C, 0, EVERYONE)


def test_known_and_unknown_values_differ_for_those_who_hold_either() -> None:
    counters = Counters(EVERYONE)
    counters.set(C, 0, ODD, 9)
    assert counters.may_differ(C, 0, EVERYONE)
    assert not counters.may_differ(C, 0, ODD)
    assert not counters.may_differ(C, 1, EVERYONE)
