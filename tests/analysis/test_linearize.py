"""The linear sequence: TVM's scopes, levels and touches, by hand and on random trees."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from smemreuse.facts import facts_of
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, walk
from smemreuse.ir.kernel import (
    WARP_SPECIALIZATION,
    Allocate,
    Assert,
    Attr,
    Bind,
    Buffer,
    Declare,
    Evaluate,
    If,
    Kernel,
    Stmt,
    Store,
    expressions_of,
    walk_statements,
)
from smemreuse.pipeline.planning import sequence_of
from smemreuse.results.sequence import Linearization
from tests.analysis.trees import (
    ZERO,
    access_ptr,
    attr,
    call,
    launch,
    levels,
    live,
    load,
    loop,
    repeat,
    rows,
    shared,
    store,
)
from tests.random_kernels.trees import trees

A, B = shared("A"), shared("B")
ALLOC = (Allocate(A), Allocate(B))
SCOPES = ("shared.dyn", "shared", "shared.barrier")


# Scopes and levels ----------------------------------------------------------------------------


def test_outer_records_on_the_scope_where_the_buffer_is_allocated() -> None:
    tree = launch(*ALLOC, loop(loop(store(A))), loop(store(B, load(A))))
    assert rows(tree) == [
        "AttrStmt +7",
        "For +3",
        "For +1",
        "For -1",
        "For -3: A",
        "For +1",
        "For -1: A B",
        "AttrStmt -7",
    ]


def test_inner_records_on_the_leaf() -> None:
    tree = launch(*ALLOC, loop(loop(store(A))), loop(store(B, load(A))))
    assert rows(tree, policy="inner") == [
        "AttrStmt +9",
        "For +4",
        "For +2",
        "BufferStore 0: A",
        "For -2",
        "For -4",
        "For +2",
        "BufferStore 0: A B",
        "For -2",
        "AttrStmt -9",
    ]


def test_an_allocation_inside_a_loop_has_the_loop_as_its_level() -> None:
    inner = (Allocate(A), store(A), loop(store(A)))
    tree = launch(Allocate(B), loop(*inner), store(B))
    assert levels((tree,)) == {"B": 1, "A": 2}
    assert rows(tree) == [
        "AttrStmt +7",
        "For +4",
        "BufferStore 0: A",
        "For +1",
        "For -1: A",
        "For -4",
        "BufferStore 0: B",
        "AttrStmt -7",
    ]


def test_without_a_launch_the_top_level_is_0() -> None:
    assert levels(ALLOC) == {"A": 0, "B": 0}
    assert rows(*ALLOC, loop(store(A))) == ["For +1", "For -1: A"]


def test_a_leaf_at_the_level_of_its_allocation_keeps_the_touch() -> None:
    assert rows(*ALLOC, store(A)) == ["BufferStore 0: A"]


def test_only_the_outermost_thread_axis_is_a_scope() -> None:
    tree = launch(*ALLOC, launch(launch(store(A))))
    assert rows(tree) == ["AttrStmt +2", "BufferStore 0: A", "AttrStmt -2"]


def test_thread_axes_one_after_the_other_are_both_scopes() -> None:
    assert rows(*ALLOC, launch(store(A)), launch(store(B))) == [
        "AttrStmt +1",
        "AttrStmt -1: A",
        "AttrStmt +1",
        "AttrStmt -1: B",
    ]


@pytest.mark.parametrize("key", ["virtual_thread", "extern_scope"])
def test_virtual_threads_and_extern_scopes_are_scopes(key: str) -> None:
    tree = launch(*ALLOC, attr(key, store(A)))
    assert rows(tree) == ["AttrStmt +3", "AttrStmt +1", "AttrStmt -1: A", "AttrStmt -3"]


@pytest.mark.parametrize("key", ["lexical_alloc_scope", "pragma_unroll", "storage_alignment"])
def test_other_attributes_are_no_scopes(key: str) -> None:
    assert rows(launch(*ALLOC, attr(key, store(A)))) == [
        "AttrStmt +2",
        "BufferStore 0: A",
        "AttrStmt -2",
    ]


def test_the_arms_of_a_warp_specialization_stand_one_after_the_other() -> None:
    arms = If(load(B), (loop(store(A)),), (loop(store(B)),))
    assert rows(launch(*ALLOC, attr(WARP_SPECIALIZATION, arms))) == [
        "AttrStmt +5",
        "For +1",
        "For -1: A",
        "For +1",
        "For -1: B",
        "AttrStmt -5",
    ]


def test_a_branch_inside_an_arm_is_a_scope_again() -> None:
    inner = If(Const(1), (store(A),))
    arms = If(Const(1), (inner,))
    tree = launch(*ALLOC, attr(WARP_SPECIALIZATION, attr("lexical_alloc_scope", arms)))
    assert rows(tree) == ["AttrStmt +3", "IfThenElse +1", "IfThenElse -1: A", "AttrStmt -3"]


def test_both_arms_of_a_branch_are_in_one_scope() -> None:
    tree = launch(*ALLOC, If(Const(1), (store(A),), (store(B),)))
    assert rows(tree) == ["AttrStmt +3", "IfThenElse +1", "IfThenElse -1: A B", "AttrStmt -3"]
    assert rows(tree, policy="inner") == [
        "AttrStmt +5",
        "IfThenElse +3",
        "BufferStore 0: A",
        "BufferStore 0: B",
        "IfThenElse -3",
        "AttrStmt -5",
    ]


def test_an_assertion_is_a_scope() -> None:
    tree = launch(*ALLOC, Assert(Call("lt", (load(A), ZERO))))
    assert rows(tree) == ["AttrStmt +3", "AssertStmt +1", "AssertStmt -1: A", "AttrStmt -3"]


# Where expressions stand ----------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["outer", "inner"])
@pytest.mark.parametrize(
    ("scope", "node"),
    [
        (loop(extent=load(A)), "For"),
        (If(load(A), ()), "IfThenElse"),
        (repeat(load(A)), "While"),
        (attr("virtual_thread", value=load(A)), "AttrStmt"),
    ],
    ids=["extent", "condition", "while", "attribute"],
)
def test_a_header_that_reads_touches_its_own_scope(scope: Stmt, node: str, policy: str) -> None:
    assert rows(launch(*ALLOC, scope), policy=policy)[1:-1] == [f"{node} +1", f"{node} -1: A"]


def test_a_while_condition_is_read_at_its_end_so_it_outlives_the_body() -> None:
    tree = launch(*ALLOC, repeat(load(A), store(B)))
    assert live(tree, policy="inner") == {"A": [1, 4], "B": [2, 3]}


def test_a_bound_value_is_read_where_it_is_bound() -> None:
    value = Var("v")
    tree = launch(*ALLOC, store(A), loop(Bind(value, load(A)), store(B, value)))
    assert rows(tree, policy="inner")[2:5] == ["For +2", "BufferStore 0: B", "For -2: A"]


def test_a_bound_value_outside_of_all_scopes_is_a_leaf() -> None:
    assert rows(*ALLOC, Bind(Var("v"), load(A)))[0] == "Bind 0: A"


def test_an_attribute_that_is_no_scope_touches_the_open_one() -> None:
    tree = launch(*ALLOC, loop(attr("pragma", store(B), value=load(A))))
    assert rows(tree, policy="inner")[1:4] == ["For +2", "BufferStore 0: B", "For -2: A"]


def test_a_store_touches_value_then_indices_then_target() -> None:
    c, d = shared("C"), shared("D")
    nested = store(A, load(B, load(c)), load(d))
    tree = launch(*ALLOC, Allocate(c), Allocate(d), nested)
    assert rows(tree)[1] == "BufferStore 0: C B D A"


def test_the_predicate_of_a_store_is_read() -> None:
    predicated = Store(A, (ZERO,), ZERO, load(B))
    assert rows(launch(*ALLOC, predicated))[1] == "BufferStore 0: B A"


def test_a_leaf_that_touches_nothing_has_no_entry() -> None:
    local = shared("L", scope="local")
    tree = launch(*ALLOC, Allocate(local), store(local), call(Const("f")))
    assert rows(tree) == ["AttrStmt +1", "AttrStmt -1"]


def test_other_scopes_do_not_count() -> None:
    static = shared("S", scope="shared")
    tree = launch(*ALLOC, Allocate(static), store(static, load(A)))
    assert rows(tree)[1] == "BufferStore 0: A"
    assert rows(tree, scope="shared")[1] == "BufferStore 0: S"


# Views and pointers ---------------------------------------------------------------------------


def test_views_of_views_touch_the_allocation() -> None:
    view = Buffer("v", "float32", (Const(4),), "shared.dyn", A)
    again = Buffer("w", "float16", (Const(4),), "shared.dyn", view)
    tree = launch(*ALLOC, Declare(view), Declare(again), store(again, load(view)))
    assert rows(tree)[1] == "BufferStore 0: A A"


def test_a_bound_pointer_counts_where_it_is_used() -> None:
    pointer = Var("p")
    view = Buffer("v", "uint8", (Const(4),), "shared.dyn", pointer)
    tree = launch(*ALLOC, Bind(pointer, Pointer(A)), store(B), Declare(view), store(view))
    assert rows(tree) == ["AttrStmt +3", "BufferStore 0: B", "BufferStore 0: A", "AttrStmt -3"]


def test_a_pointer_that_may_be_either_touches_both() -> None:
    pointer = Var("p")
    either = Call("if_then_else", (Const(1), Pointer(A), Pointer(B)))
    assert rows(launch(*ALLOC, Bind(pointer, either), call(pointer)))[1] == "Evaluate 0: A B"


def test_a_call_whose_result_is_bound_accesses_what_it_is_given() -> None:
    """Rule 1. `old = atomic_add(address_of(A), 1)` happens here, even if nobody reads `old`."""
    result = Call("call_extern", (Const("int32"), Const("f"), access_ptr(A, Const(3))))
    tree = launch(*ALLOC, Bind(Var("old"), result), store(B))
    touched = [row.partition(": ")[2] for row in rows(tree, policy="inner")]
    assert "A" in touched


def test_a_call_whose_result_is_bound_accesses_its_operands_there_and_not_later() -> None:
    """Rule 1. Counted only where `old` is used, it would leave A's bytes free in between."""
    old = Var("old")
    result = Call("atomic_add_ret", (Call("address_of", (load(A),)), Const(1)))
    tree = launch(*ALLOC, loop(Bind(old, result), store(B), store(B, old)))
    assert live(tree, policy="inner")["A"][0] <= 2 < live(tree, policy="inner")["A"][1]


