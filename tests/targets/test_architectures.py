"""Resident blocks by shared memory and threads."""

from __future__ import annotations

import json

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import PlanError
from smemreuse.targets.architectures import (
    ARCHITECTURES,
    Architecture,
    architecture,
    target_architecture,
    threads_of,
)
from tests.conftest import DUMPS, ROOT


@pytest.mark.parametrize(
    ("arch", "shared", "threads", "blocks"),
    [
        ("sm_90", 67_328, 128, 3),
        ("sm_90", 33_536, 128, 6),
        ("sm_90", 227 * 1024, 128, 1),
        ("sm_90", 227 * 1024 + 1, 128, 0),
        ("sm_90a", 0, 128, 16),
        ("sm_90", 0, 1024, 2),
        ("sm_90", 0, 33, 32),
        ("sm_80", 163 * 1024, 256, 1),
        ("sm_89", 49 * 1024, 128, 2),
        ("sm_75", 32 * 1024, 128, 2),
        ("sm_70", 96 * 1024, 128, 1),
        ("sm_90", 0, 1025, 0),
    ],
)
def test_resident_blocks(arch: str, shared: int, threads: int, blocks: int) -> None:
    assert architecture(arch).resident_blocks(shared, threads) == blocks


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=lambda arch: arch.name)
def test_the_largest_size_for_a_number_of_blocks(arch: Architecture) -> None:
    for blocks in range(1, arch.blocks + 1):
        largest = arch.largest_for(blocks)
        assert arch.resident_blocks(largest, 32) >= blocks
        assert arch.resident_blocks(largest + 1, 32) < blocks


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(PlanError, match="unknown architecture 'sm_12'; choose one of sm_70"):
        architecture("sm_12")


def test_what_a_kernel_says_of_itself() -> None:
    (kernel,) = read_dump(str(DUMPS / "gemm.sm_90a.tir")).kernels
    target = target_architecture(kernel)
    assert target is not None
    assert (target.name, threads_of(kernel)) == ("sm_90", 256)


def test_the_table_agrees_with_cuda_on_the_card_that_was_asked() -> None:
    """`scripts/check_occupancy.py` on an H200."""
    found = json.loads((ROOT / "docs" / "results" / "occupancy-h200.json").read_text())
    assert found["limits_agree"]
    assert found["asked"] > 30_000
    assert found["different"] == 0
    arch = architecture(found["arch"])
    limits = [arch.per_sm, arch.per_block, arch.reserved, arch.threads, arch.blocks]
    assert limits == found["limits"]
