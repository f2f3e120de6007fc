"""What lint finds goes wrong on a CUDA device, and mended it is right; skipped without one."""

from __future__ import annotations

import pytest

from fixtures.witnesses.kernels import WITNESSES, Witness
from scripts.lint_on_gpu import measured

pytestmark = [pytest.mark.tilelang, pytest.mark.gpu]


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda each: each.name)
def test_a_mended_kernel_is_right(witness: Witness) -> None:
    assert measured((witness.name, True))["wrong_launches"] == 0


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda each: each.name)
def test_a_hazard_shows(witness: Witness) -> None:
    found = measured((witness.name, False))
    # What nobody has written is 0 where other processes have the device in turns.
    may_be_right = witness.kind == "uninitialised-read"
    assert found.get("hangs") or found["wrong_launches"] or may_be_right
