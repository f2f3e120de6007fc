"""Pipelines of a length that data decide, with tiles before the loop and after it."""

from __future__ import annotations

import pytest

from smemreuse.linter.collected import NO_NEGATIVE_LENGTH
from smemreuse.results.hazards import hazard_sentence
from tests.checker.small import COPY_A, SYNC, kernel_of, under
from tests.linter.test_linter import found, report_on

TILES = "((D[0] + 7) // 8)"


def _drained(
    first: str = "0 < D[0]", second: str = "8 < D[0]", last: str = "2", at: str = "1"
) -> str:
    """Copies two tiles ahead: two before the loop, each if there is one, and reads two after it."""

    def copy(tile: str) -> str:
        stage = f"{tile} % 3 * 64 + tx"
        return COPY_A.replace("As.data, tx", f"As.data, {stage}") + "T.ptx_commit_group()\n"

    def read(tile: str) -> str:
        return f"O[tx] = As[{tile} % 3 * 64 + 63 - tx]\n"

    body = under(f"if {first}", copy("(0 + 0)")) + under(f"if {second}", copy("(1 + 0)"))
    loop = copy("(k + 2)") + "T.ptx_wait_group(2)\n" + SYNC + read("k") + SYNC
    body += under(f"for k in range({TILES} - 2)", loop)
    for one in range(2):
        body += f"T.ptx_wait_group({1 - one})\n" + SYNC
        body += under(f"if {last} <= {TILES} + {one}", read(f"({TILES} + {one} + {at})"))
    return body


def test_the_tiles_before_and_after_a_loop_are_those_that_its_length_tells_of() -> None:
    assert found(_drained(), elements=192) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"first": "8 < D[0]"},
        {"second": "16 < D[0]"},
        {"second": "9 < D[0]"},
        {"last": "1"},
        {"at": "0"},
        {"first": "0 < D[1]"},
    ],
)
def test_a_tile_too_many_or_too_few_is_noticed(wrong: dict[str, str]) -> None:
    assert found(_drained(**wrong), elements=192)


# Loops of unknown length whose rounds are not told apart ----------------------------------------


def _rounds(inside: str, more: str = "") -> str:
    """Each round asks data of its own, so that the rounds do not repeat themselves."""
    asked = under("if D[k] + k < D[1] and 0 <= D[k] + k", inside)
    return under("for k in range(D[0])", asked + more + f"As[tx] = k\n{SYNC}O[tx] = As[63 - tx]\n")


def test_a_barrier_at_the_end_of_a_round_is_there_for_the_next_one() -> None:
    assert found(_rounds("O[tx + 64] = 1\n", SYNC)) == []
    assert found(_rounds("O[tx + 64] = As[0]\n", SYNC)) == [("uninitialised-read", False)]


def test_a_barrier_that_is_missing_between_rounds_is_noticed() -> None:
    assert ("race", True) in found(_rounds("O[tx + 64] = 1\n"))


@pytest.mark.parametrize(("kept", "hazards"), [(0, set()), (1, {("missing-wait", True)})])
def test_copies_of_an_earlier_round_are_in_flight(kept: int, hazards: set[object]) -> None:
    copied = COPY_A.replace("As.data", "Bs.data") + "T.ptx_commit_group()\n"
    read = f"T.ptx_wait_group({kept})\n{SYNC}O[tx] = Bs[63 - tx]\n{SYNC}"
    assert set(found(_rounds("O[tx + 64] = 1\n", copied + read))) == hazards


# Arms ------------------------------------------------------------------------------------------


def _in_step(handed: str = "T.mbarrier_wait_parity(full[1], k % 2)\n") -> str:
    """Three warps meet in each round; then the second, an arm of an arm, waits for the third."""
    counts = "T.ptx_init_barrier_thread_count(full[0], 96)\n"
    counts += "T.ptx_init_barrier_thread_count(full[1], 32)\n"
    meet = "T.ptx_arrive_barrier(full[0])\nT.mbarrier_wait_parity(full[0], k % 2)\n"
    produce = "As[tx - 64] = k\nT.ptx_arrive_barrier(full[1])\n"
    consume = f"{handed}O[tx] = As[63 - tx]\n"
    first, second, third = (
        under("for k in range(D[0])", meet + more) for more in ("", consume, produce)
    )
    inner = under("if tx < 32", first) + under("else", second)
    arms = under("if tx < 64", inner) + under("else", third)
    return under("if tx == 0", counts) + SYNC + arms


def test_arms_within_arms_leave_out_rounds_together() -> None:
    assert found(_in_step(), threads=96, elements=32) == []
    assert ("race", True) in found(_in_step(""), threads=96, elements=32)


