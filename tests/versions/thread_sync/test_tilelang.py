"""No collision is predicted that the installed TileLang's `ThreadSync`, whichever version, leaves
without a barrier."""

from __future__ import annotations

import re
from itertools import combinations
from textwrap import indent
from typing import Any

import pytest
import tilelang
import tvm.script
from tilelang import tvm as compiler

from scripts.own_merge import SCOPE, kernels_of
from smemreuse.checker.budget import Work
from smemreuse.checker.predicted.prediction import view_of
from smemreuse.ir.kernel import For, If, While
from smemreuse.semantics.accesses import KernelAccesses

pytestmark = pytest.mark.tilelang

SCRIPT = getattr(tvm.script, "tirx", None) or tvm.script.tir

HEADER = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def main(X: T.handle("float32", "global"), Y: T.handle("float32", "global"),
             Z: T.handle("int32", "global"), n: T.int32):
        T.func_attr({{"target": T.target({{"arch": "sm_90a", "keys": ["cuda", "gpu"],
            "kind": "cuda", "max_num_threads": 1024, "tag": "", "thread_warp_size": 32}}),
            "{tir}.is_global_func": True, "{tir}.noalias": True}})
        D = T.decl_buffer((65536,), "float32", data=X)
        O = T.decl_buffer((65536,), "float32", data=Y)
        L = T.decl_buffer((65536,), "int32", data=Z)
        bx = T.launch_thread("blockIdx.x", 4)
        {buffers}
        tx = T.launch_thread("threadIdx.x", {axes[0]})
        ty = T.launch_thread("threadIdx.y", {axes[1]})
        tz = T.launch_thread("threadIdx.z", 1)
