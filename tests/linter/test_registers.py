"""Registers that a wgmma reads: they stay as they are until its group has been waited for."""

from __future__ import annotations

import pytest

from tests.checker.small import DESCRIPTORS, SYNC, under
from tests.linter.test_linter import found

MATRIX = 'left = T.alloc_buffer((32,), "float16", scope="local")\n'
DESCRIBE = "T.initialize_wgmma_descriptor(da[0], As.data, 1, 1, 64)\n"
FILL = under("for j in range(32)", "As[j * 128 + tx] = j\n") + f"T.fence_proxy_async()\n{SYNC}"
COMMIT = "T.warpgroup_commit_batch()\n"
WAIT = "T.warpgroup_wait({})\n"
ALL_BUT_ONE = 'T.call_extern("handle", "tl::warpgroup_wait<1>")\n'
LDMATRIX = (
    'T.ptx_ldmatrix(0, 4, T.tvm_access_ptr(T.type_annotation("int32"), As.data, tx % 32 * 4, 4, 1),'
    ' T.tvm_access_ptr(T.type_annotation("float16"), left.data, 0, 8, 2))\n'
)


def multiply(first: int | str, shape: str = "m64n64k16") -> str:
    """A multiplication, in a group of its own, of the matrix in the registers from `first` on."""
    return (
        f'T.ptx_wgmma_rs("{shape}", T.bool(False), "fp16", "fp16", "fp32", left.data, {first}, '
        f"da.data, 0, acc.data, 0, 1, 1, 1)\n{COMMIT}"
    )


def write(at: int | str) -> str:
    return f"left[{at}] = T.float16(1)\n"


ALL = under("for i in range(32)", write("i"))
SURELY, PERHAPS = [("missing-wait", True)], [("missing-wait", False)]


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (multiply(0) + WAIT.format(0) + write(0), []),
        (multiply(0) + write(0), SURELY),
        (multiply(0) + write(7), SURELY),
        (multiply(0) + write(8), []),  # the next multiplication's
        (multiply(8) + write(8), SURELY),
        (multiply(0) + multiply(8) + WAIT.format(1) + write(0), []),
        (multiply(0) + multiply(8) + WAIT.format(1) + write(8), SURELY),
        (multiply(0) + multiply(8) + ALL_BUT_ONE + write(0), []),
        (multiply(0) + multiply(8) + ALL_BUT_ONE + write(8), SURELY),
        (multiply(0) + ALL_BUT_ONE + "O[tx] = acc[0]\n", SURELY),
        (multiply(0) + "O[tx] = left[0]\n", []),  # a read overwrites nothing
        (multiply(0) + write("D[0] & 31"), PERHAPS),
        (multiply(0) + under("if D[0] > 0", write(0)), PERHAPS),
        (multiply(0) + LDMATRIX, PERHAPS),
        (under("for k in range(2)", write("k * 8") + multiply("k * 8")), []),
        (under("for k in range(3)", write("k % 2 * 8") + multiply("k % 2 * 8")), SURELY),
        (multiply(0, "m64n64k32") + write(0), []),  # no matrix of these elements
    ],
)
def test_registers_are_not_overwritten_while_a_wgmma_reads_them(
    body: str, hazards: list[tuple[str, bool]]
) -> None:
    whole = FILL + DESCRIBE + ALL + body + WAIT.format(0)
    declared = DESCRIPTORS + MATRIX
    assert found(whole, threads=128, elements=4096, declared=declared) == hazards
