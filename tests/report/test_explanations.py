"""What `explain` tells, of explanations made by hand."""

from __future__ import annotations

import json

from smemreuse.ir.kernel import Kernel
from smemreuse.report.data import Subject
from smemreuse.report.explanations import (
    explain_entry,
    explain_lines,
    explain_summary,
    explain_table,
)
from smemreuse.results.explanation import Cause
from smemreuse.results.plan import Plan
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from tests.report.made import (
    APART,
    PAIRS,
    PLANS,
    SCOPE,
    SHARED,
    SUBJECT,
    TOGETHER,
    A,
    C,
    buffer,
    cells,
    explanation,
    out,
    plan,
    printed,
)

CARRIED = Cause(
    Rule.LOOP_CARRIED, "rule 2: As: its bytes may be carried from one iteration to the next"
)


def test_one_pair_as_data() -> None:
    found = explanation(A, C, CARRIED, verdict=Verdict(UNPROVED, uncovered=("why",)))
    data = json.loads(json.dumps(explain_entry(SUBJECT, found)))
    assert data["buffers"] == ["As", "Cs"]
    assert data["live"] == {"As": [1, 5], "Cs": [6, 8]}
    assert (data["may_share"], data["sharing"]) == (False, "not proved")
    assert data["forbidden_by"] == "rule 2: loop-carried"
    assert data["reasons"] == [CARRIED.text]
    assert data["checker"]["uncovered"] == ["why"]


def test_everything_about_a_pair() -> None:
    settled = explanation(A, C, settled=("rule 4: in arms",))
    assert [line.plain for line in explain_lines(SUBJECT, settled)] == [
        "gemm_kernel (shared.dyn): As and Cs may share bytes",
        "  As is live in [1, 5)",
        "  Cs is live in [6, 8)",
        "  decided by the checker, which follows every byte:",
        "    rule 4: in arms",
        "  checker, with As and Cs at the same offset: sound",
    ]
    unproved = explanation(A, buffer("Us", 4), CARRIED, verdict=Verdict(UNPROVED))
    first, *rest = (line.plain for line in explain_lines(SUBJECT, unproved))
    assert first.endswith("As and Us are not proved to share bytes")
    assert "  Us is unused" in rest
    assert f"  {CARRIED.text}" in rest


def test_a_row_for_each_pair() -> None:
    assert cells(explain_table(out(), PAIRS)) == [
        ["buffers", "sharing", "what speaks against it", "why `outer` keeps them apart"],
        ["As and Bs", "must not share", TOGETHER.text, ""],
        ["As and Cs", "may share", "", "both are touched in `for b`"],
        ["Bs and Cs", "may share", "", "both are touched in `for b`"],
    ]


def summary(subject: Subject, apart: Plan, *wanted: str, pairs: bool = True) -> list[str]:
    judged = [PLANS["outer"], (SHARED, Verdict(SOUND))]
    console = out()
    for line in explain_summary(console, subject, judged, apart, PAIRS if pairs else (), wanted):
        console.print(line)
    return printed(console).splitlines()


def test_what_each_plan_makes_of_a_kernel() -> None:
    first, second, *table = summary(SUBJECT, APART)
    assert first == (
        "gemm_kernel (shared.dyn), policy outer: 65,536 of 65,536 bytes; nothing is reused; "
        "verdict: sound"
    )
    assert second == (
        "gemm_kernel (shared.dyn), policy dataflow: 32,768 of 65,536 bytes; "
        "32,768 bytes are reused; verdict: sound"
    )
    assert any("As and Cs" in line for line in table)


def test_without_pairs_it_says_why() -> None:
    unused = buffer("Us", 4)
    apart = plan("outer", {A: 0}, {A: (0, 1)}, buffers=(A, unused))
    assert summary(SUBJECT, apart, "Us", pairs=False)[-1] == "Us is not used"
    assert summary(SUBJECT, apart, pairs=False)[-1] == "fewer than two buffers are used"
    nothing = Subject("k.tir", Kernel("k", ()), SCOPE)
    assert summary(nothing, apart) == ["k.tir: k has no shared buffers"]
