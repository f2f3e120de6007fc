"""What is ordered on one way through a kernel, and never happens on the other one."""

from __future__ import annotations

import pytest

from tests.checker.small import SYNC, under
from tests.linter.test_linter import found

BEGIN, WRITES, READS = "As[tx] = 0\n", "As[63 - tx] = 1\n", "O[tx] = As[tx]\n"


@pytest.mark.parametrize("head", ["if D[0] > 0", "for k in range(D[0])", "while D[0] > 0"])
def test_what_a_barrier_follows_on_its_way_is_over(head: str) -> None:
    assert found(BEGIN + SYNC + under(head, WRITES + SYNC) + READS) == []


@pytest.mark.parametrize(
    "way",
    [
        under("if D[0] > 0", SYNC + WRITES),
        under("if D[0] > 0", WRITES) + under("else", SYNC),
        WRITES + under("if D[0] > 0", SYNC),
        under("if D[tx] > 0", WRITES) + under("if D[0] > 0", SYNC),
        under("for k in range(D[0])", SYNC + WRITES),
        under("for k in range(D[0])", WRITES + SYNC) + WRITES,
        WRITES + under("for k in range(D[0])", SYNC),
        under("if D[0] > 0", WRITES + under("if tx < 32", 'T.tvm_storage_sync("shared", 1, 32)\n')),
    ],
)
def test_what_no_barrier_follows_on_its_way_is_not(way: str) -> None:
    assert [kind for kind, _ in found(BEGIN + SYNC + way + READS)] == ["race"]


def test_a_barrier_of_some_threads_alone_orders_nothing() -> None:
    hazards = found(BEGIN + SYNC + under("if D[tx] > 0", WRITES + SYNC) + READS)
    assert hazards == [("barrier-divergence", False), ("race", False)]
