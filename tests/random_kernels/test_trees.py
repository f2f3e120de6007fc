"""Trees keep to their grammar; those for a compiler can be built from its objects."""

from __future__ import annotations

from collections import Counter

import pytest

from smemreuse.ir.expr import Call, Const, Load, Pointer, walk
from smemreuse.ir.kernel import (
    Allocate,
    Assert,
    Attr,
    Declare,
    For,
    Kernel,
    Store,
    expressions_of,
    walk_statements,
)
from tests.random_kernels.choices import source_of
from tests.random_kernels.trees import (
    ANYTHING,
    MAX_ALLOCATIONS,
    Grammar,
    grow_module,
    grow_tree,
)

GRAMMAR = Grammar(
    dtypes=("int8", "float32"), scopes=("shared",), attributes=("pragma",), least_bytes=8
)
SEEDS = range(40)


def statements(kernel: Kernel) -> Counter[str]:
    return Counter(type(stmt).__name__ for stmt in walk_statements(kernel.body))


def test_anything_has_everything() -> None:
    found: Counter[str] = Counter()
    for seed in SEEDS:
        found += statements(grow_tree(source_of(seed)))
    assert {*found} == {
        *("Allocate", "Assert", "Attr", "Bind", "Declare"),
        *("Evaluate", "For", "If", "Store", "While"),
    }


@pytest.mark.parametrize("launched", [True, False])
def test_a_launch_comes_as_asked_for(launched: bool) -> None:
    for seed in SEEDS:
        last = grow_tree(source_of(seed), launched=launched).body[-1:]
        is_launch = any(isinstance(one, Attr) and one.node == Const("blockIdx.x") for one in last)
        assert is_launch is launched


def test_a_module_keeps_to_its_grammar() -> None:
    for seed in SEEDS:
        for kernel in grow_module(source_of(seed), GRAMMAR):
            allocated = kernel.allocations()
            assert 2 <= len(allocated) <= MAX_ALLOCATIONS
            assert len({one.name for one in allocated}) == len(allocated)
            assert {one.dtype for one in allocated} <= {*GRAMMAR.dtypes}
            assert {one.scope for one in allocated} == {"shared"}
            assert all((one.size or 0) >= 8 for one in allocated)
            for stmt in walk_statements(kernel.body):
                assert not isinstance(stmt, Assert)
                assert not isinstance(stmt, Attr) or stmt.key in ("pragma", "thread_extent")
                assert not isinstance(stmt, For) or stmt.kind == "serial"


def test_nothing_is_known_of_a_module_s_values() -> None:
    """An access is at index 0, or at one that a call computes; a stored value is a call's."""
    for seed in SEEDS:
        for kernel in grow_module(source_of(seed), GRAMMAR):
            for stmt in walk_statements(kernel.body):
                if isinstance(stmt, Store):
                    assert stmt.indices == (Const(0),)
                    assert isinstance(stmt.value, Call)
                for expr in expressions_of(stmt):
                    loads = (part for part in walk(expr) if isinstance(part, Load))
                    for (index,) in (load.indices for load in loads):
                        assert index == Const(0) or isinstance(index, Call)


@pytest.mark.parametrize("grammar", [GRAMMAR, ANYTHING])
def test_a_buffer_is_named_where_it_is_visible(grammar: Grammar) -> None:
    """Allocated or declared before, in this block or one around it."""

    def visit(block: tuple[object, ...], visible: frozenset[object]) -> None:
        for stmt in block:
            if isinstance(stmt, (Allocate, Declare)):
                visible |= {stmt.buffer}
                continue
            for expr in expressions_of(stmt):  # type: ignore[arg-type]
                for part in walk(expr):
                    assert not isinstance(part, (Load, Pointer)) or part.buffer in visible
            for inner in ("body", "then", "orelse"):
                visit(getattr(stmt, inner, ()), visible)

    for seed in SEEDS:
        opaque = grammar.is_opaque
        kernels = grow_module(source_of(seed), grammar) if opaque else [grow_tree(source_of(seed))]
        for kernel in kernels:
            visit(kernel.body, frozenset())
