"""What an access requires of those before it, and what it leaves for those behind it."""

from __future__ import annotations

import pytest

from smemreuse.checker.machine.history import RECENT
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import COPY_A, SYNC, USE_A, USE_B, init_barrier, judge, tma_load, under

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


FILLED = f"As[tx % 8] = 5\n{SYNC}O[tx] = As[tx % 8]\n{SYNC}"


@pytest.mark.parametrize(
    "refill",
    [
        "As[tx % 8] = 5\nO[tx] = As[(tx + 1) % 8]\n",
        under("if tx < 16", "As[tx % 8] = 5\nO[tx] = As[(tx + 1) % 8]\n"),
        under("if tx < 32", "As[tx % 8] = 5\n") + "O[tx] = As[tx % 8]\n",
        COPY_A + "T.ptx_commit_group()\nO[tx] = As[tx % 8]\nT.ptx_wait_group(0)\n",
    ],
)
def test_a_race_with_a_refill_is_harmless_only_where_no_other_buffer_was(refill: str) -> None:
    """Without the other buffer a read that comes too early finds what the first fill wrote, which
    is the same."""
    assert judge(FILLED + refill).sound
    assert judge(f"{FILLED}{refill}{SYNC}{USE_B}").sound
    verdict = judge(f"{FILLED}{USE_B}{SYNC}{refill}")
    assert verdict.verdict == UNPROVED
    assert {one.buffers for one in verdict.violations} == {("As", "Bs")}
    apart = {"Bs": 256}
    assert judge(f"{FILLED}{USE_B}{SYNC}{refill}", offsets=apart).sound


def test_a_refill_is_ordered_like_any_other_write() -> None:
    refill = "As[tx % 8] = 5\n{}O[tx] = As[(tx + 1) % 8]\n"
    body = f"{FILLED}{USE_B}{SYNC}{{}}"
    assert judge(body.format(refill.format(SYNC))).sound
    assert judge(body.format("As[tx] = 5\nO[tx] = As[tx]\n")).sound
    one_warp = under("if tx < 32", "As[tx] = 5\nT.sync_warp()\nO[tx] = As[31 - tx]\n")
    assert judge(body.format(one_warp)).sound
    assert not judge(body.format(one_warp.replace("T.sync_warp()", "O[tx] = 0"))).sound


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


# Certain and uncertain races --------------------------------------------------------------------


def test_what_one_warp_did_is_not_laid_to_another() -> None:
    """Each warp keeps to its own bytes, and meets in between."""
    assert judge("As[tx ^ 1] = tx\nT.sync_warp()\nBs[tx] = tx\n").sound
    assert judge("As[tx ^ 32] = tx\nT.sync_warp()\nBs[tx] = tx\n").verdict == UNSOUND


PERHAPS = "{}.vstore([{}], 1, predicate=D[0] > 0)\n"


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (PERHAPS.format("Bs", "63 - tx"), "As[tx] = 1\n", UNPROVED),
        ("Bs[63 - tx] = 1\n", PERHAPS.format("As", "tx"), UNPROVED),
        ("Bs[63 - tx] = 1\n" + PERHAPS.format("Bs", "63 - tx"), "As[tx] = 1\n", UNSOUND),
        (PERHAPS.format("Bs", "63 - tx") + "Bs[63 - tx] = 1\n", "As[tx] = 1\n", UNSOUND),
    ],
)
def test_a_race_is_certain_if_both_accesses_are(first: str, second: str, verdict: str) -> None:
    assert judge(first + second).verdict == verdict


def test_a_load_on_its_way_to_other_bytes_is_no_conflict() -> None:
    load = "T.ptx_arrive_barrier_expect_tx(full[0], 128)\n" + tma_load("Bs", elements=32)
    body = init_barrier(1) + under("if tx == 0", load) + under("if tx >= {}", "As[tx] = 1\n")
    assert judge(body.format(32)).sound
    assert judge(body.format(31)).verdict == UNSOUND


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


