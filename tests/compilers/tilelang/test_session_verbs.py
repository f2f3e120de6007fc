"""What a session tells: a page, explanations, and short lines of itself and what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tilelang

import smemreuse.tilelang
from smemreuse.errors import BackendError, InputError, PlanError
from smemreuse.results.explanation import Explanation
from tests.compilers.tilelang.conftest import Case
from tests.compilers.tilelang.lowering import lower

pytestmark = pytest.mark.tilelang


@pytest.fixture(scope="module")
def session() -> smemreuse.tilelang.Session:
    with smemreuse.tilelang.merge(objective="bytes") as found:
        for name in ("batched_gemm", "gemm", "gemm"):
            case = Case(name, "small", "sm_80")
            lower(case.func, case.arch)
    return found


def test_everything_is_one_short_line(session: smemreuse.tilelang.Session) -> None:
    assert repr(session) == "Session(dataflow, bytes: 3 kernels, 3 plans, 0 left)"
    assert repr(session.kernels[0]) == (
        "LoweredKernel(batched_gemm_kernel: 65,536 to 32,768 bytes of 166,912, sound)"
    )
    assert repr(session.plans[0]) == (
        "AppliedPlan(batched_gemm_kernel: shared.dyn, 32,768 bytes, sound)"
    )


def test_all_kernels_are_explained_or_one_or_a_pair(session: smemreuse.tilelang.Session) -> None:
    everything = session.explain()
    assert repr(everything) == everything
    for title in ("batched_gemm_kernel", "gemm_kernel #1", "gemm_kernel #2"):
        assert f"| {title} " in everything
    one = str(session.explain("batched_gemm_kernel"))
    assert "| gemm_kernel" not in one
    assert "As and Bs do not share" in one
    pair = session.explain("batched_gemm_kernel", "As", "Cs")
    assert isinstance(pair, Explanation)
    assert pair.may_share


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("mm",), "there is no kernel 'mm'; there are batched_gemm_kernel, gemm_kernel #1"),
        (("batched_gemm_kernel", "As"), "give two buffers, or none, not 1"),
        (("batched_gemm_kernel", "As", "X"), "batched_gemm_kernel has no two buffers As and X"),
    ],
)
def test_what_is_not_there_is_told(
    asked: tuple[str, ...], told: str, session: smemreuse.tilelang.Session
) -> None:
    with pytest.raises(InputError, match=told):
        session.explain(*asked)


def test_the_page_is_given_and_written_once(
    session: smemreuse.tilelang.Session, tmp_path: Path
) -> None:
    page = session.report(tmp_path / "r.html")
    assert "gemm_kernel #2" in page
    assert len(repr(page)) < 40
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page
    with pytest.raises(InputError, match="exists already"):
        session.report(tmp_path / "r.html")
    session.report(tmp_path / "r.html", force=True)
    with pytest.raises(InputError, match="cannot be written"):
        session.report(tmp_path / "nowhere" / "r.html")


def test_a_notebook_has_the_map_of_each_plan(session: smemreuse.tilelang.Session) -> None:
    shown = session._repr_html_()
    assert shown is not None
    assert shown.count("<p><b>") == 3
    assert "65,536 to 32,768 bytes, sound" in shown


def test_a_session_of_nothing_says_so() -> None:
    with smemreuse.tilelang.merge() as nothing:
        pass
    assert nothing.explain() == "no kernel was lowered"
    with pytest.raises(InputError, match="none was lowered"):
        nothing.explain("k")


def _fails(_size: int) -> Any:
    raise ValueError("of its own")


@pytest.mark.parametrize(
    ("factory", "args", "options", "error", "told"),
    [
        (len, (3,), {"arch": "sm_90a"}, BackendError, "len makes no PrimFunc of these arguments"),
        (len, ([],), {"arch": "sm_90a"}, BackendError, "len made 0, not a PrimFunc"),
        (_fails, (), {"arch": "sm_90a"}, BackendError, "_fails makes no PrimFunc"),
        (_fails, (1,), {"arch": "sm_90a"}, ValueError, "of its own"),
        (_fails, (1,), {"arch": "hopper"}, PlanError, "unknown architecture 'hopper'"),
        (_fails, (1,), {"arch": 90}, PlanError, "unknown architecture 90"),
    ],
)
def test_what_makes_no_kernel_is_told_in_one_line(
    factory: Any, args: tuple[Any, ...], options: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        smemreuse.tilelang.footprint(factory, *args, **options)


def test_a_jit_function_is_told_what_it_lacks() -> None:
    @tilelang.jit
    def matmul(M: int, N: int) -> Any: ...

    with pytest.raises(BackendError, match="matmul makes no PrimFunc of these arguments: missing"):
        smemreuse.tilelang.footprint(matmul, 5, arch="sm_90a")
