"""What is wrong with a plan, and how it is told."""

from __future__ import annotations

import pytest

from smemreuse.checker.machine.findings import MAX_TEXT, AccessEvent, Findings
from smemreuse.checker.machine.memory import Memory
from smemreuse.ir.expr import Const, Var
from smemreuse.ir.kernel import Evaluate, If, Store
from smemreuse.results.rules import Rule
from tests.checker.small import access, layout_of, shared

A, B = shared("A", 8), shared("B", 8)
LAYOUT = layout_of(A, B, B=4)
WRITE_A = Store(A, (Const(4),), Const(1), line=3)
WRITE_B = Store(B, (Const(0),), Const(2))
READ_A = Evaluate(Var("a"), 7)


@pytest.fixture
def findings() -> Findings:
    return Findings(LAYOUT)


def reports(findings: Findings) -> list[tuple[int, tuple[str, ...], bool]]:
    return [
        (found.violation.rule, found.violation.buffers, found.certain)
        for found in findings.found.values()
    ]


def race(
    findings: Findings, rule: Rule = Rule.BARRIER, certain: bool = True, other: int = 0
) -> None:
    event = findings.event(WRITE_B, ())
    findings.race(rule, access(B, range(4), event=event), A, other, certain)


def lose(findings: Findings, certain: bool, read_surely: bool = True) -> str:
    """A is written, B takes its place, and A is read; the witness."""
    memory = Memory(LAYOUT)
    numbers = [findings.event(stmt, ()) for stmt in (WRITE_A, WRITE_B)]
    memory.write(access(A, range(8), is_write=True, event=numbers[0]))
    memory.write(access(B, range(4), is_write=True, certain=certain, event=numbers[1]))
    read = access(A, range(8), certain=read_surely, event=findings.event(READ_A, (("k", 2),)))
    findings.lost(read, memory.lost(read), memory.shadows[A])
    return findings.found[Rule.LOOP_CARRIED, frozenset({"A", "B"})].violation.witness


def test_an_event_is_its_statement_its_line_and_the_rounds_of_its_loops() -> None:
    assert str(AccessEvent(WRITE_A, (("k", 3), ("j", 0)))) == "`A[4] = 1` (line 3) at k = 3, j = 0"
    assert str(AccessEvent(WRITE_B, ())) == "`B[0] = 2`"


def test_a_long_statement_is_cut() -> None:
    text = str(AccessEvent(Evaluate(Var("x" * 100)), ()))
    assert len(text) == MAX_TEXT + 2
    assert text.endswith("...`")


def test_a_value_that_is_lost_breaks_rule_2(findings: Findings) -> None:
    assert lose(findings, certain=True) == (
        "`a` (line 7) at k = 2 reads byte 4 of A, written by `A[4] = 1` (line 3); "
        "`B[0] = 2` overwrote it"
    )
    assert reports(findings) == [(2, ("A", "B"), True)]


@pytest.mark.parametrize(("certain", "read_surely"), [(False, True), (True, False)])
def test_a_value_that_may_be_lost_is_no_proof(
    findings: Findings, certain: bool, read_surely: bool
) -> None:
    assert "may have overwritten it" in lose(findings, certain, read_surely)
    assert reports(findings) == [(2, ("A", "B"), False)]


@pytest.mark.parametrize(
    ("rule", "words"),
    [(Rule.BARRIER, "is not ordered before"), (Rule.IN_FLIGHT, "is not waited for before")],
)
def test_a_race_names_both_statements(findings: Findings, rule: Rule, words: str) -> None:
    first = findings.event(WRITE_A, ())
    race(findings, rule, other=first)
    (found,) = findings.found.values()
    assert found.violation.witness == (
        f"`A[4] = 1` (line 3) on A {words} `B[0] = 2` on B, which shares its bytes"
    )


def test_a_value_from_before_the_trace_has_no_statement(findings: Findings) -> None:
    race(findings, other=-1)
    (found,) = findings.found.values()
    assert found.violation.witness.startswith("an earlier value on A")


def test_there_is_one_finding_for_a_rule_and_a_pair(findings: Findings) -> None:
    findings.event(WRITE_A, ())
    race(findings, Rule.BARRIER)
    race(findings, Rule.BARRIER)
    findings.race(Rule.BARRIER, access(A, range(4, 8), event=0), B, 0, True)  # the same pair
    race(findings, Rule.IN_FLIGHT)
    assert reports(findings) == [(6, ("B", "A"), True), (5, ("B", "A"), True)]


def test_a_certain_finding_takes_the_place_of_a_possible_one_and_stays(findings: Findings) -> None:
    findings.event(WRITE_A, ())
    seen = []
    for certain in (False, True, False):
        race(findings, certain=certain)
        seen += reports(findings)
    assert [certain for _, _, certain in seen] == [False, True, True]


def test_where_data_have_decided_nothing_is_certain(findings: Findings) -> None:
    findings.event(WRITE_A, ())
    findings.forked = True
    race(findings)
    assert reports(findings) == [(6, ("B", "A"), False)]


def test_arms_that_threads_may_share_out_break_rule_4(findings: Findings) -> None:
    findings.arms(If(Var("c"), (), (), 9), A, B)
    assert reports(findings) == [(4, ("A", "B"), False)]
    (found,) = findings.found.values()
    assert found.violation.witness == (
        "threads may be in both arms of `if c` (line 9), where A and B share bytes"
    )


def test_a_write_that_leaves_its_buffer_is_told_once(findings: Findings) -> None:
    for stmt in (WRITE_A, WRITE_B):
        findings.leaves(A, findings.event(stmt, ()))
    assert findings.left == {A: "`A[4] = 1` (line 3) leaves A, which has 8 bytes"}


def test_where_data_have_decided_no_write_surely_leaves(findings: Findings) -> None:
    findings.forked = True
    findings.leaves(A, findings.event(WRITE_A, ()))
    assert findings.left == {}
