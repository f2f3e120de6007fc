"""The README's Python code for TileLang, as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tilelang
from tilelang import tvm

from fixtures.kernels import FIXTURES
from smemreuse.compilers.text.reader import read_dump
from smemreuse.tilelang import FittingConfigs
from tests.test_readme import python_of

pytestmark = pytest.mark.tilelang


@tilelang.jit
def matmul(M: int, N: int, K: int, block_M: int) -> Any:
    """A GEMM of square tiles, whose size is its one configuration."""
    return FIXTURES["gemm"].make(M, N, K, block_M, block_M, 64, num_stages=3, threads=128)


def test_it_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {
        "tilelang": tilelang,
        "func": matmul.get_tir(512, 512, 512, 128),
        "matmul": matmul,
        "configs": [{"block_M": size} for size in (64, 128, 512)],
    }
    found = python_of("In TileLang")
    assert len(found) == 4
    with tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}):
        for code in found:
            exec(code, names)
    printed = capsys.readouterr().out
    kernel, arena, verdict = next(
        line.split() for line in printed.splitlines() if line.startswith("gemm_kernel ")
    )
    assert (kernel, arena, verdict) == ("gemm_kernel", "98304", "sound")
    assert isinstance(names["found"], FittingConfigs)
    (kernel_of_dump,) = read_dump("kernel.tir").kernels
    assert kernel_of_dump.name == "gemm_kernel"
    assert [*names["found"]] == [{"block_M": 64}, {"block_M": 128}]
    assert [*names["ranked"]] == [{"block_M": 128}, {"block_M": 64}]
    assert "1 of 2: " in printed
