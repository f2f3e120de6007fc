"""Loops of unknown length in which data decide in each round how a stage is filled."""

from __future__ import annotations

import pytest

from tests.checker.small import SYNC, kernel_of, under
from tests.linter.test_linter import found, report_on

FENCE = "T.fence_proxy_async()\n"
BYTES = 128
POINTER = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 32, 1)'
STORED = under(
    "if tx == 32",
    f"T.tma_store({POINTER}, Y, 0)\nT.tma_store_arrive()\nT.tma_store_wait(0)\n",
)
"""The consumer reads a tile through the async proxy."""


def _loaded(buffer: str, announced: int = BYTES) -> str:
    target = f'T.tvm_access_ptr(T.type_annotation("int32"), {buffer}.data, 0, 32, 2)'
    load = f"T.mbarrier_expect_tx(full[0], {announced})\nT.tma_load(X, full[0], {target}, k)\n"
    return under("if tx == 0", load)


def _stored(buffer: str) -> str:
    either = under("if D[tx] > k", f"{buffer}[tx] = D[k]\n")
    return either + under("else", f"{buffer}[tx] = 0\n")


def _filled(
    condition: str = "k < D[1]",
    again: str = "k < D[1]",
    fence: str = FENCE,
    read: str = "O[tx] = As[63 - tx] + Bs[63 - tx]\n",
    released: str = FENCE,
    stored: str = "",
    announced: int = BYTES,
) -> str:
    """The first warp fills two tiles, both by TMA or both by stores, and the second reads them."""
    produce = "T.mbarrier_wait_parity(full[1], k % 2 ^ 1)\n"
    produce += under(f"if {condition}", _loaded("As", announced))
    produce += under("else", _stored("As") + stored)
    produce += under(f"if {again}", _loaded("Bs")) + under("else", _stored("Bs") + fence)
    produce += "T.ptx_arrive_barrier(full[0])\n"
    consume = f"T.mbarrier_wait_parity(full[0], k % 2)\n{read}{released}"
    consume += "T.ptx_arrive_barrier(full[1])\n"
    counts = "".join(f"T.ptx_init_barrier_thread_count(full[{one}], 32)\n" for one in range(2))
    arms = under("if tx < 32", under("for k in range(D[0])", produce))
    arms += under("else", under("for k in range(D[0])", consume))
    return under("if tx == 0", counts) + "T.ptx_fence_barrier_init()\n" + SYNC + arms


def test_a_stage_is_filled_either_way_in_any_round() -> None:
    assert found(_filled()) == []
    assert found(_filled("D[1] <= D[2] - k", "D[1] <= D[2] - k")) == []
    assert found(_filled(read=STORED)) == []


@pytest.mark.parametrize(
    ("wrong", "hazard"),
    [
        ({"read": STORED, "fence": ""}, "missing-fence"),
        ({"read": STORED, "again": "k < D[2]"}, "missing-fence"),  # the fence is in the other arm
        ({"released": ""}, "missing-fence"),
        ({"read": "O[tx] = As[63 - tx] + Bs[64 - tx]\n"}, "uninitialised-read"),
    ],
)
def test_what_is_wrong_on_one_way_alone_is_noticed(wrong: dict[str, str], hazard: str) -> None:
    kinds = found(_filled(**wrong))  # type: ignore[arg-type]
    assert hazard in {kind for kind, _ in kinds}


@pytest.mark.parametrize(
    "wrong", [{"stored": "T.ptx_arrive_barrier(full[0])\n"}, {"announced": 2 * BYTES}]
)
def test_ways_that_do_something_else_to_mbarriers_are_not_followed(
    wrong: dict[str, object],
) -> None:
    report = report_on(kernel_of(_filled(**wrong)))  # type: ignore[arg-type]
    assert report.status == "unknown"
    assert report.unknown == ("a branch on data decides how often an mbarrier is used",)
