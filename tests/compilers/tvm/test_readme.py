"""The README's Python code for Apache TVM, as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm

from fixtures.tvm import FIXTURES
from fixtures.tvm.lowering import TARGET
from smemreuse.compilers.text.reader import read_dump
from tests.test_readme import python_of

pytestmark = pytest.mark.tvm


def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fixture = FIXTURES["batched_gemm"]
    names: dict[str, Any] = {
        "tvm": tvm,
        "mod": fixture.make(**fixture.configs["small"]),
        "target": tvm.target.Target(TARGET),
    }
    dump = python_of("In TileLang")[-1]
    exec(dump[dump.index("@tvm") : dump.index("target =")], names)
    found = python_of("In Apache TVM")
    assert len(found) == 2
    for code in found:
        exec(code, names)
    assert read_dump("kernel.tir").kernels
    assert [applied.plan.arena_bytes for applied in names["session"].plans] == [16_384]
    assert names["library"].mod.imports
