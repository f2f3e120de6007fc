"""Accesses through pointers that leave their buffers."""

from __future__ import annotations

import pytest

from smemreuse.linter.collected import INSIDE
from tests.checker.small import SYNC, kernel_of, under
from tests.linter.test_linter import found, report_on

FILLED = f"As[tx] = tx\n{SYNC}"
AT = "T.address_of(As[{}])"


def _extern(name: str, at: str, value: str = ", 1") -> str:
    return f'T.evaluate(T.call_extern("int32", "{name}", {AT.format(at)}{value}))\n'


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize(
    ("name", "elements"),
    [
        ("AtomicAdd", 1),
        ("AtomicMaxRet", 1),
        ("AtomicAddx2", 2),
        ("AtomicAddx4Ret", 4),
        ("AtomicLoad", 1),
        ("AtomicStore", 1),
        ("atomicAdd", 1),
        ("atomicCAS_block", 1),
        ("__stcg", 1),
    ],
)
def test_an_operation_on_elements_ends_where_its_buffer_does(
    name: str, elements: int, beyond: int
) -> None:
    body = FILLED + under("if tx == 0", _extern(name, str(64 - elements + beyond)))
    assert found(body) == [("out-of-bounds", True)] * beyond


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize(("name", "elements"), [("addx2", 2), ("addx4_ret", 4), ("max", 1)])
def test_an_atomic_of_the_compiler_covers_more_than_its_pointer_claims(
    name: str, elements: int, beyond: int
) -> None:
    pointer = (
        f'T.tvm_access_ptr(T.type_annotation("int32"), As.data, {64 - elements + beyond}, 1, 3)'
    )
    body = FILLED + under("if tx == 0", f"T.atomic_{name}_elem_op({pointer}, D[0], 0)\n")
    assert found(body) == [("out-of-bounds", True)] * beyond


@pytest.mark.parametrize("name", ["__ldg", "__ldcg"])
def test_a_load_of_an_element_reads_that_one(name: str) -> None:
    assert not found(FILLED + _extern(name, "tx", ""))
    assert found(FILLED + _extern(name, "tx + 1", "")) == [("out-of-bounds", True)]


@pytest.mark.parametrize(
    ("at", "hazards", "assumed"),
    [
        ("tx", [], False),
        ("D[0]", [], True),
        ("tx + 64", [("out-of-bounds", False)], False),
        ("tx - 64", [("out-of-bounds", False)], False),
    ],
)
def test_of_a_size_that_is_not_known_the_beginning_is_judged(
    at: str, hazards: list[tuple[str, bool]], *, assumed: bool
) -> None:
    """TIR's own atomic says nothing of how much it updates."""
    body = FILLED + f"T.atomic_add({AT.format(at)}, 1)\n"
    assert [one for one in found(body) if one[0] == "out-of-bounds"] == hazards
    assert (INSIDE in report_on(kernel_of(body)).assumptions) == assumed


def test_an_atomic_in_an_index_writes_no_two_values() -> None:
    add = f'T.call_extern("int32", "AtomicAddRet", {AT.format(0)}, 1)'
    body = f"{FILLED}Bs[{add} % 64] = tx\n"
    assert ("race", True) not in found(body)
