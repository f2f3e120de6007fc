"""The loop that tries until a proposal may be applied, with verifiers of all kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from smemreuse.baselines import baseline_of
from smemreuse.errors import PlanError
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Proposal
from smemreuse.pipeline.choice import choose, choose_for, compare_policies
from smemreuse.pipeline.planning import POLICY_NAMES, checked_options, plan_kernel
from smemreuse.pipeline.proposals import propose
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, VerdictKind
from tests.pipeline.kernels import DYN, dumped

CARRIED = "scratch_before_carried.sm_80"
"""Policy inner gives the bytes of a buffer away that the next round reads again."""


def proposals(kernel: Kernel, policy: str = "dataflow") -> Iterator[Proposal]:
    options = checked_options(policy, "best", "bytes")
    return propose([kernel], [[DYN]], options, baseline_of(kernel))


class Answering:
    """A verifier with a list of answers, which notes what it was asked."""

    def __init__(self, *answers: VerdictKind):
        self.asked: list[Proposal] = []
        self._answers = answers

    def __call__(self, proposal: Proposal) -> Proposal:
        answer = self._answers[len(self.asked)]
        self.asked.append(proposal)
        return proposal.with_verdicts([Verdict(answer) for _ in proposal])


def test_the_first_that_may_be_applied_is() -> None:
    kernel = dumped("stream_k.sm_90a")
    verify = Answering(UNSOUND, UNPROVED, SOUND)
    found = choose(proposals(kernel), verify)
    tried = [next(iter(proposal)).plan for proposal in verify.asked]
    assert [one.plan for one in found.proposal] == tried[2:]
    (chosen,) = found.proposal
    rejected = [(plan, verdict.verdict) for plan, verdict in found.rejected_for(chosen)]
    assert rejected == [(tried[0], UNSOUND), (tried[1], UNPROVED)]


def test_on_a_dump_each_verdict_is_reached_once() -> None:
    kernel = dumped(CARRIED)
    options = checked_options("inner", "best", "bytes")
    chosen, rejected = choose_for(kernel, DYN, options)
    assert [(each.plan.policy, each.verdict.verdict) for each in rejected] == [("inner", UNSOUND)]
    assert (chosen.plan.policy, chosen.verdict.verdict) == ("dataflow", SOUND)
    reached = facts_of(kernel).computed["verdict_of_layout"]
    assert choose_for(kernel, DYN, options)[0].verdict is chosen.verdict
    assert facts_of(kernel).computed["verdict_of_layout"] == reached


def test_unchecked_takes_the_very_first_and_asks_nobody_on_a_dump() -> None:
    kernel = dumped(CARRIED)
    options = checked_options("inner", "best", "bytes")
    chosen, rejected = choose_for(kernel, DYN, options, unchecked=True)
    assert (chosen.plan.policy, rejected) == ("inner", ())
    assert facts_of(kernel).computed["verdict_of_layout"] == 0
    assert chosen.verdict.verdict == UNSOUND


def test_a_verifier_may_leave_out_what_is_not_worth_an_arena() -> None:
    kernel = dumped("batched_gemm.sm_80")

    def nothing(proposal: Proposal) -> Proposal:
        return proposal.only(lambda _plan: False)

    assert list(choose(proposals(kernel), nothing).proposal) == []


def test_a_stream_without_an_end_that_holds_is_an_error() -> None:
    with pytest.raises(PlanError, match="not even one that shares nothing"):
        choose(proposals(dumped(CARRIED)), Answering(*[UNSOUND] * 20))


def test_policies_side_by_side() -> None:
    kernel = dumped("batched_gemm.sm_80")
    found = compare_policies(kernel, DYN, "best", "bytes")
    assert tuple(found) == POLICY_NAMES
    for policy, candidate in found.items():
        assert candidate.plan == plan_kernel(kernel, DYN, policy=policy)
    with pytest.raises(PlanError, match="unknown packer 'no'"):
        compare_policies(kernel, DYN, "no", "bytes")
