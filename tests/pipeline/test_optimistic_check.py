"""Which plans mostly hold where mbarriers order what is asynchronous."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.facts import facts_of
from smemreuse.pipeline.optimistic_check import order_is_settled
from tests.compilers.text.texts import dump
from tests.pipeline.kernels import dumped

PIPELINE = """\
bx = T.launch_thread("blockIdx.x", 4)
mbar = T.alloc_buffer((2,), "uint64", scope="shared.barrier")
X = T.alloc_buffer((1024,), "float32", scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 64)
G = T.decl_buffer((64,), "int32", data=A)
rounds: T.int32 = {rounds}
{header}
    T.mbarrier_wait_parity(mbar[0], 0)
    G[tx] = X[tx]
{end}"""


def settled(header: str, rounds: str = "bx + 4", end: str = "") -> bool:
    (kernel,) = parse_dump(dump(PIPELINE.format(header=header, rounds=rounds, end=end))).kernels
    return facts_of(kernel).ask(order_is_settled)


@pytest.mark.parametrize(
    ("header", "rounds", "expected"),
    [
        ("for k in range(4):", "0", True),
        ("for k in range(rounds):", "bx + 4", True),
        ("if tx < rounds:", "bx * 2", True),
        ("for k in range(rounds):", "G[bx]", False),
        ("if G[bx] > 0:", "0", False),
        ("for k in range(n):", "0", False),
    ],
)
def test_data_decide_nothing_about_mbarriers(header: str, rounds: str, expected: bool) -> None:
    assert settled(header, rounds) is expected


def test_data_may_decide_about_anything_else() -> None:
    assert settled("if tx < 32:", end="if G[bx] > 0:\n    G[tx] = 1\n")


def test_copies_of_threads_are_waited_for_in_another_way() -> None:
    assert not settled("if tx < 32:", end="T.ptx_wait_group(0)\n")


def test_without_mbarriers_nothing_is_ordered_by_them() -> None:
    assert not facts_of(dumped("batched_gemm.sm_80")).ask(order_is_settled)
