"""TileLang's kernel caches must never hand a kernel out under a plan that it was not made with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from tilelang.cache.kernel_cache import KernelCache

import smemreuse.tilelang
from smemreuse.compilers.active import current_session, pinned_session
from tests.compilers.tilelang.lowering import arena_of

pytestmark = pytest.mark.tilelang

TARGET = {"kind": "cuda", "arch": "sm_80"}
POLICIES = (None, "outer", "inner")
ARENAS = {None: 49_152, "outer": 49_152, "inner": 32_768}


def phases(rounds: int = 4) -> Any:
    """X is dead before Y is filled, in every iteration of one serial loop."""

    @T.prim_func
    def kernel(A: T.Tensor((128, 64), "float16"), B: T.Tensor((128, 128), "float16")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((128, 64), "float16")
            Y = T.alloc_shared((128, 128), "float16")
            Xl = T.alloc_fragment((128, 64), "float16")
            Yl = T.alloc_fragment((128, 128), "float16")
            for _ in T.serial(rounds):
                T.copy(A, X)
                T.copy(X, Xl)
                T.copy(Xl, A)
                T.copy(B, Y)
                T.copy(Y, Yl)
                T.copy(Yl, B)

    return kernel


@tilelang.jit(target=TARGET)
def jitted(rounds: int) -> Any:
    return phases(rounds)


@pytest.fixture(autouse=True)
def empty_memory_cache() -> Iterator[None]:
    _forget()
    yield
    _forget()


def _forget() -> None:
    """Leaves only the disk cache."""
    from tilelang.cache import _dispatch_map

    for cache in _dispatch_map.values():
        cache._memory_cache.clear()


def arena(kernel: Any) -> int:
    ((size, _),) = arena_of(kernel.artifact.device_mod).values()
    return size


def under(policy: str | None, compile_kernel: Any) -> Any:
    if policy is None:
        return compile_kernel()
    with smemreuse.tilelang.merge(policy):
        return compile_kernel()


def test_memory_cache_tells_plans_apart() -> None:
    kernels = {
        policy: under(policy, lambda: tilelang.compile(phases(), target=TARGET))
        for policy in POLICIES
    }
    assert {policy: arena(kernel) for policy, kernel in kernels.items()} == ARENAS
    for policy in POLICIES:
        again = under(policy, lambda: tilelang.compile(phases(), target=TARGET))
        assert again is kernels[policy]


def test_disk_cache_tells_plans_apart() -> None:
    sources: dict[str | None, str] = {}
    for attempt in range(2):
        for policy in POLICIES:
            kernel = under(policy, lambda: tilelang.compile(phases(3), target=TARGET))
            sources.setdefault(policy, kernel.get_kernel_source())
            assert kernel.get_kernel_source() == sources[policy]
        if attempt == 0:
            _forget()
    assert sources["inner"] != sources["outer"]


def test_disk_entries_have_keys_of_their_own() -> None:
    keys = [under(policy, KernelCache._get_base_key) for policy in POLICIES]
    assert len({str(key) for key in keys}) == len(POLICIES)
    assert "smemreuse" not in keys[0]


def test_jit_tells_plans_apart() -> None:
    for _ in range(2):
        for policy in POLICIES:
            assert arena(under(policy, lambda: jitted(11))) == ARENAS[policy]
    with smemreuse.tilelang.merge("inner"):
        assert jitted(11) is jitted(11)
    assert jitted(11) is jitted(11)


def test_worker_threads_follow_the_session() -> None:
    with smemreuse.tilelang.merge("inner") as session, ThreadPoolExecutor(2) as pool:
        rounds = range(5, 7)
        kernels = list(pool.map(lambda n: tilelang.compile(phases(n), target=TARGET), rounds))
    assert [arena(kernel) for kernel in kernels] == [ARENAS["inner"]] * len(rounds)
    assert len(session.plans) == len(rounds)


def test_a_compilation_keeps_the_session_it_began_with() -> None:
    """Leaving the `with` while another thread compiles must not tear key and plan apart."""
    begun, left = threading.Event(), threading.Event()
    seen: list[Any] = []

    def compile_slowly() -> None:
        with pinned_session():
            begun.set()
            left.wait(10)
            seen.append(current_session())

    with smemreuse.tilelang.merge("inner") as session:
        thread = threading.Thread(target=compile_slowly)
        thread.start()
        begun.wait(10)
    assert current_session() is None
    left.set()
    thread.join()
    assert seen == [session]


def test_key_changes_with_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel planned by an older smemreuse is not handed out by a newer one."""
    from smemreuse._version import code_stamp

    with smemreuse.tilelang.merge("inner") as session:
        before = session.cache_token
    (tmp_path / "__init__.py").write_text("changed = True\n")
    monkeypatch.setattr("smemreuse._version.__file__", str(tmp_path / "__init__.py"))
    code_stamp.cache_clear()
    try:
        assert session.cache_token != before
    finally:
        monkeypatch.undo()
        code_stamp.cache_clear()
