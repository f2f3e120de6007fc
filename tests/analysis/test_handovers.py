"""How often two buffers would take turns on shared bytes."""

from __future__ import annotations

import pytest

from smemreuse.analysis.handovers import UNKNOWN_ROUNDS, Handovers
from smemreuse.compilers.text.reader import read_dump
from tests.conftest import DUMPS


@pytest.mark.parametrize(
    ("name", "pair", "count"),
    [
        ("gemm.sm_80", ("As", "Cs"), 1),
        ("batched_gemm.sm_80", ("As", "Cs"), 4),
        ("phase_buffers.sm_80", ("first", "second"), 6),
        ("while_phases.sm_80", ("first", "second"), UNKNOWN_ROUNDS),
    ],
)
def test_rounds_of_the_loops_around_both(name: str, pair: tuple[str, str], count: int) -> None:
    (kernel,) = read_dump(str(DUMPS / f"{name}.tir")).kernels
    by_name = {buffer.name: buffer for buffer in kernel.allocations()}
    assert Handovers(kernel)(*(by_name[each] for each in pair)) == count
