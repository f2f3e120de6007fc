"""`smemreuse run` on scripts that know nothing of smemreuse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.compilers.tilelang.programs import smemreuse
from tests.conftest import ROOT
from tests.pages import first_missing
from tests.report.test_page import kernels_of, rows_of
from tests.schemas import require_valid

pytestmark = pytest.mark.tilelang

EXAMPLE = ROOT / "fixtures" / "scripts" / "batched_gemm.py"
LOWERS = f"""\
import sys
sys.path.insert(0, {str(ROOT)!r})
import tilelang
from fixtures.kernels import FIXTURES

def lower(name, **options):
    fixture = FIXTURES[name]
    target = tilelang.tvm.target.Target({{"kind": "cuda", "arch": "sm_80"}})
    with target:
        tilelang.lower(fixture.make(**fixture.configs["small"]), target=target, **options)

"""


def script(folder: Path, *lines: str) -> Path:
    path = folder / "script.py"
    path.write_text(LOWERS + "\n".join(lines) + "\n")
    return path


def document(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    require_valid(found)
    return found


def test_the_example_fits_with_the_merge(tmp_path: Path) -> None:
    """It asks for more than there is; the tutorial shows what is told of it."""
    alone = {"TILELANG_CACHE_DIR": str(tmp_path), "PYTEST_CURRENT_TEST": ""}
    done = smemreuse("run", EXAMPLE, "--size", "1024", cwd=ROOT, **alone)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "tutorial" / "tilelang.md").read_text()
    (told,) = (block for block in re.findall(r"```text\n(.*?)```", page, re.S) if "Bs+Cs" in block)
    assert first_missing(told, done.stdout) is None


def test_json_tells_every_kernel_and_leaves_stdout_to_the_script(tmp_path: Path) -> None:
    path = script(
        tmp_path, "print(*sys.argv[1:])", "lower('batched_gemm')", "lower('gemm')", "sys.exit(3)"
    )
    done = smemreuse(
        *("run", "--objective", "bytes", "--json", "out.json", path, "--size", "4"), cwd=tmp_path
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout == "--size 4\n"
    found = document(tmp_path / "out.json")
    assert found["schema"] == "smemreuse.run/1"
    assert (found["script"], found["args"]) == (str(path), ["--size", "4"])
    assert found["exit_code"] == 3
    batched, gemm = found["kernels"]
    assert (batched["name"], gemm["name"]) == ("batched_gemm_kernel", "gemm_kernel")
    assert (batched["bytes_before"], batched["bytes_after"]) == (65_536, 32_768)
    assert (batched["blocks_before"], batched["blocks_after"], batched["fits"]) == (2, 4, True)
    (plan,) = batched["plans"]
    assert (plan["verdict"], plan["objective"], plan["scope"]) == ("sound", "bytes", "shared.dyn")
    assert {tuple(pair["buffers"]) for pair in plan["shared"]} == {("As", "Cs"), ("Bs", "Cs")}
    assert gemm["bytes_after"] <= gemm["bytes_before"]


def test_of_compiled_kernels_registers_count_too(tmp_path: Path) -> None:
    """Those of each compilation, though the kernels have one name."""
    compiles = "lower('batched_gemm', enable_device_compile=True)"
    path = script(tmp_path, compiles, "lower('batched_gemm')", compiles)
    done = smemreuse("run", "--json", "out.json", path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, lowered, again = document(tmp_path / "out.json")["kernels"]
    assert lowered["registers"] is None
    assert 128 < first["registers"] == again["registers"] < 256
    assert lowered["expected_registers"] == first["expected_registers"] == 192
    assert lowered["resident_after"] == 65_536 // (192 * 128) == 2
    compiled = 65_536 // (-(-first["registers"] // 8) * 8 * 128)
    assert first["blocks_after"] == first["resident_after"] == compiled == 2


def test_without_kernels_there_is_json_and_no_empty_report(tmp_path: Path) -> None:
    """JSON on standard output comes behind the script's own lines."""
    path = script(tmp_path, "print('mine')", "sys.stdout = None")
    done = smemreuse("run", "--json", "-", "--report", "r.html", path, cwd=tmp_path)
    mine, _, rest = done.stdout.partition("\n")
    assert mine == "mine"
    assert json.loads(rest)["kernels"] == []
    assert "no kernel was compiled" in done.stderr
    assert "no report was written" in done.stderr
    assert not (tmp_path / "r.html").exists()


