"""What stands for bytes without being an address, and who may hold it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.checker.values.descriptors import Descriptors, Holders
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Bind, Buffer, walk_statements
from smemreuse.semantics.accesses import KernelAccesses
from tests.checker.small import (
    DESCRIBE_A,
    DESCRIPTORS,
    SYNC,
    WGMMA_A,
    judge,
    kernel_of,
    shared,
    under,
)

FILL = f"As[tx] = tx\nT.fence_proxy_async()\n{SYNC}{DESCRIBE_A}"
COMMIT = "T.warpgroup_commit_batch()\n"
WAIT = "T.warpgroup_wait(0)\n"
OVERWRITE = f"{SYNC}Bs[127 - tx] = tx\n"

# Who may hold one ---------------------------------------------------------------------------------


def held(moves: str) -> list[str]:
    """The descriptors that the variable `d` may hold."""
    kernel = kernel_of(DESCRIBE_A + moves, threads=128, declared=DESCRIPTORS)
    holders = Holders(kernel.body, KernelAccesses.of(kernel.body).by_statement)
    bound = (one.var for one in walk_statements(kernel.body) if isinstance(one, Bind))
    found = holders.in_expr(next(var for var in bound if var.name == "d"))
    return [one.name for one in found]


@pytest.mark.parametrize(
    "moves",
    [
        "d: T.uint64 = da[0]\n",
        "d: T.uint64 = da[0] + T.uint64(2)\n",
        "db[0] = da[0]\nd: T.uint64 = db[0]\n",
        "d: T.uint64 = db[0]\ndb[0] = da[0]\n",  # perhaps another time round
        "e: T.uint64 = da[0]\ndb[0] = e\nd: T.uint64 = db[0]\n",
        'd: T.handle("uint64", "local") = T.address_of(da[0])\n',
        'd: T.handle("uint64", "local") = T.address_of(db[0])\ndb[0] = da[0]\n',
        'e: T.handle("uint64", "local") = T.address_of(db[0])\n'
        'v = T.decl_buffer((1,), "uint64", data=e, scope="local")\nv[0] = da[0]\n'
        "d: T.uint64 = db[0]\n",
    ],
)
def test_whoever_gets_one_may_hold_it(moves: str) -> None:
    assert held(moves) == ["da"]


def test_who_gets_none_holds_none() -> None:
    assert held("d: T.uint64 = db[0]\n") == []
    assert held(f"{WGMMA_A}d: T.float32 = acc[0]\n") == []


# The bytes behind them ----------------------------------------------------------------------------

A, B = shared("A", 8), shared("B", 8)
DA, DB = Var("da"), Var("db")


def described_by(descriptors: Descriptors, *made: Var) -> set[tuple[str, int]]:
    return {
        (buffer.name, int(byte))
        for buffer, where in descriptors.described_by(made)
        for byte in where
    }


def test_a_descriptor_stands_for_all_that_it_was_made_of() -> None:
    found = Descriptors()
    found.describe(DA, A, np.arange(2))
    found.describe(DA, A, np.arange(4, 6))
    found.describe(DA, B, np.arange(1))
    assert described_by(found, DA) == {("A", 0), ("A", 1), ("A", 4), ("A", 5), ("B", 0)}
    assert described_by(found, DB) == set()


def test_what_is_described_again_stays_the_same_array() -> None:
    """A read in flight is recognized by it."""
    found, where = Descriptors(), np.arange(4)
    found.describe(DA, A, where)
    found.describe(DA, A, np.arange(2))
    assert next(found.described_by([DA]))[1] is where


def test_a_copy_changes_alone() -> None:
    found = Descriptors()
    found.describe(DA, A, np.arange(2))
    twin = found.copy()
    twin.describe(DA, A, np.arange(4))
    twin.describe(DA, B, np.arange(4))
    assert described_by(found, DA) == {("A", 0), ("A", 1)}


described = st.lists(
    st.tuples(st.sampled_from([DA, DB]), st.sampled_from([A, B]), st.integers(0, 4)), max_size=4
)


def made(steps: list[tuple[Var, Buffer, int]]) -> Descriptors:
    found = Descriptors()
    for descriptor, buffer, begin in steps:
        found.describe(descriptor, buffer, np.arange(begin, begin + 2))
    return found


@given(described, described)
def test_a_join_stands_for_the_bytes_of_both_sides(
    one: list[tuple[Var, Buffer, int]], other: list[tuple[Var, Buffer, int]]
) -> None:
    left, right = made(one), made(other)
    for descriptor in (DA, DB):
        both = described_by(left, descriptor) | described_by(right, descriptor)
        assert described_by(left.joined(right), descriptor) == both


# Kernels ------------------------------------------------------------------------------------------

HOLDING = [
    WGMMA_A,
    "db[0] = da[0]\n" + WGMMA_A.replace("da", "db"),
    "d: T.uint64 = da[0]\n" + WGMMA_A.replace("da[0]", "d"),
    "T.increase_descriptor_offset(da[0], 32)\n" + WGMMA_A,
]


@pytest.mark.parametrize("multiply", HOLDING)
def test_what_descriptors_stand_for_is_read_whoever_holds_them(multiply: str) -> None:
    """Without the wait the multiplication reads A while B is written."""
    in_flight = f"{FILL}{multiply}{COMMIT}{OVERWRITE}"
    assert not judge(in_flight, threads=128, declared=DESCRIPTORS).sound
    waited = f"{FILL}{multiply}{COMMIT}{WAIT}{OVERWRITE}"
    assert judge(waited, threads=128, declared=DESCRIPTORS).sound


@pytest.mark.parametrize("multiply", HOLDING)
def test_what_a_descriptor_stands_for_has_to_be_there(multiply: str) -> None:
    body = f"{FILL}{OVERWRITE}{SYNC}{multiply}{COMMIT}{WAIT}"
    found = judge(body, threads=128, declared=DESCRIPTORS)
    assert [one.rule for one in found.violations] == [2]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("T.multiply_somehow(da[0], acc.data)\n", "`multiply_somehow` has no row"),
        ("T.multiply_somehow(T.address_of(da[0]))\n", "`multiply_somehow` has no row"),
        ("T.call_extern('handle', 'multiply', da[0], acc.data)\n", "`call_extern` may do anything"),
        ("db[0] = da[0]\nT.multiply_somehow(db[0])\n", "`multiply_somehow` has no row"),
        ("O[tx] = da[0]\n", "a descriptor is kept in O"),
    ],
)
def test_whoever_is_not_understood_gets_none(statement: str, reason: str) -> None:
    body = f"{FILL}{statement}{WGMMA_A}{COMMIT}{WAIT}{OVERWRITE}"
    found = judge(body, threads=128, declared=DESCRIPTORS)
    assert found.verdict == "unproved"
    assert found.uncovered[0].startswith(reason)
    assert found.uncovered[0].endswith("and gets one of As")


def test_what_was_read_in_one_arm_may_be_lost_in_the_other() -> None:
    """Then a multiplication that is in flight behind the one is none behind the other."""
    for last, is_lost in (("O[tx] = 1\n", True), ("As[tx] = 1\n", False)):
        branch = under("if D[0] > 0", WGMMA_A) + under("else", "Bs[tx] = 1\n" + last)
        body = f"{FILL}{branch}{SYNC}{WGMMA_A}{COMMIT}{WAIT}"
        found = judge(body, threads=128, declared=DESCRIPTORS)
        assert [one.rule for one in found.violations] == ([2] if is_lost else [])


def test_each_warpgroup_reads_for_itself() -> None:
    """The second warpgroup's multiplication is not waited for."""
    first, wait = under("if tx < 128", WGMMA_A), under("if tx < 128", WAIT)
    body = f"{FILL}{first}{WGMMA_A}{COMMIT}{{}}{SYNC}Bs[255 - tx] = tx\n"
    assert not judge(body.format(wait), threads=256, declared=DESCRIPTORS).sound
    assert judge(body.format(WAIT), threads=256, declared=DESCRIPTORS).sound


