"""The stages of software pipelines, as far as a kernel's text shows them."""

from __future__ import annotations

import pytest

from smemreuse.analysis.stages import stages_of
from smemreuse.compilers.text.reader import read_dump
from smemreuse.facts import facts_of
from tests.conftest import DUMPS


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("gemm.sm_80", {"As": 2, "Bs": 2}),
        ("flash_attention.sm_90a", {"Ks": 2, "Vs": 2}),
        ("gemm_three_groups.sm_90a", {"A0": 2, "A1": 2, "Bs": 2}),
        ("rotating_stages.sm_80", {}),  # threads write them, no copy runs ahead
        ("while_table.sm_80", {}),
    ],
)
def test_of_fixtures(name: str, stages: dict[str, int]) -> None:
    (kernel,) = read_dump(DUMPS / f"{name}.tir").kernels
    found = stages_of(facts_of(kernel))
    assert {buffer.name: one.count for buffer, one in found.items()} == stages
    assert all(one.loop.kind == "serial" for one in found.values())
