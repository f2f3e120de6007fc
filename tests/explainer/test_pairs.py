"""Why pairs of buffers may share bytes or not."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from smemreuse.checker.budget import Work, work_of
from smemreuse.compilers.text.reader import read_dump
from smemreuse.explainer import pairs as pairs_module
from smemreuse.explainer.pairs import Explainer, explained_pairs, explainer_of, where
from smemreuse.explainer.plans import judged_plan
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.explanation import NOT_JUDGED, Sharing
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import UNSOUND
from tests.compilers.text.texts import LAUNCH, dump, kernel_of
from tests.conftest import DUMPS
from tests.dumps import kernels_of

SCOPE = "shared.dyn"


def kernel(name: str) -> Kernel:
    return kernels_of(DUMPS / f"{name}.tir")[0]


@pytest.mark.parametrize(
    ("name", "pair", "sharing"),
    [
        ("batched_gemm.sm_80", ("As", "Cs"), Sharing.MAY),
        ("while_table.sm_80", ("scratch", "table"), Sharing.MUST_NOT),  # a witness
        ("pointer_escape.sm_80", ("table", "scratch"), Sharing.MUST_NOT),  # both are in use
        ("while_phases.sm_80", ("first", "second"), Sharing.MAY),  # which the checker alone proves
        ("data_dependent_refill.sm_80", ("table", "scratch"), Sharing.NOT_PROVED),
        ("divergent_by_variable.sm_80", ("left", "right"), Sharing.NOT_PROVED),
        ("gemm_three_groups.sm_90a", ("A0", "C1"), Sharing.NOT_PROVED),  # in any order
    ],
)
def test_what_is_not_proved_is_not_called_forbidden(
    name: str, pair: tuple[str, str], sharing: Sharing
) -> None:
    found = explained_pairs(kernel(name), SCOPE, pair)
    assert found is not None
    assert [(one.names, one.sharing) for one in found] == [(pair, sharing)]


@pytest.mark.parametrize(
    ("name", "pair", "rule"),
    [
        ("scratch_before_carried.sm_80", ("scratch", "carried"), Rule.LOOP_CARRIED),
        ("divergent_arms.sm_80", ("left", "right"), Rule.DIVERGENT_ARMS),
        ("cp_async_past_loop.sm_80", ("stage", "scratch"), Rule.IN_FLIGHT),
        ("while_table.sm_80", ("table", "scratch"), Rule.BARRIER),
        ("batched_gemm.sm_80", ("As", "Bs"), None),
    ],
)
def test_the_rule_that_forbids_it_comes_first(
    name: str, pair: tuple[str, str], rule: Rule | None
) -> None:
    (found,) = explained_pairs(kernel(name), SCOPE, pair) or ()
    first, *_ = found.causes
    assert first.rule is rule
    assert found.forbidden_by == (f"rule {rule}: {rule.conflict}" if rule else "live together")


def test_mbarriers_settle_what_static_rules_cannot() -> None:
    (found,) = explained_pairs(kernel("gemm.sm_90a"), SCOPE, ("As", "Cs")) or ()
    assert found.may_share
    assert any(reason.startswith("rule 4: ") for reason in found.settled)


@pytest.mark.parametrize("name", ["gemm.sm_90a", "flash_attention.sm_90a"])
def test_live_ranges_are_those_of_the_plan(name: str) -> None:
    """In kernels with mbarriers the static ranges are wider, and a plan does without them."""
    plan = plan_kernel(kernel(name), SCOPE)
    for found in Explainer(kernel(name), SCOPE).pairs():
        by_name = {one.name: (span.begin, span.end) for one, span in plan.live.items()}
        spans = [by_name[one] for one in found.names]
        assert [*found.live] == spans
        for cause in found.causes:
            if cause.text.startswith("live together"):
                entry = plan.entries[max(begin for begin, _ in spans)]
                assert cause.text == f"live together from {where(entry.stmt)} on"


IN_FLIGHT = """
for i in range(4):
    if i > 0:
        G[tx] = As[tx] + T.float32(1)
    T.ptx_cp_async(T.tvm_access_ptr(T.type_annotation("float32"), As.data, tx, 1, 2), T.tvm_access_ptr(T.type_annotation("float32"), A, tx, 1, 1), 4)
    T.ptx_commit_group()
    Bs[tx] = G[tx + 128]
    G[tx + 128] = Bs[tx]
    T.ptx_wait_group(0)
    Cs[tx] = G[tx + 128]
    G[tx + 128] = Cs[tx]
