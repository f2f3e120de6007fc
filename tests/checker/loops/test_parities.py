"""Whether an mbarrier's phases are told from each other by the waits of some loops alone."""

from __future__ import annotations

import pytest

from smemreuse.checker.loops.parities import Parities
from smemreuse.ir.kernel import For, walk_statements
from tests.checker.small import kernel_of, under

ROUND = "T.mbarrier_wait_parity(full[0], k % 2)\n"
ASKED = 'T.call_extern("bool", "tl::mbarrier_try_wait", full[0], k % 2)'


def _are_relative(loop: str, beside: str = "", around: str = "") -> bool:
    body = under("for k in range(D[0])", loop)
    kernel = kernel_of((under(around, body) if around else body) + beside)
    loops = frozenset(
        one for one in walk_statements(kernel.body) if isinstance(one, For) and one.var.name == "k"
    )
    full = next(one for one in kernel.allocations() if one.name == "full")
    return Parities(kernel.body).are_relative(full.storage, loops)


def test_the_waits_of_the_loops_themselves_tell_nothing_from_outside() -> None:
    assert _are_relative(ROUND)
    assert _are_relative(ROUND, "T.ptx_arrive_barrier(full[0])\n")


@pytest.mark.parametrize(
    "beside",
    [
        "T.mbarrier_wait_parity(full[0], 0)\n",
        "T.mbarrier_wait_parity(full[1], 0)\n",
        under("for m in range(4)", "T.mbarrier_wait_parity(full[0], m % 2)\n"),
    ],
)
def test_a_wait_outside_tells_phases_apart(beside: str) -> None:
    assert not _are_relative(ROUND, beside)


def test_who_asks_tells_phases_apart_even_within() -> None:
    assert not _are_relative(ROUND + f"c[0] = {ASKED}\n")


@pytest.mark.parametrize("around", ["for m in range(4)", "for m in range(D[1])", "while c[0] < 3"])
def test_a_loop_that_is_entered_again_waits_for_its_first_parity_again(around: str) -> None:
    assert not _are_relative(ROUND, around=around)
