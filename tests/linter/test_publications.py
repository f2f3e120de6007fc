"""TMA finds an mbarrier as it was initialized: a fence is made for it, by whom, and when."""

from __future__ import annotations

import pytest

from smemreuse.mender import mend
from tests.checker.small import ARRIVE, SYNC, WAIT, kernel_of, tma_load, under
from tests.linter.test_linter import report_on

INIT = "T.ptx_init_barrier_thread_count(full[0], 1)\n"
FENCE = "T.ptx_fence_barrier_init()\n"
PROXY = "T.fence_proxy_async()\n"
EXPECT = "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n"
FIRST, OTHER = "if tx == 0", "if tx == 32"
LOAD = under(OTHER, EXPECT + tma_load("As")) + WAIT
OWN = under(FIRST, EXPECT + tma_load("As")) + SYNC + WAIT
BEGIN = under(FIRST, INIT)


def _found(body: str) -> list[tuple[str, tuple[str, ...], bool]]:
    hazards = report_on(kernel_of(body)).hazards
    return [(one.kind.value, one.buffers, one.is_unconditional) for one in hazards]


def _missing(*, certain: bool = True) -> list[tuple[str, tuple[str, ...], bool]]:
    return [("missing-fence", ("full",), certain)]


@pytest.mark.parametrize(
    "body",
    [
        under(FIRST, INIT + FENCE) + SYNC + LOAD,
        BEGIN + FENCE + SYNC + LOAD,
        BEGIN + under("if tx < 32", FENCE) + SYNC + LOAD,
        BEGIN + PROXY + SYNC + LOAD,
        BEGIN + SYNC + PROXY + LOAD,  # those who load have heard of it by then
        BEGIN + SYNC + under(OTHER, PROXY) + LOAD,
        BEGIN + SYNC + under("if tx == 16", FENCE + PROXY) + SYNC + LOAD,
        BEGIN + FENCE + OWN,  # its own fence needs no barrier
        BEGIN + SYNC + under(OTHER, ARRIVE) + WAIT,  # threads use the generic proxy
    ],
)
def test_an_mbarrier_that_is_fenced_is_found_as_it_is(body: str) -> None:
    assert _found(body) == []


@pytest.mark.parametrize(
    "body",
    [
        BEGIN + SYNC + LOAD,
        BEGIN + OWN,
        FENCE + BEGIN + SYNC + LOAD,
        BEGIN + under(OTHER, FENCE) + SYNC + LOAD,  # which is for mbarriers of its own
        BEGIN + SYNC + under(OTHER, FENCE) + SYNC + LOAD,
        BEGIN + under(OTHER, PROXY) + SYNC + LOAD,  # which may come before
        BEGIN + SYNC + under(FIRST, FENCE) + LOAD,  # which may come after the load
    ],
)
def test_a_fence_is_the_initializing_threads_and_comes_before_the_load(body: str) -> None:
    assert _found(body) == _missing()


def test_a_fence_that_data_decide_about_may_be_missing() -> None:
    body = BEGIN + under("if D[tx] > 0", FENCE) + SYNC + LOAD
    assert _found(body) == _missing(certain=False)


def test_a_fence_for_one_mbarrier_is_none_for_the_next() -> None:
    second = INIT.replace("full[0]", "full[1]")
    load = LOAD.replace("full[0]", "full[1]")
    assert _found(under(FIRST, INIT + FENCE + second) + SYNC + LOAD) == []
    assert _found(under(FIRST, INIT + FENCE + second) + SYNC + load) == _missing()


def test_a_fence_of_the_initializing_thread_mends_it() -> None:
    mending = mend(kernel_of(BEGIN + SYNC + LOAD))
    (edit,) = mending.edits
    assert (edit.texts, edit.side) == (("fence_proxy_async()",), "before")  # the block's barrier
    assert not mending.after.hazards
