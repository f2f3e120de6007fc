"""A candidate: its verdict and barriers, each once, and whether it may be applied."""

from __future__ import annotations

import pytest

from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin, StockFailure, StockFault
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict
from tests.pipeline.kernels import DYN, apache, dumped

PROVED, REFUTED = Verdict(SOUND), Verdict(UNSOUND)
OPEN = Verdict(UNPROVED, uncovered=("?",))


def candidate(kernel: Kernel, policy: str = "dataflow", objective: str = "bytes") -> Candidate:
    return Candidate(kernel, plan_kernel(kernel, DYN, policy=policy, objective=objective))


def test_a_verdict_is_reached_when_it_is_asked_for_and_kept() -> None:
    asked: list[Plan] = []

    def judged(kernel: Kernel, plan: Plan) -> Verdict:
        asked.append(plan)
        return PROVED

    kernel = dumped("batched_gemm.sm_80")
    found = Candidate(kernel, plan_kernel(kernel, DYN), judged)
    assert asked == []
    assert found.verdict is found.verdict is PROVED
    assert found.acceptable
    assert asked == [found.plan]


def test_two_candidates_of_one_layout_have_one_verdict() -> None:
    kernel = dumped("batched_gemm.sm_80")
    one, other = candidate(kernel), candidate(kernel, "inner")
    assert one.plan.offsets == other.plan.offsets
    assert one.verdict is other.verdict
    assert facts_of(kernel).computed["verdict_of_layout"] == 1


def test_barriers_come_with_the_plan_where_no_later_pass_brings_them() -> None:
    kernel = apache("same_index")
    found = candidate(kernel)
    assert len(found.barriers) == 1
    assert found.verdict.assumptions[-1] == "1 barrier put in with the plan (rule 6)"
    assert found.barriers is candidate(kernel).barriers  # and those in the verdict
    assert facts_of(kernel).computed["barriers_of_layout"] == 1
    assert candidate(dumped("batched_gemm.sm_80")).barriers == frozenset()


@pytest.mark.parametrize(
    ("origin", "verdict", "acceptable"),
    [
        (Origin.POLICY, PROVED, True),
        (Origin.POLICY, OPEN, False),
        (Origin.POLICY, REFUTED, False),
        (Origin.INNER_PROVED, OPEN, False),
        (Origin.KEPT_FROM_COMPILER, PROVED, True),
        (Origin.KEPT_FROM_COMPILER, OPEN, True),
        (Origin.KEPT_FROM_COMPILER, REFUTED, False),
    ],
)
def test_what_is_not_proved_is_applied_only_where_it_is_kept(
    origin: Origin, verdict: Verdict, acceptable: bool
) -> None:
    kernel = dumped("batched_gemm.sm_80")
    plan = plan_kernel(kernel, DYN).with_provenance(origin=origin)
    assert plan.sharing_pairs()
    assert Candidate(kernel, plan).with_verdict(verdict).acceptable == acceptable


def test_what_shares_nothing_is_the_kernel_as_it_was() -> None:
    apart = candidate(dumped("batched_gemm.sm_80"), objective="none")
    assert apart.with_verdict(OPEN).acceptable
    assert not apart.with_verdict(REFUTED).acceptable


def test_a_plan_of_a_pass_that_fails_is_a_guess() -> None:
    kernel = dumped("batched_gemm.sm_80")
    failure = StockFailure(StockFault.ADDRESS_ONLY, "As")
    plan = plan_kernel(kernel, DYN, objective="none").with_provenance(failures=(failure,))
    assert not Candidate(kernel, plan).with_verdict(PROVED).acceptable


@pytest.mark.parametrize(
    ("before", "verdict", "after"),
    [
        (Origin.KEPT_FROM_COMPILER, PROVED, Origin.COMPILER_PROVED),
        (Origin.KEPT_FROM_COMPILER, OPEN, Origin.KEPT_FROM_COMPILER),
        (Origin.INNER_PROVED, PROVED, Origin.INNER_PROVED),
    ],
)
def test_what_was_to_be_kept_may_be_proved(before: Origin, verdict: Verdict, after: Origin) -> None:
    kernel = dumped("batched_gemm.sm_80")
    plan = plan_kernel(kernel, DYN).with_provenance(origin=before)
    settled = Candidate(kernel, plan).with_verdict(verdict).settled
    assert settled.provenance.origin is after
    assert settled.offsets == plan.offsets


def test_a_proposal_is_applied_as_a_whole() -> None:
    one, other = candidate(dumped("gemm.sm_80")), candidate(dumped("batched_gemm.sm_80"))
    both = Proposal(((one,), (), (other,)))
    assert [list(map(Plan.__repr__, launch)) for launch in both.plans] == [
        [repr(one.plan)],
        [],
        [repr(other.plan)],
    ]
    assert both.with_verdicts([PROVED, PROVED]).acceptable
    half = both.with_verdicts([PROVED, REFUTED])
    assert [each.verdict for each in half] == [PROVED, REFUTED]
    assert not half.acceptable
    left = half.only(lambda plan: plan is one.plan)
    assert [len(launch) for launch in left.launches] == [1, 0, 0]
    assert left.acceptable
