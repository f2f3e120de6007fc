"""What a page of many kernels has on it where not all of them can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.commands import suite_page
from smemreuse.commands.suite_page import PageRequest, drawing_of
from smemreuse.commands.taking_part import Run
from smemreuse.compilers.records import Settings
from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import BackendError
from smemreuse.explainer.carried import carried
from smemreuse.explainer.plans import judged_plan
from smemreuse.results.carried import ScopePlans
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.suite import Judgement, Suite, SuiteKernel
from smemreuse.results.verdict import SOUND, UNPROVED
from tests.conftest import DUMPS

NAMES = ("batched_gemm", "divergent_arms", "while_table")


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """Three kernels with what their merges received, and two of which less is known."""
    kernels = []
    for place, name in enumerate(NAMES):
        source = DUMPS / f"{name}.sm_80.tir"
        (tmp_path / f"{name}.tir").write_text(source.read_text())
        (kernel,) = read_dump(source).kernels
        plan = carried(kernel, *judged_plan(kernel, "shared.dyn"))
        took = KernelFootprint(name, "sm_80", 128, None, 1024 << place, 1024, 0, 1, 1, 1, True)
        judged = Judgement(UNPROVED if name == "batched_gemm" else SOUND)
        scopes = (ScopePlans({"applied": plan}),)
        kernels.append(SuiteKernel(took, judged, judged, key=f"{name}/0", scopes=scopes))
    killed = KernelFootprint("killed", "sm_80", 128, None, 4096, 4096, 0, 1, 1, 1, True)
    bare = KernelFootprint("bare", "sm_80", 128, None, 0, 0, 0, 1, 1, 1, True)
    return Suite([*kernels, SuiteKernel(killed, key="k/0"), SuiteKernel(bare, key="b/0")])


def drawn(suite: Suite, folder: Path, maps: int = 9) -> suite_page.Drawing:
    return drawing_of(
        Run(Settings(str(folder))), suite, "pytest", PageRequest("r.html", maps, False)
    )


LEFT_OUT = [
    "left out: 1 kernel whose process was ended, or failed, before it reported their plans",
    "left out: 1 kernel without shared memory",
]


def test_what_is_doubted_comes_first_and_then_what_changed_most(
    suite: Suite, tmp_path: Path
) -> None:
    found = drawn(suite, tmp_path)
    assert [*found.maps] == [
        *("batched_gemm (shared.dyn)", "while_table (shared.dyn)", "divergent_arms (shared.dyn)")
    ]
    assert [row["title"] for row in found.rows] == [f"{name} (shared.dyn)" for name in NAMES]
    assert found.notes == LEFT_OUT
    fewer = drawn(suite, tmp_path, maps=2)
    assert [*fewer.maps] == [*found.maps][:2]
    assert fewer.rows == found.rows
    assert fewer.notes[0].startswith("memory maps of 2 of 3 kernels, ")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BackendError("a process ended")])
def test_what_ends_the_drawing_costs_what_is_not_drawn(
    error: BaseException, suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = suite_page._drawn

    def stops(task: suite_page._Task) -> object:
        if task.name == "while_table":
            raise error
        return stock(task)

    monkeypatch.setattr(suite_page, "_drawn", stops)
    found = drawn(suite, tmp_path)
    assert [*found.maps] == ["batched_gemm (shared.dyn)"]
    assert len(found.rows) == 3
    assert found.notes[-1].startswith("not all maps were drawn: ")


def test_a_dump_that_is_gone_is_told(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "while_table.tir").unlink()
    found = drawn(suite, tmp_path)
    assert len(found.maps) == 2
    assert found.notes[-1].startswith("while_table has no map: ")