"""  # noqa: E501


def test_the_rule_that_decides_is_named() -> None:
    """As is in flight until the wait, which Bs meets; carried around the loop, which Cs meets."""
    body = 'G = T.decl_buffer((1024,), "float32", data=A)\n' + LAUNCH
    body += 'tx = T.launch_thread("threadIdx.x", 128)\n'
    for name in ("As", "Bs", "Cs"):
        body += f'{name} = T.alloc_buffer((128,), scope="shared.dyn")\n'
    pairs = explained_pairs(kernel_of(dump(body + IN_FLIGHT)), SCOPE, ("As",)) or ()
    rules = {found.names[1]: found.forbidden_by for found in pairs}
    assert rules == {"Bs": "rule 5: in flight", "Cs": "rule 2: loop-carried"}
    assert not any(reason.startswith("rule 5") for reason in pairs[1].reasons)


def test_a_pair_that_a_proved_plan_shares_may_share(dump_path: Path) -> None:
    for one in kernels_of(dump_path):
        for scope in one.shared_scopes():
            plan, verdict = judged_plan(one, scope)
            if not verdict.sound:
                continue
            explainer = Explainer(one, scope)
            for pair in combinations(plan.offsets, 2):
                if plan.shared_bytes(*pair):
                    assert explainer.pair(pair).may_share


def test_a_buffer_that_is_not_there_has_no_pairs() -> None:
    found = kernel("batched_gemm.sm_80")
    assert explained_pairs(found, SCOPE, ("As", "Zs")) is None
    assert explained_pairs(found, "shared", ("As", "Bs")) is None
    assert len(explained_pairs(found, SCOPE) or ()) == 3
    assert [one.names for one in explained_pairs(found, SCOPE, ("Cs",)) or ()] == [
        ("As", "Cs"),
        ("Bs", "Cs"),
    ]


def test_a_witness_is_certain() -> None:
    (found,) = explained_pairs(kernel("while_table.sm_80"), SCOPE, ("scratch", "table")) or ()
    assert found.verdict.verdict is UNSOUND
    assert any("overwrote it" in one.witness for one in found.verdict.violations)


def test_of_many_pairs_only_the_first_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the smallest plan settles them, or they are named."""
    monkeypatch.setattr(pairs_module, "OF_PAIRS", 0)
    (made,) = read_dump(DUMPS / "while_table.sm_80.tir").kernels  # of which nothing is known yet
    found = explained_pairs(made, SCOPE)
    assert found is not None
    (left,) = [one for one in found if one.verdict is NOT_JUDGED]
    assert "name the two" in left.verdict.first_finding
    (named,) = explained_pairs(made, SCOPE, left.names) or ()
    assert named.verdict.verdict is UNSOUND
    monkeypatch.undo()
    again = explained_pairs(made, SCOPE)
    assert again is not None
    assert NOT_JUDGED not in [one.verdict for one in again]


def test_no_check_is_begun_that_cannot_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the proof of a whole plan took more than is left for all pairs."""
    (made,) = read_dump(DUMPS / "while_table.sm_80.tir").kernels
    explainer = explainer_of(made, SCOPE)
    by_name = {explainer.names[one]: one for one in made.allocations(SCOPE)}
    pair = by_name["scratch"], by_name["table"]
    monkeypatch.setattr(work_of(made), "of_proof", 1_000_001)
    done = work_of(made).done
    assert explainer.pair(pair, most=1_000_000).verdict is NOT_JUDGED
    smallest = work_of(made).done - done
    assert explainer.pair(pair, most=2_000_000_000).verdict.verdict is UNSOUND
    assert work_of(made).done - done > smallest


def test_a_proof_counts_for_all_that_it_is_a_part_of() -> None:
    kernel = Work(1_000)
    check = Work(500, Work(800, kernel))
    check.do(30)
    check.ended_in_proof()
    check.do(10)
    assert (check.of_proof, kernel.of_proof) == (0, 30)


def test_a_pair_gets_no_more_work_than_is_left() -> None:
    """What a check that is cut short says is not kept: it says nothing of the pair."""
    (made,) = read_dump(DUMPS / "while_table.sm_80.tir").kernels
    explainer = explainer_of(made, SCOPE)
    by_name = {explainer.names[one]: one for one in made.allocations(SCOPE)}
    pair = by_name["scratch"], by_name["table"]
    assert explainer.pair(pair, most=1).verdict is NOT_JUDGED
    assert explainer.pair(pair).verdict.verdict is UNSOUND


def test_without_the_checker_a_pair_is_proved_by_a_plan_alone() -> None:
    """None is judged by itself; of the three pairs, the plans share bytes of two."""
    one = kernel("batched_gemm.sm_80")
    asked = {pair.names: pair for pair in Explainer(one, SCOPE).pairs()}
    unasked = {pair.names: pair for pair in Explainer(one, SCOPE).pairs(0)}
    assert {names: pair.sharing for names, pair in asked.items()} == {
        names: pair.sharing for names, pair in unasked.items()
    }
    judged = {names for names, pair in unasked.items() if pair.judged}
    assert judged == {("As", "Cs"), ("Bs", "Cs")}
    assert unasked["As", "Bs"].forbidden_by == "live together"
