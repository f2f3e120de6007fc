"""The search for a plan that may be applied: pairs that fail are kept apart, one at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.pipeline.candidate import Candidate
from smemreuse.pipeline.judging import Effort, judge
from smemreuse.pipeline.objectives import SmStanding, resident_blocks, rounds_of_sharing
from smemreuse.pipeline.options import PlanOptions, checked_options
from smemreuse.pipeline.planning import choose_for, plan_kernel
from smemreuse.pipeline.search import APPLIED, PlanSearch
from smemreuse.pipeline.starts import Start, plan_from
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, Violation
from smemreuse.targets.architectures import ARCHITECTURES, target_architecture
from smemreuse.versions import TILELANG, VERSIONS, version_of
from smemreuse.versions.merges import configured, merge_of
from tests.compilers.text.texts import dump
from tests.dumps import kernels_of
from tests.pipeline.kernels import DYN, apache, dumped, unfollowed

SM_90 = ARCHITECTURES["sm_90"]
BYTES = checked_options("dataflow", "best", "bytes")
SPEED = checked_options("dataflow", "best", "speed")
STRICT = checked_options("dataflow", "best", "bytes", strict=True)
PHASES = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", 64)
W = T.alloc_buffer((64,), "float32", scope="shared.dyn")
X = T.alloc_buffer((1024,), "float32", scope="shared.dyn")
Y = T.alloc_buffer((2048,), "float32", scope="shared.dyn")
Z = T.alloc_buffer((4096,), "float32", scope="shared.dyn")
G = T.decl_buffer((64,), "float32", data=A)
W[tx] = G[tx]
G[tx] = W[tx]
X[tx] = G[tx]
G[tx] = X[tx]
Y[tx] = G[tx]
G[tx] = Y[tx]
Z[tx] = G[tx]
G[tx] = Z[tx]
"""
"""Four buffers of 256, 4,096, 8,192 and 16,384 bytes, one live behind the other."""


def search(kernel: Kernel, options: PlanOptions = BYTES, *, trusting: bool = False) -> PlanSearch:
    return PlanSearch(kernel, DYN, options, merge_of(kernel), trusting=trusting)


def phases() -> tuple[Kernel, dict[str, Buffer]]:
    (kernel,) = parse_dump(dump(PHASES)).kernels
    return kernel, {one.name: one for one in kernel.allocations(DYN)}


def doubted(candidate: Candidate, *pairs: tuple[Buffer, Buffer]) -> Candidate:
    """A candidate as it comes back from where it was applied: these pairs are not proved."""
    open_pairs = frozenset(frozenset(pair) for pair in pairs)
    return candidate.with_verdict(Verdict(UNPROVED, uncovered=("?",), open_pairs=open_pairs))


def refuted(candidate: Candidate) -> Candidate:
    return candidate.with_verdict(Verdict(UNSOUND))


def test_a_pair_that_is_not_proved_costs_its_own_bytes_alone() -> None:
    kernel, named = phases()
    found = search(kernel, STRICT, trusting=True)
    first = found.best()
    assert first.plan.arena_bytes == 16_384
    found.learn(doubted(first, (named["W"], named["Z"])))
    second = found.best()
    assert second.plan.arena_bytes == 16_384 + 256
    assert not second.plan.shared_bytes(named["W"], named["Z"])
    assert second.plan.shared_bytes(named["X"], named["Z"])


def test_where_no_pair_is_named_all_that_share_are_to_blame() -> None:
    kernel, _ = phases()
    found = search(kernel, STRICT, trusting=True)
    first = found.best()
    found.learn(doubted(first))
    plan = found.best().plan
    for one, two, _ in first.plan.sharing_pairs():
        assert not plan.shared_bytes(one, two)


def test_in_the_end_nothing_is_shared_but_by_the_compiler() -> None:
    kernel, _ = phases()
    found = search(kernel, trusting=True)
    ours = search(kernel, STRICT, trusting=True)
    for _ in range(APPLIED):
        found.learn(refuted(ours.best()))
        ours.learn(refuted(ours.best()))
    assert ours.best().plan.sharing_pairs() == []
    own = found.best()
    assert own.provenance.origin is Origin.KEPT_FROM_COMPILER
    assert own.plan.offsets == merge_of(kernel).plan(kernel, DYN).offsets
    assert own.with_verdict(Verdict(UNPROVED)).acceptable
    found.learn(refuted(own))
    assert found.best().plan.sharing_pairs() == []


def test_the_floor_comes_as_soon_as_what_is_proved_is_larger() -> None:
    kernel, named = phases()
    found = search(kernel, trusting=True)
    first = found.best()
    found.learn(doubted(first, (named["Y"], named["Z"])))
    assert found.best().provenance.is_kept
    assert found.best().plan.arena_bytes == 16_384


def test_a_compiler_whose_sharing_is_not_trusted_has_no_floor() -> None:
    kernel = apache("same_index")
    found = search(kernel, trusting=True)
    for _ in range(APPLIED):
        found.learn(refuted(found.best()))
    assert found.best().plan.sharing_pairs() == []


