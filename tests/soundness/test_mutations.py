"""The soundness tests can fail: two mutants of `scripts/mutation_check.py`, each with its test."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.mutants import mutants_of
from scripts.mutation_check import copied_to, noticed_by
from tests.conftest import ROOT

REGRESSIONS = "tests/soundness/test_regressions.py"
DATAFLOW = "test_the_dataflow_plan_keeps_apart"
CHECKER = "test_the_checker_does_not_prove"


@pytest.mark.parametrize(
    ("module", "function", "test"),
    [
        (
            "analysis/privatization.py",
            "is_private",
            f"{DATAFLOW}[a buffer filled before the loop]",
        ),
        ("checker/machine/history.py", "Seen.is_before", f"{CHECKER}[arms of whole warps]"),
    ],
)
def test_a_mutant_is_noticed(module: str, function: str, test: str, tmp_path: Path) -> None:
    found = mutants_of(ROOT / "smemreuse" / module, module)
    mutant = next(one for one in found if one.function == function and one.change == "return True")
    assert noticed_by(mutant, [f"{REGRESSIONS}::{test}"], copied_to(tmp_path / "copy")) == (
        f"{REGRESSIONS}::{test}"
    )
