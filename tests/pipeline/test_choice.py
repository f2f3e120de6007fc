"""The loop that tries until a proposal may be applied, with verifiers of all kinds."""

from __future__ import annotations

import pytest

from smemreuse.errors import PlanError
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.choice import MOST_TRIED, Attempts, choose
from smemreuse.pipeline.planning import (
    POLICY_NAMES,
    checked_options,
    choose_for,
    compare_policies,
    plan_kernel,
)
from smemreuse.results.provenance import Origin
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, VerdictKind
from smemreuse.versions.merges import merge_of
from tests.pipeline.kernels import DYN, dumped

CARRIED = "scratch_before_carried.sm_80"
"""Policy inner gives the bytes of a buffer away that the next round reads again."""


def attempts(*kernels: Kernel, policy: str = "dataflow") -> Attempts:
    options = checked_options(policy, "best", "bytes")
    scopes = [[DYN] for _ in kernels]
    return Attempts(kernels, scopes, options, merge_of(kernels[0]), trusting=True)


class Answering:
    """A verifier with a list of answers, the last for good, which notes what it was asked."""

    def __init__(self, *answers: VerdictKind):
        self.asked: list[Proposal] = []
        self._answers = answers

    def __call__(self, proposal: Proposal) -> Proposal:
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(proposal)
        return proposal.with_verdicts([Verdict(answer) for _ in proposal])


def test_the_first_that_may_be_applied_is() -> None:
    kernel = dumped("stream_k.sm_90a")
    verify = Answering(UNSOUND, UNPROVED, SOUND)
    found = choose(attempts(kernel), verify)
    tried = [next(iter(proposal)).plan for proposal in verify.asked]
    (chosen,) = found.proposal
    assert chosen.plan.offsets == tried[-1].offsets
    refused = [plan.offsets for plan, _ in found.refused_for(chosen)]
    smaller = [one for one in tried[:-1] if one.arena_bytes < chosen.plan.arena_bytes]
    assert refused == [one.offsets for one in smaller]


def kept_early() -> tuple[Attempts, Candidate]:
    """A lowering in which the compiler's own layout is the first proposal: its pairs are apart by
    the rules, and nothing smaller can come of any start."""
    kernel = dumped("flash_attention.sm_90a")
    options = checked_options("dataflow", "best", "speed")
    found = Attempts([kernel], [[DYN]], options, merge_of(kernel), trusting=True)
    (first,) = found.best()
    return found, first


def test_a_compilers_layout_that_nothing_beats_is_looked_at_where_it_is_applied() -> None:
    found, first = kept_early()
    assert first.provenance.is_kept
    verify = Answering(SOUND)
    (chosen,) = choose(found, verify).proposal
    assert len(verify.asked) == 1
    assert chosen.settled.provenance.origin is Origin.COMPILER_PROVED


def test_without_a_proof_of_the_compilers_layout_another_is_looked_for() -> None:
    found, first = kept_early()
    verify = Answering(UNPROVED, SOUND)
    (chosen,) = choose(found, verify).proposal
    assert chosen.verdict.sound
    assert chosen.plan.arena_bytes <= first.plan.arena_bytes
    assert not chosen.provenance.is_kept


def test_a_compilers_layout_that_is_refuted_is_not_kept() -> None:
    found, first = kept_early()
    (chosen,) = choose(found, Answering(UNSOUND, SOUND)).proposal
    assert chosen.plan.offsets != first.plan.offsets


def test_on_a_dump_each_verdict_is_reached_once() -> None:
    kernel = dumped(CARRIED)
    options = checked_options("inner", "best", "bytes")
    chosen = choose_for(kernel, DYN, options)
    assert (chosen.plan.policy, chosen.candidate.verdict.verdict) == ("dataflow", SOUND)
    reached = facts_of(kernel).computed["verdict_of_layout"]
    assert choose_for(kernel, DYN, options) is chosen
    assert plan_kernel(kernel, DYN).offsets == chosen.plan.offsets
    assert facts_of(kernel).computed["verdict_of_layout"] == reached


def test_unchecked_takes_the_very_first_and_asks_nobody_on_a_dump() -> None:
    kernel = dumped(CARRIED)
    options = checked_options("inner", "best", "bytes")
    chosen = choose_for(kernel, DYN, options, unchecked=True)
    assert (chosen.plan.policy, chosen.refused) == ("inner", ())
    assert facts_of(kernel).computed["verdict_of_layout"] == 0
    assert chosen.candidate.verdict.verdict == UNSOUND


def test_a_verifier_may_leave_out_what_is_not_worth_an_arena() -> None:
    def nothing(proposal: Proposal) -> Proposal:
        return proposal.only(lambda _plan: False)

    assert list(choose(attempts(dumped("batched_gemm.sm_80")), nothing).proposal) == []


def test_a_plan_that_shares_nothing_and_is_refused_is_an_error() -> None:
    verify = Answering(UNSOUND)
    with pytest.raises(PlanError, match="a plan that shares nothing was not applied, unsound"):
        choose(attempts(dumped(CARRIED)), verify)
    assert len(verify.asked) < MOST_TRIED


def test_a_whole_function_is_proposed_at_once() -> None:
    """What is refused of one kernel is planned anew, and what is proved of the other stays."""
    kernels = [dumped("batched_gemm.sm_80"), dumped("gemm.sm_80")]
    function = attempts(*kernels)
    first = function.best()
    assert [candidate.kernel for candidate in first] == kernels
    assert [len(launch) for launch in first.launches] == [1, 1]
    function.learn(first.with_verdicts([Verdict(UNSOUND), Verdict(SOUND)]))
    second = function.best()
    layouts = [[one.plan.offsets for one in proposal] for proposal in (first, second)]
    assert layouts[0][0] != layouts[1][0]
    assert layouts[0][1] == layouts[1][1]


def test_policies_side_by_side() -> None:
    kernel = dumped("batched_gemm.sm_80")
    found = compare_policies(kernel, DYN, "best", "bytes")
    assert tuple(found) == POLICY_NAMES
    for policy, each in found.items():
        assert each.plan == plan_kernel(kernel, DYN, policy=policy)
    with pytest.raises(PlanError, match="unknown packer 'no'"):
        compare_policies(kernel, DYN, "no", "bytes")
