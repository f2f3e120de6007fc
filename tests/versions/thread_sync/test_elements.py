"""The elements that two accesses have in what is tried, and whether they meet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Threads
from smemreuse.versions.thread_sync.access_entries import AccessEntry
from smemreuse.versions.thread_sync.active_threads import ActiveThreads
from smemreuse.versions.thread_sync.elements import EntryElements, TriedElements, meet

BUFFER = Buffer("A", "float32", (Const(64),), "shared.dyn")
ACTIVE = ActiveThreads(Threads(np.arange(4)), frozenset(), ())
WRITE, READ = (AccessEntry(BUFFER, is_write, False, Const(0), 4) for is_write in (True, False))

Pair = tuple[EntryElements, EntryElements]


def pair(write: tuple[int, ...], read: tuple[int, ...]) -> Pair:
    """A write and a read of four threads, at these elements of four bytes."""
    one, two = (np.array(index, dtype=np.int64) for index in (write, read))
    return EntryElements(WRITE, ACTIVE, one), EntryElements(READ, ACTIVE, two)


APART = pair((0, 1, 2, 3), (8, 9, 10, 11))
CROSSED = pair((0, 1, 2, 3), (3, 2, 1, 0))


def free(units: int) -> None:
    """Work that costs nothing."""


def tried(*pairs: Pair | None, asked: list[int] | None = None) -> TriedElements:
    """These are tried; `asked` gets the number of each when it is asked for."""

    def source() -> Iterator[Pair | None]:
        for number, one in enumerate(pairs):
            if asked is not None:
                asked.append(number)
            yield one

    return TriedElements(source())


def test_what_is_tried_is_asked_for_once_and_no_further_than_needed() -> None:
    asked: list[int] = []
    found = tried(APART, CROSSED, APART, asked=asked)
    assert found.meet(0, free)
    assert asked == [0, 1]
    assert not found.meet(1024, free)
    assert asked == [0, 1, 2]
    assert found.meet(36, free)
    assert asked == [0, 1, 2]


def test_what_is_not_known_is_told_once_it_is_come_to() -> None:
    found = tried(APART, None)
    assert not found.meet(0, free)
    assert not found.is_understood
    assert found.meet(36, free)
    assert not tried(CROSSED, None).meet(1024, free)
    assert tried(CROSSED, APART).meet(0, free)


def test_nothing_tried_meets_nothing() -> None:
    found = tried()
    assert not found.meet(0, free)
    assert not found.meet(0, free)
    assert found.is_understood


indices = st.tuples(*[st.integers(0, 12)] * 4)


@given(st.lists(st.tuples(indices, indices), max_size=4), st.integers(-12, 12))
def test_the_ends_leave_out_nothing_that_meets(
    drawn: list[tuple[tuple[int, ...], tuple[int, ...]]], shift: int
) -> None:
    pairs = [pair(*one) for one in drawn]
    found = tried(*pairs)
    list(found)
    expected = any(meet(*one, shift * 4) for one in pairs)
    assert found.meet(shift * 4, free) == expected
    assert tried(*pairs).meet(shift * 4, free) == expected
