"""Kernels merged by a plan that is refuted: their CUDA, with delays and without."""

from __future__ import annotations

import pytest
import tilelang

from fixtures.kernels import FIXTURES
from fixtures.kernels.lowering import compile_cuda
from smemreuse.compilers.tilelang.refuting import RefutedKernel, refuted_kernels
from smemreuse.compilers.tilelang.reproducing import collecting
from smemreuse.reproduce.attempts import attempts_of
from smemreuse.reproduce.cuda import require_original

ARCH = "sm_90a"


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_DISABLE_CACHE", "1")


def merged(name: str, policy: str = "inner") -> RefutedKernel:
    fixture = FIXTURES[name]
    with collecting(lower_only=True, arch=ARCH) as compiled:
        tilelang.compile(fixture.make(**fixture.configs["small"]))
    (kernel,) = refuted_kernels(compiled[0], policy)
    return kernel


@pytest.mark.parametrize("name", ["while_table", "tma_store_in_flight", "divergent_arms"])
def test_what_refutes_a_plan_is_delayed_in_the_merged_kernel(name: str) -> None:
    kernel = merged(name)
    (hazard,) = kernel.report.hazards
    assert kernel.base != kernel.original
    assert kernel.apart == kernel.base
    for attempt in attempts_of(hazard):
        delayed = kernel.source(attempt)
        assert (delayed == kernel.original) == attempt.is_plain
        require_original(delayed, kernel.original)
    assert compile_cuda(delayed, ARCH)


def test_a_plan_that_holds_has_no_hazard() -> None:
    assert merged("gemm").report.hazards == ()
    assert merged("while_table", "outer").report.hazards == ()