def test_what_an_option_of_the_compiler_shares_is_no_floor() -> None:
    """TileLang's aggressive merge is known to be wrong; by default it does no such thing."""
    kernel = dumped("scratch_before_carried.sm_80")
    aggressive = configured(VERSIONS[TILELANG], aggressive=True)
    found = PlanSearch(kernel, DYN, BYTES, aggressive)
    best = found.best()
    assert aggressive.plan(kernel, DYN).arena_bytes < best.plan.arena_bytes
    assert best.verdict.sound
    assert [one.verdict.verdict for one in found.refused_below(best.plan)] == [UNSOUND]
    assert best.plan.arena_bytes <= merge_of(kernel).plan(kernel, DYN).arena_bytes


def test_inner_is_tried_in_kernels_without_mbarriers() -> None:
    """Static rules keep the two apart; the checker proves that no round of the loop sees both."""
    kernel = dumped("while_phases.sm_80")
    plan = plan_kernel(kernel, DYN)
    assert plan.provenance.origin is Origin.INNER_PROVED
    assert plan.arena_bytes == plan_kernel(kernel, DYN, policy="inner").arena_bytes
    assert judge(kernel, plan).verdict is SOUND


def test_strict_shares_nothing_that_is_not_proved() -> None:
    kernel = unfollowed()
    kept = plan_kernel(kernel, DYN)
    assert kept.provenance.is_kept
    strict = plan_kernel(kernel, DYN, strict=True)
    assert strict.arena_bytes > kept.arena_bytes
    assert judge(kernel, strict).verdict is SOUND


def test_a_smaller_plan_that_is_not_proved_is_told_with_its_reason() -> None:
    kernel = unfollowed()
    chosen = choose_for(kernel, DYN, STRICT)
    hoped = chosen.hoped
    assert hoped is not None
    assert hoped.plan.arena_bytes < chosen.plan.arena_bytes
    assert hoped.verdict.verdict is UNPROVED
    reasons = [one.verdict.first_finding for one in chosen.refused]
    assert len(reasons) == len(set(reasons))


def test_nothing_is_hoped_of_a_plan_no_smaller_than_a_proved_one() -> None:
    """Objective speed may choose a larger one."""
    kernel = dumped("batched_gemm.sm_80")
    found = search(kernel, SPEED)
    chosen, least = found.best().plan, plan_kernel(kernel, DYN)
    assert chosen.arena_bytes > least.arena_bytes
    unproved = Verdict(UNPROVED, uncovered=("?",))
    found.refused.append(Candidate(kernel, least).with_verdict(unproved))
    assert not [*found.refused_below(chosen)]
    smaller = replace(least, arena_bytes=least.arena_bytes - 256)
    found.refused.append(Candidate(kernel, smaller).with_verdict(unproved))
    assert [one.plan for one in found.refused_below(chosen)] == [smaller]


def test_a_wanted_rule_gives_way_to_what_is_proved() -> None:
    kernel = dumped("scratch_before_carried.sm_80")
    chosen = choose_for(kernel, DYN, checked_options("inner", "best", "bytes"))
    assert (chosen.plan.policy, chosen.candidate.verdict.verdict) == ("dataflow", SOUND)
    assert ("inner", UNSOUND) in [(one.plan.policy, one.verdict.verdict) for one in chosen.refused]


# Never worse than the compiler -------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["bytes", "speed"])
def test_no_kernel_gets_larger_or_loses_a_block(dump_path: Path, objective: str) -> None:
    for kernel in kernels_of(dump_path):
        for scope in kernel.shared_scopes():
            own = merge_of(kernel).plan(kernel, scope)
            if judge(kernel, own).verdict is UNSOUND:
                continue
            plan = plan_kernel(kernel, scope, objective=objective)
            assert plan.arena_bytes <= own.arena_bytes
            assert blocks(kernel, plan) >= blocks(kernel, own)


def test_a_start_that_is_not_tried_in_a_lowering_costs_no_block(dump_path: Path) -> None:
    """What is not tried could have had fewer bytes, and no more blocks than what is applied."""
    for kernel in kernels_of(dump_path):
        own = merge_of(kernel).plan(kernel, DYN)
        if DYN in kernel.shared_scopes() and version_of(kernel).keeps_unproved:
            chosen = search(kernel, SPEED, trusting=True).best().plan
            standing, best = (
                SmStanding.of(kernel, plan, target_architecture(kernel) or SM_90)
                for plan in (chosen, plan_kernel(kernel, DYN))
            )
            assert standing is None or best is None or standing.blocks >= best.blocks
            assert chosen.arena_bytes <= own.arena_bytes


def test_a_start_whose_bytes_add_neither_a_block_nor_l1_is_not_tried() -> None:
    kernel = dumped("while_phases.sm_80")
    for objective, tried in ((BYTES, True), (SPEED, False)):
        found = search(kernel, objective, trusting=True)
        rules = plan_from(facts_of(kernel), DYN, Start.DATAFLOW, "best", frozenset())
        assert (found.best().plan.arena_bytes < rules.arena_bytes) is tried


