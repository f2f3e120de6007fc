"""The advice of the TileLang door, held against a whole lowering, on kernels at their limits."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import tilelang.language as T

from smemreuse.compilers.tilelang.advice import advise
from smemreuse.compilers.tilelang.estimate import footprint
from smemreuse.errors import BackendError, SmemReuseError
from smemreuse.results.ranking import Failed, Ranked, Ranking, TooLarge

pytestmark = pytest.mark.tilelang

NO_BARRIERS = {"tl.disable_thread_storage_sync": True}


def doubled(rows: int, scope: str = "shared.dyn", threads: int = 128, high: int = 1) -> Any:
    """Doubles tiles of `rows` x 128 by way of shared memory."""

    @T.prim_func
    def main(A: T.Tensor((1024, 128), "float32"), B: T.Tensor((1024, 128), "float32")):
        with T.Kernel(8, high, threads=threads):
            S = T.alloc_shared((rows, 128), "float32", scope=scope)
            for i, j in T.Parallel(rows, 128):
                S[i, j] = A[i, j]
            for i, j in T.Parallel(rows, 128):
                B[i, j] = S[i, j] * 2

    return main


def twice(rows: int) -> Any:
    """Two tiles, one after the other: they share bytes, where a barrier lies between them."""

    @T.prim_func
    def main(A: T.Tensor((4096, 128), "float32"), B: T.Tensor((4096, 128), "float32")):
        with T.Kernel(8, threads=128):
            S = T.alloc_shared((rows, 128), "float32")
            R = T.alloc_shared((rows, 128), "float32")
            for i, j in T.Parallel(rows, 128):
                S[i, j] = A[i, j]
            for i, j in T.Parallel(rows, 128):
                B[i, j] = S[i, 127 - j]
            for i, j in T.Parallel(rows, 128):
                R[i, j] = A[i + rows, j]
            for i, j in T.Parallel(rows, 128):
                B[i + rows, j] = R[i, 127 - j]

    return main


def columns(first: int, second: int) -> Any:
    """Two kernels that read a column of B again for each row of tiles, in panels or not."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float32"),
        B: T.Tensor((64, 16384), "float32"),
        C: T.Tensor((16384, 64), "float32"),
        D: T.Tensor((4096, 4096), "float32"),
    ):
        with T.Kernel(256, 256, threads=64) as (bx, by):
            if first:
                T.use_swizzle(first)
            for i, j in T.Parallel(64, 64):
                D[by * 16, bx * 16] = B[i, bx * 64 + j] + C[by * 64 + i, j]
        with T.Kernel(256, 256, threads=64) as (bx, by):
            if second:
                T.use_swizzle(second)
            for i, j in T.Parallel(64, 64):
                D[by * 16, bx * 16] = B[i, bx * 64 + j] + C[by * 64 + i, j]

    return main


def one(make: Any, config: dict[str, Any], arch: str = "sm_90a", **more: Any) -> Any:
    return advise(make, [config], arch=arch, jobs=1, **more).find(config)


# What cannot launch ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "scope", "kind"),
    [
        (96, "shared", Ranked),
        (97, "shared", TooLarge),
        (97, "shared.dyn", Ranked),
        (454, "shared.dyn", Ranked),
        (455, "shared.dyn", TooLarge),
    ],
)
def test_static_arrays_have_a_limit_of_their_own(rows: int, scope: str, kind: type) -> None:
    config: dict[str, Any] = {"rows": rows, "scope": scope}
    found = one(doubled, config)
    assert isinstance(found, kind)
    assert footprint(doubled, arch="sm_90a", **config).fits == (kind is Ranked)
    if isinstance(found, TooLarge):
        taken = rows * 512
        assert (found.bytes, found.limit) == (taken, 48 * 1024 if scope == "shared" else 232448)


