"""What is in flight where branches meet."""

from __future__ import annotations

import pytest

from smemreuse.checker import check_plan
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer, If, Stmt
from smemreuse.results.verdict import SOUND
from tests.soundness.kernels import SCOPE, TX, copy_async, evaluate, load, output, shared, store
from tests.soundness.kernels import kernel as build

A, B = shared("A", 32), shared("B", 32)
FLAGS = Buffer("D", "int32", (Const(8),), "global")
WAIT = evaluate("ptx_wait_group", 0)
OTHER_ENGINE = evaluate("tma_store_wait", 0)
BARRIER = evaluate("tvm_storage_sync", Const("shared"))


@pytest.mark.parametrize(
    ("then", "orelse", "waited"),
    [
        ((WAIT,), (WAIT,), True),
        ((WAIT,), (OTHER_ENGINE,), False),
        ((OTHER_ENGINE,), (WAIT,), False),
        ((WAIT,), (), False),
    ],
)
def test_a_copy_is_done_where_both_arms_waited(
    then: tuple[Stmt, ...], orelse: tuple[Stmt, ...], waited: bool
) -> None:
    """A wait in one arm says nothing of the other, whatever is waited for later."""
    body = (
        copy_async(A, TX, TX),
        evaluate("ptx_commit_group"),
        If(load(FLAGS, 0), then, orelse),
        OTHER_ENGINE,
        BARRIER,
        store(B, TX, TX),
        output(load(B, TX)),
    )
    kernel = build(*body, buffers=(A, B))
    assert (check_plan(kernel, SCOPE, {A: 0, B: 0}, 128, {}).verdict == SOUND) is waited
