"""Where statements stand, and what is put in between."""

from __future__ import annotations

import pytest

from smemreuse.ir.kernel import For, If, Stmt, walk_statements
from smemreuse.ir.labels import label
from smemreuse.mender.tree import StatementTree, last_of, with_insertions
from smemreuse.results.mending import Inserted, Insertion
from smemreuse.semantics.synchronizing import proxy_fence
from tests.checker.small import arms, kernel_of, under

BODY = (
    "As[tx] = 0\n"
    + under(
        "for k in range(4)", "As[tx] = 1\n" + under("if tx < 32", "As[tx] = 2\n") + "As[tx] = 3\n"
    )
    + arms("As[tx] = 4\n", "As[tx] = 5\n")
    + under("if tx == 0", "As[tx] = 6\n").rstrip()
    + "\nelse:\n    As[tx] = 7\n"
)
KERNEL = kernel_of(BODY)
TREE = StatementTree(KERNEL.body)
STORES = {
    int(label(stmt).split(" = ")[1]): stmt
    for stmt in walk_statements(KERNEL.body)
    if label(stmt).startswith("As[tx] = ")
}
LOOP = next(stmt for stmt in walk_statements(KERNEL.body) if isinstance(stmt, For))


def named(statements: list[Stmt]) -> list[int]:
    return [number for stmt in statements for number, one in STORES.items() if one is stmt]


def test_loops_around() -> None:
    assert TREE.loops(STORES[2]) == [LOOP]
    assert TREE.loops(STORES[0]) == []


def test_behind_a_statement_a_loop_comes_to_its_beginning_again() -> None:
    nearest = list(TREE.after(STORES[3]))
    assert nearest[0] is STORES[1]
    assert LOOP not in nearest
    assert named(list(TREE.after(STORES[1])))[0] == 3
    assert STORES[0] not in list(TREE.after(STORES[4]))


def test_the_innermost_block_that_holds_two() -> None:
    spots = TREE.common(STORES[1], STORES[2])
    assert spots is not None
    assert spots[0].stmt is STORES[1]
    assert isinstance(spots[1].stmt, If)
    assert not TREE.in_two_arms(STORES[1], STORES[2])
    assert not TREE.in_two_arms(STORES[4], STORES[5])
    assert TREE.in_two_arms(STORES[6], STORES[7])


def test_a_statement_of_another_kernel_is_nowhere() -> None:
    (other, *_) = walk_statements(kernel_of(BODY).body)
    assert TREE.path(other) == ()
    assert TREE.common(other, STORES[1]) is None


def test_the_end_of_what_is_annotated_to_the_end_of_a_block() -> None:
    kernel = kernel_of('As[tx] = 1\nT.attr(0, "remark", 1)\nAs[tx] = 2\n')
    assert label(last_of(kernel.body)) == "As[tx] = 2"


@pytest.mark.parametrize("number", STORES)
@pytest.mark.parametrize("behind", [False, True])
def test_what_is_put_in_stands_beside_its_statement(number: int, behind: bool) -> None:
    anchor = STORES[number]
    insertion = Insertion(anchor, behind, (Inserted(proxy_fence()), Inserted(proxy_fence())))
    body, origins = with_insertions(KERNEL.body, [insertion])
    order = [label(stmt) for stmt in walk_statements(body)]
    at = order.index(label(anchor))
    fences = slice(at + 1, at + 3) if behind else slice(at - 2, at)
    assert order[fences] == ["fence_proxy_async()"] * 2
    assert [one for one in order if "fence" not in one] == [
        label(stmt) for stmt in walk_statements(KERNEL.body)
    ]
    assert {origins.get(one, one) for one in walk_statements(body)} >= set(
        walk_statements(KERNEL.body)
    )
