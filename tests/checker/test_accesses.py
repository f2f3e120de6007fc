"""What an access requires of those before it, and what it leaves for those behind it."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.history import RECENT
from smemreuse.checker.traced import ANYONE, by_anyone
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import COPY_A, SYNC, USE_A, USE_B, access, judge, shared, under

A = shared("A", 4)


def test_what_a_warp_did_is_not_known_to_be_of_one_of_its_threads() -> None:
    made = access(A, range(4), is_write=True, by=(0, 0, 33, 33), ids=(0, 33), event=7)
    of_warp = made.of_warp(1)
    assert of_warp.by_thread.tolist() == [ANYONE] * 4
    assert of_warp.warps.tolist() == [1]
    assert (of_warp.event, of_warp.is_write, of_warp.certain) == (7, True, True)
    assert of_warp.where is made.where
    assert by_anyone(3).tolist() == [ANYONE] * 3
    assert np.asarray(made.by_thread).tolist() == [0, 0, 33, 33]


# Order of accesses (rules 4 to 6) -------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("As[tx] = 1\n", "Bs[tx] = 1\n", SOUND),  # each thread its own bytes
        ("As[tx] = 1\n", "Bs[63 - tx] = 1\n", UNSOUND),
        ("O[tx] = As[tx]\n", "Bs[63 - tx] = 1\n", UNSOUND),
        ("As[tx] = 1\n", "O[tx] = Bs[63 - tx]\n", UNSOUND),
        ("O[tx] = As[tx]\n", "O[tx] = Bs[63 - tx]\n", SOUND),  # reads do not conflict
        ("O[tx] = As[3]\n", "Bs[tx] = 1\n", UNSOUND),  # many threads read one element
        ("As[tx % 32] = 1\n", "Bs[tx % 32 + 32] = 1\n", SOUND),  # other bytes
        ("As[tx] = 1\n", "Bs[tx // 2] = 1\n", UNSOUND),
        ("As[0] = 1\n", "Bs[0] = 1\n", UNSOUND),
        (under("if tx == 5", "As[0] = 1\n"), under("if tx == 5", "Bs[0] = 1\n"), SOUND),
        (under("if tx == 5", "As[0] = 1\n"), under("if tx == 6", "Bs[0] = 1\n"), UNSOUND),
    ],
)
def test_other_threads_accesses_to_a_byte_must_be_ordered(
    first: str, second: str, verdict: str
) -> None:
    assert judge(first + second).verdict == verdict
    assert judge(first + SYNC + second).sound


def test_accesses_of_one_buffer_are_the_kernels_own_affair() -> None:
    assert judge("As[tx] = 1\nO[tx] = As[63 - tx]\n").sound


def test_only_bytes_in_common_are_asked_about() -> None:
    halves = {"Bs": 128}  # B's first half is A's second
    assert judge("As[tx] = 1\nBs[31 - tx % 32] = 1\n", offsets=halves).verdict == UNSOUND
    assert judge("As[tx % 32] = 1\nBs[31 - tx % 32] = 1\n", offsets=halves).sound
    assert judge("As[tx] = 1\nBs[63 - tx % 32] = 1\n", offsets=halves).sound


def test_one_statement_reads_the_one_before_it_writes_the_other() -> None:
    assert judge(f"As[tx] = 1\n{SYNC}Bs[tx] = As[tx]\nO[tx] = Bs[tx]\n").sound
    assert judge(f"As[tx] = 1\n{SYNC}Bs[63 - tx] = As[tx]\n").verdict == UNSOUND


def test_an_older_access_must_be_ordered_even_if_its_bytes_are_no_longer_known() -> None:
    """The third warp has not met the others, which have gone on since."""
    first = under("if tx >= 64", "Bs[tx - 64] = 1\n")
    others = 'T.tvm_storage_sync("shared", 1, 64)\n' + "Bs[tx] = 7\n" * RECENT
    body = first + under("if tx < 64", f"{others}{{}}As[tx] = 1\n")
    assert judge(body.format(""), threads=96).verdict == UNSOUND
    kept = body.replace("Bs[tx] = 7\n", "O[tx] = 7\n", 8)
    assert judge(kept.format(""), threads=96).verdict == UNSOUND
    ordered = first + SYNC + under("if tx < 64", f"{others}As[tx] = 1\n")
    assert judge(ordered, threads=96).sound


UPDATE = "T.atomic_add_elem_op({}, 1, 0)\n".format(
    'T.tvm_access_ptr(T.type_annotation("int32"), {}.data, tx, 1, 3)'
)


def test_an_update_reads_what_is_there_and_leaves_a_value() -> None:
    a, b = UPDATE.format("As"), UPDATE.format("Bs")
    assert judge(f"As[tx] = 1\n{a}O[tx] = As[tx]\n").sound
    lost = judge(f"As[tx] = 1\nBs[tx] = 2\n{a}")
    assert [(one.rule, one.buffers) for one in lost.violations] == [(2, ("As", "Bs"))]
    overwritten = judge(f"As[tx] = 1\n{b}O[tx] = As[tx]\n")
    assert [(one.rule, one.buffers) for one in overwritten.violations] == [(2, ("As", "Bs"))]


# Values (rule 2) --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (USE_A + SYNC + USE_B, SOUND),
        (f"As[tx] = 1\n{SYNC}{USE_B}{SYNC}O[tx] = As[tx]\n", UNSOUND),
        (f"As[tx] = 1\nBs[tx] = D[0]\n{SYNC}As[tx] = 2\nO[tx] = As[tx]\n", SOUND),
        (f"{USE_B}{SYNC}O[tx] = As[tx]\n", SOUND),  # nobody has written A
        (f"As[tx] = 1\n{SYNC}Bs[D[0]] = 2\n{SYNC}O[tx] = As[tx]\n", UNPROVED),
    ],
)
def test_what_is_read_is_there(body: str, verdict: str) -> None:
    assert judge(body).verdict == verdict


def test_a_predicated_write_is_not_sure() -> None:
    overwritten = f"As[tx] = 1\n{SYNC}Bs.vstore([tx], 2, predicate=D[0] > 0)\nO[tx] = As[tx]\n"
    assert judge(overwritten).verdict == UNPROVED


def test_a_place_that_is_not_known_may_be_any() -> None:
    assert judge(f"O[tx] = As[D[tx]]\n{SYNC}Bs[tx] = 1\n").sound
    found = judge("O[tx] = As[D[tx]]\nBs[tx] = 1\n")
    assert found.verdict != SOUND


def test_a_read_that_leaves_its_buffer_counts_as_one_of_any_byte() -> None:
    assert judge(f"As[tx] = 1\n{SYNC}Bs[3] = 2\n{SYNC}O[tx] = As[tx + 1]\n").verdict == UNPROVED


def test_a_write_that_leaves_its_buffer_is_named() -> None:
    found = judge(f"As[tx + 1] = 1\n{SYNC}Bs[tx] = 1\n")
    assert found.verdict == UNPROVED
    assert "leaves As, which has 256 bytes" in found.uncovered[0]


# What is in flight (rule 5) ---------------------------------------------------------------------

DONE = "T.ptx_commit_group()\nT.ptx_wait_group(0)\n"


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ("Bs[tx] = 1\n", UNSOUND),  # not even to the thread that issued it
        ("O[tx] = Bs[tx]\n", UNSOUND),
        ("O[tx] = D[tx]\n", SOUND),
    ],
)
def test_nobody_touches_bytes_that_a_copy_is_still_to_fill(second: str, verdict: str) -> None:
    assert judge(COPY_A + second).verdict == verdict


def test_a_copy_must_itself_come_behind_what_was_there() -> None:
    assert judge(f"Bs[63 - tx] = 1\n{COPY_A}{DONE}").verdict == UNSOUND
    assert judge(f"Bs[63 - tx] = 1\n{SYNC}{COPY_A}{DONE}").sound


def test_two_reads_in_flight_do_not_conflict() -> None:
    store = 'T.tma_store(T.tvm_access_ptr(T.type_annotation("int32"), {}.data, 0, 64, 1), X, 0)\n'
    stores = under("if tx == 0", store.format("As") + store.format("Bs"))
    assert judge(stores).sound


def test_an_operation_without_a_row_that_gets_the_bytes_is_not_covered() -> None:
    found = judge(f"T.mangle(As.data)\n{SYNC}{USE_B}")
    assert found.verdict == UNPROVED
    assert found.uncovered == ("`mangle` has no row in the table of effects, and gets As",)
