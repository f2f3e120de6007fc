"""The published Stream-K kernel under our model of Apache TVM's pass."""

from __future__ import annotations

import pytest

from tests.commands.running import SMALLEST, run_json
from tests.conftest import ROOT

STREAM_K = ROOT / "fixtures" / "legacy" / "stream_k_2024.tir"


@pytest.mark.parametrize(("packer", "arena"), [("tvm", 133_120), ("best", 131_072)])
def test_the_arena_of_the_published_kernel(packer: str, arena: int) -> None:
    """TVM lays C_shared in front of the others, in an entry of its own."""
    (plan,) = run_json(
        *("plan", *SMALLEST, "--policy", "outer", "--packer", packer, "--format", "json", STREAM_K)
    )["kernels"]
    assert plan["arena_bytes"] == arena
    assert plan["notes"] == []
