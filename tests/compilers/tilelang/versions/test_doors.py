"""Each door into a lowering, and what it tells, in the version of TileLang that is installed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from tilelang import tvm

import smemreuse.tilelang
from fixtures import forms
from fixtures.forms import ARCH, TARGET, TILE, Layer
from fixtures.kernels import FIXTURES
from smemreuse.compilers.tilelang.hooks import LAST_SYNCHRONIZED_SCOPE, _thread_sync
from smemreuse.errors import BackendError
from smemreuse.results.hazards import LintStatus
from smemreuse.results.verdict import SOUND, UNSOUND
from smemreuse.tilelang import Session, advise, fits, footprint
from tests.compilers.tilelang.programs import smemreuse as run_smemreuse
from tests.compilers.tilelang.programs import table

pytestmark = pytest.mark.tilelang

SAMPLE = ("gemm", "batched_gemm", "divergent_arms", "while_table", "two_kernels", "mixed_dtypes")
SCRIPT = Path(forms.__file__)
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


def lowered(func: Any, pass_configs: dict[str, object] | None = None, **options: Any) -> Session:
    """The session in which a function was lowered."""
    context = tvm.transform.PassContext(opt_level=3, config=pass_configs or {})
    with smemreuse.tilelang.merge(**options) as session, context, TARGET:
        tilelang.lower(func, target=TARGET)
    return session


@pytest.mark.parametrize("name", SAMPLE)
def test_fixtures_are_merged_and_proved(name: str) -> None:
    fixture = FIXTURES[name]
    session = lowered(fixture.make(**fixture.configs["small"]))
    assert session.left == []
    assert session.kernels
    assert session.plans
    for one in session.plans:
        assert one.verdict.verdict is SOUND
    for kernel in session.kernels:
        told = kernel.footprint()
        assert (told.bytes_after or 0) <= (told.bytes_before or 0)
        for one in kernel.plans:
            assert kernel.stock_verdict(one.plan.scope).verdict is not UNSOUND


@needs_nvcc
def test_a_jit_function_has_another_kernel_in_each_session() -> None:
    """Whatever its version remembers of a call."""
    plain = forms.lazy()
    with smemreuse.tilelang.merge(objective="none"):
        apart = forms.lazy()
        assert forms.lazy() is apart
    assert apart is not plain
    assert forms.lazy() is plain
    assert apart.get_kernel_source() != plain.get_kernel_source()


def test_buffers_share_and_barriers_are_tilelang_s() -> None:
    session = lowered(forms.tiles())
    ((plan,), (kernel,)) = session.plans, session.kernels
    assert plan.plan.arena_bytes == TILE
    assert kernel.lint is not None
    assert kernel.lint().status is LintStatus.CLEAN


def test_what_lacks_barriers_is_mended() -> None:
    session = lowered(forms.tiles(), {"tl.disable_thread_storage_sync": True}, mend=True)
    (found,) = session.mendings
    assert (found.before.status, found.after.status) == (LintStatus.HAZARDS, LintStatus.CLEAN)
    assert [one.verdict.verdict for one in session.plans] == [SOUND]


@needs_nvcc
def test_run_compiles_a_script_and_finds_its_kernels_again(tmp_path: Path) -> None:
    cache = {"TILELANG_CACHE_DIR": str(tmp_path / "cache")}
    found = table(SCRIPT, cwd=tmp_path, **cache)
    (kernel,) = found["kernels"]
    assert kernel["lint"]["status"] == "clean"
    assert kernel["registers"] > 0  # which the binary told
    assert found["reloaded"] == []
    again = table("--force", SCRIPT, cwd=tmp_path, **cache)
    assert len(again["reloaded"]) == 1
    assert len(again["kernels"]) == 1


TESTS = """
import pytest
from fixtures import forms

def test_lazy():
    assert forms.lazy().get_kernel_source()

def test_eager():
    assert forms.eager.compile(columns=32).get_kernel_source()

def test_several_at_once():
    assert len(forms.lazy.par_compile([{"rows": 32}, {"rows": 48}], num_workers=2)) == 2

def test_tuned():
    forms.tuned(columns=16)