def test_what_a_failing_script_had_compiled_is_told(tmp_path: Path) -> None:
    path = script(tmp_path, "lower('batched_gemm')", "raise ValueError('later')")
    done = smemreuse("run", path, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: later"
    assert "smemreuse/" not in done.stderr
    assert "batched_gemm_kernel" in done.stdout


def test_what_tilelang_itself_fails_on_is_told_as_its_own(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        "from unittest.mock import patch",
        "engine = sys.modules['tilelang.engine.lower']",
        "with patch.object(engine, 'PreLowerSemanticCheck', side_effect=ValueError('not mine')):",
        "    try:",
        "        lower('gemm')",
        "    except ValueError:",
        "        pass",
        "    if len(sys.argv) > 1:",
        "        lower('batched_gemm')",
    )
    caught = smemreuse("run", path, cwd=tmp_path)
    assert (caught.returncode, "fails on it" in caught.stderr) == (0, False), caught.stderr
    done = smemreuse("run", path, "both", cwd=tmp_path)
    assert done.returncode == 1
    told = done.stderr.splitlines()[-1]
    assert re.fullmatch(
        r"smemreuse: gemm was not compiled: TileLang [\d.]+ itself fails on it, before "
        "its merge: ValueError: not mine",
        told,
    ), done.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("options", [(), ("--policy", "none")])
def test_who_has_no_gpu_is_told_how_to_do_without(options: tuple[str, ...], tmp_path: Path) -> None:
    path = script(tmp_path, "import torch", "lower('gemm')", "torch.zeros(4, device='cuda')")
    done = smemreuse("run", *options, path, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("smemreuse: PyTorch sees no GPU here")
    assert "`--lower-only`" in done.stderr


def test_a_script_that_fails_first_is_told_nothing_of_kernels(tmp_path: Path) -> None:
    done = smemreuse("run", script(tmp_path, "raise ValueError('first')"), cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "ValueError: first"


def test_kernels_of_child_processes_are_told_of_too(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        "import subprocess",
        "if len(sys.argv) == 1:",
        "    subprocess.run([sys.executable, __file__, 'child'], check=True)",
        "else:",
        "    lower('gemm')",
    )
    done = smemreuse("run", path, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, _, rest = done.stdout.partition("\n")
    assert first == "In child processes:"
    assert "| gemm_kernel |       1 |" in rest


def test_kernels_of_one_name_are_numbered_for_people(tmp_path: Path) -> None:
    path = script(tmp_path, "lower('gemm')", "lower('gemm')")
    done = smemreuse("run", "--report", "r.html", path, cwd=tmp_path)
    cells = [line.split("|")[1].strip() for line in done.stdout.splitlines() if "| gemm" in line]
    assert [cell for cell in cells if cell] == ["gemm_kernel #1", "gemm_kernel #2"]
    assert '"title": "gemm_kernel #2 (shared.dyn)"' in (tmp_path / "r.html").read_text("utf-8")


def test_without_a_reader_the_exit_code_is_the_script_s(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    path = script(tmp_path, "lower('gemm')", "sys.exit(3)")
    done = subprocess.run(
        [sys.executable, "-m", "smemreuse", "run", path],
        check=False,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(writer)
    assert (done.returncode, "Broken pipe" in done.stderr) == (3, False)


def test_the_policy_and_objective_are_those_asked_for(tmp_path: Path) -> None:
    path = script(tmp_path, "lower('batched_gemm')")
    options = ("--policy", "outer", "--objective", "bytes", "--json", "out.json")
    done = smemreuse("run", *options, path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (kernel,) = document(tmp_path / "out.json")["kernels"]
    (plan,) = kernel["plans"]
    assert (plan["policy"], plan["objective"]) == ("outer", "bytes")
    assert kernel["bytes_after"] == 65_536


def test_report_has_the_plan_that_was_applied(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path = script(tmp_path, "lower('batched_gemm')", "import os; os.chdir('elsewhere')")
    done = smemreuse("run", "--objective", "bytes", "--report", "r.html", path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "batched_gemm_kernel" in done.stdout
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"wrote {tmp_path / 'r.html'} (" in done.stderr
    (row,), (view,) = rows_of(page), kernels_of(page)
    assert (row["compared_with"], row["before"], row["after"]) == ("TileLang's own", 65_536, 32_768)
    assert view["listing"]["kind"] == "steps", "there is no dump"
    arenas = {name: plan["arena_bytes"] for name, plan in view["policies"].items()}
    assert arenas == {
        "TileLang's own": 65_536,
        **{"outer": 65_536, "inner": 32_768, "dataflow": 32_768},
        "applied": 32_768,
    }
    assert {name for name, plan in view["policies"].items() if plan["verdict"] != "sound"} == set()


def test_two_outputs_need_two_files(tmp_path: Path) -> None:
    path = script(tmp_path)
    for options in (("--json", "out", "--report", "out"), ("--report", "-")):
        done = smemreuse("run", *options, path, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "the report needs a file of its own" in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_kernel_from_the_cache_is_told_like_any_other(tmp_path: Path) -> None:
    """Once, however often it is loaded, but for its registers. The script has no name in any
    encoding."""
    path = tmp_path / os.fsdecode(b"caf\xe9.py")
    twice = "import runpy\nfor _ in range(2):\n    runpy.run_path({!r}, run_name='__main__')\n"
    path.write_text(twice.format(str(EXAMPLE)))

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        files = ("--force", "--json", "out.json", "--report", "r.html")
        cache = {"TILELANG_CACHE_DIR": str(tmp_path / "cache")}
        done = smemreuse("run", *files, *options, path, cwd=tmp_path, **cache)
        assert done.returncode == 0, done.stderr
        return done

    run()
    found = document(tmp_path / "out.json")
    assert "main_kernel" in (tmp_path / "r.html").read_text(encoding="utf-8")
    again = run()
    told = (
        "smemreuse: lowered once more for this summary, since they came from TileLang's cache: main"
    )
    assert again.stderr.splitlines()[-1] == told
    (kernel,) = found["kernels"]
    assert 32 < kernel["registers"] < 256
    found["kernels"] = [{**kernel, "registers": None}]
    assert document(tmp_path / "out.json") == {**found, "reloaded": ["main"]}
    assert "main_kernel" in (tmp_path / "r.html").read_text(encoding="utf-8")
