"""Reads that race, or that find what nobody has written, in threads or blocks that discard it."""

from __future__ import annotations

import pytest

from smemreuse.linter.collected import RACED
from tests.checker.small import SYNC, kernel_of, under
from tests.linter.test_linter import report_on

FILL = under("if tx < 64", "As[tx] = D[tx]\n")
READ = "c[0] = As[tx % 64]\n"
"""Of 128 threads the second half reads what the first half writes."""

FIRST_HALF = under("if tx < 64", "O[tx] = v\n")
RACE = ["race"]

USES = [
    ("", []),
    (under("if tx < 64", "O[tx] = c[0]\n"), []),
    (under("if tx < 65", "O[tx] = c[0]\n"), RACE),
    ("O[tx] = T.if_then_else(tx // 64 == 0, c[0], 0)\n", []),
    ("O[tx] = T.if_then_else(tx // 64 == 1, c[0], 0)\n", RACE),
    (f"Bs[tx] = c[0]\n{SYNC}O[tx] = Bs[tx % 64]\n", []),
    (f"Bs[tx] = c[0]\n{SYNC}O[tx] = Bs[tx]\n", RACE),
    (f"Bs[tx] = c[0]\n{SYNC}v: T.int32 = Bs[127 - tx]\n{FIRST_HALF}", RACE),
    (under("if c[0] < 3", "O[tx] = 1\n"), RACE),
    (under("if tx < 64", under("if c[0] < 3", "O[tx] = 1\n")), []),
    ("O[tx] = D[c[0] % 2]\n", RACE),
    (f"v: T.int32 = c[0] + 1\n{FIRST_HALF}", []),
    (f"v: T.int32 = c[0] + 1\n{under('if tx >= 64', 'O[tx] = v' + chr(10))}", RACE),
]
"""What becomes of the value, and the hazards that are left."""

READS = [
    ("v: T.int32 = As[tx % 64]\n" + under("if tx < 64", "O[tx] = v\n"), []),
    ("v: T.int32 = As[tx % 64]\nO[tx] = v\n", RACE),
    (under("if As[tx % 64] < 3", "O[tx] = 1\n"), RACE),
    (under("if tx < 64", "O[tx] = As[tx]\n") + "Bs[tx] = As[tx % 64]\n", []),
    (under("if tx < 64", "O[tx] = As[tx]\n") + "O[tx] = As[tx % 64]\n", RACE),
]
"""Other reads of the same bytes, in good order or not."""


def hazards(body: str, **kernel: int) -> list[str]:
    report = report_on(kernel_of(body, **{"threads": 128, **kernel}))  # type: ignore[arg-type]
    assert report.unknown == ()
    assert (RACED in report.assumptions) is (
        "race" not in (one.kind.value for one in report.hazards)
    )
    return [one.kind.value for one in report.hazards]


@pytest.mark.parametrize(
    ("use", "expected"),
    [*USES, ('c[1] = T.call_extern("int32", "__shfl_sync", -1, c[0], 0)\n', RACE)],
)
def test_a_value_that_is_read_in_a_race_is_followed(use: str, expected: list[str]) -> None:
    assert hazards(FILL + READ + use) == expected


@pytest.mark.parametrize(("read", "expected"), READS)
def test_other_reads_of_the_same_bytes_are_in_order(read: str, expected: list[str]) -> None:
    assert hazards(FILL + read) == expected


def test_what_is_read_before_it_is_written_is_told_of() -> None:
    """Several statements may have read the same bytes, and one of them is known."""
    assert hazards(f"As[tx % 64] = 1\n{SYNC}{READ}{FILL}") == RACE


def test_so_are_races_of_other_widths() -> None:
    """PTX says what a read may find where a race is of one width."""
    wide = under("if tx < 32", "As[tx * 2:tx * 2 + 2] = T.Broadcast(1, 2)\n")
    assert hazards(wide + READ) == RACE


def test_so_are_two_writes() -> None:
    body = f"{FILL}As[tx % 64] = tx\n{SYNC}{READ}"
    assert "race" in hazards(body)


@pytest.mark.parametrize("use", ["O[tx] = {}\n", "w: T.int32 = {}\nO[tx] = w\n"])
@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("T.if_then_else(bx == 0, v, 0)", []),
        ("T.if_then_else(0 < bx, 0, v)", []),
        ("T.if_then_else(bx < 2, v, 0)", ["uninitialised-read"]),
        ("T.if_then_else(bx == 1, v, 0)", ["uninitialised-read"]),
    ],
)
def test_each_kind_of_blocks_may_discard_what_is_not_written_in_it(
    use: str, chosen: str, expected: list[str]
) -> None:
    fill = under("if bx == 0", "As[tx] = 1\n") + "v: T.int32 = As[tx]\n"
    report = report_on(kernel_of(fill + use.format(chosen), blocks=4))
    assert [one.kind.value for one in report.hazards] == expected


def test_nothing_is_harmless_while_other_blocks_have_not_been_looked_at() -> None:
    """Of so many kinds of blocks the first few are traced, where something is found in them."""
    kinds = "".join(under(f"if bx == {at}", f"Bs[tx] = {at}\n") for at in range(20))
    last = under("if bx == 39", "O[tx] = As[tx % 64]\n")
    assert hazards(FILL + READ, blocks=40) == []
    assert hazards(kinds + FILL + READ, blocks=4) == []
    assert hazards(kinds + FILL + READ + last, blocks=40) == RACE
    assert hazards(kinds + FILL + READ, blocks=40) == RACE
