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


@pytest.mark.parametrize(
    ("threads", "registers", "blocks"),
    [
        (128, 32, 16),
        (128, 33, 12),
        (128, 168, 3),
        (256, 128, 2),
        (256, 129, 1),
        (384, 168, 1),
        (1024, 64, 1),
        (1024, 65, 0),
        (256, 255, 1),
        (32, 256, 0),
    ],
)
def test_registers_may_allow_fewer(threads: int, registers: int, blocks: int) -> None:
    assert architecture("sm_90").resident_blocks(0, threads, registers) == blocks


@pytest.mark.parametrize(
    ("arch", "shared", "threads", "registers", "carved", "left"),
    [
        ("sm_90", 183 * 1024, 256, None, 196, 60),
        ("sm_90", 195 * 1024, 256, None, 196, 60),
        ("sm_90", 195 * 1024 + 1, 256, None, 228, 28),
        ("sm_90", 49 * 1024, 512, None, 228, 28),  # four blocks
        ("sm_90", 49 * 1024, 512, 64, 100, 156),  # two
        ("sm_90", 49 * 1024, 512, 128, 64, 192),  # one
        ("sm_90", 0, 1024, None, 8, 248),
        ("sm_80", 99 * 1024, 256, None, 100, 92),
        ("sm_89", 0, 128, None, 16, 112),
        ("sm_75", 0, 128, None, 32, 64),
        ("sm_70", 0, 128, None, 0, 128),
        ("sm_120", 60 * 1024, 128, None, 64, 64),
    ],
)
def test_what_is_carved_out_of_l1(
    arch: str, shared: int, threads: int, registers: int | None, carved: int, left: int
) -> None:
    one = architecture(arch)
    assert one.carveout(shared, threads, registers) == carved * 1024
    assert one.l1_left(shared, threads, registers) == left * 1024


def test_nothing_is_carved_out_for_a_block_that_does_not_launch() -> None:
    with pytest.raises(ValueError, match="a block of 232449 bytes does not launch on sm_90"):
        architecture("sm_90").carveout(227 * 1024 + 1, 128)


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=lambda arch: arch.name)
def test_carve_outs_ascend_to_all_that_can_be_shared(arch: Architecture) -> None:
    assert list(arch.carveouts) == sorted(set(arch.carveouts))
    assert arch.carveouts[-1] == arch.per_sm <= arch.unified


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
