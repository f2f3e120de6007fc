"""The page of a run of many kernels: what was applied in whatever process, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.compilers.tilelang.programs import smemreuse, table
from tests.report.test_page import data_of, kernels_of

pytestmark = pytest.mark.tilelang

MANY = """\
import multiprocessing
from kernels import lower
if __name__ == "__main__":
    lower("batched_gemm")
    lower("two_kernels")
    child = multiprocessing.get_context("spawn").Process(
        target=lower, args=["gemm_three_groups", "sm_90a"]
    )
    child.start()
    child.join()
"""
BATCHED = "batched_gemm_kernel (shared.dyn)"
GROUPS = "gemm_three_groups_kernel (shared.dyn)"


def page_of(cwd: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The page's own data, with rows by their titles, and the kernels that have maps."""
    page = (cwd / "r.html").read_text()
    data = data_of(page)
    data["rows"] = {row["title"]: row for row in data["rows"]}
    return data, {kernel["title"]: kernel for kernel in kernels_of(page)}


def test_the_page_shows_the_plans_that_were_applied(program: Path) -> None:
    """Not those that would be planned anew, which take less here."""
    (program / "many.py").write_text(MANY)
    found = table("--report", "r.html", "--policy", "outer", "-m", "many", cwd=program)
    data, shown = page_of(program)
    took = {each["name"]: each for each in found["kernels"]}
    assert len(data["rows"]) == len(shown) == len(took) == 4
    assert data["notes"] == []
    for name, kernel in took.items():
        row, drawn = (each[f"{name} (shared.dyn)"] for each in (data["rows"], shown))
        assert [*drawn["policies"]] == ["TileLang's own", "applied"]
        assert row["before"] == drawn["policies"]["TileLang's own"]["arena_bytes"]
        applied = drawn["policies"]["applied"]
        assert row["after"] == applied["arena_bytes"]
        assert row["verdict"] == applied["verdict"] == kernel["ours"]["verdict"]
        assert row["after"] - row["before"] == kernel["bytes_after"] - kernel["bytes_before"]
        assert drawn["listing"]["kind"] == "dump"
        assert len(drawn["pairs"]) > 0
    assert shown[BATCHED]["policies"]["applied"]["arena_bytes"] == 65_536
    assert shown[GROUPS]["policies"]["TileLang's own"]["verdict"] == "unsound"


def test_the_most_telling_kernels_have_maps_and_all_have_rows(program: Path) -> None:
    (program / "many.py").write_text(MANY)
    done = smemreuse("run", "--report", "r.html", "--maps", "2", "-m", "many", cwd=program)
    data, shown = page_of(program)
    assert [*shown] == [GROUPS, BATCHED]  # TileLang's merge is wrong, and then bytes changed
    assert [row["map"] for row in data["rows"].values()].count(None) == 2
    assert data["rows"][GROUPS]["map"] == 0
    (note,) = data["notes"]
    assert note.startswith("memory maps of 2 of 4 kernels, those first whose merges are not")
    assert f"smemreuse: {note}\n" in done.stderr


def test_the_page_of_an_audit_shows_the_compiler_s_own_merges(program: Path) -> None:
    (program / "many.py").write_text(MANY)
    options = ("--report", "r.html", "--policy", "none", "--dump", "dumps")
    found = table(*options, "-m", "many", cwd=program)
    assert found["exit_code"] == 1
    data, shown = page_of(program)
    assert {tuple(each["policies"]) for each in shown.values()} == {("TileLang's own",)}
    assert shown[GROUPS]["policies"]["TileLang's own"]["verdict"] == "unsound"
    assert data["rows"][GROUPS]["compared_with"] == "side by side"
    files = {str(program / "dumps" / each["dump"]) for each in found["kernels"]}
    assert {each["file"] for each in shown.values()} == files


def test_children_of_a_script_are_on_its_page(program: Path) -> None:
    (program / "many.py").write_text(MANY)
    done = smemreuse("run", "--report", "r.html", "many.py", cwd=program)
    assert done.returncode == 0, done.stderr
    data, shown = page_of(program)
    assert [*shown] == [*data["rows"]]
    assert [*shown][-1] == f"child process: {GROUPS}"
    assert "outer" in shown[BATCHED]["policies"]
    assert [*shown[f"child process: {GROUPS}"]["policies"]] == ["TileLang's own", "applied"]


