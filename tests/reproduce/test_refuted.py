"""What refutes a plan is made to show like a hazard of the kernel itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.ir.kernel import Kernel
from smemreuse.reproduce.attempts import attempts_of
from smemreuse.reproduce.refuted import OF_A_PLAN, hazards_of
from smemreuse.results.hazards import HazardKind
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from tests.conftest import ROOT
from tests.dumps import plans_of, subjects_of


def refuted(name: str) -> tuple[Kernel, Verdict]:
    (subject,) = subjects_of(ROOT / "fixtures" / "dumps" / f"{name}.tir")
    return subject.kernel, plans_of(subject)["inner"][1]


@pytest.mark.parametrize(
    ("name", "kind", "rule", "agents"),
    [
        ("while_table.sm_80", HazardKind.RACE, Rule.LOOP_CARRIED, ("threads 0-127", "thread 127")),
        ("divergent_arms.sm_80", HazardKind.RACE, Rule.BARRIER, ("thread 0", "thread 64")),
        (
            *("tma_store_in_flight.sm_90a", HazardKind.MISSING_WAIT, Rule.IN_FLIGHT),
            ("TMA store of thread 0", "thread 32"),
        ),
    ],
)
def test_a_broken_rule_is_a_hazard_of_two_accesses(
    name: str, kind: HazardKind, rule: Rule, agents: tuple[str, str]
) -> None:
    kernel, verdict = refuted(name)
    (hazard,) = hazards_of(verdict, kernel)
    assert (hazard.kind, hazard.certain, hazard.agents) == (kind, True, agents)
    assert hazard.mechanism == f"{OF_A_PLAN}, rule {rule}"
    assert hazard.other is not None
    assert None not in (hazard.site.stmt, hazard.other.stmt)
    late = [one.delays[0] for one in attempts_of(hazard) if one.delays]
    assert {one.stmt for one in late} == {hazard.other.stmt}


def test_what_is_not_refuted_or_has_no_execution_is_none() -> None:
    kernel, verdict = refuted("while_table.sm_80")
    for kind in (SOUND, UNPROVED):
        assert not [*hazards_of(replace(verdict, verdict=kind), kernel)]
    bare = tuple(replace(one, acts=()) for one in verdict.violations)
    assert not [*hazards_of(replace(verdict, violations=bare), kernel)]


def test_a_statement_that_is_not_there_is_left_out() -> None:
    _, verdict = refuted("while_table.sm_80")
    other, _ = refuted("divergent_arms.sm_80")
    assert not [*hazards_of(verdict, other)]
