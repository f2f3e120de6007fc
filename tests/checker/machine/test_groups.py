"""Groups of asynchronous accesses, in kernels: who commits, who waits, and where branches meet."""

from __future__ import annotations

import pytest

from smemreuse.checker import check_plan
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer, If, Stmt
from smemreuse.results.verdict import SOUND
from tests.checker.small import COPY_A, SYNC, USE_A, USE_B, judge, under
from tests.soundness.kernels import SCOPE, TX, copy_async, evaluate, load, output, shared, store
from tests.soundness.kernels import kernel as build

# Kernels ----------------------------------------------------------------------------------------

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


# Who commits, and who waits ---------------------------------------------------------------------

DONE = f"T.ptx_wait_group(0)\n{SYNC}{USE_B}"
COMMIT = "T.ptx_commit_group()\n"


def test_half_a_warp_does_not_commit_for_the_other() -> None:
    """The other half's copies are in no group that it waits for."""
    half = under("if tx % 32 < 16", COMMIT)
    assert not judge(COPY_A + half + DONE).sound
    assert judge(COPY_A + half + under("if tx % 32 >= 16", COMMIT) + DONE).sound
    assert judge(under("if tx % 32 < 16", COPY_A) + half + DONE).sound


@pytest.mark.parametrize(("committing", "waiting"), [(1, 0), (0, 1)])
def test_a_thread_does_not_act_for_another(committing: int, waiting: int) -> None:
    target = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 64, 1)'
    issue = under("if tx == 0", f"T.tma_store({target}, X, 0)\n")
    body = USE_A + SYNC + issue
    for who, do in ((committing, "T.tma_store_arrive()\n"), (waiting, "T.tma_store_wait(0)\n")):
        body += under(f"if tx == {who}", do)
    assert not judge(body + SYNC + USE_B).sound
    right = body.replace("tx == 1", "tx == 0")
    assert judge(right + SYNC + USE_B).sound


def test_groups_of_half_a_warp_are_counted_though_the_other_half_has_none() -> None:
    """The second copy is still on its way: into other bytes."""
    second = COPY_A.replace("As", "Cs")
    half = under("if tx % 32 < 16", COPY_A + COMMIT + second + COMMIT + "T.ptx_wait_group(1)\n")
    declared = 'Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")'
    body = f"{half}{SYNC}{USE_B}"
    assert judge(body, declared=declared, offsets={"Cs": 512}).sound
    assert not judge(body, declared=declared, offsets={"As": 512}).sound


def test_what_only_some_threads_may_have_waited_for_is_in_flight() -> None:
    wait = under("if D[{}] > 0", "T.ptx_wait_group(0)\n") + under("else", "T.ptx_wait_group(0)\n")
    body = f"{COPY_A}{COMMIT}{{}}{SYNC}{USE_B}"
    assert judge(body.format(wait.format("0"))).sound
    assert not judge(body.format(under("if D[tx] > 0", "T.ptx_wait_group(0)\n"))).sound


def test_copies_in_an_arm_are_committed_with_it() -> None:
    """The other threads have issued none."""
    copied = under("if D[tx] > 0", COPY_A + COMMIT)
    assert judge(f"{copied}T.ptx_wait_group(0)\n{SYNC}{USE_B}").sound
    outside = under("if D[tx] > 0", COMMIT)
    assert not judge(f"{COPY_A}{outside}T.ptx_wait_group(0)\n{SYNC}{USE_B}").sound
