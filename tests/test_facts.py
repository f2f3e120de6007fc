"""Each fact about a kernel is worked out once, by whoever asks first."""

from __future__ import annotations

from collections import Counter

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import POLICY_NAMES, plan_kernel
from smemreuse.semantics.accesses import KernelAccesses
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

    def of(body: object) -> KernelAccesses:
        calls.append(body)
        return found

    monkeypatch.setattr(KernelAccesses, "of", staticmethod(of))
    facts = KernelFacts(kernel)
    assert facts.pointers is found.pointers
    assert facts.accesses is found.by_statement
    assert calls == [kernel.body]
    assert facts.computed == {"memory": 1}


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
    assert before["memory"] == 1
    for policy in POLICY_NAMES:
        plan_kernel(kernel, "shared.dyn", policy=policy)
    assert facts_of(kernel).computed == before
