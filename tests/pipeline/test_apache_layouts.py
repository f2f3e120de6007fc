"""No kernel of Apache TVM gets more bytes than a layout that is proved and that nobody tried."""

from __future__ import annotations

from textwrap import indent

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge_as_it_is
from smemreuse.pipeline.planning import checked_options, choose_for, compare_policies
from smemreuse.versions.merges import merge_of

SCOPE = "shared.dyn"
HEADER = """\
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis

@T.prim_func(s_tir=True)
def main(O: T.Buffer((128,), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
"""


def kernel_of(body: str, *buffers: str) -> Kernel:
    made = "".join(f'{name} = T.alloc_buffer((128,), scope="{SCOPE}")\n' for name in buffers)
    (kernel,) = parse_dump(HEADER + indent(made + body, "    ")).kernels
    return kernel


def test_the_compiler_s_own_layout_is_tried_where_it_is_proved() -> None:
    """Buffers that are only written: TVM puts them on each other, and it is sound."""
    kernel = kernel_of("A[tx] = T.float32(0)\nB[tx] = T.float32(0)\n", "A", "B")
    own = merge_of(kernel).plan(kernel, SCOPE)
    assert (own.arena_bytes, judge_as_it_is(kernel, own).sound) == (512, True)
    chosen = choose_for(kernel, SCOPE, checked_options("dataflow", "best", "speed"))
    assert chosen.plan.arena_bytes <= own.arena_bytes


REDUCED = """\
if tx == 0:
    R[0] = T.float32(1)
    S[0] = T.float32(2)
T.tvm_storage_sync("shared.dyn")
if tx == 0:
    P[0] = R[0]
    Q[0] = S[0]
T.tvm_storage_sync("shared.dyn")
O[tx] = P[0] + Q[0]
"""


def test_inner_s_layout_is_tried_where_it_is_proved() -> None:
    """As a reduction hands its results on: Q may take the bytes of R, which is read before."""
    kernel = kernel_of(REDUCED, "R", "S", "P", "Q")
    plans = compare_policies(kernel, SCOPE, "best", "bytes")
    assert plans["inner"].candidate.verdict.sound
    assert plans["dataflow"].plan.arena_bytes <= plans["inner"].plan.arena_bytes