"""
BUFFERS = (
    ("A", 320, "float32", SCOPE),
    ("B", 320, "float32", SCOPE),
    ("E", 1280, "int8", SCOPE),
    ("U", 320, "int32", SCOPE),
    ("c", 64, "int32", "local"),
    ("e", 1, "int32", "local"),
)

CROSSING = "O[tx] = A[tx]\nB[(tx + 1) % 32] = D[tx]\n"

ENDS = {
    "rows of data": "O[tx] = A[(tx + 1) % 32]\nif c[0] <= tx and tx < e[0]:\n    B[tx] = D[tx]\n",
    "last rows": "if e[0] - c[0] <= tx + 2 and tx < e[0] - c[0]:\n    O[tx] = A[(tx + 1) % 32]\n"
    "B[tx] = D[tx]\n",
    "rounds of data": "for k in range(e[0] - c[0]):\n    O[tx] = A[tx]\n"
    "    if c[0] + k < e[0]:\n        B[(tx + 1) % 32] = D[tx]\n",
    "no rows": "O[tx] = A[(tx + 1) % 32]\nif tx < c[0] and e[0] < tx and c[0] <= e[0]:\n"
    "    B[tx] = D[tx]\n",
}
"""Ranges of which the begin is in one scalar, and the end in another."""

CONDITIONS = [
    *("bx == 0", "bx % 2 == 1", "n < 3", "L[0] < 3", "L[bx] < n", "c[0] < 3"),
    *("tx < 32", "tx < 16", "32 <= tx", "tx % 2 == 0", "tx % 64 < 32", "tx < n", "c[tx] < 3"),
    *("tx < 32 and bx == 0", "tx < 32 or bx == 0", "tx // 32 == bx % 2"),
]

BODIES = {
    **{one: f"if {one}:\n{indent(CROSSING, '    ')}" for one in CONDITIONS},
    **ENDS,
    "bound": "v: T.int32 = 63 - tx\nO[tx] = A[tx]\nB[v] = D[tx]\n",
    "bound twice": "v: T.int32 = tx\nO[tx] = A[v]\nB[v + 1] = D[tx]\n",
    "bound aside": "v: T.int32 = 63 - tx\nO[v] = A[tx]\nB[63 - tx] = D[tx]\n",
    "bound to all": "v: T.int32 = bx\nO[v] = A[tx]\nB[63 - tx] = D[tx]\n",
    "bound condition": f"v: T.int32 = 63 - tx\nif v < 32:\n{indent(CROSSING, '    ')}",
    "sizes": 'O[tx] = A[tx]\nE[tx] = T.Cast("int8", D[tx])\n',
    "sizes crossing": 'O[tx] = A[tx]\nE[(63 - tx) * 4] = T.Cast("int8", D[tx])\n',
    "unequal threads": "if tx < 32:\n    O[tx] = A[tx]\nif tx < 48:\n    B[tx] = D[tx]\n",
    "own elements": "O[tx] = A[tx]\nB[tx] = D[tx]\n",
    "rounds": "for k in range(4):\n    O[tx] = A[tx + k % 4 * 64]\n"
    "    B[63 - tx + (k + 3) % 4 * 64] = D[tx]\n",
    "while": f"while c[0] < 3:\n{indent(CROSSING, '    ')}    c[0] = c[0] + 1\n",
}


if SCRIPT is getattr(tvm.script, "tir", None):
    # The printer of old versions declares buffers of a loop's header inside of the loop.
    BODIES.pop("rounds of data")


def module_of(body: str, axes: tuple[int, int] = (64, 1)) -> Any:
    """The module of a body, in the TIR of the installed version, for threads along x and y."""
    old = SCRIPT is getattr(tvm.script, "tir", None)
    made = []
    for name, elements, dtype, scope in BUFFERS:
        if old:
            made.append(f'{name}_p = T.allocate([{elements}], "{dtype}", "{scope}")')
            data = f'data={name}_p, scope="{scope}"'
            made.append(f'{name} = T.Buffer(({elements},), "{dtype}", {data})')
        else:
            made.append(f'{name} = T.alloc_buffer(({elements},), "{dtype}", scope="{scope}")')
    bound = re.match(r"v: T.int32 = (.*)\n", body)
    if old and bound is not None:
        rest = indent(body[bound.end() :], "    ")
        body = f"with T.LetStmt({bound[1]}) as v:\n{rest}"
    header = HEADER.format(buffers="\n        ".join(made), axes=axes, tir="tir" if old else "tirx")
    known = {"T": SCRIPT, "I": tvm.script.ir}
    for name in ("atomic_add_elem_op", "atomic_or_elem_op", "sync_grid"):
        if f", {name}" in body:
            known[name] = compiler.ir.Op.get(f"tl.{name}")
    return compiler.script.from_source(header + indent(body, "        "), extra_vars=known)


def predicted(mod: Any) -> bool:
    """Whether two statements surely collide, with all buffers at one place."""
    (kernel,) = kernels_of(mod)
    view = view_of(kernel, KernelAccesses.of(kernel.body).pointers)
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    leaves = [one for one in view.collisions.entries if not isinstance(one, (If, For, While))]
    return any(
        view.collisions.surely(one, two, None, offsets, Work().do)
        for one, two in combinations(leaves, 2)
    )


@pytest.mark.parametrize("name", BODIES)
def test_what_surely_collides_gets_a_barrier(name: str) -> None:
    mod = module_of(BODIES[name])
    # Unmerged buffers of this scope are one to the pass, all at its begin.
    after = tilelang.transform.ThreadSync(SCOPE)(mod).script()
    assert "tvm_storage_sync" in after or not predicted(mod), after


@pytest.mark.parametrize("name", ["own elements", "unequal threads", "no rows"])
def test_own_elements_are_not_predicted_to_collide(name: str) -> None:
    assert not predicted(module_of(BODIES[name]))


@pytest.mark.parametrize(
    "name",
    [one for one in ("bx == 0", "tx < 32", "while", "bound to all", *[*ENDS][:3]) if one in BODIES],
)
def test_these_are_predicted(name: str) -> None:
    assert predicted(module_of(BODIES[name]))


@pytest.mark.parametrize(
    ("rounds", "comes"),
    [
        ("O[tx] = A[tx * 5 % 64]\nA[tx] = D[k]\n", True),
        ("A[tx] = D[k]\nB[64 + tx] = B[127 - tx]\n", False),
    ],
)
def test_what_collides_with_the_end_of_a_loop_in_an_arm_has_a_barrier(
    rounds: str, *, comes: bool
) -> None:
    """Of what is before that, and in the other arm, it remembers nothing: the loop has barriers."""
    loop = indent(f"A[tx] = D[2]\nfor k in range(3):\n{indent(rounds, '    ')}", "    ")
    arms = f"if L[0] < 3:\n    A[63 - tx] = D[1]\nelse:\n{loop}"
    mod = module_of(f"{arms}O[tx] = A[tx * 3 % 64]\n")
    lines = tilelang.transform.ThreadSync(SCOPE)(mod).script().rstrip().splitlines()
    assert ("tvm_storage_sync" in lines[-2]) is comes, lines
