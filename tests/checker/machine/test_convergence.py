"""Lanes of a warp that wait for each other in a shuffle or a vote: no proof, no certain race."""

from __future__ import annotations

import pytest

from smemreuse.checker.machine.convergence import Convergence
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import UNPROVED, UNSOUND
from tests.checker.small import SYNC, judge, kernel_of, statement, under

VALUE = 'v = T.alloc_buffer((1,), "int32", scope="local")\n'
FILLED = f"As[tx] = tx\n{SYNC}"
READ = "v[0] = As[31 - tx]\n"
WRITTEN = "Bs[tx] = 1\n"
SHUFFLED = "v[0] = T.tvm_warp_shuffle_down(T.uint32(4294967295), v[0], 1, 32, 32)\n"
CONVERGING = (
    SHUFFLED,
    "v[0] = T.shfl_sync(T.uint32(4294967295), v[0], 1)\n",
    'v[0] = T.call_extern("int32", "__shfl_xor_sync", T.uint32(4294967295), v[0], 1)\n',
    'v[0] = T.call_extern("int32", "__ballot_sync", T.uint32(4294967295), v[0])\n',
    "if T.any_sync(T.uint32(4294967295), v[0]):\n    O[tx] = 1\n",
)


@pytest.mark.parametrize("converging", CONVERGING)
def test_what_stands_on_both_sides_of_a_shuffle_is_neither_proved_nor_refuted(
    converging: str,
) -> None:
    """PTX orders no memory by it, and every lane has its value before any of them goes on."""
    found = judge(FILLED + READ + converging + WRITTEN, threads=32, declared=VALUE)
    assert found.verdict is UNPROVED
    (violation,) = found.violations
    assert violation.rule is Rule.BARRIER
    assert "a shuffle or a vote between them, which orders no memory" in violation.witness


def test_a_barrier_of_the_warp_orders_it() -> None:
    body = FILLED + READ + SHUFFLED + "T.sync_warp()\n" + WRITTEN
    assert judge(body, threads=32, declared=VALUE).sound


@pytest.mark.parametrize(
    "body",
    [
        READ + WRITTEN,
        SHUFFLED + READ + WRITTEN,
        READ + WRITTEN + SHUFFLED,
        READ + "v[0] = T.tvm_warp_activemask()\n" + WRITTEN,
        SHUFFLED + under("for k in range(2)", READ + WRITTEN),
    ],
    ids=["none", "before", "behind", "nobody waits for a mask of who is there", "before a loop"],
)
def test_a_race_without_a_shuffle_in_between_is_one(body: str) -> None:
    assert judge(FILLED + body, threads=32, declared=VALUE).verdict is UNSOUND


def test_a_shuffle_is_no_meeting_of_several_warps() -> None:
    body = f"{FILLED}v[0] = As[63 - tx]\n{SHUFFLED}{WRITTEN}"
    assert judge(body, threads=64, declared=VALUE).verdict is UNSOUND


def test_a_loop_may_lead_round_to_a_shuffle() -> None:
    """Bs of one round and As of the next: the shuffle stands before both, in the text."""
    body = under("for k in range(2)", SHUFFLED + "As[tx] = tx\n" + SYNC + READ)
    assert judge(body + WRITTEN, threads=32, declared=VALUE).verdict is not UNSOUND


def test_where_lanes_converge() -> None:
    loop = under("for k in range(2)", READ + SHUFFLED + WRITTEN)
    kernel = kernel_of(f"As[tx] = 7\n{loop}Bs[tx] = 9\n", threads=32, declared=VALUE)
    found = Convergence(kernel.body)
    first, read, written, last = (
        statement(kernel, text) for text in ("As[tx] = 7", "v[0] = As", "Bs[tx] = 1", "Bs[tx] = 9")
    )
    assert found.between(read, written)
    assert found.between(written, read)  # in the next round
    assert found.between(first, last)
    assert not found.between(last, first)
