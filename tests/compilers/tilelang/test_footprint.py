"""`footprint` and `fits`: bytes and whether they fit, told without a compiler and without a GPU."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from tilelang import tvm

import smemreuse.tilelang
from fixtures.kernels import FIXTURES
from smemreuse.compilers.active import current_session
from smemreuse.errors import BackendError, PlanError
from smemreuse.results.footprint import KernelFootprint
from smemreuse.tilelang import FittingConfigs, fits, footprint
from tests.compilers.tilelang.lowering import arena_of, lower

pytestmark = pytest.mark.tilelang

TARGET = {"kind": "cuda", "arch": "sm_80"}


def phases(rows: int = 128, columns: int = 64, symbolic: bool = False) -> Any:
    """X, of rows by columns, is dead before Y, twice as wide, is filled."""
    height = T.dynamic("height") if symbolic else rows

    @T.prim_func
    def kernel(
        A: T.Tensor((height, columns), "float16"), B: T.Tensor((rows, 2 * columns), "float16")
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((height, columns), "float16")
            Y = T.alloc_shared((rows, 2 * columns), "float16")
            Xl = T.alloc_fragment((rows, columns), "float16")
            Yl = T.alloc_fragment((rows, 2 * columns), "float16")
            for _ in T.serial(4):
                T.copy(A[0:rows, 0:columns], X[0:rows, 0:columns])
                T.copy(X[0:rows, 0:columns], Xl)
                T.copy(Xl, A[0:rows, 0:columns])
                T.copy(B, Y)
                T.copy(Y, Yl)
                T.copy(Yl, B)

    return kernel


@tilelang.jit(target=TARGET)
def jitted(rows: int = 128, columns: int = 64) -> Any:
    return phases(rows, columns)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may come as far as code generation."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("tilelang.contrib.nvcc.compile_cuda", refuse)
    lowering = sys.modules["tilelang.engine.lower"]  # the package has a function of that name
    monkeypatch.setattr(lowering, "device_codegen", refuse)
    monkeypatch.setattr(lowering, "host_codegen", refuse)
    monkeypatch.setattr("subprocess.Popen", refuse)


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("form", ["prim_func", "factory", "jit", "tuned"])
def test_whatever_makes_a_kernel(form: str) -> None:
    tuned = tilelang.autotune(configs=[{"rows": 64}])(jitted)
    makers = {"prim_func": phases(), "factory": phases, "jit": jitted, "tuned": tuned}
    arch = None if form in ("jit", "tuned") else "sm_80"
    found = footprint(makers[form], arch=arch, objective="bytes")
    assert (found.bytes_before, found.bytes) == (49_152, 32_768)
    assert found.fits
    assert found.limit == 163 * 1024
    (kernel,) = found.kernels
    assert (kernel.name, kernel.arch, kernel.threads) == ("kernel_kernel", "sm_80", 128)


@pytest.mark.usefixtures("no_compiler")
def test_arguments_reach_the_factory() -> None:
    assert footprint(jitted, 256, columns=32, objective="bytes").bytes == 32_768
    assert footprint(jitted, 256, 64, objective="bytes").bytes == 65_536
    assert footprint(phases, 256, columns=64, arch="sm_80", objective="none").bytes == 98_304


@pytest.mark.parametrize(
    ("name", "variant"),
    [("batched_gemm", "sm_80"), ("batched_gemm", "sm_90a"), ("mmha_decode", "sm_80")],
)
def test_it_is_what_a_lowering_takes(name: str, variant: str) -> None:
    """The oracle is the kernel that TileLang lowers under the same merge, and without it."""
    fixture = FIXTURES[name]
    func = fixture.make(**fixture.configs[next(iter(fixture.configs))])
    kernels = footprint(func, arch=variant, objective="bytes").kernels
    with smemreuse.tilelang.merge(objective="bytes"):
        ours = arena_of(lower(func, variant).after)
    theirs = arena_of(lower(func, variant).after)
    assert _dynamic(kernels, "bytes_after") == {name: arena for name, (arena, _) in ours.items()}
    assert _dynamic(kernels, "bytes_before") == {name: arena for name, (arena, _) in theirs.items()}


def _dynamic(kernels: tuple[KernelFootprint, ...], which: str) -> dict[str, int]:
    """What lies in the arena, of the kernels that have one; it begins at a multiple of 1,024."""
    found = {
        one.name: getattr(one, which) - -(-(one.static_bytes or 0) // 1024) * 1024
        for one in kernels
        if getattr(one, which) != one.static_bytes
    }
    return {name: size for name, size in found.items() if size}


def test_it_says_what_does_not_fit() -> None:
    wide = FIXTURES["batched_gemm"]
    func = wide.make(**wide.configs["wide"])
    merged = footprint(func, arch="sm_90a")
    assert merged.fits
    assert merged.bytes_before > merged.limit >= merged.bytes
    apart = footprint(func, arch="sm_90a", objective="none")
    assert not apart.fits
    (kernel,) = apart.kernels
    assert (kernel.blocks_after, kernel.fits) == (0, False)


def with_bias(size: int) -> Any:
    """A pipelined GEMM tile; the bias is dead only when the output tile is written."""

    @T.prim_func
    def kernel(
        A: T.Tensor((512, 512), "float16"),
        B: T.Tensor((512, 512), "float16"),
        D: T.Tensor((size,), "float32"),
        C: T.Tensor((512, 512), "float16"),
    ):
        with T.Kernel(2, 4, threads=256) as (bx, by):
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 256), "float16")
            Cs = T.alloc_shared((128, 256), "float16")
            Ds = T.alloc_shared((size,), "float32")
            Cl = T.alloc_fragment((128, 256), "float32")
            T.clear(Cl)
            for i in T.Parallel(size):
                Ds[i] = D[i]
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[by * 128, k * 64], As)
                T.copy(B[k * 64, bx * 256], Bs)
                T.gemm(As, Bs, Cl)
            for i, j in T.Parallel(128, 256):
                Cl[i, j] += Ds[j] + Ds[i] + Ds[size - 1]
            T.copy(Cl, Cs)
            T.copy(Cs, C[by * 128, bx * 256])

    return kernel


@pytest.mark.parametrize("objective", ["bytes", "occupancy"])
@pytest.mark.parametrize("size", [33_280, 33_408, 33_536])
def test_a_plan_that_is_not_proved_costs_no_block(size: int, objective: str) -> None:
    """What TileLang shares is kept, where the alternative would be to share nothing."""
    (kernel,) = footprint(with_bias(size), arch="sm_90a", objective=objective).kernels
    assert (kernel.bytes_after or 0) <= (kernel.bytes_before or 0)
    assert (kernel.blocks_after or 0) >= (kernel.blocks_before or 0)


def test_options_of_the_function_and_of_the_call_count() -> None:
    func = phases()
    off = {"tl.disable_shared_memory_reuse": True}
    assert footprint(func, arch="sm_80", objective="bytes", pass_configs=off).bytes == 49_152
    jit = tilelang.jit(target=TARGET, pass_configs=off)(phases)
    assert footprint(jit, objective="bytes").bytes == 49_152


def test_what_no_barrier_is_needed_for_is_shared_without_any() -> None:
    """Each thread reads what it has written itself, and writes over nobody else's bytes."""
    off = {"tl.disable_thread_storage_sync": True}
    found = footprint(phases(), arch="sm_80", objective="bytes", pass_configs=off)
    assert found.bytes == 32_768