def test_a_multiplication_in_one_arm_conflicts_with_a_write_in_the_other() -> None:
    """One warpgroup multiplies while the other writes over its operand."""
    multiply = f"{WGMMA_A}{COMMIT}T.warpgroup_wait(0)\n"
    branch = under("if D[tx // 128] > 0", multiply) + under("else", "Bs[tx] = 1\n")
    assert not judge(FILL + branch, threads=256, declared=DESCRIPTORS).sound
    other = under("if D[tx // 128] > 0", multiply) + under("else", "c[0] = 1\n")
    assert judge(FILL + other, threads=256, declared=DESCRIPTORS).sound


def test_a_multiplication_on_tensor_memory_is_not_over_with_a_wait_for_another_engine() -> None:
    describe = "T.initialize_tcgen05_descriptor(da[0], As.data, 1, 1, 0, T.bool(False), 2)\n"
    operands = ", ".join(["0"] * 2 + ["da[0]", "0", "da[0]"] + ["0"] * 10)
    multiply = under("if tx == 0", f"T.ptx_tcgen05_mma_ss({operands})\n")
    body = f"As[tx] = tx\n{SYNC}{describe}{multiply}{COMMIT}{WAIT}{OVERWRITE}"
    found = judge(body, threads=128, declared=DESCRIPTORS)
    assert [one.rule for one in found.violations] == [5]
    idle = body.replace(multiply, "")
    assert judge(idle, threads=128, declared=DESCRIPTORS).sound
