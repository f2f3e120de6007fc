"""Accesses under a condition inside an expression: those threads alone make them that it is for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Store, walk_statements
from smemreuse.ir.labels import label
from smemreuse.linter.guards import Guards
from smemreuse.semantics.accesses import KernelAccesses
from tests.checker.small import kernel_of, under
from tests.linter.test_linter import found

RACE = [("race", False)]
FILL = "As[tx] = tx\n"


@pytest.mark.parametrize("use", ["O[tx] = {}\n", "v: T.int32 = {}\nO[tx] = v\n"])
@pytest.mark.parametrize(
    ("guarded", "hazards"),
    [
        ("T.if_then_else(tx % 2 == 0, As[tx // 2 * 2], 0)", []),
        ("T.if_then_else(tx % 2 == 1, 0, As[tx // 2 * 2])", []),
        ("T.if_then_else(tx % 2 == 1, As[tx // 2 * 2], 0)", RACE),
        ("T.if_then_else(tx < 64, T.if_then_else(tx % 2 == 0, As[tx // 2 * 2], 0), 1)", []),
        ("T.if_then_else(tx < 0, As[63 - tx], 0)", []),
        ("T.if_then_else(D[0] < 3, As[63 - tx], 0)", RACE),  # who knows
    ],
)
def test_threads_that_a_condition_keeps_away_read_nothing(
    use: str, guarded: str, hazards: list[tuple[str, bool]]
) -> None:
    assert found(FILL + use.format(guarded)) == hazards


@pytest.mark.parametrize(
    ("condition", "hazards"),
    [("tx % 2 == i", []), ("tx % 2 == 1 - i", RACE), ("tx % 2 == i and D[i] == 0", [])],
)
def test_it_is_another_one_in_each_round(condition: str, hazards: list[tuple[str, bool]]) -> None:
    read = f"O[tx] = T.if_then_else({condition}, As[tx // 2 * 2 + i], 0)\n"
    assert found(FILL + under("for i in range(2)", read)) == hazards


@pytest.mark.parametrize("at", [0, 7, 39])
def test_rounds_in_which_it_comes_out_otherwise_are_not_left_out(at: int) -> None:
    read = f"O[tx] = T.if_then_else(i == {at}, As[63 - tx], 0)\n"
    assert found(FILL + under("for i in range(40)", read)) == RACE
    assert found(FILL + under("for i in range(40)", read.replace(f"== {at}", "== 40"))) == []


def test_an_index_beyond_the_end_is_told_of_whoever_has_it() -> None:
    body = FILL + "O[tx] = T.if_then_else({}, As[tx + 1], 0)\n"
    beyond = ("out-of-bounds", True)
    assert beyond in found(body.format("tx == 63"))
    assert beyond not in found(body.format("tx < 63"))


def test_a_part_that_stands_outside_the_condition_too_is_read_by_all() -> None:
    """Trees that a compiler made may have one node in several places."""
    kernel = kernel_of(FILL + "O[tx] = T.if_then_else(tx < 0, As[63 - tx], 0)\n")
    (store,) = (stmt for stmt in walk_statements(kernel.body) if label(stmt).startswith("O["))
    assert isinstance(store, Store)
    assert isinstance(store.value, Call)
    accesses = KernelAccesses.of(kernel.body).by_statement
    (access,) = Guards(kernel.body, accesses).accesses[store]
    assert access.guards
    twice = replace(store, value=Call("add", (store.value, store.value.args[1])))
    (access,) = Guards(kernel.body, {twice: accesses[store]}).accesses[twice]
    assert not access.guards
    assert access.certain