def bounded_checks(kernel: Kernel, monkeypatch: pytest.MonkeyPatch, *names: str) -> list[Plan]:
    """The plans checked from now on; where two buffers share bytes that speaks against a plan."""
    pair = frozenset(one for one in kernel.allocations(DYN) if one.name in names)
    seen: list[Plan] = []

    def check(kernel: Kernel, plan: Plan, effort: Effort) -> Verdict:
        if effort is not Effort.BOUNDED:
            return judge(kernel, plan, effort)
        seen.append(plan)
        if not plan.shared_bytes(*pair):
            return Verdict(UNPROVED, uncovered=("there is more",), stopped_early=True)
        violations = (Violation(Rule.IN_FLIGHT, names, "maybe"),)
        return Verdict(UNPROVED, violations, open_pairs=frozenset({pair}))

    monkeypatch.setattr("smemreuse.pipeline.candidate.judge", check)
    return seen


def nothing_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan is applied before it is checked."""
    monkeypatch.setattr("smemreuse.pipeline.search.order_is_settled", lambda facts: facts is None)


def test_in_a_lowering_a_bounded_check_is_enough_before_a_plan_is_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = dumped("flash_attention.sm_90a")
    nothing_settled(monkeypatch)
    seen = bounded_checks(kernel, monkeypatch, "Qs", "Os")
    monkeypatch.delattr("smemreuse.pipeline.judging.check_plan")
    own = merge_of(kernel).plan(kernel, DYN)
    hoped = search(kernel, SPEED, trusting=True).best().plan
    pairs = [{one.name, two.name} for one, two, _ in hoped.sharing_pairs()]
    assert seen[0].offsets == own.offsets
    assert pairs
    assert {"Qs", "Os"} not in pairs
    assert hoped.arena_bytes <= own.arena_bytes


def test_a_compilers_layout_that_mostly_holds_is_applied_before_it_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = dumped("flash_attention.sm_90a")
    seen = bounded_checks(kernel, monkeypatch, "Qs", "Os")
    monkeypatch.delattr("smemreuse.pipeline.judging.check_plan")
    own = merge_of(kernel).plan(kernel, DYN)
    assert search(kernel, SPEED, trusting=True).best().plan.offsets == own.offsets
    assert not seen


def test_in_a_lowering_no_plan_is_checked_that_is_larger_than_the_compilers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each check blames one pair, so that the next plan is a little larger."""
    kernel = dumped("gemm.sm_90a")
    nothing_settled(monkeypatch)
    seen: list[int] = []

    def refused(_kernel: Kernel, plan: Plan, effort: Effort) -> Verdict:
        assert effort is Effort.BOUNDED
        seen.append(plan.arena_bytes)
        pairs = [frozenset((one, two)) for one, two, _ in plan.sharing_pairs()]
        return Verdict(UNPROVED, uncovered=("who knows",), open_pairs=frozenset(pairs[:1]))

    monkeypatch.setattr("smemreuse.pipeline.candidate.judge", refused)
    own = merge_of(kernel).plan(kernel, DYN)
    assert search(kernel, SPEED, trusting=True).best().plan.offsets == own.offsets
    assert seen
    assert max(seen) <= own.arena_bytes


def test_less_sharing_than_in_a_plan_that_passes_is_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = dumped("flash_attention.sm_90a")
    nothing_settled(monkeypatch)
    found = search(kernel, SPEED, trusting=True)
    seen = bounded_checks(kernel, monkeypatch, "Qs", "Os")
    hopeful = found._guess(Start.INNER, frozenset())
    room = sum(one.size or 0 for one in kernel.allocations(DYN))
    assert hopeful.plan.sharing_pairs()
    assert found._least_sharing(hopeful, room).plan.offsets != hopeful.plan.offsets
    assert not seen


def test_once_a_bounded_check_has_failed_optimistic_checks_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = dumped("flash_attention.sm_90a")
    nothing_settled(monkeypatch)
    seen = bounded_checks(kernel, monkeypatch, "Qs", "Os")
    found = search(kernel, SPEED, trusting=True)
    hoped = found.best()
    found.learn(hoped.with_verdict(Verdict(UNPROVED, uncovered=("who knows",))))
    seen.clear()
    assert found.best().plan.offsets != hoped.plan.offsets
    assert not seen


def blocks(kernel: Kernel, plan: Plan) -> int:
    found = resident_blocks(kernel, plan, None)
    return found.blocks if found else 0


def test_l1_is_not_worth_it_that_every_round_waits() -> None:
    """The epilogue's buffer could lie in the stages; then each tile waits for the one before."""
    kernel = dumped("batched_gemm.sm_90a")
    own, fast = merge_of(kernel).plan(kernel, DYN), plan_kernel(kernel, DYN, objective="speed")
    small = plan_kernel(kernel, DYN)
    assert rounds_of_sharing(kernel, small) > rounds_of_sharing(kernel, own)
    if blocks(kernel, fast) == blocks(kernel, own):
        assert rounds_of_sharing(kernel, fast) <= rounds_of_sharing(kernel, own)
