"""What the arena holds: rule 2, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.memory import Memory
from smemreuse.ir.kernel import Buffer
from tests.checker.small import access, layout_of, shared

A, B, C = shared("A", 8), shared("B", 8), shared("C", 4)
LAYOUT = layout_of(A, B, C, B=4, C=10)
"""B begins with A's second half, and ends with C's first."""

Written = tuple[Buffer, int, int, bool]
"""A buffer, its bytes from here to there, and whether they surely are written."""


def write(memory: Memory, buffer: Buffer, begin: int, end: int, certain: bool = True) -> None:
    memory.write(access(buffer, range(begin, end), is_write=True, certain=certain, event=begin))


def lost(memory: Memory, buffer: Buffer) -> list[int]:
    found: list[int] = memory.lost(access(buffer, range(LAYOUT.sizes[buffer]))).tolist()
    return found


def test_bytes_that_nobody_wrote_are_not_lost() -> None:
    memory = Memory(LAYOUT)
    write(memory, B, 0, 8)
    assert lost(memory, A) == []


def test_a_write_takes_the_bytes_in_common_from_its_partner_alone() -> None:
    memory = Memory(LAYOUT)
    write(memory, A, 0, 8)
    write(memory, B, 2, 8)  # bytes 6 and 7 of A
    assert lost(memory, A) == [6, 7]
    assert lost(memory, B) == []


def test_a_new_value_is_there_again() -> None:
    memory = Memory(LAYOUT)
    write(memory, A, 0, 8)
    write(memory, B, 0, 4)
    write(memory, A, 4, 6)
    assert lost(memory, A) == [6, 7]
    assert lost(memory, B) == [0, 1]


def test_a_write_that_may_not_happen_brings_nothing_back() -> None:
    memory = Memory(LAYOUT)
    write(memory, A, 4, 8)
    write(memory, B, 0, 4)
    write(memory, A, 4, 8, certain=False)
    assert lost(memory, A) == [4, 5, 6, 7]
    assert lost(memory, B) == [0, 1, 2, 3]


def surely_lost(memory: Memory, buffer: Buffer) -> list[int]:
    found: list[int] = memory.shadows[buffer].surely_lost(np.arange(LAYOUT.sizes[buffer])).tolist()
    return found


def test_where_nothing_else_was_written_a_first_value_need_not_be_sure() -> None:
    """If it is not there, the kernel reads what it never wrote, merged or not."""
    memory = Memory(LAYOUT)
    write(memory, A, 0, 8, certain=False)
    write(memory, B, 4, 8)
    assert lost(memory, A) == []


def test_what_may_have_been_the_first_value_may_be_lost() -> None:
    memory = Memory(LAYOUT)
    write(memory, A, 4, 8, certain=False)
    write(memory, B, 0, 4)
    assert lost(memory, A) == [4, 5, 6, 7]
    assert surely_lost(memory, A) == []


def test_what_came_before_the_first_value_does_not_matter() -> None:
    for certain in (True, False):
        memory = Memory(LAYOUT)
        write(memory, B, 0, 4)
        write(memory, A, 4, 8, certain)
        assert lost(memory, A) == []
        write(memory, A, 4, 8, certain=False)
        assert lost(memory, A) == []


def test_a_loss_is_certain_if_the_value_was_there_and_surely_overwritten() -> None:
    for certain in (True, False):
        memory = Memory(LAYOUT)
        write(memory, A, 4, 8)
        write(memory, B, 0, 1, certain)
        assert surely_lost(memory, A) == ([4] if certain else [])


def test_a_loss_is_not_certain_any_more_if_there_may_be_a_new_value() -> None:
    memory = Memory(LAYOUT)
    write(memory, A, 4, 8)
    write(memory, B, 0, 4)
    write(memory, A, 4, 6, certain=False)
    assert lost(memory, A) == [4, 5, 6, 7]
    assert surely_lost(memory, A) == [6, 7]


def test_a_later_doubt_does_not_undo_a_certain_loss() -> None:
    memory = Memory(LAYOUT)
    write(memory, A, 4, 8)
    write(memory, B, 0, 1)
    write(memory, B, 0, 4, certain=False)
    assert surely_lost(memory, A) == [4]
    write(memory, B, 0, 4)
    assert surely_lost(memory, A) == [4, 5, 6, 7]


def test_the_witness_is_of_the_value_that_is_lost() -> None:
    memory = Memory(LAYOUT)
    for buffer, certain, event in ((A, True, 1), (B, False, 2), (A, False, 3), (B, True, 4)):
        memory.write(access(buffer, range(8), is_write=True, certain=certain, event=event))
    shadow = memory.shadows[A]
    assert (shadow.writer[4], shadow.culprit[4]) == (1, 2)


def test_the_witness_knows_who_wrote_and_who_overwrote() -> None:
    memory = Memory(LAYOUT)
    memory.write(access(A, range(8), is_write=True, event=3))
    memory.write(access(B, range(4), is_write=True, event=5))
    shadow = memory.shadows[A]
    assert (shadow.writer[4], shadow.culprit[4]) == (3, 5)
    assert (shadow.writer[0], shadow.culprit[0]) == (3, -1)


def test_where_one_way_lost_the_value_the_witness_is_of_that_way() -> None:
    intact = Memory(LAYOUT)
    write(intact, A, 4, 8)
    overwritten = intact.copy()
    overwritten.write(access(B, range(4), is_write=True, event=9))
    for joined in (intact.joined(overwritten), overwritten.joined(intact)):
        assert lost(joined, A) == [4, 5, 6, 7]
        assert joined.shadows[A].culprit[4:].tolist() == [9] * 4
        assert surely_lost(joined, A) == []


def test_behind_a_join_a_loss_is_certain_if_it_is_in_both_arms() -> None:
    written = Memory(LAYOUT)
    write(written, A, 4, 8)
    arms = {certain: written.copy() for certain in (True, False)}
    for certain, arm in arms.items():
        write(arm, B, 0, 1, certain)
    for one, two in ((True, True), (True, False), (False, True), (False, False)):
        joined = arms[one].joined(arms[two])
        assert lost(joined, A) == [4]
        assert surely_lost(joined, A) == ([4] if one and two else [])


def test_memories_differ_in_what_may_be_there() -> None:
    empty, possible, there, gone = (Memory(LAYOUT) for _ in range(4))
    write(possible, C, 2, 3, certain=False)
    write(there, C, 2, 3)
    write(gone, C, 2, 3)
    write(gone, B, 6, 8)
    everything = (empty, possible, there, gone)
    for number, one in enumerate(everything):
        assert [one.same(two) for two in everything] == [number == at for at in range(4)]


def test_a_copy_changes_alone() -> None:
    memory = Memory(LAYOUT)
    write(memory, A, 4, 8)
    twin = memory.copy()
    assert twin.same(memory)
    write(twin, B, 0, 4)
    assert lost(memory, A) == []
    assert not twin.same(memory)


# A join claims no more than either side -----------------------------------------------------------

one_write = st.tuples(
    st.sampled_from([A, B, C]), st.integers(0, 3), st.integers(4, 8), st.booleans()
)
writes = st.lists(one_write, max_size=4)


def run(memory: Memory, steps: Sequence[Written]) -> Memory:
    memory = memory.copy()
    for buffer, begin, end, certain in steps:
        write(memory, buffer, begin, min(end, LAYOUT.sizes[buffer]), certain)
    return memory


def claims(memory: Memory) -> set[tuple[str, str, int]]:
    """The bytes that may be read, and those that are surely lost."""
    found = set()
    for buffer in (A, B, C):
        complained = set(lost(memory, buffer))
        found |= {("read", buffer.name, byte) for byte in range(8) if byte not in complained}
        found |= {("lost", buffer.name, byte) for byte in surely_lost(memory, buffer)}
    return found


@settings(max_examples=60, deadline=None)
@given(writes, writes, writes, writes)
def test_a_join_claims_no_more_than_either_side_now_and_later(
    before: list[Written], one: list[Written], other: list[Written], after: list[Written]
) -> None:
    start = run(Memory(LAYOUT), before)
    left, right = run(start, one), run(start, other)
    joined = run(left.joined(right), after)
    assert claims(joined) <= claims(run(left, after)) & claims(run(right, after))


@given(writes, writes)
def test_a_join_is_the_same_from_both_sides(one: list[Written], other: list[Written]) -> None:
    left, right = run(Memory(LAYOUT), one), run(Memory(LAYOUT), other)
    assert claims(left.joined(right)) == claims(right.joined(left))
    assert left.joined(left).same(left)


@given(writes)
def test_what_is_surely_lost_is_lost(steps: list[Written]) -> None:
    memory = run(Memory(LAYOUT), steps)
    for buffer in (A, B, C):
        assert {*surely_lost(memory, buffer)} <= {*lost(memory, buffer)}


@given(writes, writes)
def test_a_write_that_may_not_happen_is_as_a_join_of_both(
    before: list[Written], steps: list[Written]
) -> None:
    """Byte by byte, as a set of bytes may be written in part."""
    memory = run(Memory(LAYOUT), before)
    for buffer, begin, end, _ in steps:
        surely = run(memory, [(buffer, begin, end, True)])
        perhaps = run(memory, [(buffer, begin, end, False)])
        assert perhaps.same(memory.joined(surely))
        memory = perhaps


def test_of_a_kernel_itself_nothing_is_lost_and_what_is_unwritten_is_known() -> None:
    memory = Memory(ByteLayout.alone({A: 8}, {A: "A"}))
    write(memory, A, 0, 4)
    write(memory, A, 4, 6, certain=False)
    read = access(A, range(8))
    assert memory.unwritten(read).tolist() == [4, 5, 6, 7]
    assert memory.lost(read).tolist() == []
    other = memory.copy()
    write(other, A, 4, 8)
    assert other.unwritten(read).tolist() == []
    assert memory.joined(other).unwritten(read).tolist() == [4, 5, 6, 7]


def test_what_was_joined_changes_alone() -> None:
    """Neither side is written to where the join is, nor the join where a side is."""
    one = Memory(LAYOUT)
    write(one, A, 0, 8)
    other = one.copy()
    write(other, C, 0, 4)
    joined = one.joined(other)
    write(joined, B, 0, 4)
    assert (lost(one, A), lost(other, A), lost(joined, A)) == ([], [], [4, 5, 6, 7])
    write(one, B, 0, 1)
    write(other, B, 1, 2)
    assert (lost(one, A), lost(other, A), lost(joined, A)) == ([4], [5], [4, 5, 6, 7])