@pytest.mark.filterwarnings("ignore:.* own merge of .* is wrong:RuntimeWarning")
def test_what_shares_bytes_is_held_against_the_barriers_that_there_are() -> None:
    """With TileLang's barriers off neither its merge nor ours may share here."""
    config: dict[str, Any] = {"rows": 300}
    assert one(twice, config).by_reuse
    found = one(twice, config, pass_configs=NO_BARRIERS)
    known = footprint(twice, arch="sm_90a", pass_configs=NO_BARRIERS, **config)
    assert isinstance(found, TooLarge)
    assert found.bytes == known.bytes == 2 * 300 * 512
    assert not known.fits


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"rows": 8, "threads": 1056}, "1,056 along threadIdx.x"),
        ({"rows": 8, "high": 65536}, "65,536 along blockIdx.y"),
    ],
)
def test_a_launch_that_no_gpu_takes(config: dict[str, Any], why: str) -> None:
    found = one(doubled, config)
    assert isinstance(found, Failed)
    assert why in found.error


# Arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configs", "options", "why"),
    [
        ({"rows": 8}, {}, "put it in"),
        (None, {}, "this is None"),
        ([8], {}, "not 8"),
        ([], {"card": "h200"}, "H200.* is sm_90; it is lowered for sm_80"),
        ([], {"card": "h100x"}, "unknown card"),
        ([], {"family": "gem"}, "unknown family"),
        ([], {"top": -1}, "not -1"),
        ([], {"arch": "sm_1"}, "unknown architecture"),
    ],
)
def test_what_makes_no_sense_is_refused(configs: Any, options: Any, why: str) -> None:
    with pytest.raises(SmemReuseError, match=why):
        advise(doubled, configs, **{"arch": "sm_80", **options})


# Panels ------------------------------------------------------------------------------------------


def test_each_kernel_runs_in_its_own_panels() -> None:
    """A small L2 sees the order of the blocks."""
    configs = [{"first": a, "second": b} for a, b in ((0, 0), (4, 0), (0, 4), (4, 4))]
    found = advise(columns, configs, arch="sm_90a", jobs=1)
    traffic = {}
    for config in configs:
        ranked = found.find(config)
        assert isinstance(ranked, Ranked)
        traffic[tuple(config.values())] = [kernel.dram_bytes for kernel in ranked.kernels]
    plain, panels = traffic[0, 0][0], traffic[4, 4][0]
    assert plain != panels
    assert traffic == {
        (0, 0): [plain, plain],
        (4, 0): [panels, plain],
        (0, 4): [plain, panels],
        (4, 4): [panels, panels],
    }


# Processes and threads ---------------------------------------------------------------------------

MANY = [{"rows": rows} for rows in range(8, 28)]


def outcomes(found: Ranking) -> tuple[Any, ...]:
    return found.ranked, found.too_large, found.failed


def ranked_alone(make: Any = doubled, jobs: int = 1) -> tuple[Any, ...]:
    return outcomes(advise(make, MANY, arch="sm_80", jobs=jobs))


def test_as_many_processes_as_one_likes_find_the_same() -> None:
    offset = 1
    assert ranked_alone(lambda rows: doubled(rows + offset), jobs=2) == ranked_alone(
        lambda rows: doubled(rows + offset)
    )
    with pytest.raises(BackendError, match="not -1"):
        ranked_alone(jobs=-1)


def test_two_threads_at_once_find_each_its_own() -> None:
    makes = (doubled, twice)
    alone = [ranked_alone(make) for make in makes]
    found: dict[int, tuple[Any, ...]] = {}

    def run(at: int) -> None:
        found[at] = ranked_alone(makes[at], jobs=2)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[at] for at in range(2)] == alone


def test_a_process_of_a_pool_does_without_processes_of_its_own() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert len(pool.apply(ranked_alone, (doubled, 2))[0]) == len(MANY)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What a shell starts in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_processes() -> None:
    parent, others = os.getpid(), set(multiprocessing.active_children())

    def interrupting(rows: int) -> Any:
        if rows == MANY[0]["rows"]:
            os.kill(parent, signal.SIGINT)
            signal.pause()
        return doubled(rows)

    with pytest.raises(KeyboardInterrupt):
        advise(interrupting, MANY, arch="sm_80", jobs=2)
    assert set(multiprocessing.active_children()) <= others


def test_a_process_that_dies_is_told() -> None:
    def dying(rows: int) -> Any:
        os._exit(3)

    with pytest.raises(BackendError, match="jobs=1"):
        advise(dying, MANY, arch="sm_80", jobs=2)
