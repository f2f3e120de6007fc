"""The lowering hook: our plan inside TileLang's pipeline, down to CUDA that nvcc compiles."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from typing import Any

import pytest
import tilelang

import smemreuse.tilelang
from fixtures.kernels import FIXTURES
from smemreuse.compilers.functions import DeviceFunction, PlannedFunction
from smemreuse.compilers.text.reader import read_dump
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.errors import PlanError
from smemreuse.pipeline.judging import judge_with_barriers
from smemreuse.versions.merges import merge_of
from tests.compilers.tilelang.conftest import Case
from tests.compilers.tilelang.lowering import arena_of, lower
from tests.conftest import DUMPS

pytestmark = pytest.mark.tilelang

BATCHED = Case("batched_gemm", "small", "sm_80")
WIDE = Case("batched_gemm", "wide", "sm_90a-plain")


def test_plan_is_what_the_lowered_module_has(case: Case) -> None:
    with smemreuse.tilelang.merge("inner", objective="bytes") as session:
        lowered = lower(case.func, case.arch, case.pass_configs)
    ((arena, offsets),) = arena_of(lowered.after).values()
    (applied,) = session.plans
    assert arena == applied.plan.arena_bytes
    assert offsets == {buffer.name: at for buffer, at in applied.plan.offsets.items()}


def test_batched_gemm_needs_half_under_inner() -> None:
    arenas = {}
    for policy in ("outer", "inner"):
        with smemreuse.tilelang.merge(policy, objective="bytes"):
            lowered = lower(BATCHED.func, BATCHED.arch)
        (arenas[policy],) = (size for size, _ in arena_of(lowered.artifact.device_mod).values())
    assert arenas == {"outer": 65_536, "inner": 32_768}


def test_wide_tile_fits_only_when_merged() -> None:
    arenas = {}
    for policy in ("outer", "inner"):
        with smemreuse.tilelang.merge(policy, objective="bytes"):
            lowered = lower(WIDE.func, WIDE.arch, WIDE.pass_configs)
        (arenas[policy],) = (size for size, _ in arena_of(lowered.artifact.device_mod).values())
    assert arenas == {"outer": 262_144, "inner": 196_608}
    assert arenas["inner"] <= 227 * 1024 < arenas["outer"]


def _has_nvcc() -> bool:
    """TileLang takes nvcc from the PATH or from the `nvidia-cuda-nvcc` wheel."""
    return shutil.which("nvcc") is not None or find_spec("nvidia.cu13") is not None


@pytest.mark.skipif(not _has_nvcc(), reason="nvcc is not installed")
@pytest.mark.parametrize("fixture", ["batched_gemm", "stream_k"])
def test_nvcc_compiles_the_merged_kernel(fixture: str) -> None:
    from fixtures.kernels.lowering import compile_cuda

    case = Case(fixture, "small", "sm_90a")
    with smemreuse.tilelang.merge("inner"):
        source = lower(case.func, case.arch).artifact.kernel_source
    aliases = [line for line in source.splitlines() if "(char*)buf_dyn_shmem + " in line]
    assert len(aliases) >= 3, source
    assert compile_cuda(source, case.arch).startswith(b"\x7fELF")


def test_thread_sync_sees_the_aliases() -> None:
    """Rule 6: where Cs takes the stages' bytes, ThreadSync adds the barrier that this needs."""

    def barriers(policy: str) -> int:
        with smemreuse.tilelang.merge(policy, objective="bytes"):
            lowered = lower(BATCHED.func, "sm_90a")
        return str(lowered.artifact.kernel_source).count("__syncthreads()")

    assert barriers("inner") > barriers("outer")


def test_no_reuse_without_thread_sync() -> None:
    """TileLang issue 2416: nobody inserts the barriers that reuse would need."""
    gemm = Case("gemm", "small", "sm_80")
    with smemreuse.tilelang.merge("inner") as session:
        lowered = lower(gemm.func, "sm_80", {"tl.disable_thread_storage_sync": True})
    ((arena, offsets),) = arena_of(lowered.artifact.device_mod).values()
    assert arena == 65_536
    assert len(set(offsets.values())) == 3
    (applied,) = session.plans
    assert applied.verdict.sound
    assert {verdict.verdict for _, verdict in applied.rejected} == {"unsound"}


def test_disable_reuse_is_respected() -> None:
    with smemreuse.tilelang.merge("inner"):
        lowered = lower(BATCHED.func, "sm_80", {"tl.disable_shared_memory_reuse": True})
    ((arena, _),) = arena_of(lowered.after).values()
    assert arena == 65_536


def test_l1_is_left_its_bytes_but_not_where_every_tile_would_wait() -> None:
    """Objective `speed`, the default, where two blocks of 1,024 threads fill an SM in any case.

    A GEMM's epilogue may lie in its stages, which leaves more to L1. Where a loop goes over tiles,
    each would have to wait for the one before.
    """
    arenas = {}
    for name in ("gemm", "batched_gemm"):
        fixture = FIXTURES[name]
        shapes = {**fixture.configs["small"], "threads": 1024}
        with smemreuse.tilelang.merge() as session:
            lower(fixture.make(**shapes), "sm_80")
        (applied,) = session.plans
        assert applied.plan.objective == "speed"
        arenas[name] = applied.plan.arena_bytes
    assert arenas == {"gemm": 32_768, "batched_gemm": 65_536}


