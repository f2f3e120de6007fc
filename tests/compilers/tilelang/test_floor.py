"""TileLang's own layout is the floor: what stays where nothing smaller is proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import smemreuse.tilelang
from fixtures.kernels import FIXTURES
from smemreuse.ir.kernel import Kernel
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, VerdictKind
from smemreuse.tilelang import Session
from smemreuse.versions.merges import merge_of
from tests.compilers.tilelang.lowering import lower

pytestmark = pytest.mark.tilelang

Judge = Callable[[Sequence[Kernel], Sequence[Sequence[Plan]]], list[Verdict]]


def gemm() -> Any:
    """Its epilogue's tile lies in the stages, by TileLang alone too."""
    fixture = FIXTURES["gemm"]
    return fixture.make(**fixture.configs["small"])


def judging(ours: VerdictKind, theirs: VerdictKind) -> Judge:
    """A checker that says so of every plan of ours that shares bytes, and of TileLang's layout."""

    def judge(kernels: Sequence[Kernel], plans: Sequence[Sequence[Plan]]) -> list[Verdict]:
        found = []
        for plan in (plan for launch in plans for plan in launch):
            own = plan.provenance.is_own
            kind = theirs if own else ours if plan.sharing_pairs() else SOUND
            found.append(Verdict(kind, uncovered=() if kind is SOUND else ("who knows",)))
        return found

    return judge


def merged(monkeypatch: pytest.MonkeyPatch, judge: Judge, **options: Any) -> tuple[Session, str]:
    monkeypatch.setattr("smemreuse.compilers.functions.judge_with_barriers", judge)
    with smemreuse.tilelang.merge(**options) as session:
        source = str(lower(gemm(), "sm_80").artifact.kernel_source)
    return session, source


@pytest.mark.parametrize("objective", ["bytes", "speed"])
def test_where_nothing_smaller_is_proved_the_source_is_the_compiler_s(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = str(lower(gemm(), "sm_80").artifact.kernel_source)
    session, source = merged(monkeypatch, judging(UNPROVED, UNPROVED), objective=objective)
    assert source == alone
    (applied,) = session.plans
    assert applied.plan.provenance.origin is Origin.KEPT_FROM_COMPILER
    assert applied.verdict.verdict is UNPROVED
    assert (
        applied.plan.offsets == merge_of(applied.kernel).plan(applied.kernel, "shared.dyn").offsets
    )


def test_what_is_kept_may_be_proved_where_it_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = merged(monkeypatch, judging(UNPROVED, SOUND))
    (applied,) = session.plans
    assert applied.plan.provenance.origin is Origin.COMPILER_PROVED


def test_strict_shares_nothing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    session, source = merged(monkeypatch, judging(UNPROVED, UNPROVED), strict=True)
    (applied,) = session.plans
    assert applied.plan.sharing_pairs() == []
    assert applied.verdict.sound
    assert source != str(lower(gemm(), "sm_80").artifact.kernel_source)


def test_a_layout_that_is_refuted_is_warned_of_and_not_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = "TileLang 0.1.15's own merge of gemm_kernel is wrong, and not applied: who knows"
    with pytest.warns(RuntimeWarning, match=wrong):
        session, _ = merged(monkeypatch, judging(UNPROVED, UNSOUND))
    (applied,) = session.plans
    assert applied.plan.sharing_pairs() == []
    assert UNSOUND in [verdict.verdict for _, verdict in applied.rejected]