def test_nothing_is_left_behind() -> None:
    """Neither a session, nor a function in TileLang's memory that was made for another GPU."""
    before = lower(phases(), "sm_80").artifact.kernel_source
    assert footprint(jitted, arch="sm_90a").bytes
    assert current_session() is None
    assert lower(phases(), "sm_80").artifact.kernel_source == before
    with smemreuse.tilelang.merge("outer") as session:
        footprint(jitted, objective="bytes")
        assert current_session() is session
    assert (session.plans, session.kernels) == ([], [])


def test_bad_questions() -> None:
    cases: list[tuple[type[Exception], str, dict[str, Any], tuple[Any, ...]]] = [
        (BackendError, "both a target and an arch", {"arch": "sm_80", "target": TARGET}, ()),
        (BackendError, "a PrimFunc takes no arguments", {"arch": "sm_80"}, (3,)),
        (PlanError, "unknown architecture 'sm_1'", {"arch": "sm_1"}, ()),
        (PlanError, "unknown policy", {"arch": "sm_80", "policy": "no"}, ()),
        (BackendError, "is not for CUDA", {"target": "c"}, ()),
    ]
    for kind, message, keywords, args in cases:
        with pytest.raises(kind, match=message):
            footprint(phases(), *args, **keywords)
    with pytest.raises(BackendError, match="is no PrimFunc, and makes none"):
        footprint(3, arch="sm_80")
    with pytest.raises(BackendError, match="made 7, not a PrimFunc"):
        footprint(lambda: 7, arch="sm_80")
    with pytest.raises(PlanError, match="size is known only at launch"):
        footprint(phases(symbolic=True), arch="sm_80")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU says which it is")
