"""The stages of software pipelines, as far as a kernel's text shows them."""

from __future__ import annotations

import pytest

from smemreuse.analysis.stages import stages_of
from smemreuse.compilers.text.reader import parse_dump, read_dump
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


SHORT = """# from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer((16384,), "float32"), B: T.Buffer((1024,), "float32")):
    bx = T.launch_thread("blockIdx.x", 1)
    tx = T.launch_thread("threadIdx.x", 128)
    tile = T.alloc_buffer((8192,), "float32", scope="shared.dyn")
    for k in range(%(rounds)d):
        T.ptx_cp_async(
            T.tvm_access_ptr(T.type_annotation("float32"), tile.data, k * 4096 + tx * 4, 4, 2),
            T.tvm_access_ptr(T.type_annotation("float32"), A.data, k * 4096 + tx * 4, 4, 1), 16)
    for k in range(%(rounds)d):
        B[tx] = tile[%(read)s]
"""


@pytest.mark.parametrize(
    ("rounds", "read", "stages"),
    [
        (2, "k * 4096 + tx", {"tile": 2}),
        (3, "k * 4096 + tx", {}),  # more rounds than parts
        (2, "tx", {}),  # the whole of a tile that was loaded in parts
        (2, "k * 2048 + tx", {}),  # other parts
    ],
)
def test_each_round_of_a_short_loop_has_a_part_for_itself(
    rounds: int, read: str, stages: dict[str, int]
) -> None:
    (kernel,) = parse_dump(SHORT % {"rounds": rounds, "read": read}).functions[0].kernels
    found = stages_of(facts_of(kernel))
    assert {buffer.name: one.count for buffer, one in found.items()} == stages
