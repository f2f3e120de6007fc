"""`trim`: what can be taken out of a kernel, and what may not be."""

from __future__ import annotations

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.mender import trim
from smemreuse.mender.trimmer import (
    HANDED_ON,
    LATER,
    NOT_PROVED,
    OTHERS,
    POLLS,
    WRITTEN_TWICE,
)
from smemreuse.results.trimming import Trimming
from tests.checker.small import SYNC, USE_A, USE_B, X_MAY_BE_Y, kernel_of, under


def trimmed(body: str) -> Trimming:
    return trim(kernel_of(body), BarrierStage.PRESENT)


def taken(body: str) -> int:
    found = trimmed(body)
    assert found.why == ""
    return len(found.removals)


PAD = "c[0] = 1\nc[1] = 2\nc[2] = 3\n"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (USE_A, 0),
        (USE_A + SYNC, 1),  # nothing comes after it
        (SYNC + USE_A, 1),
        (USE_A + SYNC + USE_B, 1),  # two buffers: nobody waits for the other one
        (USE_A + SYNC + USE_A, 0),
        (USE_A + SYNC + SYNC + USE_A, 1),
        (f"As[tx] = tx\n{SYNC}O[tx] = As[tx]\n", 1),  # each thread has its own
    ],
)
def test_a_barrier_goes_that_orders_nothing(body: str, count: int) -> None:
    assert taken(body + PAD) == count


def test_a_barrier_between_rounds_stays() -> None:
    rounds = under("for k in range(4)", USE_A + SYNC + PAD)
    assert taken(rounds) == 0
    assert taken(under("for k in range(4)", USE_A + SYNC + SYNC + PAD)) == 1


def test_what_is_taken_out_is_told_with_its_place() -> None:
    (sentence,) = trimmed(USE_A + SYNC + PAD).sentences
    assert ": removed `" in sentence
    assert "` (line" in sentence
    assert "each of its 1 barriers and fences is needed" in trimmed(USE_A + PAD).sentences[0]


def test_a_kernel_that_is_not_clean_keeps_all() -> None:
    racing = trimmed(f"As[tx] = tx\nO[tx] = As[63 - tx]\n{SYNC}" + PAD)
    assert (racing.removals, racing.why) == ((), NOT_PROVED)


def test_what_is_handed_on_in_global_memory_keeps_all() -> None:
    handed = trimmed(f"O[tx] = tx\n{SYNC}D[tx] = O[63 - tx]\n" + PAD)
    assert handed.why == HANDED_ON.format("Y")


def test_parameters_that_may_overlap_are_one() -> None:
    body = f"O[tx] = tx\n{SYNC}c[0] = D[63 - tx]\n{PAD}"
    assert taken(body) == 1
    kernel = kernel_of(body, declared=X_MAY_BE_Y)
    assert trim(kernel, BarrierStage.PRESENT).why == HANDED_ON.format("X or Y")


FILL = under("if tx == 0", under("for i in range(64)", "O[i] = 0\n"))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (f"O[tx] = 1\n{SYNC}O[63 - tx] = 2\n", 0),
        (f"O[tx] = 1\n{SYNC}{SYNC}O[63 - tx] = 2\n", 1),
        (f"O[tx] = 1\n{SYNC}D[63 - tx] = 2\n", 1),  # two buffers
        (f"{FILL}{SYNC}O[tx] = 1\n", 0),
        (under("for k in range(4)", f"O[(tx + k) % 64] = k\n{SYNC}{PAD}"), 0),
        (under("for k in range(4)", f"O[(tx + k) % 64] = k\n{SYNC}{PAD}{SYNC}"), 1),
        (f"O[tx] = 1\n{under('for k in range(D[0])', SYNC + PAD)}O[63 - tx] = 2\n", 0),
        (f"O[tx] = 1\n{under('if D[0] > 0', SYNC + PAD)}{SYNC}O[63 - tx] = 2\n", 1),
    ],
)
def test_a_barrier_between_writes_of_global_memory_stays(body: str, count: int) -> None:
    """Without it an earlier write of another thread may be the last one."""
    assert taken(body + PAD) == count


def test_a_barrier_of_some_threads_stays_where_those_of_another_arm_write_the_same() -> None:
    ordered = "T.tvm_storage_sync('shared', 1, 64)\n"
    arms = under("if tx < 32", f"O[tx] = 1\n{ordered}{PAD}")
    arms += under("else", f"{PAD}{ordered}O[tx - 32] = 2\n")
    assert taken(arms) == 0


def test_what_both_threads_and_tma_write_keeps_all() -> None:
    source = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1)'
    stored = under(
        "if tx == 0", f"T.tma_store(Y, {source}, 0)\nT.tma_store_arrive()\nT.tma_store_wait()\n"
    )
    found = trimmed(f"O[tx] = 1\nAs[tx] = tx\n{SYNC}{stored}{PAD}")
    assert found.why == WRITTEN_TWICE.format("Y")


@pytest.mark.parametrize(
    ("alone", "why"),
    [
        ("T.pdl_sync()\n", OTHERS),
        ("T.cuda.wait_until(c[0], T.address_of(D[0]), c[0] == 1)\n", OTHERS),
        ('T.evaluate(T.call_extern("handle", "__threadfence"))\n', OTHERS),
        ('T.evaluate(T.call_extern("int32", "atomicAdd", T.address_of(O[0]), 1))\n', OTHERS),
        ('T.evaluate(T.call_extern("int32", "mystery"))\n', OTHERS),
        (under("while D[0] == 0", "c[0] = 1\n"), POLLS),
    ],
)
def test_an_order_that_one_thread_learns_of_elsewhere_keeps_all(alone: str, why: str) -> None:
    """A barrier tells the others that another kernel or block has written."""
    found = trimmed(under("if tx == 0", alone) + SYNC + USE_A + PAD)
    assert (found.removals, found.why) == ((), why)


def test_barriers_to_come_are_not_judged() -> None:
    kernel = kernel_of(USE_A + SYNC + PAD)
    assert trim(kernel, BarrierStage.LATER).why == LATER


def test_what_the_plans_need_stays() -> None:
    kernel = kernel_of(USE_A + SYNC + USE_B + PAD)
    assert trim(kernel, BarrierStage.PRESENT, lambda removals: False).removals == ()


def test_a_block_keeps_some_statements() -> None:
    """TileLang's later passes fail on a sequence that they made one of one."""
    assert taken("c[0] = 1\n" + SYNC + "c[1] = 2\n" + under("if tx < 64", SYNC + "c[0] = 1\n")) <= 1
