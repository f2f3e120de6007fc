"""The notebook among the fixtures, executed as Jupyter does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.xdist_group("notebook")

NOTEBOOK = ROOT / "fixtures" / "notebooks" / "kernel.ipynb"


@pytest.fixture(scope="module")
def outputs() -> dict[str, dict[str, str]]:
    """What each cell shows, by the cell's name: text and HTML by their types."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is stored without output"
    there: dict[str, Any] = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=there).execute()
    found = ((cell.id, cell.outputs) for cell in notebook.cells if cell.cell_type == "code")
    return {name: dict(shown[-1]["data"]) for name, shown in found}


def test_what_is_short_is_text(outputs: dict[str, dict[str, str]]) -> None:
    assert outputs["read"] == {"text/plain": "Verdict(sound)"}
    assert outputs["offsets"] == {"text/plain": "(32768, {'As': 0, 'Bs': 16384, 'Cs': 0})"}
    assert outputs["pair"] == {"text/plain": "Explanation(As and Cs may share)"}


def test_a_plan_is_its_map(outputs: dict[str, dict[str, str]]) -> None:
    for cell, told in (("map", "dataflow: 32,768"), ("outer", "outer: 65,536")):
        assert told in outputs[cell]["text/html"]
        assert 'data-buffer="Cs"' in outputs[cell]["text/html"]
        assert outputs[cell]["text/plain"].startswith("Plan(shared.dyn: ")


def test_an_explanation_has_its_lines(outputs: dict[str, dict[str, str]]) -> None:
    (first, second, *_) = outputs["all"]["text/plain"].splitlines()
    assert first == "batched_gemm_kernel (shared.dyn), smallest arena: 32,768 bytes"
    assert second.startswith("peak: all 32,768 bytes are live at `")
