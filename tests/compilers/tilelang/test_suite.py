"""Many kernels in many processes: every one is put through the pass, or judged, and told once."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest
import tilelang
from tilelang.jit.kernel import JITKernel

from fixtures.kernels import FIXTURES
from smemreuse.compilers.records import Settings, read_suite
from smemreuse.compilers.text.reader import read_dump
from smemreuse.compilers.tilelang.worker import recorded
from smemreuse.errors import LoweredOnlyError
from smemreuse.results.hazards import HazardKind
from smemreuse.results.suite import Suite
from smemreuse.results.verdict import SOUND, UNSOUND
from tests.compilers.tilelang.conftest import Case
from tests.compilers.tilelang.programs import smemreuse, table
from tests.conftest import ROOT

pytestmark = pytest.mark.tilelang

SUITE = ROOT / "fixtures" / "suite"


def lowered_under(folder: Path, case: Case, **settings: Any) -> tuple[str, Suite]:
    """The CUDA source of a fixture, and what a session has noted of it."""
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": case.arch})
    config = dict(case.pass_configs or {})
    context = tilelang.tvm.transform.PassContext(opt_level=3, config=config)
    with recorded(Settings(str(folder), **settings)), context, target:
        artifact = tilelang.lower(case.func, target=target)
    return artifact.kernel_source, read_suite(folder)


# What is done to a kernel -----------------------------------------------------------------------


def test_an_audit_changes_nothing(case: Case, tmp_path: Path) -> None:
    """The CUDA is TileLang's own to the last byte, and its merge is judged."""
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": case.arch})
    config = dict(case.pass_configs or {})
    with tilelang.tvm.transform.PassContext(opt_level=3, config=config), target:
        own = tilelang.lower(case.func, target=target).kernel_source
    source, suite = lowered_under(tmp_path, case, policy="none")
    assert source == own
    assert not suite.left
    assert suite.kernels
    for kernel in suite.kernels:
        assert kernel.ours is None
        assert kernel.footprint.bytes_before == kernel.footprint.bytes_after


def test_a_merge_that_is_wrong_is_refuted_in_an_audit_and_mended_in_a_run(tmp_path: Path) -> None:
    case = Case("gemm_three_groups", "small", "sm_90a")
    for policy in ("none", "dataflow"):
        folder = tmp_path / policy
        folder.mkdir()
        _, suite = lowered_under(folder, case, policy=policy)
        (kernel,) = suite.kernels
        assert kernel.compiler is not None
        assert kernel.compiler.verdict is UNSOUND
        assert kernel.compiler.finding
    assert kernel.ours is not None
    assert kernel.ours.verdict is SOUND


def test_what_the_merge_receives_is_dumped_once(tmp_path: Path, program: Path) -> None:
    (program / "all.py").write_text(
        "from kernels import lower\n"
        "for _ in range(2): lower('gemm')\nlower('gemm', 'sm_90a')\nlower('two_kernels')"
    )
    found = table("--dump", tmp_path / "new" / "dumps", "-m", "all", cwd=program)
    files = sorted(tmp_path.glob("new/dumps/*"))
    assert {file.stem for file in files} == {
        *("gemm_kernel", "gemm_kernel-2", "two_kernels_kernel", "two_kernels_kernel_1")
    }
    assert {each["dump"] for each in found["kernels"]} == {file.name for file in files}
    assert sorted(each["lowered"] for each in found["kernels"]) == [1, 1, 1, 2]
    for file in files:
        (kernel,) = read_dump(file).kernels
        assert kernel.name in file.stem
    compared = smemreuse("compare", "--format", "json", *files, cwd=tmp_path)
    assert compared.returncode == 0, compared.stderr


