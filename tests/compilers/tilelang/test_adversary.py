"""Programs that break a promise: what a dump's verdict says, and that no kernel gets larger."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T

import smemreuse.tilelang
from smemreuse.pipeline.judging import judge
from smemreuse.results.verdict import UNSOUND
from smemreuse.targets.architectures import target_architecture
from smemreuse.tilelang import Session
from tests.compilers.tilelang.lowering import lower

pytestmark = pytest.mark.tilelang

SIZE = 512
LARGE = 20_480  # 80 KB of float32


def _groups_with_loops() -> Any:
    @T.prim_func
    def groups(
        X: T.Tensor((8, SIZE), "float32"),
        Y: T.Tensor((8, SIZE), "float32"),
        Z: T.Tensor((8, SIZE), "float32"),
    ):
        with T.Kernel(1, threads=256):
            A = T.alloc_shared((SIZE,), "float32")
            C = T.alloc_shared((SIZE,), "float32")
            with T.ws(0):
                for k in T.serial(8):
                    for i in T.Parallel(SIZE):
                        A[i] = X[k, i]
                    for i in T.Parallel(SIZE):
                        Y[k, i] = A[SIZE - 1 - i]
            with T.ws(1):
                for k in T.serial(8):
                    for i in T.Parallel(SIZE):
                        C[i] = X[k, i]
                    for i in T.Parallel(SIZE):
                        Z[k, i] = C[SIZE - 1 - i]

    return groups


def _all_then_a_loop_of_some() -> Any:
    @T.prim_func
    def all_then_some(
        X: T.Tensor((8, SIZE), "float32"),
        Y: T.Tensor((8, SIZE), "float32"),
        Z: T.Tensor((8, SIZE), "float32"),
    ):
        with T.Kernel(1, threads=256):
            A = T.alloc_shared((SIZE,), "float32")
            C = T.alloc_shared((SIZE,), "float32")
            tx = T.get_thread_binding(0)
            for i in T.Parallel(SIZE):
                C[i] = X[1, i]
            for i in T.Parallel(SIZE):
                Z[0, i] = C[SIZE - 1 - i]
            if tx < 128:
                for k in T.serial(8):
                    for i in T.serial(4):
                        A[i * 128 + tx] = X[k, i * 128 + tx]
                    for i in T.serial(4):
                        Y[k, i * 128 + tx] = A[SIZE - 1 - i * 128 - tx]

    return all_then_some


def _a_loop_of_some_then_all() -> Any:
    @T.prim_func
    def some_then_all(
        X: T.Tensor((8, SIZE), "float32"),
        Y: T.Tensor((8, SIZE), "float32"),
        Z: T.Tensor((8, SIZE), "float32"),
    ):
        with T.Kernel(1, threads=256):
            A = T.alloc_shared((SIZE,), "float32")
            C = T.alloc_shared((SIZE,), "float32")
            tx = T.get_thread_binding(0)
            if tx < 128:
                for k in T.serial(8):
                    for i in T.serial(4):
                        A[i * 128 + tx] = X[k, i * 128 + tx]
                    T.sync_threads(5, 128)
                    for i in T.serial(4):
                        Y[k, i * 128 + tx] = A[SIZE - 1 - i * 128 - tx]
                    T.sync_threads(5, 128)
            for i in T.Parallel(SIZE):
                C[i] = X[1, i]
            for i in T.Parallel(SIZE):
                Z[0, i] = C[SIZE - 1 - i]

    return some_then_all


def _one_index_of_two_warps() -> Any:
    @T.prim_func
    def one_index(X: T.Tensor((8, 256), "float32"), Y: T.Tensor((8, 256), "float32")):
        with T.Kernel(1, threads=256):
            A = T.alloc_shared((32,), "float32")
            C = T.alloc_shared((32,), "float32")
            tx = T.get_thread_binding(0)
            A[tx % 32] = X[0, tx % 32]
            Y[0, tx] = A[tx % 32]
            C[tx % 32] = X[1, tx % 32]
            Y[1, tx] = C[tx % 32]

    return one_index


def _a_write_that_nobody_reads() -> Any:
    @T.prim_func
    def unread(X: T.Tensor((8, 256), "float32"), Y: T.Tensor((8, 256), "float32")):
        with T.Kernel(1, threads=256):
            A = T.alloc_shared((256,), "float32")
            C = T.alloc_shared((256,), "float32")
            tx = T.get_thread_binding(0)
            A[tx] = X[0, tx]
            Y[0, tx] = A[255 - tx]
            A[tx] = X[1, tx]
            C[255 - tx] = X[2, tx]
            Y[2, tx] = C[tx]

    return unread


@pytest.mark.parametrize("make", [_one_index_of_two_warps, _a_write_that_nobody_reads])
def test_thread_sync_does_not_compare_all_that_collides(make: Any) -> None:
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lower(make(), "sm_80")
    (applied,) = session.plans
    refuted = [plan for plan, verdict in applied.rejected if verdict.verdict is UNSOUND]
    assert refuted
    assert not any(judge(applied.kernel, plan).sound for plan in refuted)


@pytest.mark.parametrize(
    "make", [_groups_with_loops, _all_then_a_loop_of_some, _a_loop_of_some_then_all]
)
def test_what_is_refuted_behind_thread_sync_is_not_called_sound_on_the_dump(make: Any) -> None:
    """Where some threads alone have a loop with barriers of their own.

    `A` and `C` share bytes. In the loop of threads 0 to 127, `A` is written and read with a named
    barrier of those 128 in between, and ThreadSync puts no barrier of all 256 between the loop and
    what others do to `C`: one inside the loop, of those 128 alone, is enough for it. So thread 128
    writes `C[0]` while thread 127 has yet to read `A[0]`, which then is `C`'s value; in
    `all_then_some` thread 0 writes `A[0]` while thread 255 has yet to read `C[0]`. So it is with
    TileLang's own layout, which has the same bytes for both and the same race.
    """
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lower(make(), "sm_80")
    (applied,) = session.plans
    refuted = [plan for plan, verdict in applied.rejected if verdict.verdict is UNSOUND]
    assert refuted
    assert not any(judge(applied.kernel, plan).sound for plan in refuted)


def _returning() -> Any:
    @T.prim_func
    def returning(
        X: T.Tensor((8, LARGE), "float32"),
        L: T.Tensor((8,), "int32"),
        Y: T.Tensor((8, LARGE), "float32"),
    ):
        with T.Kernel(8, threads=256) as bx:
            A = T.alloc_shared((LARGE,), "float32")
            B = T.alloc_shared((LARGE,), "float32")
            C = T.alloc_shared((LARGE,), "float32")
            if L[bx] < 0:
                T.thread_return()
            for i in T.Parallel(LARGE):
                A[i] = X[bx, i]
            for i in T.Parallel(LARGE):
                B[i] = A[LARGE - 1 - i]
            for i in T.Parallel(LARGE):
                C[i] = B[(i + 34) % LARGE]
            for i in T.Parallel(LARGE):
                Y[bx, i] = C[LARGE - 1 - i]

    return returning


def _phases_and_groups() -> Any:
    half = LARGE // 2

    @T.prim_func
    def phases_and_groups(
        X: T.Tensor((8, LARGE), "float32"),
        Y: T.Tensor((8, LARGE), "float32"),
        Z: T.Tensor((8, LARGE), "float32"),
    ):
        with T.Kernel(1, threads=256):
            P = T.alloc_shared((LARGE,), "float32")
            Q = T.alloc_shared((LARGE,), "float32")
            R = T.alloc_shared((LARGE,), "float32")
            A = T.alloc_shared((half,), "float32")
            C = T.alloc_shared((half,), "float32")
            for i in T.Parallel(LARGE):
                P[i] = X[0, i]
            for i in T.Parallel(LARGE):
                Y[0, i] = P[LARGE - 1 - i]
            for i in T.Parallel(LARGE):
                Q[i] = X[1, i]
            for i in T.Parallel(LARGE):
                Y[1, i] = Q[LARGE - 1 - i]
            for i in T.Parallel(LARGE):
                R[i] = X[2, i]
            for i in T.Parallel(LARGE):
                Y[2, i] = R[LARGE - 1 - i]
            with T.ws(0):
                for k in T.serial(8):
                    for i in T.Parallel(half):
                        A[i] = X[k, i]
                    for i in T.Parallel(half):
                        Z[k, i] = A[half - 1 - i]
            with T.ws(1):
                for k in T.serial(8):
                    for i in T.Parallel(half):
                        C[i] = X[k, i]
                    for i in T.Parallel(half):
                        Z[k, i + half] = C[half - 1 - i]

    return phases_and_groups


def _applied_arena(make: Any) -> tuple[Session, int, int]:
    with smemreuse.tilelang.merge() as session:
        lower(make(), "sm_90a")
    (applied,) = session.plans
    arch = target_architecture(applied.kernel)
    assert arch is not None
    return session, applied.plan.arena_bytes, arch.per_block


def test_a_kernel_whose_blocks_may_return_early_still_fits() -> None:
    """By default: 163,840 bytes with TileLang alone, and no more with smemreuse.

    All threads of a block return alike, before anything is done, and TileLang's layout (`C` in the
    bytes of `A`) is right. The trace follows no `thread_return`, and is not asked.
    """
    session, arena, limit = _applied_arena(_returning)
    (kernel,) = session.kernels
    assert kernel.stock_plan("shared.dyn").arena_bytes <= limit
    assert arena <= limit


def test_one_refuted_pair_costs_no_more_than_its_bytes() -> None:
    """By default: 163,840 bytes or fewer, though the plan that shares most is refuted.

    `A` and `C`, of concurrent groups, may share with nobody, for ThreadSync puts no barrier there.
    `P`, `Q` and `R`, one after the other with barriers between, may all share: 81,920 bytes, and
    twice 40,960 beside them.
    """
    _, arena, limit = _applied_arena(_phases_and_groups)
    assert arena <= 163_840 <= limit


def _tail_in_use() -> Any:
    big, first, last, tail = 12_288, 8_192, 16_384, 8_192

    @T.prim_func
    def tail_in_use(
        X: T.Tensor((8, last), "float32"),
        L: T.Tensor((8,), "int32"),
        Y: T.Tensor((8, last), "float32"),
        Z: T.Tensor((8, last), "float32"),
    ):
        with T.Kernel(264, threads=256):
            G1 = T.alloc_shared((big,), "float32")
            G2 = T.alloc_shared((big,), "float32")
            M = T.alloc_shared((128,), "float32")
            H1 = T.alloc_shared((first,), "float32")
            H2 = T.alloc_shared((last,), "float32")
            full = T.alloc_barrier([128])
            free = T.alloc_barrier([128])
            with T.ws(0):
                for k in T.serial(L[0]):
                    T.barrier_wait(free[0], (k + 1) % 2)
                    for i in T.Parallel(big):
                        G1[i] = X[k, i]
                    for i in T.Parallel(big):
                        G2[i] = X[k, i] + 1
                    T.barrier_arrive(full[0])
                T.barrier_wait(free[0], (L[0] + 1) % 2)
                for i in T.Parallel(tail):
                    G2[i + big - tail] = X[7, i]
                T.sync_threads(5, 128)
                for i in T.Parallel(tail):
                    Y[7, i] = G2[big - 1 - i]
            with T.ws(1):
                for k in T.serial(L[0]):
                    T.barrier_wait(full[0], k % 2)
                    for i in T.Parallel(big):
                        Z[k, i] = G1[big - 1 - i] + G2[big - 1 - i]
                    T.barrier_arrive(free[0])
            with T.ws(1):
                for i in T.Parallel(128):
                    M[i] = X[6, i]
                T.sync_threads(6, 128)
                for i in T.Parallel(128):
                    Y[6, i] = M[127 - i]
            with T.ws(1):
                for i in T.Parallel(first):
                    H1[i] = X[5, i]
                T.sync_threads(6, 128)
                for i in T.Parallel(first):
                    Y[5, i] = H1[first - 1 - i]
            with T.ws(1):
                T.sync_threads(6, 128)
                for i in T.Parallel(last):
                    H2[i] = X[4, i]
                T.sync_threads(6, 128)
                for i in T.Parallel(last):
                    Y[4, i] = H2[last - 1 - i]

    return tail_in_use


def test_what_is_kept_unproved_is_what_the_compiler_shares() -> None:
    """By default, and wrong: `H1` in the last 32 KB of `G2`, at 65,536, and no barrier between.

    TileLang puts `M`, `H1` and `H2` at 0, over `G1` and the first 16 KB of `G2`, and ThreadSync
    then puts barriers of all threads before the epilogue of group 1. That is right. How many phases
    there are depends on data, so nothing is proved, and the layout is "kept", but as another one:
    `H1` shares with `G2`, which it does not in TileLang's, and there is no barrier of all threads.
    Group 0 has waited for the last phase of `free` and reads the last 32 KB of `G2` back, while
    group 1 has its epilogue: thread 128 writes `H1[0]`, and thread 127 has yet to read `G2[4096]`.
    """
    with smemreuse.tilelang.merge() as session:
        lower(_tail_in_use(), "sm_90a")
    (applied,), (kernel,) = session.plans, session.kernels
    theirs = {(one, two) for one, two, _ in kernel.stock_plan("shared.dyn").sharing_pairs()}
    ours = {(one, two) for one, two, _ in applied.plan.sharing_pairs()}
    assert applied.verdict.sound or ours <= theirs