def test_a_kernel_that_cannot_be_drawn_costs_no_other_its_map(program: Path) -> None:
    (program / "many.py").write_text(
        "import smemreuse.explainer.carried as carried\nstock = carried.placed\n"
        "def placed(kernel, found):\n    if kernel.name == 'while_table_kernel':\n"
        "        raise ZeroDivisionError('ours')\n    return stock(kernel, found)\n"
        "carried.placed = placed\n"
        "from kernels import lower\nlower('batched_gemm')\nlower('while_table')"
    )
    done = smemreuse("run", "--report", "r.html", "-m", "many", cwd=program)
    data, shown = page_of(program)
    assert [*shown] == [BATCHED]
    assert len(data["rows"]) == 2
    (note,) = data["notes"]
    assert note.startswith("while_table_kernel has no map: ")
    assert note in done.stderr


def test_a_kernel_whose_page_fails_in_its_process_is_told_of(program: Path) -> None:
    (program / "many.py").write_text(
        "import tilelang\nimport smemreuse.compilers.tilelang.recording as recording\n"
        "def fail(*args): raise ZeroDivisionError('ours')\nrecording.carried = fail\n"
        "from kernels import lower\nlower('batched_gemm')\n"
    )
    found = table("--report", "r.html", "-m", "many", cwd=program)
    assert [each["name"] for each in found["kernels"]] == ["batched_gemm_kernel"]
    assert found["untold"] == [
        {"name": "batched_gemm_kernel", "why": "ZeroDivisionError: ours", "times": 1}
    ]
    assert not (program / "r.html").exists()


# What else is told of a kernel ------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["dataflow", "none"])
def test_hazards_of_the_kernels_are_looked_for_if_that_is_asked(policy: str, program: Path) -> None:
    (program / "many.py").write_text("from kernels import lower\nlower('guarded_cp_async')")
    found = table("--policy", policy, "--lint", "-m", "many", cwd=program)
    (kernel,) = found["kernels"]
    assert kernel["lint"]["barriers"] == "present"
    (program / "out.json").unlink()
    (kernel,) = table("--policy", policy, "-m", "many", cwd=program)["kernels"]
    assert kernel["lint"] is None


def test_kernels_in_sessions_of_the_program_s_own_are_told_too(program: Path) -> None:
    (program / "many.py").write_text(
        "from kernels import lower\nimport smemreuse.tilelang\n"
        "with smemreuse.tilelang.merge(objective='bytes') as session:\n"
        "    lower('batched_gemm')\n"
        "assert [one.footprint().bytes_after for one in session.kernels] == [32_768]\n"
        "lower('while_table')"
    )
    kernels = table("-m", "many", cwd=program)["kernels"]
    assert [(each["name"], each["lowered"]) for each in kernels] == [
        ("batched_gemm_kernel", 1),
        ("while_table_kernel", 1),
    ]
    assert (kernels[0]["bytes_after"], kernels[0]["ours"]["verdict"]) == (32_768, "sound")


@pytest.mark.parametrize("here", [True, False])
def test_a_run_inside_has_its_own_table_and_the_outer_one_goes_on(
    here: bool, program: Path
) -> None:
    (program / "inner.py").write_text("from kernels import lower\nlower('batched_gemm')")
    starts = (
        "from smemreuse.cli import main\n"
        "main(['run', '--json', 'inner.json', '-m', 'inner'], standalone_mode=False)"
        if here
        else "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'smemreuse', 'run', '--json', 'inner.json',"
        " '-m', 'inner'], check=True)"
    )
    (program / "many.py").write_text(
        "from kernels import lower\nlower('gemm')\ntry:\n    "
        + starts.replace("\n", "\n    ")
        + "\nexcept SystemExit as end:\n    assert not end.code\nlower('while_table')"
    )
    found = table("-m", "many", cwd=program)
    assert [each["name"] for each in found["kernels"]] == ["gemm_kernel", "while_table_kernel"]
    assert [each["why"] for each in found["blind"]] == ["they are in its own table"]
    assert "batched_gemm_kernel" in (program / "inner.json").read_text()
