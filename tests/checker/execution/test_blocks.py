"""The thread blocks of a grid, by kind."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.budget import Work
from smemreuse.checker.execution.blocks import MAX_BLOCKS, ThreadBlocks, kinds_of_blocks
from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.ir.kernel import THREAD_EXTENT, Attr, Block
from smemreuse.semantics.evaluate import Threads, evaluate

BX, BY, TX, N = Var("bx"), Var("by"), Var("tx"), Var("n")
ONE = Threads(np.array([0]), {})


def call(op: str, one: Expr, two: int) -> Expr:
    return Call(op, (one, Const(two)))


def grid(*axes: tuple[str, Var, Expr | int]) -> Block:
    body: Block = ()
    for tag, var, extent in reversed(axes):
        value = Const(extent) if isinstance(extent, int) else extent
        body = (Attr(THREAD_EXTENT, Const(tag), value, body, var),)
    return body


X, Y = "blockIdx.x", "blockIdx.y"


def count(blocks: Block, decisions: list[Expr]) -> int:
    """How many blocks are tried until every kind has had its turn."""
    kinds = 0
    for found in kinds_of_blocks(blocks):
        kinds += 1
        here = ONE
        for var, value in found.index.items():
            here = here.bind(var, value)
        found.settle([(expr, ONE, evaluate(expr, here)) for expr in decisions], Work())
    return kinds


def test_where_the_block_decides_nothing_one_stands_for_all() -> None:
    assert count(grid((X, BX, 1000), (Y, BY, 10)), []) == 1


@pytest.mark.parametrize(
    ("decision", "kinds"),
    [
        (call("lt", BX, 3), 2),
        (call("floormod", BX, 4), 4),
        (call("add", BX, 1), 12),
        (call("lt", BX, 99), 1),
    ],
)
def test_there_are_as_many_kinds_as_outcomes(decision: Expr, kinds: int) -> None:
    assert count(grid((X, BX, 12)), [decision]) == kinds


def test_decisions_and_axes_are_combined() -> None:
    decisions = [call("lt", BX, 3), call("floormod", BY, 2)]
    assert count(grid((X, BX, 5), (Y, BY, 4)), decisions) == 4


def test_the_first_open_block_is_tried_with_its_index_on_each_axis() -> None:
    blocks = ThreadBlocks([BX, BY], [2, 3])
    blocks.open[:4] = False
    assert blocks.index == {BX: 1, BY: 1}


def test_a_block_is_of_a_kind_if_all_its_threads_decide_alike() -> None:
    blocks = ThreadBlocks([BX], [4])
    threads = Threads(np.arange(3), {TX: np.arange(3)})
    decision = Call("lt", (TX, BX))
    blocks.settle([(decision, threads, np.array([0, 0, 0]))], Work())
    assert blocks.open.tolist() == [False, True, True, True]
    blocks.settle([(decision, threads, np.array([1, 1, 1]))], Work())
    assert blocks.open.tolist() == [False, False, True, False]


def test_the_block_that_was_tried_is_done_even_if_its_decision_is_not_understood() -> None:
    blocks = ThreadBlocks([BX], [2])
    blocks.settle([(Var("data"), ONE, 1)], Work())
    assert blocks.open.tolist() == [False, True]


def test_where_too_much_would_be_evaluated_a_block_is_done_with_itself_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decision = (call("lt", BX, 9), ONE, 1)
    for most, left in ((4, 0), (3, 3)):
        monkeypatch.setattr("smemreuse.checker.execution.blocks.MAX_DECISION", most)
        blocks = ThreadBlocks([BX], [4])
        blocks.settle([decision], Work())
        assert blocks.open.sum() == left


def test_a_grid_of_unknown_size_is_one_block_of_which_nothing_is_known() -> None:
    (only,) = [*map(_index_and_settle, kinds_of_blocks(grid((X, BX, N))))]
    assert only == {}


def test_an_axis_of_one_block_and_the_axes_of_threads_are_no_choice() -> None:
    (only,) = [*map(_index_and_settle, kinds_of_blocks(grid((X, BX, 1), ("threadIdx.x", TX, 8))))]
    assert only == {}


def test_an_axis_that_makes_too_many_blocks_stays_unknown() -> None:
    (only,) = [*map(_index_and_settle, kinds_of_blocks(grid((X, BX, MAX_BLOCKS), (Y, BY, 2))))]
    assert only == {BX: 0}


def _index_and_settle(blocks: ThreadBlocks) -> dict[Var, int]:
    index = blocks.index
    blocks.settle([], Work())
    return index


def test_how_many_kinds_there_are_is_guessed_from_the_first() -> None:
    blocks = next(kinds_of_blocks(grid((X, BX, 64))))
    assert blocks.kinds_if_alike(0) == 0
    for number, closed in ((1, 1), (2, 8), (4, 32)):
        blocks.open[:closed] = False
        assert blocks.kinds_if_alike(number) == {1: 64, 2: 16, 4: 8}[number]
