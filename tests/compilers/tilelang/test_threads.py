"""A compilation takes the session of its thread, or of the one that started that."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tvm_ffi
from tilelang import tvm
from tilelang.cuda import backend as cuda_backend

import smemreuse.tilelang
from smemreuse.compilers.active import activated, current_session
from smemreuse.compilers.tilelang.binaries import registers_of
from smemreuse.compilers.tilelang.hooks import COMPILE, _noting_registers
from tests.compilers.tilelang.lowering import arena_of
from tests.compilers.tilelang.test_caches import ARENAS, TARGET, phases

pytestmark = pytest.mark.tilelang


def arena(function: Any = None) -> int:
    """The bytes of a kernel that is lowered here, without TileLang's caches."""
    target = tvm.target.Target(TARGET)
    with target, tvm.transform.PassContext(opt_level=3):
        artifact = tilelang.lower(phases(4) if function is None else function, target=target)
    ((size, _),) = arena_of(artifact.device_mod).values()
    return size


def in_thread(work: Callable[[], Any]) -> Any:
    """What is returned by another thread."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_two_threads_with_different_options_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=300)
    # Traced before the threads begin: two threads in `ast.parse` at once are an error of CPython
    # 3.11 now and then ("AST constructor recursion depth mismatch").
    functions = {policy: phases(4) for policy in ("outer", "inner")}

    def compiled(policy: str) -> tuple[int, int]:
        with smemreuse.tilelang.merge(policy, unchecked=policy == "inner") as session:
            both.wait()
            found = arena(functions[policy])
            both.wait()
            return found, len(session.kernels)

    with ThreadPoolExecutor(2) as pool:
        outer, inner = pool.map(compiled, ["outer", "inner"])
    assert (outer, inner) == ((ARENAS["outer"], 1), (ARENAS["inner"], 1))


def test_a_strict_session_takes_no_plan_of_an_unchecked_one_beside_it() -> None:
    entered, done = threading.Event(), threading.Event()

    def unchecked() -> None:
        with smemreuse.tilelang.merge("inner", unchecked=True):
            entered.set()
            done.wait(60)

    thread = threading.Thread(target=unchecked)
    with smemreuse.tilelang.merge(strict=True) as strict:
        thread.start()
        entered.wait(60)
        assert current_session() is strict
        assert in_thread(current_session) is strict
        arena()
    assert current_session() is None, "the other thread's session is its own"
    assert in_thread(current_session) is None
    done.set()
    thread.join()
    (kernel,) = strict.kernels
    assert [plan.verdict.sound for plan in kernel.plans] == [True]


def test_sessions_inside_one_another() -> None:
    with smemreuse.tilelang.merge("outer") as outer:
        with smemreuse.tilelang.merge("inner") as inner:
            assert arena() == ARENAS["inner"]
        assert arena() == ARENAS["outer"]
    assert [len(one.kernels) for one in (outer, inner)] == [1, 1]


def test_sessions_left_in_another_order_than_entered() -> None:
    one, two = smemreuse.tilelang.merge("outer"), smemreuse.tilelang.merge("inner")
    first, second = one.__enter__(), two.__enter__()
    one.__exit__(None, None, None)
    assert current_session() is second
    assert first is not second
    two.__exit__(None, None, None)
    assert current_session() is None


def test_a_session_left_by_another_thread_is_over_everywhere() -> None:
    stack = ExitStack()
    session = stack.enter_context(smemreuse.tilelang.merge())
    assert current_session() is session
    in_thread(stack.close)
    assert current_session() is None


def test_pools_that_were_there_before_take_the_session_of_who_asks() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(current_session).result() is None
        with smemreuse.tilelang.merge("inner") as session:
            assert pool.submit(arena).result() == ARENAS["inner"]
            assert in_thread(lambda: pool.submit(current_session).result()) is session
        assert pool.submit(current_session).result() is None
    assert len(session.kernels) == 1


def test_a_pool_that_a_session_began_serves_others_without_it() -> None:
    entered, done = threading.Event(), threading.Event()
    pool = ThreadPoolExecutor(1)

    def begin() -> None:
        with smemreuse.tilelang.merge() as session:
            assert pool.submit(current_session).result() is session
            entered.set()
            done.wait(60)

    thread = threading.Thread(target=begin)
    thread.start()
    assert entered.wait(60)
    assert pool.submit(current_session).result() is None
    done.set()
    thread.join()
    pool.shutdown()


def test_par_compile_and_each_of_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compiled(func: Any, **_options: Any) -> Any:
        seen.append((current_session(), threading.current_thread().name.startswith("tl-par-comp")))
        return func

    monkeypatch.setattr(sys.modules["tilelang.jit"], "compile", compiled)
    with smemreuse.tilelang.merge() as session:
        tilelang.par_compile([phases(2), phases(3)], num_workers=2)
    assert seen == [(session, True), (session, True)]
    tilelang.par_compile([phases(2)], num_workers=1)
    assert seen[2:] == [(None, True)]


def test_the_session_of_a_run_is_in_force_wherever_there_is_no_other() -> None:
    with activated("run"):
        assert in_thread(current_session) == "run"
        with smemreuse.tilelang.merge() as session:
            assert current_session() is session
        assert current_session() == "run"
    assert current_session() is None


NEVER_LEFT = """
import builtins, sys, threading
import smemreuse.tilelang
one, two = (smemreuse.tilelang.merge() for _ in range(2))
one.__enter__(), two.__enter__()
builtins.kept_to_the_end = one
def enter():
    builtins.of_a_thread = smemreuse.tilelang.merge()
    of_a_thread.__enter__()