"""


def test_run_m_pytest_sees_all_kernels_and_compiles_none(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(TESTS)
    found = table("--lower-only", "--lint", "-m", "pytest", "-q", "-p", "no:xdist", cwd=tmp_path)
    assert (found["exit_code"], found["blind"], found["failed"], found["left"]) == (0, [], [], [])
    kernels = found["kernels"]
    assert sorted(one["name"] for one in kernels) == ["eager_kernel", *["tiles_of_kernel"] * 5]
    assert {one["ours"]["verdict"] for one in kernels} == {"sound"}
    assert {one["lint"]["status"] for one in kernels} == {"clean"}
    assert found["totals"]["stopped"] > 0


def test_an_audit_judges_tilelang_s_own_merge(tmp_path: Path) -> None:
    done = table("--lower-only", "--policy", "none", "--dump", "dumps", SCRIPT, cwd=tmp_path)
    (kernel,) = done["kernels"]
    assert done["exit_code"] == 0
    assert kernel["compiler"]["verdict"] in ("sound", "unproved")
    (dump,) = (tmp_path / "dumps").glob("*.tir")
    assert "sound" in run_smemreuse("compare", dump, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("kernel", "given"),
    [
        (forms.tiles(), {}),
        (forms.tiles, {"rows": 64}),
        (forms.lazy, {}),
        (forms.tuned, {"rows": 64}),
        (forms.eager, {"columns": 32}),
        (Layer(64).kernel, {}),
        (Layer(64).jitted, {"columns": 32}),
        (lambda: forms.tiles(64), {}),
    ],
    ids=["PrimFunc", "function", "lazy", "tuned", "eager", "method", "jitted method", "closure"],
)
def test_footprint_takes_a_kernel_in_any_form(kernel: Any, given: dict[str, Any]) -> None:
    assert footprint(kernel, arch=ARCH, **given).bytes == TILE


def test_a_decorator_s_target_and_pass_configs_count() -> None:
    assert footprint(forms.unshared).bytes == 2 * TILE


@pytest.mark.parametrize("name", ["lazy", "tuned", "eager"])
def test_fits_and_advise_take_every_configuration(name: str) -> None:
    kernel = getattr(forms, name)
    sizes: dict[str, Any] = {"columns": 32} if name == "eager" else {}
    configs = [{"rows": 32}, {"rows": 64}, {"rows": 2048}]
    found = fits(kernel, configs, arch=ARCH, **sizes)
    assert (len(found.fitting), len(found.too_large), found.failed) == (2, 1, ())
    ranking = advise(kernel, configs, arch=ARCH, jobs=1, **sizes)
    assert (len(ranking.ranked), len(ranking.too_large), ranking.failed) == (2, 1, ())


def test_a_tensor_may_be_left_out_and_nothing_else() -> None:
    with pytest.raises(BackendError, match="required argument: 'rows'"):
        footprint(forms.needing_rows, arch=ARCH, columns=32)


def test_what_tilelang_cannot_lower_is_told_as_its_own(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from fixtures import forms\n"
        "from unittest.mock import patch\n"
        "import tilelang.engine.lower, sys\n"
        "engine = sys.modules['tilelang.engine.lower']\n"
        "with patch.object(engine, 'PreLowerSemanticCheck', side_effect=ValueError('not mine')):\n"
        "    forms.lazy(48)\n"
    )
    found = table("--lower-only", "broken.py", cwd=tmp_path)
    (one,) = found["failed"]
    assert "itself fails on it, before its merge: ValueError: not mine" in one["why"]


def test_a_tilelang_that_has_no_place_for_a_hook_is_no_success(tmp_path: Path) -> None:
    """As one that is so new, or so old, that it has nothing where it is looked for."""
    (tmp_path / "tilelang").mkdir()
    (tmp_path / "tilelang" / "__init__.py").write_text("__version__ = '99.9'\n")
    (tmp_path / "program.py").write_text("import tilelang\n")
    done = run_smemreuse("run", "--lower-only", "-m", "program", cwd=tmp_path)
    assert done.returncode == 2
    assert "are not seen: " in done.stdout


def test_a_plan_that_barriers_cannot_be_put_into_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TileLang 0.1.9's analysis ends in an error on some kernels whose buffers share bytes."""
    fixture = FIXTURES["piecewise_fill"]
    stock = getattr(tilelang.transform.ThreadSync, "__wrapped__", tilelang.transform.ThreadSync)
    failures: list[str] = []

    def fragile(scope: str) -> Any:
        original = stock(scope)

        def run(mod: Any) -> Any:
            places = re.findall(r"handle_add_byte_offset\(.*?(\d+)\)", mod.script())
            if scope == LAST_SYNCHRONIZED_SCOPE and len(places) != len(set(places)):
                failures.append(scope)
                raise ValueError("mismatched types")
            return original(mod)

        return run

    func = fixture.make(**fixture.configs["small"])
    shared = lowered(func, objective="bytes")
    monkeypatch.setattr(tilelang.transform, "ThreadSync", _thread_sync(fragile))
    session = lowered(func, objective="bytes")
    assert failures
    assert session.left == []
    (before,), (after,) = (each.kernels for each in (shared, session))
    (one,) = after.plans
    assert one.verdict.verdict is SOUND
    assert (after.footprint().bytes_after or 0) > (before.footprint().bytes_after or 0)
    assert any("fails on it: ValueError: mismatched" in v.first_finding for _, v in one.rejected)


def test_a_branch_may_ask_for_what_is_in_merged_buffers() -> None:
    """TileLang 0.1.9's simplifier fails on that where pointers are bound around it."""

    @T.prim_func
    def asks(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=128):
            first = T.alloc_shared((128,), "float32")
            second = T.alloc_shared((128,), "float32")
            tx = T.get_thread_binding()
            T.copy(A[0:128], first)
            if first[127 - tx] < 1.0:
                B[tx] = first[tx]
            T.copy(A[128:256], second)
            if second[127 - tx] < 1.0:
                B[128 + tx] = second[tx]

    session = lowered(asks, objective="bytes")
    (plan,) = session.plans
    assert session.left == []
    assert plan.verdict.verdict is SOUND
    assert plan.plan.arena_bytes == 512
