"""The soundness tests can fail: some mutants of `scripts/mutation_check.py`, each with its test."""

from __future__ import annotations

import pytest

from scripts.mutants import MUTATIONS
from scripts.mutation_check import SOUNDNESS, noticed_by
from tests.conftest import ROOT

REGRESSIONS = SOUNDNESS[0]
DATAFLOW = "test_the_dataflow_plan_keeps_apart"
CHECKER = "test_the_checker_does_not_prove"


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("privatization: everything is private", f"{DATAFLOW}[a buffer filled before the loop]"),
        ("checker: order is not required", f"{CHECKER}[arms of whole warps]"),
    ],
)
def test_a_mutant_is_noticed(name: str, test: str) -> None:
    (mutation,) = (one for one in MUTATIONS if one.name == name)
    by, _ = noticed_by(mutation, [f"{REGRESSIONS}::{test}"])
    assert by == f"{REGRESSIONS}::{test}"


def test_every_mutation_applies_to_the_source() -> None:
    for one in MUTATIONS:
        assert (ROOT / "smemreuse" / one.module).read_text().count(one.old) == 1, one.name


def test_every_mutation_has_its_own_name() -> None:
    assert len({one.name for one in MUTATIONS}) == len(MUTATIONS)