def test_a_fault_of_ours_leaves_the_kernel_as_it_is_and_warns_nobody(program: Path) -> None:
    """Warnings are errors in many a suite."""
    (program / "faulty.py").write_text(
        "import warnings; warnings.simplefilter('error', RuntimeWarning)\n"
        "import tilelang\nfrom smemreuse.compilers.tilelang.verify import PendingMerge\n"
        "def fail(*args, **kwargs): raise ZeroDivisionError('ours')\n"
        "PendingMerge.merged = fail\nfrom kernels import lower\nlower('batched_gemm')"
    )
    found = table("-m", "faulty", cwd=program)
    assert found["exit_code"] == 0
    assert found["left"] == [
        {"name": "batched_gemm_kernel", "why": "ZeroDivisionError: ours", "times": 1}
    ]


def test_a_judgement_that_fails_changes_no_kernel(program: Path) -> None:
    (program / "faulty.py").write_text(
        "import tilelang\nfrom smemreuse.pipeline.lowered import LoweredKernel\n"
        "def fail(*args, **kwargs): raise ZeroDivisionError('ours')\n"
        "LoweredKernel.stock_verdict = fail\nfrom kernels import lower\nlower('batched_gemm')"
    )
    (kernel,) = table("--objective", "bytes", "-m", "faulty", cwd=program)["kernels"]
    assert (kernel["bytes_before"], kernel["bytes_after"]) == (65_536, 32_768)
    assert (kernel["compiler"], kernel["ours"]["verdict"]) == (None, "sound")


# Wherever it is compiled ------------------------------------------------------------------------


def test_children_of_every_kind_take_part(program: Path) -> None:
    """One is killed behind its kernel. What they lower alike is one kernel."""
    (program / "children.py").write_text(
        textwrap.dedent("""\
        import multiprocessing, os, signal, subprocess, sys
        from concurrent.futures import ThreadPoolExecutor
        from kernels import lower

        def lower_and_die(name):
            lower(name)
            os.kill(os.getpid(), signal.SIGKILL)

        if __name__ == "__main__":
            import tilelang
            for kind in ("fork", "spawn", "forkserver"):
                child = multiprocessing.get_context(kind).Process(target=lower, args=["gemm"])
                child.start()
                child.join()
                assert child.exitcode == 0
            child = multiprocessing.get_context("spawn").Process(
                target=lower_and_die, args=["divergent_arms"]
            )
            child.start()
            child.join()
            os.environ["PYTHONPATH"] += os.pathsep + os.getcwd()
            lowers = "import kernels; kernels.lower('while_table')"
            subprocess.run(f'cd / && {sys.executable} -c "{lowers}"', shell=True, check=True)
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lower, ["batched_gemm", "batched_gemm"]))
        """)
    )
    found = table("-m", "children", cwd=program)
    assert found["exit_code"] == 0
    told = {each["name"]: (each["lowered"], each["processes"]) for each in found["kernels"]}
    assert told == {
        "gemm_kernel": (3, 3),
        "divergent_arms_kernel": (1, 1),
        "while_table_kernel": (1, 1),
        "batched_gemm_kernel": (2, 1),
    }
    assert {each["ours"]["verdict"] for each in found["kernels"]} == {"sound"}


def test_children_of_a_script_are_told_in_a_table_of_their_own(program: Path) -> None:
    (program / "script.py").write_text(
        "import multiprocessing\nfrom kernels import lower\n"
        "if __name__ == '__main__':\n"
        "    lower('gemm')\n"
        "    for kind in ('fork', 'spawn'):\n"
        "        child = multiprocessing.get_context(kind).Process(\n"
        "            target=lower, args=['batched_gemm'])\n"
        "        child.start()\n"
        "        child.join()\n"
    )
    found = table("script.py", cwd=program)
    assert [each["name"] for each in found["kernels"]] == ["gemm_kernel"]
    (kernel,) = found["children"]["kernels"]
    assert (kernel["name"], kernel["lowered"]) == ("batched_gemm_kernel", 2)