def test_contents_read_to_compute_a_bound_address_are_read() -> None:
    """Rule 1. `p = address_of(A[B[0]])` reads B."""
    pointer = Var("p")
    address = Call("address_of", (load(A, load(B)),))
    tree = launch(*ALLOC, loop(Bind(pointer, address), call(pointer)))
    assert "B" in live(tree)


# Invariants on random trees -------------------------------------------------------------------


def assert_well_formed(sequence: Linearization) -> None:
    """Pairs match and nest; leaves have offset 0; touches stand on leaves and scope ends."""
    entries = sequence.entries
    opened: list[int] = []
    for position, entry in enumerate(entries):
        offset = entry.scope_pair_offset
        if offset == 0:
            assert entry.touched, "a leaf that touches nothing has no entry"
            assert isinstance(entry.stmt, (Store, Evaluate, Bind))
            continue
        partner = entries[position + offset]
        assert partner.scope_pair_offset == -offset
        assert partner.stmt is entry.stmt
        if offset > 0:
            assert not entry.touched
            opened.append(position)
        else:
            assert opened.pop() == position + offset
    assert not opened


@given(kernel=trees())
@settings(max_examples=80, deadline=None)
def test_sequences_are_well_formed_and_record_every_access(kernel: Kernel) -> None:
    for scope in SCOPES:
        counts = []
        for policy in ("outer", "inner"):
            sequence = sequence_of(kernel, scope, policy)[0]
            assert_well_formed(sequence)
            assert set(sequence.alloc_level) == set(kernel.allocations(scope))
            touches = [touch for entry in sequence.entries for touch in entry.touched]
            assert {touch.buffer for touch in touches} <= set(sequence.alloc_level)
            counts.append(Counter((touch.buffer, touch.access, touch.expr) for touch in touches))
        assert counts[0] == counts[1], "the policies differ in where, never in what"
        assert not mentioned(kernel, scope) - {buffer for buffer, _, _ in counts[0]}


