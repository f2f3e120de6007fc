"""Barriers that are passed by others than those whom they are for: as they run, and as judged.

What runs wrong in the operational model is not called sound (rule 12); what is right is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from smemreuse.ir.kernel import Kernel
from smemreuse.results.verdict import SOUND
from tests.checker.small import ARRIVE as M_ARRIVE
from tests.checker.small import SCOPE, SYNC, init_barrier, judge_kernel, kernel_of, under
from tests.checker.small import WAIT as M_WAIT
from tests.soundness.model.modes import IllDefined, Mode, as_it_stands, held_at_each
from tests.soundness.model.run import Model

CLUSTER, GRID = "T.cluster_sync()\n", "T.sync_grid()\n"
ARRIVE, WAIT, RELAXED = "T.cluster_arrive()\n", "T.cluster_wait()\n", "T.cluster_arrive_relaxed()\n"
FIRST = "As[tx] = tx\nO[tx] = As[tx]\n"
THEN = "Bs[63 - tx] = tx\nO[tx] = Bs[63 - tx]\n"


def _lower(body: str) -> str:
    return under("if tx < 32", body)


def _upper(body: str) -> str:
    return under("if tx >= 32", body)


def _modes(model: Model) -> Iterator[Mode]:
    yield from as_it_stands(32, fences=False)
    yield from held_at_each(model.places, fences=False)
    for warp in range(4):
        yield Mode("shuffled", assumed=False, starved=warp)


def _differs(kernel: Kernel) -> bool:
    """Whether As and Bs may not share in some execution of two blocks, or of one."""
    model = Model(kernel, [dict.fromkeys(kernel.allocations(SCOPE), 0)], np.arange(1, 4097))
    return bool(model.differing(_modes(model))[0])


@pytest.mark.parametrize(
    "body",
    [
        _lower(CLUSTER) + FIRST + CLUSTER + THEN,
        _lower(SYNC) + FIRST + SYNC + THEN,
        _lower(GRID) + _upper(SYNC) + FIRST + SYNC + THEN,
        under("if D[tx // 32] == 1", SYNC) + FIRST + SYNC + THEN,
        ARRIVE + FIRST + WAIT + THEN,
        FIRST + ARRIVE + THEN + WAIT,
        _lower(ARRIVE + WAIT) + FIRST + CLUSTER + THEN,
        _lower(SYNC + SYNC + "O[tx] = tx\n" + FIRST + GRID) + GRID + THEN,
    ],
)
def test_what_runs_wrong_is_not_called_sound(body: str) -> None:
    kernel = kernel_of(body, blocks=2)
    assert _differs(kernel)
    assert not judge_kernel(kernel).sound


@pytest.mark.parametrize(
    "body",
    [
        FIRST + CLUSTER + THEN,
        FIRST + ARRIVE + WAIT + THEN,
        FIRST + GRID + THEN,
        _lower(CLUSTER) + _upper(CLUSTER) + FIRST + CLUSTER + THEN,
        _lower(CLUSTER) + _upper(ARRIVE + WAIT) + FIRST + CLUSTER + THEN,
        _lower(GRID) + _upper(SYNC + SYNC) + FIRST + SYNC + THEN,
        under("if D[0] > 0", CLUSTER) + FIRST + CLUSTER + THEN,
    ],
)
def test_what_is_right_is_proved(body: str) -> None:
    kernel = kernel_of(body, blocks=2)
    assert not _differs(kernel)
    assert judge_kernel(kernel).verdict is SOUND


@pytest.mark.parametrize("body", [ARRIVE + ARRIVE + WAIT, WAIT, _lower(ARRIVE) + WAIT])
def test_halves_that_do_not_take_turns_have_no_result(body: str) -> None:
    kernel = kernel_of(FIRST + body + THEN, blocks=2)
    with pytest.raises(IllDefined, match="not in turns"):
        _differs(kernel)
    assert not judge_kernel(kernel).sound


@pytest.mark.parametrize("arms", ["then", "else", "shuffled", "ranked", "bursts", "turns"])
def test_any_one_warp_may_be_late(arms: str) -> None:
    """The upper warp writes over what the lower one reads, unless it is the late one."""
    body = f"As[tx] = tx\n{SYNC}" + _lower("O[tx] = As[tx]\n") + _upper("Bs[63 - tx] = 7\n")
    kernel = kernel_of(body)
    model = Model(kernel, [dict.fromkeys(kernel.allocations(SCOPE), 0)], np.arange(1, 4097))
    for warp, differs in ((0, True), (1, False)):
        assert model.differing([Mode(arms, assumed=False, starved=warp)])[0] == differs


BY_NAME = "T.tvm_storage_sync('shared', 3, 64)\n"
"""Takes two warps, whichever come: both halves of a block of four have the same number."""

OTHER = "T.tvm_storage_sync('shared', 4, 64)\n"
MINE, THEN_MINE = "As[tx] = tx\nO[tx] = As[tx]\n", "Bs[tx] = tx\nO[tx] = Bs[tx]\n"
MEET_AGAIN = M_ARRIVE + M_WAIT
CROSSED = ("O[tx] = As[tx ^ 63]\n", "Bs[tx] = tx + 1\n")


def _halves(first: str, second: str) -> str:
    return init_barrier(128) + under("if tx < 64", first) + under("if tx >= 64", second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (BY_NAME, BY_NAME),
        (BY_NAME + MEET_AGAIN, BY_NAME + MEET_AGAIN + BY_NAME),  # the first is over by then
        (BY_NAME + MEET_AGAIN + BY_NAME, BY_NAME + MEET_AGAIN + BY_NAME),
        (BY_NAME + OTHER, BY_NAME + OTHER.replace(" 4", " 5")),
    ],
)
def test_a_barrier_that_others_may_be_at_orders_nothing_and_is_passed(
    first: str, second: str
) -> None:
    harmless = _halves(MINE + first + THEN_MINE, MINE + second + THEN_MINE)
    kernel = kernel_of(harmless, threads=128)
    assert judge_kernel(kernel).verdict is SOUND
    assert not _differs(kernel)


def test_what_needs_the_order_of_a_barrier_that_others_may_be_at_is_not_proved() -> None:
    crossed = BY_NAME.join(CROSSED)
    kernel = kernel_of("As[tx] = tx\n" + SYNC + _halves(crossed, crossed), threads=128)
    assert _differs(kernel)
    assert not judge_kernel(kernel).sound


WAITS = "T.mbarrier_wait_parity(full[1], 0)\n"
ARRIVES = "T.ptx_arrive_barrier(full[1])\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Twice in one arm, once in the other, which then waits for it: a warp of each may meet, and
        # again one that is there for the second time, so that the last two are short of each other.
        (BY_NAME + WAITS, BY_NAME + BY_NAME + ARRIVES),
        # The last warp comes after the first has gone on, which may need it there.
        (BY_NAME + under("if tx < 32", ARRIVES), under("if tx >= 96", WAITS) + BY_NAME),
        (
            BY_NAME + under("if tx == 0", ARRIVES),
            under("if tx == 96", WAITS) + BY_NAME,
        ),
        (BY_NAME, BY_NAME.replace("64", "128")),
    ],
)
def test_where_it_may_not_be_passed_nothing_is_proved(first: str, second: str) -> None:
    count = 1 if "tx == 0" in first else 32 if "tx < 32" in first else 64
    init = init_barrier(count, "full[1]")
    kernel = kernel_of(
        init + _halves(MINE + first + THEN_MINE, MINE + second + THEN_MINE), threads=128
    )
    with pytest.raises(IllDefined):
        _differs(kernel)
    assert not judge_kernel(kernel).sound
