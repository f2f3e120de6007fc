"""Findings are made to show on a CUDA device, and the fixed kernels are right; skipped without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.tilelang, pytest.mark.gpu]


def test_kernels_that_need_a_late_warp_show(tmp_path: Path) -> None:
    script = ROOT / "fixtures" / "reproduce" / "late_warps.py"
    command = [sys.executable, "-m", "smemreuse", "reproduce", "-o", str(tmp_path), str(script)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == 1
    for one in json.loads((tmp_path / "reproduce.json").read_text())["findings"]:
        assert one["shown"] in ("shown", "shown by itself"), one
        for variant in ("fixed", "fixed, delayed"):
            gave = one["outcomes"].get(variant, {"differing": 0, "hangs": False, "error": ""})
            assert not any(gave[each] for each in ("differing", "hangs", "error")), one
