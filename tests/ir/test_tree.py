"""Where statements stand."""

from __future__ import annotations

from smemreuse.ir.kernel import For, If, Stmt, walk_statements
from smemreuse.ir.labels import label
from smemreuse.ir.tree import StatementTree
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
