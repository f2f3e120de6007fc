"""What `explain` tells, of explanations made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

from smemreuse.report.explanations import (
    UNCHECKED,
    explain_entry,
    explain_lines,
    explain_summary,
    explain_table,
    grouped_lines,
)
from smemreuse.report.layouts import SHIPS_WITH_HAZARD, Layouts
from smemreuse.results.explanation import NOT_JUDGED, Cause
from smemreuse.results.plan import Plan
from smemreuse.results.preconditions import Preconditions
from smemreuse.results.provenance import Origin
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, Violation
from tests.report.made import (
    APART,
    PAIRS,
    SHARED,
    SUBJECT,
    TOGETHER,
    A,
    B,
    C,
    buffer,
    cells,
    explanation,
    out,
    plan,
    printed,
)
from tests.report.test_mending import BEFORE

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
    ends = ("from `As[0] = 1` to the end of the kernel", "from `Cs[0] = 1` to `O[0] = Cs[0]`")
    settled = replace(explanation(A, C, settled=("rule 4: in arms",)), lifetimes=ends)
    assert [line.plain for line in explain_lines(SUBJECT, settled)] == [
        "gemm_kernel (shared.dyn): As and Cs may share bytes",
        f"  As is live {ends[0]}",
        f"  Cs is live {ends[1]}",
        "  without the checker, which follows every byte, these would keep them apart:",
        "    rule 4: in arms",
        "  checker, with As and Cs at the same offset: sound",
    ]
    alike = ("rule 5: As: is late in `a` (line 1)", "rule 5: As: is late in `b` (line 2)", "rule 6")
    told = [line.plain for line in explain_lines(SUBJECT, explanation(A, C, settled=alike))]
    assert told[4:6] == ["    rule 5: As: is late in `a` (line 1), `b` (line 2)", "    rule 6"]
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


def summary(layouts: Layouts, *wanted: str, pairs: bool = True) -> list[str]:
    console = out()
    for line in explain_summary(console, SUBJECT, layouts, PAIRS if pairs else (), wanted):
        console.print(line)
    return printed(console).splitlines()


PROVED = Verdict(SOUND)


def shipped(made: Plan, verdict: Verdict = PROVED, apart: Plan = APART) -> Layouts:
    return Layouts("TileLang", (made, verdict), (apart, PROVED), apart)


def test_the_layout_that_ships_comes_first_and_what_it_is_compared_with() -> None:
    first, *rest = summary(shipped(SHARED))
    assert first == "gemm_kernel (shared.dyn)"
    assert rest[:3] == [
        "  chosen: 32,768 bytes, smemreuse's layout (proved sound)",
        "  TileLang's default merge: 65,536 bytes (proved sound); chosen: 50.0 % fewer",
        "  buffers side by side: 65,536 bytes; chosen: 50.0 % fewer",
    ]
    assert "  As, Bs with Cs" in rest


def test_fewer_bytes_that_gain_nothing_say_so() -> None:
    lines = [*explain_summary(out(), SUBJECT, shipped(SHARED), (), (), is_idle=True)]
    assert str(lines[2]).endswith(
        "chosen: 50.0 % fewer, which gains neither a resident block nor L1"
    )


def test_a_proof_that_lint_refutes_is_not_called_one() -> None:
    """Not for a layout that shares, the default one too; what shares nothing needs no proof."""
    refuted = Preconditions(BEFORE)
    default = SHARED.with_provenance(origin=Origin.COMPILER_PROVED)
    layouts = Layouts("TileLang", (SHARED, PROVED), (default, PROVED), APART)
    lines = [str(one) for one in explain_summary(out(), SUBJECT, layouts, (), (), refuted)]
    assert lines[1].endswith(
        "smemreuse's layout (proved, but for a hazard of the kernel itself: the kernel has a data "
        "race between lines 4 and 7 (As))"
    )
    but = "proved, but for a hazard of the kernel itself"
    assert lines[3].endswith(
        f"32,768 bytes ({but}: as above); the same size, so neither gains anything"
    )
    assert lines[2] == f"  {SHIPS_WITH_HAZARD}"
    alone = [str(one) for one in explain_summary(out(), SUBJECT, shipped(APART), (), (), refuted)]
    assert alone[1].endswith("no buffers share bytes (proved sound)")
    assert f"  {SHIPS_WITH_HAZARD}" not in alone


def test_reasons_of_pairs_are_clauses_with_the_rule_after_them() -> None:
    open_pair = explanation(A, C, CARRIED, verdict=Verdict(UNPROVED))
    limit = explanation(A, C, verdict=Verdict(UNPROVED, uncovered=("budget: too long",)))
    certain = Verdict(UNSOUND, (Violation(Rule.LOOP_CARRIED, ("As", "Cs"), "`x` overwrote it"),))
    wrong = explanation(A, C, CARRIED, verdict=certain)
    carried = "bytes may be carried to the next iteration (rule 2)"
    unasked = explanation(A, C, verdict=NOT_JUDGED)
    together = Cause(None, "live together from here on")
    unchecked = replace(unasked, causes=(together, Cause(Rule.DIVERGENT_ARMS, "rule 4: in both")))
    assert [line.plain for line in grouped_lines([unchecked])] == [
        f"{UNCHECKED}, 1 of 1 pairs:",
        "  live at the same time by the order of the text, which concurrent branches need not "
        "keep: As with Cs",
    ]
    assert [line.plain for line in grouped_lines([unasked])][1:] == [
        "  no proof, as the checker was not asked: As with Cs"
    ]
    assert [line.plain for line in grouped_lines([open_pair])][1:3] == [
        f"  {carried}: As with Cs",
        "    As: its bytes may be carried from one iteration to the next",
    ]
    assert [line.plain for line in grouped_lines([limit])][-1] == (
        "    the checker stopped at its limit of work: too long"
    )
    lines = [line.plain for line in grouped_lines([wrong])]
    assert lines[0] == "must not share, 1 of 1 pairs:"
    assert "    As and Cs: `x` overwrote it" in lines


def test_a_layout_of_the_compiler_that_is_kept_is_named() -> None:
    kept = SHARED.with_provenance(origin=Origin.KEPT_FROM_COMPILER)
    lines = summary(shipped(kept, Verdict(UNPROVED)))
    whose = "the layout of TileLang's default merge, which is kept"
    assert lines[1] == f"  chosen: 32,768 bytes, {whose} (unproved)"
    assert not any(line.startswith("  TileLang's default merge: ") for line in lines)
    proved = SHARED.with_provenance(origin=Origin.COMPILER_PROVED)
    assert "the layout of TileLang's default merge (proved sound)" in summary(shipped(proved))[1]


def test_what_shares_nothing_is_called_so() -> None:
    lines = summary(shipped(APART))
    assert lines[1] == "  chosen: 65,536 bytes, no buffers share bytes (proved sound)"
    usual = "default merge: 65,536 bytes (proved sound)"
    assert lines[2].endswith(f"{usual}; the same size, so neither gains anything")
    alone = Layouts("TileLang", (APART, PROVED), None, APART)
    assert "  TileLang's default merge: none, it does not compile this kernel" in summary(alone)


def test_without_pairs_it_says_why() -> None:
    unused = buffer("Us", 4)
    apart = plan("outer", {A: 0}, {A: (0, 1)}, buffers=(A, unused))
    assert summary(shipped(apart, apart=apart), "Us", pairs=False)[-1] == "Us is not used"
    last = summary(shipped(apart, apart=apart), pairs=False)[-1]
    assert last == "buffers that are used: 1, so none may share bytes with another"


def test_it_is_told_of_how_many_pairs_the_compilers_rule_is() -> None:
    kept = [replace(explanation(*pair), outer="both are in a loop") for pair in ((A, C), (B, C))]
    rule, why = "  the compilers' rule (policy outer) keeps apart", "both are in a loop"
    assert [*grouped_lines(kept)][-1].plain == f"{rule} all of these: {why}"
    free = replace(explanation(A, B), outer="")
    assert [*grouped_lines([*kept, free])][-1].plain == f"{rule} As, Bs with Cs: {why}"
