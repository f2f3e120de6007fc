"""What the checker asks for is enough on a CUDA device; skipped where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.hazards_on_gpu import HAZARDS, build, run_apart

pytestmark = [pytest.mark.tilelang, pytest.mark.gpu]


@pytest.mark.parametrize("name", HAZARDS)
def test_what_must_be_right_is(name: str, tmp_path: Path) -> None:
    build(name, tmp_path)
    found = run_apart(name, tmp_path)
    assert "error" not in found
    wrong = [one for one in found["variants"] if one["must_be_right"] and one["wrong_launches"]]
    assert not wrong