@pytest.mark.parametrize(
    ("again", "verdict"), [("As[tx] = 3\n", SOUND), (PERHAPS.format("As", "tx"), UNPROVED)]
)
def test_a_value_that_may_be_new_is_not_surely_lost(again: str, verdict: str) -> None:
    before = f"As[tx] = 1\n{SYNC}Bs[tx] = 2\n{SYNC}"
    assert judge(f"{before}{again}O[tx] = As[tx]\n").verdict == verdict


def test_a_first_value_may_be_there_or_not_as_in_the_kernel_itself() -> None:
    first = PERHAPS.format("As", "tx")
    assert judge(f"{first}O[tx] = As[tx]\n{SYNC}Bs[tx] = 1\n").sound
    assert judge(f"{first}{SYNC}Bs[tx] = 1\n{SYNC}O[tx] = As[tx]\n").verdict == UNPROVED


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


# Which bytes ------------------------------------------------------------------------------------

THIRD = 'Cs = T.alloc_buffer(({},), "int32", scope="shared.dyn")'


def test_a_pointer_keeps_the_place_that_it_was_made_with() -> None:
    """It points at the first element of Cs, which shares bytes with Bs."""
    pointer = 'p: T.handle("int32", "shared.dyn") = T.address_of(Cs[c[0]])\n'
    view = 'v = T.decl_buffer((64,), "int32", data=p, scope="shared.dyn")\n'
    body = f"Bs[tx] = tx\nc[0] = {{}}\n{pointer}{{}}{view}v[tx] = 7\nO[tx] = Bs[tx]\n"

    def proved(*steps: str) -> bool:
        kernel = body.format(*steps)
        return judge(kernel, declared=THIRD.format(128), offsets={"As": 1024}).sound

    assert not proved("0", "c[0] = 64\n")
    assert not proved("0", "")
    assert proved("64", "")


def test_the_offset_of_a_view_is_read_where_the_view_is_used() -> None:
    """As[0] has been overwritten by then."""
    view = (
        'v = T.decl_buffer((32,), "int32", data=Cs.data, elem_offset=As[0], scope="shared.dyn")\n'
    )
    body = f"As[tx] = 0\n{SYNC}Bs[63 - tx] = tx\n{SYNC}{view}{{}}\n"
    for use in ("O[tx] = v[tx % 32]", "v[tx % 32] = 1", "T.atomic_add(v[tx % 32], 1)"):
        found = judge(body.format(use), declared=THIRD.format(64), offsets={"Cs": 1024})
        assert [one.rule for one in found.violations] == [2]
    idle = judge(body.format(""), declared=THIRD.format(64), offsets={"Cs": 1024})
    assert idle.sound


def test_a_copy_of_half_a_byte_takes_the_whole_byte() -> None:
    """Three elements of four bits reach into the second byte."""
    declared = 'fours = T.alloc_buffer((16,), "int4", scope="shared.dyn")\n'
    pointer = 'T.tvm_access_ptr(T.type_annotation("int4"), fours.data, 0, 3, 1)'
    view = 'bytes = T.decl_buffer((8,), "uint8", data=Bs.data, scope="shared.dyn")\n'
    body = f"{view}T.tma_store({pointer}, X, 0)\nbytes[{{}}] = T.uint8(1)\n"
    for byte, is_free in ((1, False), (2, True)):
        found = judge(
            body.format(byte), threads=1, elements=2, declared=declared, offsets={"As": 64}
        )
        assert found.sound is is_free


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


def test_a_function_of_any_name_may_take_a_reference() -> None:
    """From the element that it is handed it may write all of Bs."""
    body = f"As[tx] = 1\n{SYNC}T.call_extern('handle', '__scale_in_place', Bs[0])\n{SYNC}"
    assert not judge(f"{body}O[tx] = As[tx]\n").sound
