"""Any operation of the table, with any operands: an answer, and no crash."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.errors import InputError
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.semantics.foreign import FOREIGN
from smemreuse.semantics.rows import TABLE
from tests.checker.small import SCOPE, SYNC, TO_AND_FRO, USE_A, USE_B, judge_kernel, kernel_of

OPERATIONS = sorted({*TABLE, *FOREIGN})
OPERANDS = (
    "0",
    "As.data",
    "As[tx]",
    "full[0]",
    "full.data",
    "c[0]",
    "'x'",
    "1.5",
    "X",
    "T.address_of(As[0])",
    'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 2)',
    "T.tvm_access_ptr(As.data)",
)


def answers(operation: str, operands: list[str]) -> None:
    """It may be refused at the door, with a line and a mend, or unproved."""
    call = f"T.{operation}({', '.join(operands)})\n"
    with suppress(InputError):
        kernel = kernel_of(f"{USE_A}{call}{SYNC}{USE_B}")
        judge_kernel(kernel)
        plan_kernel(kernel, SCOPE)


@pytest.mark.parametrize("first", ["A", "b", "f", "m", "p", "t"])
def test_operations_without_operands(first: str) -> None:
    bounds = ["A", "b", "f", "m", "p", "t", "~"]
    until = bounds[bounds.index(first) + 1]
    for operation in OPERATIONS:
        if first <= operation < until:
            answers(operation, [])


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(OPERATIONS), st.lists(st.sampled_from(OPERANDS), min_size=1, max_size=6))
def test_operations_with_odd_operands(operation: str, operands: list[str]) -> None:
    answers(operation, operands)


@pytest.mark.parametrize("operation", ["cuda.mbarrier_wait", "mbarrier_wait_parity"])
def test_a_wait_without_a_parity_is_unproved(operation: str) -> None:
    kernel = kernel_of(f"T.{operation}(full[0])\n{TO_AND_FRO}")
    assert not judge_kernel(kernel).sound
