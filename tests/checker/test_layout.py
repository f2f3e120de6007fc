"""Where buffers lie, and which of their bytes are the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.checker.layout import ByteLayout, as_index, is_run, meeting
from tests.checker.small import layout_of, shared

A, B, C, NONE = shared("A", 8), shared("B", 8), shared("C", 4), shared("Z", 0)


def partners(layout: ByteLayout) -> dict[str, list[str]]:
    return {one.name: [two.name for two in others] for one, others in layout.partners.items()}


def test_buffers_with_a_byte_in_common_are_partners() -> None:
    assert partners(layout_of(A, B, B=7)) == {"A": ["B"], "B": ["A"]}


def test_buffers_side_by_side_are_none() -> None:
    assert partners(layout_of(A, B, B=8)) == {}


def test_a_buffer_without_bytes_has_no_partner() -> None:
    assert partners(layout_of(A, NONE, Z=4)) == {}


def test_one_that_ends_early_does_not_hide_those_behind_it() -> None:
    assert partners(layout_of(A, B, C, C=0, B=6)) == {"A": ["C", "B"], "C": ["A"], "B": ["A"]}


def test_the_bytes_in_common_are_told_as_those_of_either() -> None:
    layout = layout_of(A, B, B=6)
    assert layout.common(A, B) == (6, 8)
    assert layout.common(B, A) == (0, 2)
    assert layout.shift(A, B) == -6
    assert layout.in_other(A, B, np.arange(8)).tolist() == [0, 1]
    assert layout.in_other(B, A, np.arange(8)).tolist() == [6, 7]
    assert layout.in_other(A, B, np.array([1, 3])).tolist() == []


places = st.sets(st.integers(0, 7)).map(lambda found: np.array(sorted(found), dtype=np.int64))


@given(st.integers(0, 12), st.integers(0, 12), places)
def test_bytes_in_common_are_those_at_the_same_place(a: int, b: int, where: np.ndarray) -> None:
    layout = layout_of(A, B, A=a, B=b)
    both = {a + byte for byte in range(8)} & {b + byte for byte in range(8)}
    assert (B in layout.partners.get(A, [])) == bool(both)
    part = where[layout.part_in(A, B, where)]
    assert [a + int(byte) for byte in part] == [a + int(x) for x in where if a + int(x) in both]
    assert (layout.in_other(A, B, where) + b).tolist() == (part + a).tolist()


@given(places, places)
def test_where_two_footprints_meet(one: np.ndarray, two: np.ndarray) -> None:
    common = meeting(one, two)
    both = sorted({*one.tolist()} & {*two.tolist()})
    assert (common is None) == (both == [])
    if common is not None:
        assert one[common[0]].tolist() == two[common[1]].tolist() == both


@given(places)
def test_a_run_is_a_slice(where: np.ndarray) -> None:
    values = np.arange(100, 108)
    assert values[as_index(where)].tolist() == values[where].tolist()
    assert is_run(where) == (len(where) > 0 and where.tolist() == [*range(where[0], where[-1] + 1)])


def test_of_a_kernel_itself_each_buffer_is_its_own_partner() -> None:
    """At a place of its own, and with all of its bytes in common with itself."""
    layout = ByteLayout.alone({A: 8, B: 8, NONE: 0}, {A: "A", B: "B", NONE: "Z"})
    assert partners(layout) == {"A": ["A"], "B": ["B"]}
    assert dict(layout.offsets) == {A: 0, B: 8, NONE: 16}
    assert (layout.shift(A, A), layout.common(A, A)) == (0, (0, 8))
