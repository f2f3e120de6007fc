"""`run` of a script: hazards of its kernels that `smemreuse.toml` accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.running import run_process
from tests.conftest import ROOT
from tests.schemas import require_valid

pytestmark = pytest.mark.tilelang

SCRIPT = ROOT / "fixtures" / "scripts" / "batched_gemm.py"
ENTRY = '[[accept]]\nhazard = "missed-phase"\nkernel = "main_*"\nreason = "no producer is late"\n'


def test_what_is_accepted_is_counted_and_not_listed(tmp_path: Path) -> None:
    (tmp_path / "smemreuse.toml").write_text(ENTRY)
    command: list[str | Path] = [
        "run",
        "--lower-only",
        "--arch",
        "sm_90a",
        "--lint",
        SCRIPT,
        "--size",
        "256",
    ]
    told = run_process(*command, cwd=tmp_path).stdout
    assert "main_kernel: 1 accepted" in told
    assert "main_kernel: missed-phase" not in told
    done = run_process(command[0], "--json", "found.json", *command[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "found.json").read_text())
    require_valid(document)
    (kernel,) = document["kernels"]
    (hazard,) = kernel["lint"]["hazards"]
    accepted = {"reason": "no producer is late", "source": "smemreuse.toml, line 1"}
    assert hazard["accepted"] == accepted
