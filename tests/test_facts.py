"""Each fact about a kernel is worked out once, by whoever asks first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.expr import Pointer, Var
from smemreuse.ir.kernel import Bind, Evaluate, Kernel, Stmt
from smemreuse.pipeline.planning import POLICY_NAMES, plan_kernel
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess, accesses_of
from smemreuse.semantics.pointers import Pointers
from smemreuse.semantics.table import BLOCK_BARRIER
from tests.conftest import DUMPS


@pytest.fixture
def kernel() -> Kernel:
    (found,) = read_dump(DUMPS / "gemm.sm_80.tir").kernels
    return found


def test_the_facts_of_a_kernel_are_kept_with_it(kernel: Kernel) -> None:
    assert facts_of(kernel) is facts_of(kernel)
    assert facts_of(kernel).kernel is kernel
    assert facts_of(Kernel("other", kernel.body)) is not facts_of(kernel)


def test_accesses_and_pointers_are_found_together_and_once(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = KernelAccesses.of(kernel.body)
    calls: list[object] = []

    def of(body: object, before: object) -> KernelAccesses:
        calls.append(body)
        return found

    monkeypatch.setattr(KernelAccesses, "of", staticmethod(of))
    facts = KernelFacts(kernel)
    assert facts.pointers is found.pointers
    assert facts.accesses is found.by_statement
    assert calls == [kernel.body]
    assert facts.computed == {"KernelAccesses": 1}


def test_statements_that_a_pass_has_left_alone_are_not_looked_at_again(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = Evaluate(BLOCK_BARRIER)
    later = Kernel(kernel.name, (*kernel.body, barrier))
    alone = KernelAccesses.of(later.body)
    facts_of(later).learn_from(facts_of(kernel))
    looked_at: list[object] = []

    def looked(stmt: Stmt, pointers: Pointers) -> Iterator[MemoryAccess]:
        looked_at.append(stmt)
        return accesses_of(stmt, pointers)

    monkeypatch.setattr("smemreuse.semantics.accesses.accesses_of", looked)
    found = facts_of(later).accesses
    assert looked_at == [barrier]
    assert list(found) == list(alone.by_statement)
    assert [len(one) for one in found.values()] == [len(one) for one in alone.by_statement.values()]


def test_where_a_pass_has_moved_a_buffer_all_is_looked_at_again(kernel: Kernel) -> None:
    """The same statement may go elsewhere, where one pointer is another."""
    before = facts_of(kernel)
    buffer = kernel.allocations("shared.dyn")[0]
    moved = Kernel(kernel.name, (Bind(Var("pointer"), Pointer(buffer)), *kernel.body))
    facts_of(moved).learn_from(before)
    pairs = ((one, facts_of(moved).accesses[stmt]) for stmt, one in before.accesses.items())
    assert not any(one is other for one, other in pairs if one)


def test_a_fact_is_asked_for_by_what_it_is_and_what_it_is_about(kernel: Kernel) -> None:
    asked: list[int] = []

    def doubled(facts: KernelFacts, number: int) -> int:
        asked.append(number)
        return 2 * number

    def tripled(facts: KernelFacts, number: int) -> int:
        return 3 * number

    facts = KernelFacts(kernel)
    assert [facts.ask(doubled, number) for number in (1, 2, 1, 2)] == [2, 4, 2, 4]
    assert asked == [1, 2]
    assert facts.ask(tripled, 1) == 3
    assert facts.computed == {"doubled": 2, "tripled": 1}


def test_a_fact_may_be_nothing_and_is_not_asked_for_again(kernel: Kernel) -> None:
    asked: list[None] = []

    def nothing(facts: KernelFacts) -> None:
        asked.append(None)

    facts = KernelFacts(kernel)
    facts.ask(nothing)
    facts.ask(nothing)
    assert asked == [None]


def test_a_fact_that_fails_is_no_fact(kernel: Kernel) -> None:
    def failing(facts: KernelFacts) -> int:
        raise ValueError("not this time")

    facts = KernelFacts(kernel)
    for _ in range(2):
        with pytest.raises(ValueError, match="not this time"):
            facts.ask(failing)


def test_another_plan_of_the_kernel_works_nothing_out_again(kernel: Kernel) -> None:
    for policy in POLICY_NAMES:
        plan_kernel(kernel, "shared.dyn", policy=policy)
    before = Counter(facts_of(kernel).computed)
    assert before["KernelAccesses"] == 1
    for policy in POLICY_NAMES:
        plan_kernel(kernel, "shared.dyn", policy=policy)
    assert facts_of(kernel).computed == before