def mentioned(kernel: Kernel, scope: str) -> set[Buffer]:
    """Allocations that a store or an evaluated expression names by themselves or by a view."""
    found: set[Buffer | Var] = set()
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, (Store, Evaluate)):
            exprs: list[Expr] = [part for expr in expressions_of(stmt) for part in walk(expr)]
            found.update(expr.buffer.storage for expr in exprs if isinstance(expr, (Load, Pointer)))
        if isinstance(stmt, Store):
            found.add(stmt.buffer.storage)
    return {buffer for buffer in kernel.allocations(scope) if buffer in found}


@given(kernel=trees())
@settings(max_examples=100, deadline=None)
def test_inner_touches_only_what_a_statement_itself_names(kernel: Kernel) -> None:
    for entry in sequence_of(kernel, "shared.dyn", "inner")[0].entries:
        if entry.scope_pair_offset == 0:
            parts = {id(part) for expr in expressions_of(entry.stmt) for part in walk(expr)}
            for touch in entry.touched:
                assert touch.expr is entry.stmt or id(touch.expr) in parts


@given(kernel=trees())
@settings(max_examples=100, deadline=None)
def test_levels_are_the_number_of_open_scopes(kernel: Kernel) -> None:
    """Against a count made from the sequence of another scope's view: depth at each statement."""
    for scope in SCOPES:
        sequence = sequence_of(kernel, scope, "inner")[0]
        assert sequence.alloc_level == dict(_levels(kernel.body, 0, False, scope))


