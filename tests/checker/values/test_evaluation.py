"""What expressions are worth in a trace, and whether threads may differ in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from smemreuse.checker.machine.state import State
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.vectors import Vectors
from smemreuse.ir.expr import Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import Bind, If, Kernel, Store, expressions_of, walk_statements
from smemreuse.semantics.evaluate import Threads, Value
from tests.checker.small import SYNC, judge, kernel_of, layout_of, relevance_of, statement, under

THREADS = 64


def values_of(kernel: Kernel, block: Mapping[Var, int] | None = None) -> Values:
    vectors = Vectors(THREADS)
    state = State.initial(layout_of(*kernel.allocations("shared.dyn")), vectors.everyone)
    return Values(relevance_of(kernel), vectors, state, block or {})


def variable(kernel: Kernel, name: str) -> Var:
    return next(
        node
        for stmt in walk_statements(kernel.body)
        for expr in expressions_of(stmt)
        for node in walk(expr)
        if isinstance(node, Var) and node.name == name
    )


class Asked:
    """A kernel `locals...; if CONDITION: As[tx] = 1` up to its condition."""

    def __init__(self, before: str, condition: str, declared: str = "", blocks: int = 1):
        body = before + under(f"if {condition}", "As[tx] = tx\n")
        self.kernel = kernel_of(body, declared=declared, blocks=blocks)
        self.block: dict[Var, int] = {}
        if "bx" in condition:
            self.block = {variable(self.kernel, "bx"): 2}
        self.values = values_of(self.kernel, self.block)
        threads = self.values.everyone()
        self.threads = threads.bind(variable(self.kernel, "tx"), threads.ids)
        for stmt in walk_statements(self.kernel.body):
            self._perform(stmt)

    def _perform(self, stmt: object) -> None:
        if isinstance(stmt, Bind):
            self.threads = self.values.bind(stmt, self.threads)
        elif isinstance(stmt, Store) and stmt.buffer.scope.startswith("local"):
            self.values.store(stmt, self.threads)

    @property
    def condition(self) -> Expr:
        found = statement(self.kernel, "if ")
        assert isinstance(found, If)
        return found.condition

    def decided(self) -> Value:
        return self.values.decide(self.condition, self.threads)

    def varies(self) -> bool:
        return self.values.varies(self.condition, self.threads)


def test_what_all_threads_decide_alike_is_a_number() -> None:
    assert Asked("", "tx < 64").decided() == 1


def test_what_threads_decide_differently_is_an_array() -> None:
    found = Asked("", "tx < 3").decided()
    assert isinstance(found, np.ndarray)
    assert found.sum() == 3


def test_data_are_not_known() -> None:
    assert Asked("", "D[0] < 3").decided() is None


def test_what_the_block_index_decides_is_known_for_this_block_and_noted() -> None:
    asked = Asked("", "bx < 2", blocks=4)
    assert asked.decided() == 0
    assert asked.values(asked.condition, asked.threads) is None
    ((expr, _, value),) = asked.values.decisions
    assert (expr, value) == (asked.condition, 0)
    asked.decided()
    assert len(asked.values.decisions) == 1


def test_what_the_block_index_does_not_decide_is_not_noted() -> None:
    asked = Asked("", "D[bx] < 2", blocks=4)
    assert asked.decided() is None
    assert asked.values.decisions == []


def test_a_decision_keeps_the_locals_that_it_was_made_with() -> None:
    asked = Asked("c[0] = 1\n", "bx < c[0]", blocks=4)
    asked.decided()
    ((expr, threads, _),) = asked.values.decisions
    (store, *_) = _stores(asked.kernel)
    asked.values.store(replace(store, value=Const(9)), asked.threads)
    (held,) = (node for node in walk(expr) if isinstance(node, Load))
    assert threads.load(held, threads) == 1


def test_a_decision_keeps_what_each_thread_had_for_every_block_that_is_asked_about() -> None:
    asked = Asked("c[0] = tx\n", "bx < c[0]", blocks=4)
    asked.decided()
    ((expr, threads, _),) = asked.values.decisions
    (held,) = (node for node in walk(expr) if isinstance(node, Load))
    found = threads.load(held, threads.repeated(Var("block"), np.arange(3)))
    assert np.asarray(found).tolist() == [thread for thread in range(THREADS) for _ in range(3)]


def test_what_has_been_decided_is_decided_again_when_a_local_has_changed() -> None:
    asked = Asked("c[0] = 1\n", "c[0] < 2")
    assert (asked.decided(), asked.decided()) == (1, 1)
    (store, *_) = _stores(asked.kernel)
    asked.values.store(replace(store, value=Const(9)), asked.threads)
    assert asked.decided() == 0


def test_what_has_been_decided_is_decided_again_behind_rounds_that_were_left_out() -> None:
    """There locals are given the values that they would have: nothing is stored."""
    asked = Asked("c[0] = 1\n", "c[0] < 2")
    assert asked.decided() == 1
    (store, *_) = _stores(asked.kernel)
    asked.values._state.counters.set(store.buffer.storage, 0, asked.threads.ids, 9)
    assert asked.decided() == 0


def test_what_has_been_decided_is_decided_again_when_a_branch_has_been_left() -> None:
    asked = Asked("c[0] = 1\n", "c[0] < 2")
    state = asked.values._state
    assert isinstance(state, State)
    before = state.copy()
    (store, *_) = _stores(asked.kernel)
    asked.values.store(replace(store, value=Const(9)), asked.threads)
    assert asked.decided() == 0
    state.become(before)
    assert asked.decided() == 1


def test_what_has_been_decided_is_decided_again_for_other_threads() -> None:
    asked = Asked("c[0] = tx\n", "c[0] < 2")
    assert isinstance(asked.decided(), np.ndarray)
    asked.threads = asked.threads.where(np.arange(THREADS) < 2)
    assert asked.decided() == 1


def test_what_has_been_decided_is_decided_again_when_more_is_given() -> None:
    asked = Asked("c[0] = D[0]\n", "c[0] < 2")
    assert asked.decided() is None
    assert asked.values.unknowns.truth(asked.condition, asked.threads) == 1
    assert asked.decided() == 1


def test_what_is_given_for_one_round_is_noted_each_time_that_it_decides() -> None:
    asked = Asked("c[0] = D[0]\n", "c[0] < 2")
    unknowns = asked.values.unknowns
    unknowns.truth(asked.condition, asked.threads)
    for _ in range(3):
        since = unknowns.now
        assert asked.decided() == 1
        assert unknowns.is_uneven(since, asked.threads)


def _stores(kernel: Kernel) -> list[Store]:
    return [one for one in walk_statements(kernel.body) if isinstance(one, Store)]


# Locals -----------------------------------------------------------------------------------------


def test_a_local_is_worth_what_was_stored_in_it() -> None:
    assert Asked("c[0] = 5\nc[1] = c[0] + 1\n", "c[1] == 6").decided() == 1


NARROW = "v = T.decl_buffer((8,), 'int16', data=c.data, scope='local.var')\n"


@pytest.mark.parametrize(
    "before",
    [
        "c[0] = D[0]\n",
        "c[0] = 5\nc[D[0] % 4] = 6\n",
        "c[0] = 5\nT.call_extern('handle', 'f', T.address_of(c[0]))\n",
        f"c[0] = 5\n{NARROW}v[0] = T.int16(1)\n",
    ],
    ids=["data", "some element", "its address was taken", "through a view of another type"],
)
def test_a_local_that_may_have_been_changed_is_not_known(before: str) -> None:
    assert Asked(before, "c[0] == 5").decided() is None


def test_a_number_that_does_not_fit_its_type_is_not_known() -> None:
    declared = 'd = T.alloc_buffer((1,), "int8", scope="local.var")'
    assert Asked("d[0] = T.int8(100)\n", "d[0] == 100", declared).decided() == 1
    assert Asked("d[0] = tx * 3\n", "d[0] == 100", declared).decided() is None


def test_a_variable_is_worth_what_it_was_bound_to_whatever_happens_to_it_later() -> None:
    assert Asked("c[0] = 5\nv: T.int32 = c[0]\nc[0] = 6\n", "v == 5").decided() == 1


# What threads may differ in -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "condition", "varies"),
    [
        ("", "D[0] < 3", False),
        ("", "D[bx] < 3", False),
        ("", "D[tx] < 3", True),
        ("", "O[0] < 3", True),  # the kernel writes it
        ("", "T.call_extern('int32', 'f', 1) < 3", True),
        ("", "T.max(D[0], 4) < 3", False),
        ("c[0] = D[0]\n", "c[0] < 3", False),
        ("c[0] = D[tx]\n", "c[0] < 3", True),
        ("c[0] = D[0]\nc[D[tx] % 4] = 1\n", "c[0] < 3", True),
        ("v: T.int32 = D[tx]\n", "v < 3", True),
        ("v: T.int32 = D[0]\n", "v < 3", False),
        ("v: T.int32 = D[tx]\nw: T.int32 = v + 1\n", "w < 3", True),
    ],
)
def test_whether_threads_may_differ_in_what_is_not_known(
    before: str, condition: str, varies: bool
) -> None:
    asked = Asked(f"O[tx] = 1\n{before}", condition)
    assert asked.decided() is None
    assert asked.varies() is varies


def test_a_local_that_some_threads_have_set_may_differ() -> None:
    asked = Asked("c[0] = D[0]\n", "c[0] < 3")
    store = _stores(asked.kernel)[0]
    some = Threads(np.arange(3), {}, asked.threads.load)
    assert not asked.varies()
    asked.values.store(store, some)
    assert asked.varies()


def test_where_threads_went_different_ways_the_locals_set_there_may_differ() -> None:
    asked = Asked("c[0] = D[0]\n", "c[0] < 3")
    asked.values.mark_divergent(())
    assert not asked.varies()
    asked.values.mark_divergent((_stores(asked.kernel)[0],))
    assert asked.varies()


# Slots of mbarriers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operand", "slot"), [("full[1]", 1), ("full[tx // 64 + 2]", 2), ("full[tx % 2]", None)]
)
def test_the_mbarrier_that_an_operand_names_is_one_for_all_threads(
    operand: str, slot: int | None
) -> None:
    asked = Asked("", f"T.ptx_arrive_barrier({operand}) < 3")
    (named,) = (node for node in walk(asked.condition) if isinstance(node, Load))
    found = asked.values.slot(named, asked.threads)
    assert found == (None if slot is None else (named.buffer, slot))


def test_what_is_no_element_names_no_mbarrier() -> None:
    asked = Asked("", "tx < 3")
    assert asked.values.slot(asked.condition, asked.threads) is None
    assert asked.values.slot(None, asked.threads) is None


def test_registers_of_a_warp_are_each_threads_own() -> None:
    """Threads are in both arms."""
    declared = 'w = T.alloc_buffer((1,), "int32", scope="warp")'
    branch = under("if w[0] < 16", "O[tx] = As[63 - tx]\n") + under("else", "Bs[tx] = 7\n")
    assert not judge(f"w[0] = tx\nAs[tx] = 1\n{SYNC}{branch}", declared=declared).sound
