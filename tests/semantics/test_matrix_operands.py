"""Which bytes a wgmma reads, where the statements around it tell."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.expr import variables_in
from smemreuse.ir.kernel import Kernel, walk_statements
from smemreuse.ir.labels import label
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.matrix_operands import LEAST, precise_operands
from tests.checker.small import DESCRIPTORS, WGMMA_A, kernel_of
from tests.conftest import DUMPS

MAKE = "T.initialize_wgmma_descriptor(da[0], As.data, 1, 1, 64)\n"
MOVE = "T.increase_descriptor_offset(da[0], {})\n"
USE = WGMMA_A


def operands(kernel: Kernel) -> list[MemoryAccess]:
    """The accesses of the wgmma itself to shared memory."""
    accesses = KernelAccesses.of(kernel.body)
    precise = precise_operands(kernel.body, accesses.by_statement, accesses.pointers)
    return [
        one
        for stmt in walk_statements(kernel.body)
        if label(stmt).startswith("ptx_wgmma")
        for one in precise[stmt]
        if one.buffer.scope == "shared.dyn"
    ]


def described(kernel: Kernel) -> bool:
    """Whether a descriptor still stands for all of its buffer."""
    accesses = KernelAccesses.of(kernel.body)
    precise = precise_operands(kernel.body, accesses.by_statement, accesses.pointers)
    return any(one.descriptor is not None for found in precise.values() for one in found)


def ranges(found: list[MemoryAccess], **values: int) -> list[tuple[int, int, bool]]:
    """First byte, number of bytes and certainty of accesses, variables being `values`."""
    told = []
    for access in found:
        assert access.footprint.start is not None
        named = {var: values[var.name] for var in variables_in(access.footprint.start)}
        start = evaluate(access.footprint.start, Threads(np.arange(1), dict(named)))
        assert isinstance(start, int)
        told.append((start, access.footprint.size, access.certain))
    return told


def test_a_pipelines_stage_is_what_is_read() -> None:
    """As: 128 x 32 halves in rows of 64 bytes. Bs: 32 x 128 halves, two atoms wide."""
    (kernel,) = read_dump(DUMPS / "gemm.sm_90a.tir").kernels
    assert not described(kernel)
    found = ranges(operands(kernel), k=1, i=1, ki=1)
    assert found == [
        (8192 + 4096, 4096, False),
        (8192 + 4096 + 32, LEAST, True),
        (8192 + 2048, 4096 + 1024 + 1024, False),
        (8192 + 2048, LEAST, True),
    ]


@pytest.mark.parametrize("name", ["flash_attention", "gemm_two_consumers", "persistent_gemm"])
def test_nothing_beyond_a_buffer_is_read(name: str) -> None:
    (kernel,) = read_dump(DUMPS / f"{name}.sm_90a.tir").kernels
    assert not described(kernel)
    assert operands(kernel)


@pytest.mark.parametrize(
    "body",
    [
        USE,
        MAKE + "if c[0] == 0:\n    " + MOVE.format(128) + USE,
        MAKE + "for j in range(2):\n    " + USE.rstrip() + "\n    " + MOVE.format(128),
        MAKE + "db[0] = da[0]\n" + USE,
        MAKE + "T.call_extern('handle', 'keep', da.data)\n" + USE,
        MAKE + MOVE.format("c[0] * 128") + "c[0] = c[0] + 1\n" + USE,
    ],
    ids=["unmade", "in a branch", "round a loop", "copied", "handed on", "counter"],
)
def test_what_is_not_known_of_a_descriptor_leaves_it_all_of_its_buffer(body: str) -> None:
    kernel = kernel_of(body, declared=DESCRIPTORS, elements=4096)
    if MAKE in body:
        assert described(kernel)
    assert not operands(kernel)


def test_a_layout_without_swizzle_is_not_told() -> None:
    body = MAKE.replace("1, 1, 64", "0, 1, 64") + USE
    assert described(kernel_of(body, declared=DESCRIPTORS, elements=4096))
