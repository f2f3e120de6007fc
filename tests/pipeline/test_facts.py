"""What is found out of a kernel is found out once, however many plans are made of it."""

from __future__ import annotations

from collections import Counter

import pytest

from smemreuse.analysis import linearize
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Block
from smemreuse.pipeline.choice import Attempts
from smemreuse.pipeline.planning import checked_options, compare_policies
from smemreuse.results.verdict import UNPROVED, Verdict
from smemreuse.semantics import accesses
from smemreuse.semantics.pointers import Pointers, find_pointers
from smemreuse.versions.merges import merge_of
from tests.pipeline.kernels import DYN, dumped


def test_proposals_walk_the_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: Counter[str] = Counter()
    walker = linearize._ByPolicy

    class Counted(walker):  # type: ignore[misc, valid-type]
        def __init__(self, facts: object, scope: str, policy: object):
            walked[f"{scope}, {getattr(policy, '__name__', policy)}"] += 1
            super().__init__(facts, scope, policy)

    def followed(body: Block) -> Pointers:
        walked["pointers"] += 1
        return find_pointers(body)

    kernel = dumped("flash_attention.sm_90a")
    monkeypatch.setattr(linearize, "_ByPolicy", Counted)
    monkeypatch.setattr(accesses, "find_pointers", followed)
    options = checked_options("dataflow", "best", "speed")
    attempts = Attempts([kernel], [[DYN]], options, merge_of(kernel))
    for _ in range(2):
        proposal = attempts.best()
        assert [candidate.verdict.sound for candidate in proposal] == [True]
        attempts.learn(proposal.with_verdicts([Verdict(UNPROVED)]))
    assert walked == {"shared.dyn, inner": 1, "shared.dyn, outer": 1, "pointers": 1}
    computed = facts_of(kernel).computed
    assert computed["KernelAccesses"] == 1  # pointers, and what every statement accesses
    assert computed["needed_alignments"] == 1
    assert computed["dataflow_ranges"] == 1


def test_policies_compared_again_cost_nothing() -> None:
    kernel = dumped("flash_attention.sm_90a")
    for found in compare_policies(kernel, DYN, "best", "bytes").values():
        assert found.candidate.verdict
    before = facts_of(kernel).computed.copy()
    for found in compare_policies(kernel, DYN, "best", "bytes").values():
        assert found.candidate.verdict
    assert facts_of(kernel).computed == before