def test_without_a_gpu_somebody_must_say_which() -> None:
    with pytest.raises(BackendError, match='Say which GPU it is for: arch="sm_90a"'):
        footprint(phases)
    with tvm.target.Target(TARGET):
        assert footprint(phases).kernels[0].arch == "sm_80"


@pytest.mark.usefixtures("no_compiler")
def test_configurations_that_fit() -> None:
    configs = [{"rows": rows} for rows in (128, 512, 1024, 256)]
    found = fits(phases, configs, arch="sm_80", objective="bytes")
    assert isinstance(found, FittingConfigs)
    assert [*found] == [{"rows": 128}, {"rows": 512}, {"rows": 256}]
    assert (len(found), found[1], found[1:]) == (3, {"rows": 512}, [{"rows": 512}, {"rows": 256}])
    assert [one.footprint.bytes for one in found.fitting] == [32_768, 131_072, 65_536]
    (large,) = found.too_large
    assert (large.config, large.footprint.bytes) == ({"rows": 1024}, 262_144)
    assert found.failed == ()
    # Side by side, half as many rows have room.
    apart = fits(phases, configs, arch="sm_80", objective="none")
    assert [*apart] == [{"rows": 128}, {"rows": 256}]


@pytest.mark.usefixtures("no_compiler")
def test_configurations_as_tuples_and_for_a_jit_function() -> None:
    assert [*fits(jitted, [(128,), (1024, 32), (1024, 64)], objective="bytes")] == [
        (128,),
        (1024, 32),
    ]
    assert [*fits(jitted, [{"columns": 64}], 128, arch="sm_75", objective="bytes")] == [
        {"columns": 64}
    ]


def test_a_configuration_s_own_pass_options_count() -> None:
    off = {"tl.disable_shared_memory_reuse": True}
    configs: list[dict[str, Any]] = [{"rows": 512}, {"rows": 512, "__pass_configs__": off}]
    found = fits(phases, configs, arch="sm_80", objective="bytes")
    assert [*found] == configs[:1]
    assert found.too_large[0].footprint.bytes == 196_608


def test_a_configuration_that_cannot_be_lowered_is_kept_with_its_error() -> None:
    """TileLang refuses the first, the function itself the second."""
    gemm = FIXTURES["gemm"]
    small = gemm.configs["small"]
    configs: list[dict[str, Any]] = [{**small, "threads": 100}, {"lines": 1}, {**small}]
    with pytest.warns(UserWarning, match="2 of 3 configurations could not be lowered") as seen:
        found = fits(gemm.make, configs, arch="sm_80")
    assert "'threads': 100" in str(seen[0].message)
    assert [*found] == [small]
    assert [failed.config for failed in found.failed] == configs[:2]
    assert "lines" in str(found.failed[1].error)


def test_bad_configurations_are_refused_before_any_is_tried() -> None:
    bad: Any = [{"rows": 128}, 5]
    with pytest.raises(BackendError, match="a dictionary or a tuple, not 5"):
        fits(phases, bad, arch="sm_80")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(fits(phases, [], arch="sm_80")) == 0
