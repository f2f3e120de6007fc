"""What fixes cost: which kernels are timed, and what is made of their times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import fix_costs_on_gpu
from scripts.findings_page import AGAIN
from scripts.fix_costs_on_gpu import kernels_of, kernels_once, summary
from scripts.reproduce_on_gpu import EXAMPLES
from smemreuse.results.reproduction import AS_IT_IS, MENDED
from tests.reproduce.test_standalone import made


def timed(fixed: float, again: float) -> dict[str, Any]:
    return {"over": {MENDED: {"median": fixed}, AGAIN: {"median": again}}}


def test_ratios_have_a_geometric_mean_and_a_worst() -> None:
    found = summary([timed(2.0, 1.0), timed(0.5, 1.1)])
    assert found["kernels"] == 2
    assert found[MENDED] == {"geometric_mean": pytest.approx(1.0), "worst": 2.0}
    assert found[AGAIN]["worst"] == 1.1


def test_a_kernel_with_fixes_is_timed_once_for_all_its_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = made().text("What is wrong.")
    assert f'    "{MENDED}": [' in text
    (tmp_path / "fixed.py").write_text(text)
    (tmp_path / "unfixed.py").write_text(text.replace(f'"{MENDED}": [', f'"{AS_IT_IS}, too": ['))
    scripts = {"1": "fixed.py", "2": "fixed.py", "3": "unfixed.py", "4": ""}
    found = [
        {"kernel": "k", "finding": name, "kind": "race", "mechanism": "", "script": script}
        for name, script in scripts.items()
    ]
    monkeypatch.setattr(fix_costs_on_gpu, "command_of", lambda *_arguments: [])
    monkeypatch.setattr(fix_costs_on_gpu, "found_apart", lambda *_arguments: {"findings": found})
    ((row, script),) = kernels_of("program", tmp_path)
    assert script == tmp_path / "fixed.py"
    assert [one["finding"] for one in row["findings"]] == ["1", "2"]


def test_a_kernel_is_timed_once_whatever_its_findings() -> None:
    of_one = [name for name in EXAMPLES if name.startswith("kda_bwd_intra_")]
    assert len(of_one) > 1
    assert kernels_once(["chunk_scan", *of_one, "chunk_state"]) == [
        *("chunk_scan", of_one[0], "chunk_state")
    ]