def _phases(scope: str) -> Any:
    """X is dead before Y is filled; each thread reads what another one wrote."""
    import tilelang.language as T

    @T.prim_func
    def phases(A: T.Tensor((1024,), "float32"), C: T.Tensor((1024,), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((512,), "float32", scope=scope)
            Y = T.alloc_shared((512,), "float32", scope=scope)
            for i in T.Parallel(512):
                X[i] = A[i]
            for i in T.Parallel(512):
                C[i] = X[511 - i]
            for i in T.Parallel(512):
                Y[i] = A[i + 512]
            for i in T.Parallel(512):
                C[i + 512] = Y[511 - i]

    return phases


@pytest.mark.parametrize(
    ("scope", "option", "verdict"),
    [
        ("shared.dyn", None, "sound"),
        ("shared.dyn", "tl.disable_thread_storage_sync", "unsound"),
        ("shared", "tirx.merge_static_smem", "unsound"),
    ],
)
def test_tilelang_s_own_merge_is_judged_with_the_barriers_that_it_gets(
    scope: str, option: str | None, verdict: str
) -> None:
    """With no barriers, none may be assumed; static buffers get none either."""
    with smemreuse.tilelang.merge() as session:
        lower(_phases(scope), "sm_80", {option: True} if option else {})
    (kernel,) = session.kernels
    assert kernel.stock_plan(scope).arena_bytes == 2_048
    assert kernel.stock_verdict(scope).verdict == verdict


def test_nobody_judges_tilelang_s_own_merge_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def counted(kernels: Any, plans: Any) -> Any:
        asked.append(plans)
        return judge_with_barriers(kernels, plans)

    monkeypatch.setattr("smemreuse.compilers.functions.judge_with_barriers", counted)
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lower(BATCHED.func, "sm_80")
    assert len(asked) == 1
    (kernel,) = session.kernels
    assert kernel.stock_verdict("shared.dyn") is kernel.stock_verdict("shared.dyn")
    assert len(asked) == 2


def test_stock_pass_is_back_behind_the_with() -> None:
    with smemreuse.tilelang.merge("inner") as session:
        pass
    lowered = lower(BATCHED.func, "sm_80")
    ((arena, _),) = arena_of(lowered.after).values()
    assert arena == 65_536
    assert session.plans == []


def test_inner_merge_wins_when_nested() -> None:
    with smemreuse.tilelang.merge("outer") as around, smemreuse.tilelang.merge("inner") as within:
        lower(BATCHED.func, "sm_80")
    assert (len(around.plans), len(within.plans)) == (0, 1)


def test_unknown_policy_is_named() -> None:
    unknown = pytest.raises(PlanError, match="unknown policy 'tight'; choose one of outer")
    with unknown, smemreuse.tilelang.merge("tight"):
        pass


def test_a_single_buffer_is_left_alone() -> None:
    import tilelang.language as T

    @T.prim_func
    def copy(A: T.Tensor((128, 32), "float16"), B: T.Tensor((128, 32), "float16")):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((128, 32), "float16")
            T.copy(A, As)
            T.copy(As, B)

    with smemreuse.tilelang.merge("inner") as session:
        lowered = lower(copy, "sm_80")
    assert session.plans == []
    assert "handle_add_byte_offset" not in lowered.after.script()


def test_tilelang_is_the_version_the_hooks_are_for() -> None:
    assert tilelang.__version__.startswith("0.1.15")


def test_what_a_broken_lowering_left_is_not_told_of_another_target() -> None:
    """One that dies between the merge and `ThreadSync`, and then one that is not for CUDA."""
    (kernel,) = read_dump(DUMPS / "leaf_both.sm_80.tir").kernels
    function = DeviceFunction(kernel.name, None, TirVisitor())
    with smemreuse.tilelang.merge() as session:
        planned = PlannedFunction(function, merge_of(kernel))
        session._lowering.unmerged[kernel.name] = planned
        tilelang.transform.ThreadSync("shared.dyn")(tilelang.tvm.IRModule({}))
    assert session.kernels == []


@pytest.mark.parametrize("where", ["session.Attempts", "functions.judge_with_barriers"])
def test_a_fault_of_ours_leaves_the_function_to_the_stock_pass(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In planning, or when the plan is looked at again on the IR that has its barriers."""

    def fail(*_: object, **_options: object) -> None:
        raise OverflowError("too large")

    before = lower(BATCHED.func, BATCHED.arch).artifact.kernel_source
    monkeypatch.setattr(f"smemreuse.compilers.{where}", fail)
    with (
        pytest.warns(RuntimeWarning, match="own merge: OverflowError: too large"),
        smemreuse.tilelang.merge() as session,
    ):
        after = lower(BATCHED.func, BATCHED.arch).artifact.kernel_source
    assert after == before
    assert [left.reason for left in session.left] == ["OverflowError: too large"]
    assert (session.plans, session.kernels) == ([], [])


@pytest.mark.parametrize("config", ["tile64", "tile128", "tile256_free"])
def test_no_tile_of_the_decode_kernel_gets_larger(config: str) -> None:
    """With 256 threads TileLang hoists a read out of its condition, beyond the buffer."""
    case = Case("mmha_decode", config, "sm_90a-plain")
    (before,) = (arena for arena, _ in arena_of(lower(case.func, case.arch).after).values())
    with smemreuse.tilelang.merge(objective="bytes") as session:
        lower(case.func, case.arch)
    (applied,) = session.plans
    assert applied.verdict.sound
    assert applied.plan.arena_bytes < 0.6 * before