def _last_apart(condition: str) -> str:
    """The consumer goes over the whole tiles of a sequence, and the last one comes after them."""
    produce = "T.mbarrier_wait_parity(full[1], k % 2 ^ 1)\nAs[tx] = k\n"
    produce += "T.ptx_arrive_barrier(full[0])\n"
    consume = "T.mbarrier_wait_parity(full[0], {k} % 2)\nO[tx] = As[63 - tx]\n"
    consume += "T.ptx_arrive_barrier(full[1])\n"
    counts = "".join(f"T.ptx_init_barrier_thread_count(full[{one}], 32)\n" for one in range(2))
    whole, tiles = "((D[1] - D[0]) // 16)", "((D[1] - D[0] + 15) // 16)"
    consumer = under(f"for k in range({whole})", consume.format(k="k"))
    consumer += under(f"if {condition.format(whole=whole, tiles=tiles)}", consume.format(k=whole))
    arms = under("if tx < 32", under(f"for k in range({tiles})", produce)) + under("else", consumer)
    return under("if tx == 0", counts) + SYNC + arms


def test_a_sequence_that_ends_before_it_begins_is_assumed_not_to_be() -> None:
    report = report_on(kernel_of(_last_apart("{whole} < {tiles}")))
    assert (report.status, report.assumptions) == ("clean", (NO_NEGATIVE_LENGTH,))
    assert found(_last_apart("{whole} <= {tiles}")) == [("barrier-deadlock", False)]
    in_step = report_on(kernel_of(_in_step(), threads=96, elements=32))
    assert NO_NEGATIVE_LENGTH not in in_step.assumptions


# What is certain --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "certain"),
    [
        ("D[0]", True),
        ("(D[1] - D[0] + 15) // 16 - 2", True),
        ("D[0] & 4095", True),
        ("T.min(D[0], 3)", True),
        ("2 * D[0]", True),
        ("(bx + 3) * D[0]", False),  # neither 2 nor LARGE is a multiple of three
        ("T.min(D[0] + 1, (D[1] + 15) // 16) - T.max(D[0] - 8, 0)", True),
        ("T.min(D[0], 1)", False),
        ("T.min(D[0], bx)", False),
        # What stands by itself in a sum is bound by what it is elsewhere in it.
        ("D[0] - D[0] // 2 * 2", False),
        ("T.min(D[0], 0) - D[0]", False),
        ("D[0] - T.max(D[0], 5)", False),
        ("D[0] + D[D[0]]", True),
    ],
)
def test_a_hazard_of_a_long_loop_is_certain_if_data_may_make_it_so(
    length: str, certain: bool
) -> None:
    body = under(f"for k in range({length})", "As[tx] = k\nO[tx] = As[63 - tx]\n" + SYNC)
    assert found(body) == [("race", certain)]
    (hazard,) = report_on(kernel_of(body)).hazards
    assert hazard.if_long == (("k",) if certain else ())
    told = "(certain by PTX if the loop over k is long enough, at least 1 round; in the source)"
    assert (told in hazard_sentence(hazard)) == certain
    later = under(f"for k in range({length})", "As[tx] = k\n") + SYNC + "O[tx] = As[63 - tx]\n"
    assert found(later) == [("uninitialised-read", False)]  # there may be no round


@pytest.mark.parametrize("first", ["if D[2] > 0", "for m in range(D[2] & 1)", "while D[2] > c[0]"])
def test_nothing_is_certain_where_data_decide_something_else_too(first: str) -> None:
    body = under(first, "O[tx] = Bs[tx]\n")
    body += under("for k in range(D[0])", "As[tx] = k\nO[tx] = As[63 - tx]\n" + SYNC)
    assert ("race", False) in found("Bs[tx] = tx\n" + body)


@pytest.mark.parametrize(
    ("first", "second", "certain"),
    [
        ("D[0]", "0 - D[0]", False),
        ("(D[0] + 15) // 16", "(15 - D[0]) // 16", False),
        ("D[0] % 2", "1 - D[0] % 2", False),
        ("D[0]", "D[1] - D[0]", True),
        ("D[0] // 16", "(D[0] % 16 + 3) // 4", True),  # the tail of the first
        ("(D[0] + 15) // 16", "(D[1] + 15) // 16", True),
    ],
)
def test_a_hazard_of_two_loops_is_certain_if_some_data_make_both_long_at_once(
    first: str, second: str, certain: bool
) -> None:
    body = f"As[tx] = tx\n{SYNC}" + under(f"for k in range({first})", "As[tx] = k\n")
    body += under(f"for m in range({second})", "O[tx] = As[63 - tx]\n") + SYNC
    assert found(body) == [("race", certain)]