def test_the_suite_of_the_fixtures_in_two_workers(tmp_path: Path) -> None:
    """All of it without a GPU: each test is skipped where it needs one."""
    shutil.copytree(SUITE, tmp_path / "suite")
    options = ("--lower-only", "--policy", "none", "--arch", "sm_90a", "--dump", "../dumps")
    pytest_args = ("-q", "-n", "2", "-p", "no:cacheprovider", "-k", "transpose or softmax or gated")
    found = table(*options, "-m", "pytest", *pytest_args, cwd=tmp_path / "suite")
    assert found["exit_code"] == 0
    names = sorted(each["name"] for each in found["kernels"])
    assert names == [
        *["gated_kernel"] * 2,
        *["softmax_rows_kernel"] * 4,  # two tuned tests of two configurations
        *["transposed_kernel"] * 2,
    ]
    assert found["totals"]["processes"] == 2
    assert found["totals"]["stopped"] >= 2
    assert len(list((tmp_path / "dumps").iterdir())) == len(names)
    made = [one for each in found["kernels"] for one in each["elaborations"]]
    tuned = [one for one in made if one["function"] == "softmax"]
    assert {(one["test"], one["config"]["rows"], one["config"]["block"]) for one in tuned} == {
        (f"tests/test_rows.py::test_softmax[shape{number}]", rows, block)
        for number, rows in enumerate((256, 512))
        for block in (8, 16)
    }
    assert {Path(one["source"]["file"]) for one in tuned} == {Path("tiles", "rows.py")}


def test_the_exit_code_is_the_program_s_and_a_table_follows(program: Path) -> None:
    (program / "test_it.py").write_text(
        "from kernels import lower\ndef test_it():\n    lower('gemm')\n    assert False"
    )
    done = smemreuse("run", "-m", "pytest", "-q", "test_it.py", cwd=program)
    assert done.returncode == 1
    assert "1 failed" in done.stdout.split("gemm_kernel")[0]
    assert "1 kernel, 1 lowering in 1 process" in done.stdout


def test_of_an_audit_a_wrong_merge_is_a_finding(program: Path) -> None:
    (program / "wrong.py").write_text(
        "import kernels\nkernels.lower('gemm_three_groups', 'sm_90a')"
    )
    done = smemreuse("run", "--policy", "none", "-m", "wrong", cwd=program)
    assert done.returncode == 1
    assert "gemm_three_groups_kernel: TileLang's own merge is unsound: rule" in done.stdout
    assert smemreuse("run", "-m", "wrong", cwd=program).returncode == 0


def test_an_audit_of_nothing_is_no_success(program: Path) -> None:
    (program / "nothing.py").write_text("pass")
    done = smemreuse("run", "--policy", "none", "-m", "nothing", cwd=program)
    assert (done.returncode, done.stdout) == (1, "next: nothing to do: no kernel was compiled\n")
    assert "no kernel was lowered for CUDA" in done.stderr
    assert smemreuse("run", "-m", "nothing", cwd=program).returncode == 0


# What fails, and what comes from a cache --------------------------------------------------------

COMPILES = """\
import kernels, tilelang, sys
from fixtures.kernels import FIXTURES
fixture = FIXTURES["gemm"]
func = fixture.make(**fixture.configs["small"])
target = {"kind": "cuda", "arch": "sm_80"}
"""


def test_what_is_not_compiled_is_told_by_the_line_that_says_why(program: Path) -> None:
    (program / "fails.py").write_text(
        COMPILES + "try:\n    tilelang.compile(func, target=target, compile_flags=['--no-such'])\n"
        "except Exception: pass"
    )
    found = table("-m", "fails", cwd=program)
    (failed,) = found["failed"]
    assert failed["name"] == "gemm"
    assert "no-such" in failed["why"]
    assert "\n" not in failed["why"]
    assert [each["name"] for each in found["kernels"]] == ["gemm_kernel"]


def test_a_cache_of_one_s_own_is_kept_and_what_comes_out_of_it_is_told(program: Path) -> None:
    (program / "compiles.py").write_text(COMPILES + "tilelang.compile(func, target=target)")
    cache = {"TILELANG_CACHE_DIR": str(program / "cache")}
    first = table("-m", "compiles", cwd=program, **cache)
    (program / "out.json").unlink()
    again = table("-m", "compiles", cwd=program, **cache)
    assert [each["name"] for each in first["kernels"]] == ["gemm_kernel"]
    assert first["kernels"][0]["registers"] is not None
    assert (first["reloaded"], again["reloaded"], again["kernels"]) == ([], ["gemm"], [])


