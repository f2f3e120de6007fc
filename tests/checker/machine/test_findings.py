"""What is wrong with a plan, and how it is told."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.events import MAX_TEXT, AccessEvent
from smemreuse.checker.machine.findings import Violations
from smemreuse.checker.machine.memory import Memory
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Const, Var
from smemreuse.ir.kernel import Evaluate, If, Store
from smemreuse.results.rules import Rule
from smemreuse.semantics.accesses import Footprint, MemoryAccess
from smemreuse.semantics.evaluate import Threads
from tests.checker.small import access, layout_of, shared

A, B = shared("A", 8), shared("B", 8)
LAYOUT = layout_of(A, B, B=4)
WRITE_A = Store(A, (Const(4),), Const(1), line=3)
WRITE_B = Store(B, (Const(0),), Const(2))
READ_A = Evaluate(Var("a"), 7)


@pytest.fixture
def findings() -> Violations:
    return Violations(LAYOUT)


def reports(findings: Violations) -> list[tuple[int, tuple[str, ...], bool]]:
    return [
        (found.violation.rule, found.violation.buffers, found.certain)
        for found in findings.found.values()
    ]


def race(
    findings: Violations, rule: Rule = Rule.BARRIER, certain: bool = True, other: int = 0
) -> None:
    event = findings.event(WRITE_B, ())
    earlier = access(A, range(4, 8), is_write=True, certain=certain, event=other)
    findings.unordered(rule, access(B, range(4), event=event), A, iter([earlier]))


def lose(findings: Violations, certain: bool, read_surely: bool = True) -> str:
    """A is written, B takes its place, and A is read; the witness."""
    memory = Memory(LAYOUT)
    numbers = [findings.event(stmt, ()) for stmt in (WRITE_A, WRITE_B)]
    memory.write(access(A, range(8), is_write=True, event=numbers[0]))
    memory.write(access(B, range(4), is_write=True, certain=certain, event=numbers[1]))
    read = access(A, range(8), certain=read_surely, event=findings.event(READ_A, (("k", 2),)))
    findings.reads(read, memory)
    return findings.found[Rule.LOOP_CARRIED, frozenset({"A", "B"})].violation.witness


def test_an_event_is_its_statement_its_line_and_the_rounds_of_its_loops() -> None:
    assert str(AccessEvent(WRITE_A, (("k", 3), ("j", 0)))) == "`A[4] = 1` (line 3) at k = 3, j = 0"
    assert str(AccessEvent(WRITE_B, ())) == "`B[0] = 2`"


def test_a_long_statement_is_cut() -> None:
    text = str(AccessEvent(Evaluate(Var("x" * 100)), ()))
    assert len(text) == MAX_TEXT + 2
    assert text.endswith("...`")


def test_a_value_that_is_lost_breaks_rule_2(findings: Violations) -> None:
    assert lose(findings, certain=True) == (
        "`a` (line 7) at k = 2 reads byte 4 of A, written by `A[4] = 1` (line 3); "
        "`B[0] = 2` overwrote it"
    )
    assert reports(findings) == [(2, ("A", "B"), True)]


@pytest.mark.parametrize(("certain", "read_surely"), [(False, True), (True, False)])
def test_a_value_that_may_be_lost_is_no_proof(
    findings: Violations, certain: bool, read_surely: bool
) -> None:
    assert "may have overwritten it" in lose(findings, certain, read_surely)
    assert reports(findings) == [(2, ("A", "B"), False)]


@pytest.mark.parametrize(
    ("rule", "words"),
    [(Rule.BARRIER, "is not ordered before"), (Rule.IN_FLIGHT, "is not waited for before")],
)
def test_a_race_names_both_statements(findings: Violations, rule: Rule, words: str) -> None:
    first = findings.event(WRITE_A, ())
    race(findings, rule, other=first)
    (found,) = findings.found.values()
    assert found.violation.witness == (
        f"`A[4] = 1` (line 3) on A {words} `B[0] = 2` on B, which shares its bytes"
    )


def test_a_value_from_before_the_trace_has_no_statement(findings: Violations) -> None:
    race(findings, other=-1)
    (found,) = findings.found.values()
    assert found.violation.witness.startswith("an earlier access on A")


def test_there_is_one_finding_for_a_rule_and_a_pair(findings: Violations) -> None:
    findings.event(WRITE_A, ())
    race(findings, Rule.BARRIER)
    race(findings, Rule.BARRIER)
    same_pair = access(A, range(4, 8), event=0)
    findings.unordered(Rule.BARRIER, same_pair, B, iter([access(B, range(4), event=0)]))
    race(findings, Rule.IN_FLIGHT)
    assert reports(findings) == [(6, ("B", "A"), True), (5, ("B", "A"), True)]


def test_a_certain_finding_takes_the_place_of_a_possible_one(
    findings: Violations,
) -> None:
    findings.event(WRITE_A, ())
    seen = []
    for certain in (False, True, False):
        race(findings, certain=certain)
        seen += reports(findings)
    assert [certain for _, _, certain in seen] == [False, True, True]


def test_where_data_have_decided_nothing_is_certain(findings: Violations) -> None:
    findings.event(WRITE_A, ())
    findings.supposes = True
    race(findings)
    assert reports(findings) == [(6, ("B", "A"), False)]


def test_arms_that_threads_may_share_out_break_rule_4(findings: Violations) -> None:
    findings.arms(If(Var("c"), (), (), 9), A, B)
    assert reports(findings) == [(4, ("A", "B"), False)]
    (found,) = findings.found.values()
    assert found.violation.witness == (
        "threads may be in both branches of `if c` (line 9), where A and B share bytes"
    )


def leave(findings: Violations, stmt: Store, *, partly: bool = False, known: bool = True) -> None:
    """Thread 0 writes behind the end of A, or may."""
    place = MemoryAccess(A, Access.WRITE, Footprint(Const(8), 1), stmt)
    agent = Agent(Threads(np.arange(1)), partly=partly)
    findings.outside(place, 8 if known else None, agent, findings.event(stmt, ()))


def test_a_write_that_leaves_its_buffer_is_told_once(findings: Violations) -> None:
    for stmt in (WRITE_A, WRITE_B):
        leave(findings, stmt)
    assert findings.left == {A: "`A[4] = 1` (line 3) leaves A, which has 8 bytes"}


def test_a_read_beyond_its_buffer_changes_nothing(findings: Violations) -> None:
    read = MemoryAccess(A, Access.READ, Footprint(Const(8), 1), READ_A)
    findings.outside(read, 8, Agent(Threads(np.arange(1))), findings.event(READ_A, ()))
    assert findings.left == {}


@pytest.mark.parametrize("doubt", ["partly", "unknown", "forked"])
def test_a_write_that_only_may_leave_its_buffer_is_not_told(
    findings: Violations, doubt: str
) -> None:
    """By some of the threads, at an unknown index, or where data have decided."""
    findings.supposes = doubt == "forked"
    leave(findings, WRITE_A, partly=doubt == "partly", known=doubt != "unknown")
    assert findings.left == {}


def test_the_first_of_the_earlier_accesses_is_the_witness(findings: Violations) -> None:
    first, second = (findings.event(stmt, ()) for stmt in (WRITE_A, WRITE_B))
    later = access(B, range(4), event=findings.event(READ_A, ()))
    earlier = [access(A, range(4, 8), event=number) for number in (second, first)]
    findings.unordered(Rule.BARRIER, later, A, iter(earlier))
    (found,) = findings.found.values()
    assert found.violation.witness.startswith("`B[0] = 2` on A is not ordered before `a` (line 7)")


def test_where_all_earlier_accesses_are_ordered_nothing_is_told(findings: Violations) -> None:
    findings.unordered(Rule.BARRIER, access(B, range(4)), A, iter([]))
    assert findings.found == {}
