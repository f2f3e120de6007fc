"""Which mechanism a hazard has: what hardware does hangs on that."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.linter import lint
from smemreuse.results.hazards import HazardKind
from tests.conftest import ROOT

REFILLED = (ROOT / "fixtures" / "lint" / "refilled_without_fence.tir").read_text()
READ = "sum_1[0] = sum_1[0] + As_1[i * 128 + tx - 32]"


@pytest.mark.parametrize(
    ("reads", "mechanism"),
    [
        (READ, "TMA load write after read"),
        ("Y_1[tx] = As_1[i * 128 + tx - 32]", "TMA load write after read that is stored"),
        ("Bs_1[tx] = As_1[i * 128 + tx - 32]", "TMA load write after read that is stored"),
    ],
)
def test_a_read_that_is_stored_to_memory_at_once_is_another_one(reads: str, mechanism: str) -> None:
    (kernel,) = parse_dump(REFILLED.replace(READ, reads)).kernels
    found = [one for one in lint(kernel).hazards if one.kind is HazardKind.MISSING_FENCE]
    assert [one.mechanism for one in found if one.certain] == [mechanism]