def _levels(
    block: tuple[Stmt, ...], depth: int, launched: bool, scope: str
) -> list[tuple[Buffer, int]]:
    found: list[tuple[Buffer, int]] = []
    for stmt in block:
        if isinstance(stmt, Allocate):
            if stmt.buffer.scope == scope:
                found.append((stmt.buffer, depth))
        elif isinstance(stmt, Attr):
            outermost = stmt.key == "thread_extent" and not launched
            deeper = depth + (outermost or stmt.key in ("virtual_thread", "extern_scope"))
            if stmt.key == WARP_SPECIALIZATION:
                (arms,) = stmt.body
                assert isinstance(arms, If)
                found += _levels((*arms.then, *arms.orelse), depth, launched, scope)
            else:
                found += _levels(stmt.body, deeper, launched or outermost, scope)
        elif isinstance(stmt, If):
            found += _levels((*stmt.then, *stmt.orelse), depth + 1, launched, scope)
        elif hasattr(stmt, "body"):
            found += _levels(stmt.body, depth + 1, launched, scope)
    return found


def test_what_goes_by_an_address_that_was_kept_is_no_touch() -> None:
    """The call may find it in the cell; the compilers' passes see the mention before alone."""
    cell = Buffer("cell", "uint64", (Const(1),), "local")
    kept = Store(cell, (ZERO,), access_ptr(A, Const(3)))
    later = call(Const(1))
    kernel = Kernel("k", (launch(*ALLOC, Allocate(cell), kept, later, store(B)),))
    assert A in facts_of(kernel).pointers.kept
    assert [one.buffer for one in facts_of(kernel).accesses[later]] == [A]
    for policy in ("outer", "inner"):
        assert rows(*kernel.body, policy=policy) == [
            "AttrStmt +3",
            "BufferStore 0: A",
            "BufferStore 0: B",
            "AttrStmt -3",
        ]
    proved = sequence_of(kernel, "shared.dyn", "dataflow")[1]
    assert proved[A].overlaps(proved[B])
