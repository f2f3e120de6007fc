"""TileLang's aggressive option, faults included: parity is what is tested, not soundness.

The expectations follow `SharedMemoryRewriter::LivenessAnalysis` of TileLang 0.1.15: the inner
policy's events, and a kill whose loop level is deeper than the gen's goes to the last statement
with an event before one at the gen's level. Only a loop whose body is a sequence counts as a level.
"""

from __future__ import annotations

from hypothesis import given, settings

from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Allocate, If, Kernel, Stmt
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.versions.merges.tilelang import pass_live_ranges
from tests.analysis.trees import launch, load, loop, shared, store
from tests.random_kernels.trees import trees

A, B, C = shared("A"), shared("B"), shared("C")
ALLOC = (Allocate(A), Allocate(B), Allocate(C))


def moved(*body: Stmt, stops_at_gens: bool = False) -> dict[str, list[int]]:
    kernel = Kernel("k", (launch(*ALLOC, *body),))
    sequence = sequence_of(kernel, "shared.dyn", "inner")[0]
    ranges = pass_live_ranges(kernel.body, sequence, stops_at_gens=stops_at_gens)
    return {buffer.name: [live.begin, live.end] for buffer, live in ranges.items()}


def test_at_one_level_nothing_moves() -> None:
    assert moved(store(A), store(B, load(A)), store(C)) == {"A": [1, 3], "B": [2, 3], "C": [3, 4]}


def test_a_kill_in_a_deeper_loop_moves_to_the_last_event_inside_it() -> None:
    # 1 A=  2 for  3 B=A  4 C=  5 end  6 C=
    body = (store(A), loop(store(B, load(A)), store(C)), store(C))
    assert moved(*body) == {"A": [1, 5], "B": [3, 4], "C": [4, 7]}


def test_up_to_0_1_10_it_moves_no_further_than_where_another_buffer_begins() -> None:
    # 1 A=  2 for  3 B=A  4 C=  5 end  6 C=: A is freed before C begins, and read in the next round
    body = (store(A), loop(store(B, load(A)), store(C)), store(C))
    assert moved(*body, stops_at_gens=True) == {"A": [1, 4], "B": [3, 4], "C": [4, 7]}
    # 1 A=  2 B=  3 for  4 =A  5 =B  6 end  7 C=: nothing begins in the loop
    alone = (store(A), store(B), loop(store(B, load(A)), store(B)), store(C))
    assert moved(*alone, stops_at_gens=True) == moved(*alone)


def test_a_loop_of_one_statement_is_no_level() -> None:
    # 1 A=  2 for  3 B=A  4 end  5 C=
    assert moved(store(A), loop(store(B, load(A))), store(C))["A"] == [1, 4]


def test_a_branch_with_a_sequence_makes_its_loop_a_level() -> None:
    # 1 A=  2 for  3 if  4 B=A  5 C=  6 end if  7 end for  8 C=
    branch = If(Const(1), (store(B, load(A)), store(C)))
    assert moved(store(A), loop(branch), store(C))["A"] == [1, 6]


def test_a_kill_that_is_shallower_than_its_gen_stays() -> None:
    # 1 for  2 A=  3 B=  4 end  5 B=A
    assert moved(loop(store(A), store(B)), store(B, load(A)))["A"] == [2, 6]


def test_packer_tilelang_under_inner_is_the_aggressive_option() -> None:
    kernel = Kernel("k", (launch(*ALLOC, store(A), loop(store(B, load(A)), store(C)), store(C)),))
    aggressive = plan_kernel(kernel, "shared.dyn", policy="inner", packer="tilelang")
    inner = plan_kernel(kernel, "shared.dyn", policy="inner", packer="best")
    assert {b.name: r.end for b, r in aggressive.live.items()} == {"A": 5, "B": 4, "C": 7}
    assert {b.name: r.end for b, r in inner.live.items()} == {"A": 4, "B": 4, "C": 7}


@given(kernel=trees())
@settings(max_examples=100, deadline=None)
def test_it_moves_kills_only_outwards_and_gens_never(kernel: Kernel) -> None:
    sequence = sequence_of(kernel, "shared.dyn", "inner")[0]
    inner = plan_kernel(kernel, "shared.dyn", policy="inner").live
    ranges = pass_live_ranges(kernel.body, sequence)
    assert ranges.keys() == inner.keys()
    for buffer, found in ranges.items():
        assert found.begin == inner[buffer].begin
        assert found.begin < found.end <= len(sequence.entries)
        assert found.end >= inner[buffer].end
