"""Delays in kernels that TileLang lowers: their CUDA without the delays is TileLang's own."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import tilelang
import tilelang.language as T
import torch

from fixtures.kernels.lowering import compile_cuda
from fixtures.witnesses import kernels
from smemreuse.compilers.tilelang.arguments import arguments_of, noted_arguments
from smemreuse.compilers.tilelang.reproducing import LaunchedKernel, collecting
from smemreuse.errors import BackendError, LoweredOnlyError
from smemreuse.reproduce.arguments import LaunchArgument
from smemreuse.reproduce.attempts import attempts_of
from smemreuse.reproduce.cases import PLAIN
from smemreuse.reproduce.cuda import DELAY, FILL, QUEUE, require_original
from smemreuse.reproduce.delays import Attempt, Delay
from smemreuse.reproduce.standalone import Standalone
from smemreuse.results.hazards import Hazard
from smemreuse.results.reproduction import AS_IT_IS
from tests.conftest import ROOT

ARCH = "sm_90a"
LATE_WARPS = ROOT / "fixtures" / "reproduce" / "late_warps.py"


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_DISABLE_CACHE", "1")


@pytest.fixture(scope="module")
def witnesses() -> dict[str, LaunchedKernel]:
    """The kernels of fixtures/witnesses, without the delays that are written into them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILELANG_DISABLE_CACHE", "1")
        patch.setattr(kernels, "late", lambda: 0)
        with collecting(lower_only=True, arch=ARCH) as found:
            for each in kernels.WITNESSES:
                tilelang.compile(each.make(False), pass_configs=kernels.PASS_CONFIGS)
    launches = [launch for made in found for launch in made.launches]
    return {each.name: one for each, one in zip(kernels.WITNESSES, launches, strict=True)}


def certain(kernel: LaunchedKernel) -> Hazard:
    return next(hazard for hazard in kernel.report.hazards if hazard.certain)


@pytest.mark.parametrize("each", kernels.WITNESSES, ids=lambda each: each.name)
def test_without_its_delays_it_is_the_original(
    each: kernels.Witness, witnesses: dict[str, LaunchedKernel]
) -> None:
    kernel = witnesses[each.name]
    hazard = certain(kernel)
    assert str(hazard.kind) == each.kind
    assert "nanosleep" not in kernel.original
    mended = kernel.source(PLAIN, [one.edit for one in kernel.mends])
    for attempt in attempts_of(hazard, kernel.body):
        delayed = kernel.source(attempt)
        assert (delayed == kernel.original) == attempt.is_plain
        for what, count in Counter(one.what for one in attempt.delays).items():
            assert delayed.count(f"{what}(") == 1 + count  # its definition, and its calls
        assert delayed.count(f"{FILL}(") == 2 * (attempt.fill is not None)
        require_original(delayed, kernel.original)
        require_original(kernel.source(attempt, [one.edit for one in kernel.mends]), mended)


@pytest.mark.parametrize("name", ["refilled_round_the_loop", "sums_not_cleared"])
def test_nvcc_compiles_delays_and_fills(name: str, witnesses: dict[str, LaunchedKernel]) -> None:
    kernel = witnesses[name]
    assert compile_cuda(kernel.source(attempts_of(certain(kernel))[0]), ARCH)


def test_nvcc_compiles_stores_to_one_bank(witnesses: dict[str, LaunchedKernel]) -> None:
    kernel = witnesses["stage_refilled_without_fence"]
    found = attempts_of(certain(kernel), kernel.body)
    queue = next(one for one in found if one.delays[0].what == QUEUE)
    assert f"{QUEUE}(0, 256, 64, (j == 31));" in kernel.source(queue)
    assert compile_cuda(kernel.source(queue), ARCH)


def test_a_delay_stands_before_the_statement_of_the_witness_in_its_round(
    witnesses: dict[str, LaunchedKernel],
) -> None:
    kernel = witnesses["refilled_round_the_loop"]
    lines = kernel.source(attempts_of(certain(kernel))[0]).split("\n")
    (at,) = (at for at, line in enumerate(lines) if line.strip().startswith(f"{DELAY}("))
    assert lines[at].strip() == f"{DELAY}(96, 128, 20000, (k == 0));"
    assert lines[at + 1].strip().startswith("Y[")


def test_a_loop_that_is_not_there_is_refused(witnesses: dict[str, LaunchedKernel]) -> None:
    kernel = witnesses["read_before_the_barrier"]
    site = certain(kernel).site
    assert site.stmt is not None
    delay = Delay(site.stmt, False, 0, 32, 1, (("unheard_of", 1),))
    with pytest.raises(BackendError, match="no loop unheard_of"):
        kernel.source(Attempt("", (delay,)))


def test_tilelang_reads_its_function_back_but_for_layouts(
    witnesses: dict[str, LaunchedKernel],
) -> None:
    lost = [name for name, kernel in witnesses.items() if kernel.func is None]
    assert lost == ["stage_refilled_without_fence"]


