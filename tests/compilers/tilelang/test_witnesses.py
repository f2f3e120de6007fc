"""The kernels that go wrong on a GPU are those that lint finds a hazard in, by its kind."""

from __future__ import annotations

import pytest

from fixtures.witnesses.kernels import WITNESSES, Witness
from scripts.lint_on_gpu import linted


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda each: each.name)
def test_lint_tells_a_witness_from_the_mended_kernel(witness: Witness) -> None:
    assert linted(witness.name, False) == {"status": "hazards", "certain": [witness.kind]}
    assert linted(witness.name, True) == {"status": "clean", "certain": []}