def test_a_kernel_that_a_test_makes_without_its_function_is_compiled_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TileLang's own tests of its parts do so."""
    kernel, adapter = object.__new__(JITKernel), object()
    kernel.pass_configs, kernel.compile_flags, kernel.verbose = {}, None, False
    kernel.target, kernel.target_host = tilelang.tvm.target.Target("c"), None
    kernel.execution_backend = "cython"
    monkeypatch.setattr(JITKernel, "_compile_artifact", lambda *_: object())
    monkeypatch.setattr(JITKernel, "_create_adapter_from_artifact", lambda *_: adapter)
    config = FIXTURES["gemm"].configs["small"]
    with recorded(Settings(str(tmp_path))):
        assert kernel._compile_and_create_adapter(FIXTURES["gemm"].make(**config), []) is adapter


# Only lowered -----------------------------------------------------------------------------------


def test_a_kernel_that_is_only_lowered_tells_its_source_and_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fixtures.kernels import FIXTURES

    monkeypatch.setenv("TILELANG_DISABLE_CACHE", "1")
    fixture = FIXTURES["gemm"]
    with recorded(Settings(str(tmp_path), lower_only=True, arch="sm_80")):
        kernel = tilelang.compile(fixture.make(**fixture.configs["small"]), out_idx=[2])
        profiler = kernel.get_profiler()
    assert "__global__" in kernel.get_kernel_source()
    assert kernel.out_idx == [2]
    assert len(kernel.params) == 3
    for use in (kernel, profiler.do_bench, profiler.assert_allclose):
        with pytest.raises(LoweredOnlyError, match="gemm is only lowered"):
            use()
    suite = read_suite(tmp_path)
    assert (len(suite.kernels), suite.stopped) == (1, 3)
    assert suite.kernels[0].footprint.arch == "sm_80"


def test_lowering_needs_no_nvcc(program: Path) -> None:
    (program / "compiles.py").write_text(
        COMPILES + "kernel = tilelang.compile(func, target='cuda')\nprint('lowered')\nkernel()"
    )
    nothing = program / "nothing"
    nothing.mkdir()
    options = ("--lower-only", "--arch", "sm_80")
    done = smemreuse("run", *options, "compiles.py", cwd=program, PATH=str(nothing), CUDA_HOME="")
    assert done.returncode == 0, done.stderr
    assert "\nlowered\n" in done.stdout
    assert "lowered only: 1 call of kernels was not run" in done.stdout
    assert "compiles.py:8: gemm is only lowered" in done.stderr


# Hazards of the kernels themselves --------------------------------------------------------------


@pytest.mark.parametrize("policy", ["dataflow", "none"])
def test_hazards_are_told_and_what_mends_them(policy: str, tmp_path: Path) -> None:
    """Without TMA the copies need a fence before wgmma reads them, which TileLang leaves out."""
    case = Case("batched_gemm", "small", "sm_90a-plain")
    _, suite = lowered_under(tmp_path, case, policy=policy, linted=True)
    (kernel,) = suite.kernels
    assert kernel.lint is not None
    assert {one.kind for one in kernel.lint.hazards} == {HazardKind.MISSING_FENCE}
    assert (kernel.mends, kernel.unmended) == ((), ())


def test_what_was_put_in_is_told(tmp_path: Path) -> None:
    case = Case("batched_gemm", "small", "sm_90a-plain")
    source, suite = lowered_under(tmp_path, case, mend=True, linted=True)
    (kernel,) = suite.kernels
    assert kernel.lint is not None
    assert kernel.lint.clean
    assert "fence_proxy_async" in kernel.mends[0]
    assert kernel.unmended == ()
    assert "fence_proxy_async" in source