def test_a_kernel_at_the_top_of_a_script_is_cut_out_of_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LATE_WARPS.read_text())
    with collecting(lower_only=True, arch=ARCH) as found:
        runpy.run_path(str(script))
    kernels_found = [launch for made in found for launch in made.launches]
    assert len(kernels_found) == 4
    for kernel in kernels_found:
        assert kernel.snippet is not None
        assert re.fullmatch(r"\w+", kernel.snippet.expression)
        assert "tilelang.compile(" not in kernel.snippet.text


@tilelang.jit(out_idx=[-1])
def _doubled(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float16"), Y: T.Tensor((n,), "float16")):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((n,), "float16")
            T.copy(X, tile)
            for i in T.Parallel(n):
                tile[i] = tile[i] + tile[i]
            T.copy(tile, Y)

    return main


def test_a_factory_is_cut_out_with_its_arguments_and_its_launch_stops() -> None:
    with collecting(lower_only=True, arch=ARCH) as found:
        kernel = _doubled(256)
        with pytest.raises(LoweredOnlyError):
            kernel(torch.zeros(256, dtype=torch.float16))
    (made,) = found
    assert made.arguments == [LaunchArgument("float16", (256,))] * 2
    assert made.snippet is not None
    assert made.snippet.expression == "_doubled.get_tir(n=256)"
    assert made.lowered({}) == made.source


def test_a_kernel_that_is_compiled_has_the_cuda_that_is_lowered() -> None:
    with collecting(lower_only=False, arch=None) as found:
        tilelang.compile(
            kernels.refilled_round_the_loop(False),
            target={"kind": "cuda", "arch": ARCH},
            pass_configs=kernels.PASS_CONFIGS,
        )
    (made,) = found
    assert "__global__" in made.source
    assert made.lowered({}) == made.source


class _Param:
    """As TileLang's parameters are."""

    def __init__(self, dtype: torch.dtype, *shape: object, scalar: bool = False):
        self.shape, self._dtype, self._scalar = list(shape), dtype, scalar

    def is_scalar(self) -> bool:
        return self._scalar

    def torch_dtype(self) -> torch.dtype:
        return self._dtype


class _Adapter:
    params = (
        _Param(torch.float16, "n", 8),
        _Param(torch.int32, "n"),
        _Param(torch.int32, scalar=True),
        _Param(torch.float16, "n"),
    )
    result_idx = (-1,)


def test_a_launch_tells_sizes_numbers_and_ranges() -> None:
    long = torch.arange(5, 105, dtype=torch.int32)
    args = (torch.zeros(100, 8, dtype=torch.float16), long, 7)
    assert arguments_of(_Adapter.params) is None
    assert noted_arguments(_Adapter, args) == [
        LaunchArgument("float16", (100, 8)),
        LaunchArgument("int32", (100,), 5, 104),
        LaunchArgument("int", values=(7,), is_number=True),
        LaunchArgument("float16", (100,)),
    ]
    assert noted_arguments(_Adapter, args[:2]) is None


def test_floats_are_distributed_as_they_were() -> None:
    normal = torch.randn(100, 8, generator=torch.Generator().manual_seed(1))
    long = torch.arange(5, 105, dtype=torch.int32)
    for args, known in (
        (normal, (None, None)),
        (normal / 8, (0.0, 0.12)),
        (normal / 8 - 3, (-3.0, 0.12)),
        (normal * torch.inf, (None, None)),
        (normal * 0 + 2, (None, None)),
    ):
        found = noted_arguments(_Adapter, (args.half(), long, 7))
        assert found is not None
        assert (found[0].low, found[0].high) == pytest.approx(known, abs=0.02)


def test_few_integers_are_kept_as_they_are() -> None:
    lengths = torch.tensor([0, 3, 9], dtype=torch.int32)
    found = noted_arguments(_Adapter, (torch.zeros(3, 8, dtype=torch.float16), lengths, 7))
    assert found is not None
    assert found[1] == LaunchArgument("int32", (3,), values=(0, 3, 9))


@tilelang.jit
def _copied(X):
    n = T.const("n")
    X: T.Tensor((n,), "float16")  # type: ignore[no-redef]
    Y = T.empty((n,), "float16")
    with T.Kernel(1, threads=128) as _:
        tile = T.alloc_shared((n,), "float16")
        T.copy(X, tile)
        T.copy(tile, Y)
    return Y


def test_a_file_gives_its_kernel_what_that_would_allocate_itself(tmp_path: Path) -> None:
    with collecting(lower_only=True, arch=ARCH) as found, pytest.raises(LoweredOnlyError):
        _copied(torch.empty(128, dtype=torch.float16))
    (kernel,) = found[0].launches
    assert kernel.arguments is not None
    assert len(kernel.arguments) == 2
    text = Standalone(
        *(kernel.func, kernel.snippet, kernel.base, kernel.target, kernel.pass_configs),
        *(kernel.arguments, {AS_IT_IS: kernel.original}, AS_IT_IS),
    ).text("What is wrong.")
    path = tmp_path / "finding.py"
    path.write_text(text)
    code = f"import runpy; print(runpy.run_path({str(path)!r})['compiled']({AS_IT_IS!r}).out_idx)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
