"""Gen, kill, live ranges and peak live, by hand and against brute force."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.analysis.liveness import live_ranges, peak_live
from smemreuse.ir.kernel import Allocate, Buffer, Kernel
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.results.sequence import Linearization, LiveRange
from tests.analysis.trees import launch, live, load, loop, shared, store
from tests.random_kernels.trees import trees

A, B, C = shared("A"), shared("B"), shared("C")
ALLOC = (Allocate(A), Allocate(B), Allocate(C))


def test_a_loop_is_one_event_for_outer_and_many_for_inner() -> None:
    tree = launch(*ALLOC, loop(store(A), store(B, load(A))))
    assert live(tree) == {"A": [1, 3], "B": [1, 3]}
    assert live(tree, policy="inner") == {"A": [2, 4], "B": [3, 4]}


def test_gen_acts_at_a_scopes_beginning_and_kill_at_its_end() -> None:
    tree = launch(*ALLOC, loop(store(A)), loop(store(B)), loop(store(C, load(A))))
    assert live(tree) == {"A": [1, 7], "B": [3, 5], "C": [5, 7]}


def test_a_leaf_that_is_both_gen_and_kill_lives_for_one_position() -> None:
    assert live(launch(*ALLOC, store(A))) == {"A": [1, 2]}


def test_on_one_leaf_what_dies_and_what_is_born_overlap() -> None:
    tree = launch(*ALLOC, store(A), store(B, load(A)), store(C, load(B)))
    assert live(tree) == {"A": [1, 3], "B": [2, 4], "C": [3, 4]}


def test_a_buffer_that_nothing_touches_has_no_range() -> None:
    tree = launch(*ALLOC, store(A))
    plan = plan_kernel(Kernel("k", (tree,)), "shared.dyn", policy="outer")
    assert set(live(tree)) == {"A"}
    assert [buffer.name for buffer in plan.offsets] == ["A"]
    assert plan.arena_bytes == 64


def test_the_half_open_ends_do_not_overlap() -> None:
    first, second = LiveRange(A, 0, 3), LiveRange(B, 3, 4)
    assert not first.overlaps(second)
    assert not second.overlaps(first)
    assert first.overlaps(LiveRange(C, 2, 9))
    assert (first.gen, first.kill) == (0, 2)


def brute_force(sequence: Linearization) -> dict[Buffer, tuple[int, int]]:
    """First and last entry that touch a buffer; a scope's touches begin where it does."""
    touched: dict[Buffer, list[tuple[int, int]]] = {}
    for position, entry in enumerate(sequence.entries):
        begin = position + min(entry.scope_pair_offset, 0)
        for touch in entry.touched:
            touched.setdefault(touch.buffer, []).append((begin, position))
    return {
        buffer: (min(begin for begin, _ in spans), max(end for _, end in spans) + 1)
        for buffer, spans in touched.items()
    }


@given(kernel=trees())
@settings(max_examples=150, deadline=None)
def test_ranges_agree_with_brute_force_and_inner_lies_within_outer(kernel: Kernel) -> None:
    for scope in ("shared.dyn", "shared"):
        found = {}
        for policy in ("outer", "inner"):
            sequence = sequence_of(kernel, scope, policy)[0]
            ranges = live_ranges(sequence.entries)
            assert {b: (r.begin, r.end) for b, r in ranges.items()} == brute_force(sequence)
            assert [r.gen for r in ranges.values()] == sorted(r.gen for r in ranges.values())
            for found_range in ranges.values():
                assert found_range.gen <= found_range.kill < len(sequence.entries)
            found[policy] = {
                buffer: (sequence.entries[r.gen].stmt, sequence.entries[r.kill].stmt, r)
                for buffer, r in ranges.items()
            }
        assert found["inner"].keys() == found["outer"].keys()
        inner = sequence_of(kernel, scope, "inner")[0].entries
        places: dict[object, list[int]] = {}
        for position, entry in enumerate(inner):
            places.setdefault(entry.stmt, []).append(position)
        for buffer, (gen, kill, _) in found["outer"].items():
            # The statements of outer's events, looked up in inner's sequence, enclose inner's.
            tight = found["inner"][buffer][2]
            if gen in places and kill in places:
                assert places[gen][0] <= tight.begin
                assert tight.end <= places[kill][-1] + 1


@given(
    spans=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(0, 2**40))),
)
def test_peak_live_is_the_largest_sum_at_one_position(spans: list[tuple[int, int, int]]) -> None:
    buffers = [shared(f"b{index}") for index in range(len(spans))]
    ranges = [
        LiveRange(buffer, begin, begin + length)
        for buffer, (begin, length, _) in zip(buffers, spans, strict=True)
    ]
    sizes = {buffer: size for buffer, (_, _, size) in zip(buffers, spans, strict=True)}
    at_each = (
        sum(sizes[r.buffer] for r in ranges if r.begin <= position < r.end)
        for position in range(30)
    )
    assert peak_live(ranges, sizes) == max(at_each)


def test_the_peak_of_nothing_is_0() -> None:
    assert peak_live([], {}) == 0


@given(kernel=trees())
@settings(max_examples=60, deadline=None)
def test_the_bound_of_a_plan_is_its_peak_live(kernel: Kernel) -> None:
    for policy in ("outer", "inner"):
        plan = plan_kernel(kernel, "shared.dyn", policy=policy)
        sizes = {buffer: buffer.size or 0 for buffer in plan.buffers}
        assert plan.lower_bound_bytes == peak_live(plan.live.values(), sizes)
        assert plan.arena_bytes >= plan.lower_bound_bytes