def test_a_hang_alone_makes_lint_say_what_it_assumes() -> None:
    """Nothing else is wrong in any case, so that nothing else tells of the assumption."""
    waits = under("if (D[0] + 15) // 16 < 0", "T.mbarrier_wait_parity(full[0], 0)\n")
    body = under("if tx == 0", "T.ptx_init_barrier_thread_count(full[0], 32)\n") + SYNC
    rounds = "T.ptx_arrive_barrier(full[1])\nT.mbarrier_wait_parity(full[1], k % 2)\n"
    body = body.replace(
        "(full[0], 32)\n", "(full[0], 32)\n    T.ptx_init_barrier_thread_count(full[1], 64)\n"
    )
    body += under("for k in range((D[0] + 15) // 16)", rounds) + waits
    report = report_on(kernel_of(body))
    assert (report.status, report.assumptions) == ("clean", (NO_NEGATIVE_LENGTH,))


# Loops that end where the first of two bounds is ------------------------------------------------


def _ahead(further: str = "k + 1 < D[1] and k + 1 < D[2]", ends: str = "T.min(D[1], D[2])") -> str:
    """Loads the first tile where the loop begins, and each other one in the round before it."""
    copy = COPY_A + "T.ptx_commit_group()\n"
    inside = under("if k == T.min(D[0], D[2])", copy)
    inside += f"T.ptx_wait_group(0)\n{SYNC}O[tx] = As[63 - tx]\n{SYNC}" + under(
        f"if {further}", copy
    )
    begin = "T.min(D[0], D[2])"
    return under(f"for k in range({begin}, {begin} + ({ends} - {begin}))", inside)


@pytest.mark.parametrize("ends", ["T.min(D[1], D[2])", "T.min(D[2], D[1])"])
def test_a_condition_of_two_bounds_tells_of_the_last_round(ends: str) -> None:
    assert found(_ahead(ends=ends)) == []


@pytest.mark.parametrize(
    "further",
    [
        "k + 1 < D[1]",
        "k + 1 < D[1] and k + 2 < D[2]",
        "k + 1 < D[1] or k + 1 < D[2]",
        "k + 1 < D[1] and k + 1 < D[3]",
    ],
)
def test_a_condition_of_other_bounds_does_not(further: str) -> None:
    assert found(_ahead(further))


# Blocks that return early -----------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["D[0] <= 0", "D[0] <= D[1] and 0 < D[2]"])
def test_a_block_may_return_as_a_whole(condition: str) -> None:
    early = under(f"if {condition}", "T.thread_return()\n")
    assert found(early + f"As[tx] = tx\n{SYNC}O[tx] = As[63 - tx]\n") == []
    assert found(early + "As[tx] = tx\nO[tx] = As[63 - tx]\n") == [("race", False)]
    copied = COPY_A + "T.ptx_commit_group()\n"
    assert found(copied + early + f"T.ptx_wait_group(0)\n{SYNC}O[tx] = As[63 - tx]\n") == []


def test_what_a_block_left_undone_when_it_returned_is_noticed() -> None:
    early = under("if D[0] <= 0", "T.thread_return()\n")
    stored = f"As[tx] = tx\n{SYNC}" + under("if tx == 0", "T.tma_store(As.data)\n")
    assert found(stored + early) == found(stored)


def test_threads_that_return_alone_are_not_followed_where_others_wait() -> None:
    early = under("if tx < 32", "T.thread_return()\n")
    report = report_on(kernel_of(early + f"As[tx] = tx\n{SYNC}O[tx] = As[63 - tx]\n"))
    assert report.unknown == ("`thread_return` (line 14) is not followed",)


@pytest.mark.parametrize(
    ("dtype", "at", "certain"),
    [
        ("int32", 150, True),
        ("uint8", 150, True),
        ("int8", 150, False),
        ("int8", 100, True),
        ("bool", 1, False),
    ],
)
def test_no_loop_is_longer_than_the_type_of_its_length_allows(
    dtype: str, at: int, certain: bool
) -> None:
    """Not where a large number is tried either, or an element that has one."""
    declared = f'Z = T.handle("{dtype}", "global")\nU = T.decl_buffer((64,), "{dtype}", data=Z)\n'
    body = "As[tx] = tx\n" + SYNC
    race = under(f"if k == {at}", "As[63 - tx] = D[tx]\n")
    body += under('for k in range(T.Cast("int32", U[0]))', race) + "O[tx] = As[tx]\n"
    (hazard,) = report_on(kernel_of(body, declared=declared)).hazards
    assert (hazard.kind.value, hazard.certain) == ("race", certain)