def suspended():
    with smemreuse.tilelang.merge() as session:
        yield session
thread = threading.Thread(target=enter)
thread.start()
thread.join()
sys.of_a_generator = suspended()
next(sys.of_a_generator)
"""


def test_a_session_that_is_never_left_ends_without_a_word() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", NEVER_LEFT], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


# The callback that compiles CUDA ----------------------------------------------------------------


@pytest.mark.parametrize("given", [("code", "target"), ("code", "target", {"a": 1})])
@pytest.mark.parametrize("binary", [b"", b"no ELF", bytearray(b"\x7fELF"), "ptx as text", None])
def test_the_callback_hands_on_what_it_gets(given: tuple[Any, ...], binary: Any) -> None:
    got: list[tuple[Any, ...]] = []

    def stock(*args: Any) -> Any:
        got.append(args)
        return binary

    with smemreuse.tilelang.merge():
        assert _noting_registers(stock)(*given) is binary
    assert got == [given]


def test_several_target_codes_make_a_fat_binary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As TileLang's own test of its callback has it, through our hook."""
    from tilelang.backend.target import determine_target
    from tilelang.cache.cuda_binary_cache import CUDABinaryCache

    captured: dict[str, Any] = {}

    def compile_cuda(code: str, target_format: str, arch: Any, **_more: Any) -> bytearray:
        captured.update(target_format=target_format, arch=arch)
        return bytearray(b"fake-cuda-binary")

    monkeypatch.setattr(cuda_backend.nvcc, "compile_cuda", compile_cuda)
    # A binary in the cache on disk, of an earlier run, say, would not be compiled.
    monkeypatch.setattr(CUDABinaryCache, "load", lambda *_args: None)
    monkeypatch.setattr(CUDABinaryCache, "save", lambda *_args: None)
    asked = {"kind": "cuda", "arch": "sm_100f", "code": ["sm_100a", "sm_103a"]}
    target = determine_target(asked, return_object=True)
    with smemreuse.tilelang.merge():
        found = tvm_ffi.get_global_func(COMPILE)("__global__ void kernel() {}", target)
    assert bytes(found) == b"fake-cuda-binary"
    assert captured["target_format"] == "fatbin"
    assert captured["arch"] == ["-gencode", "arch=compute_100f,code=[sm_100a,sm_103a]"]
    assert registers_of(bytes(found)) == {}
