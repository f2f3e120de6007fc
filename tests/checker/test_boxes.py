"""A tile that TMA loads in several boxes: each adds to the bytes that its mbarrier waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel

DUMP = Path(__file__).parent / "four_boxes.tir"
"""A GEMM whose tile `b` comes in four boxes, with a reduction and an output tile behind it."""


@pytest.mark.parametrize("objective", ["bytes", "none"])
def test_no_box_is_left_out(objective: str) -> None:
    """Not even where `b` shares nothing, so that the loop over its boxes does not matter by it."""
    (kernel,) = read_dump(str(DUMP)).kernels
    plan = plan_kernel(kernel, "shared.dyn", objective=objective)
    b = next(buffer for buffer in plan.buffers if buffer.name == "b")
    assert judge(kernel, plan).verdict == "sound"
    assert objective == "bytes" or not any(b in pair[:2] for pair in plan.sharing_pairs())
