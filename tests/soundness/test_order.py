"""Races are found by order, not by values; late warps miss phases; collective functions."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from tests.checker.small import (
    COPY_A,
    SYNC,
    init_barrier,
    kernel_of,
    reduced,
    tma_load,
    under,
)
from tests.soundness.linted import goes_wrong, many_modes
from tests.soundness.model.modes import NEVER, Mode, as_it_stands, starved
from tests.soundness.model.order import RACE
from tests.soundness.model.run import Model

INPUTS = np.arange(1, 4097)
ARRIVE, WAIT = "T.ptx_arrive_barrier(full[0])\n", "T.mbarrier_wait_parity(full[0], 0)\n"
RELAXED = 'T.ptx.mbarrier(full[0], "arrive", "relaxed", "cta", "shared::cta", "b64", "")\n'
COMMIT, WAITED = "T.ptx_commit_group()\n", "T.ptx_wait_group(0)\n"
BY_COPIES = "T.ptx_cp_async_barrier_noinc(full[0])\n"


def _lower(body: str) -> str:
    return under("if tx < 32", body)


def _upper(body: str) -> str:
    return under("if tx >= 32", body)


def _model(body: str, threads: int = 64, declared: str = "") -> Model:
    return Model(kernel_of(body, threads=threads, declared=declared), [], INPUTS)


def _wrong(body: str, threads: int = 64, declared: str = "") -> str:
    model = _model(body, threads, declared)
    return goes_wrong(model, chain(as_it_stands(6), starved(model.warps)))


HANDED = init_barrier(32) + _lower("As[tx] = 5\n{}") + _upper(f"{WAIT}O[tx] = As[tx - 32]\n")
FILLED = f"As[tx] = 5\n{SYNC}"
"""So that what is stored again shows in no value."""


@pytest.mark.parametrize(
    "body",
    [
        "As[tx] = 1\nAs[63 - tx] = 1\n",
        f"{FILLED}As[tx] = 5\nO[tx] = As[63 - tx]\n",
        f"{FILLED}O[tx] = As[63 - tx]\nAs[tx] = 5\n",
        f"As[tx] = D[tx]\n{COPY_A}{COMMIT}O[tx] = As[tx]\n",
        f"{COPY_A}{COPY_A}{COMMIT}{WAITED}O[tx] = As[tx]\n",
        FILLED + HANDED.format(RELAXED),
        FILLED + HANDED.format(BY_COPIES),
        FILLED + _lower("As[tx] = 5\n") + _upper("T.sync_warp()\nO[tx] = As[tx - 32]\n"),
        FILLED + "As[tx // 4] = 5\nAs[tx // 8] = 5\n",
    ],
)
def test_what_is_in_no_order_races_whatever_the_values(body: str) -> None:
    assert _wrong(body) == RACE


@pytest.mark.parametrize(
    "body",
    [
        f"As[tx] = 1\n{SYNC}As[63 - tx] = 1\n",
        f"{FILLED}O[tx] = As[63 - tx]\n{SYNC}As[tx] = 5\n",
        f"As[tx] = D[tx]\n{COPY_A}{COMMIT}{WAITED}O[tx] = As[tx]\n",
        HANDED.format(ARRIVE),
        init_barrier(64) + f"{COPY_A}{BY_COPIES}{WAIT}O[tx] = As[63 - tx]\n",
        _lower("As[tx] = 1\nT.sync_warp()\nO[tx] = As[31 - tx]\n"),
        "As[tx // 4] = tx // 4\nO[tx] = As[tx // 4]\n",
        init_barrier(1)
        + under("if tx == 0", f"T.ptx_arrive_barrier_expect_tx(full[0], 256)\n{tma_load('As')}")
        + f"{WAIT}O[tx] = As[tx]\n",
    ],
)
def test_what_is_in_order_does_not(body: str) -> None:
    assert _wrong(body) == ""


def test_a_copy_that_nobody_waits_for_is_under_way_to_the_end() -> None:
    """Where barriers are still to come, too."""
    model = _model(f"As[tx] = D[tx]\n{COPY_A}{COMMIT}{SYNC}O[tx] = As[tx]\n")
    assert goes_wrong(model, [Mode("else", late=NEVER)]) == ""
    assert goes_wrong(model, [Mode("else", late=NEVER, races=True)]) == RACE


ROUNDS = "for k in range({})"


def _paced(rounds: int) -> str:
    """The upper warp looks at every phase that the lower one ends, which does not wait for it."""
    turn = "T.mbarrier_wait_parity(full[0], k % 2)\n"
    return init_barrier(32) + under(ROUNDS.format(rounds), _lower(ARRIVE + turn) + _upper(turn))


def test_a_starved_warp_does_not_look_in_time() -> None:
    assert _wrong(_paced(2)) == "it hangs"
    assert _wrong(_paced(1)) == ""


def test_in_which_phase_a_wait_passes_is_told() -> None:
    """Nobody hangs: the phase that a late warp waits for ends as well."""
    late = init_barrier(32) + _lower(f"{ARRIVE}{WAIT}{ARRIVE}")
    model = _model(late + _upper("T.mbarrier_wait_parity(full[0], 1)\n"))
    assert goes_wrong(model, many_modes(model, 0, 8)) == ""
    assert model.overtaken
    model = _model(init_barrier(32) + _lower(ARRIVE) + _upper(WAIT))
    assert goes_wrong(model, many_modes(model, 0, 8)) == ""
    assert not model.overtaken


# Collective functions -----------------------------------------------------------------------------

WORKSPACE = 'W = T.alloc_buffer((128,), "int32", scope="shared")\n'


def _alike(body: str, other: str, threads: int = 64) -> bool:
    mode = Mode("shuffled", assumed=False, races=True, late=NEVER)
    outputs = [_model(one, threads, WORKSPACE).run(mode).outputs for one in (body, other)]
    return outputs[0] == outputs[1]


@pytest.mark.parametrize("barrier", ["tl::NamedBarrier<64>", "tl::SyncThreadsBarrier"])
def test_a_reduction_adds_up_what_all_hand_it(barrier: str) -> None:
    assert _alike(f"O[tx] = {reduced(barrier=barrier, workspace='W')}\n", "O[tx] = 2016\n")
    halves = f"O[tx] = {reduced(32, barrier, workspace='W')}\n"
    assert _alike(halves, "O[tx] = 496 + tx // 32 * 1024\n")


@pytest.mark.parametrize(("reverse", "sums"), [("false", "tx + 1"), ("true", "64 - tx")])
def test_a_scan_adds_up_along_a_line(reverse: str, sums: str) -> None:
    pointer = 'T.tvm_access_ptr(T.type_annotation("int32"), W.data, 0, 64, 3)'
    scan = f'T.call_extern("handle", "tl::CumSum1D<64, {reverse}>::run", {pointer}, {pointer}, 64)'
    assert _alike(f"W[tx] = 1\n{SYNC}{scan}\n{SYNC}O[tx] = W[tx]\n", f"O[tx] = {sums}\n")
    assert _wrong(f"W[tx] = 1\n{scan}\nO[tx] = W[tx]\n", declared=WORKSPACE) != ""


def _in_arms(first: str, second: str) -> str:
    return _wrong(
        under("if tx < 64", f"O[tx] = {first}\n") + under("else", f"O[tx] = {second}\n"),
        128,
        WORKSPACE,
    )


def test_reductions_in_two_arms_let_each_other_go() -> None:
    here, there = reduced(workspace="W"), reduced(workspace="As").replace("64, 1, 0", "64, 1, 64")
    assert _in_arms(here, there) != ""
    assert _in_arms(here, "5") == ""


def test_the_workspace_is_read_after_the_last_barrier() -> None:
    reduction = f"O[tx] = {reduced(workspace='W')}\n"
    assert _wrong(f"{reduction}W[tx] = 1\n", declared=WORKSPACE) == RACE
    assert _wrong(f"{reduction}{reduction}{SYNC}W[tx] = 1\n", declared=WORKSPACE) == ""
