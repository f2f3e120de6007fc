"""Reads of bytes that nobody has written, and whether what is read decides anything."""

from __future__ import annotations

import pytest

from tests.checker.small import SYNC, kernel_of, under
from tests.linter.test_linter import report_on

REGISTERS = """
a = T.alloc_buffer((8,), "bfloat16", scope="local")
b = T.alloc_buffer((4,), "bfloat16", scope="local")
acc = T.alloc_buffer((4,), "float32", scope="local")
"""
LOAD_A = (
    "T.ptx_ldmatrix(T.bool({transposed}), 4, "
    'T.tvm_access_ptr(T.type_annotation("int32"), As.data, tx % 16 * 8 + tx // 16 * 4, 4, 1), '
    'T.tvm_access_ptr(T.type_annotation("bfloat16"), a.data, 0, 8, 2))\n'
)
MMA = (
    'T.ptx_mma("float32", "m16n8k16", "row", "col", "bf16", "bf16", "fp32", '
    "{first}.data, 0, b.data, 0, acc.data, 0, T.bool(False))\n"
)
PUT = "for i in range(4):\n    Bs[i // 2 * 64 + tx // 4 * 8 + tx % 4 * 2 + i % 2] = {value}\n"


def product(rows: int, *, first: str = "a", transposed: bool = False, value: str = "acc[i]") -> str:
    """Threads of one warp fill some rows of 16 by 16 elements, which are multiplied by a vector in
    registers; the product of 16 by 8 lies in Bs."""
    fill = "".join(f"As[{row * 8} + tx % 8] = 0\n" for row in range(rows))
    zero = "for i in range(4):\n    acc[i] = T.float32(0)\n    b[i] = T.bfloat16(0)\n"
    load, mma = LOAD_A.format(transposed=transposed), MMA.format(first=first)
    return fill + SYNC + zero + load + mma + PUT.format(value=value) + SYNC


def unwritten(body: str) -> list[str]:
    kernel = kernel_of(body, threads=32, elements=128, declared=REGISTERS)
    report = report_on(kernel)
    assert report.unknown == ()
    return [one.kind.value for one in report.hazards]


READ = ["uninitialised-read"]


@pytest.mark.parametrize("rows", [1, 3, 8, 9, 15])
@pytest.mark.parametrize("beyond", [False, True])
def test_rows_of_a_product_that_nobody_looks_at_may_be_anything(rows: int, *, beyond: bool) -> None:
    last = rows if beyond else rows - 1
    body = product(rows) + f"O[tx] = Bs[tx % 8] + Bs[{8 * last} + tx % 8]\n"
    assert unwritten(body) == (READ if beyond else [])


def test_a_transposed_matrix_has_its_rows_elsewhere() -> None:
    assert unwritten(product(1, transposed=True) + "O[tx] = Bs[tx % 8]\n") == READ


def test_a_column_that_is_missing_is_in_every_element_of_the_product() -> None:
    half = f"if tx % 8 < 4:\n    As[tx % 8] = 0\n{SYNC}"
    assert unwritten(half + product(0) + "O[tx] = Bs[tx % 8]\n") == READ


@pytest.mark.parametrize(
    ("use", "hazards"),
    [
        ("O[tx] = Bs[tx % 8]\n", []),
        ("O[tx] = acc[0]\n", READ),  # lanes of other rows
        (under("if tx < 4", "O[tx] = acc[1]\n"), []),
        (under("if tx < 4", "O[tx] = acc[2]\n"), READ),  # row 8
        (under("if tx < 8", "O[tx] = acc[0]\n"), READ),  # row 1
        ("O[tx] = T.if_then_else(tx < 4, acc[0], T.float32(0))\n", []),
        ("O[tx] = T.if_then_else(tx < 5, acc[0], T.float32(0))\n", READ),
        (under("if D[tx] < 4", "O[tx] = Bs[tx % 8]\n"), []),
        (under("if Bs[64] < 4", "O[tx] = 1\n"), READ),  # it decides a branch
        ("O[Bs[64] % 2] = 1\n", READ),  # and where to write
        ('O[tx] = T.call_extern("int32", "__shfl_sync", -1, acc[0], 0)\n', READ),
        ('T.evaluate(T.call_extern("int32", "mystery", acc.data))\nO[tx] = Bs[tx % 8]\n', READ),
    ],
)
def test_what_a_value_decides_is_followed(use: str, hazards: list[str]) -> None:
    assert [one for one in unwritten(product(1) + use) if one in READ] == hazards


def test_values_are_followed_through_arithmetic_and_memory() -> None:
    through = product(1, value="acc[i] * T.float32(2) + T.float32(1)")
    there = f"{SYNC}As[tx] = Bs[tx]\nAs[tx + 32] = Bs[tx + 32]\n{SYNC}"
    assert unwritten(through + there + "O[tx] = As[tx % 8]\n") == []
    assert unwritten(through + there + "O[tx] = As[tx % 8 + 8]\n") == READ


def test_a_matrix_of_which_all_rows_decide_one_is_not_discarded() -> None:
    """The same registers as the second matrix are its columns, which are in all rows."""
    body = product(1).replace("b.data, 0, acc", "a.data, 0, acc")
    assert unwritten(body + "O[tx] = Bs[tx % 8]\n") == READ


def test_loops_of_any_length_are_followed() -> None:
    again = "for k in range(D[0]):\n    acc[0] = acc[0] + acc[2]\n"
    assert unwritten(product(1) + again + under("if tx < 4", "O[tx] = acc[1]\n")) == []
    assert unwritten(product(1) + again + under("if tx < 4", "O[tx] = acc[0]\n")) == READ
