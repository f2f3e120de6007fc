"""Shared fixtures: golden files, the dumps in the repository, and what hardware is there."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# In CI a failure must come back when the run is repeated, and a slow machine is no failure.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

# Output is as wide as it is when piped, whatever the terminal that the tests run in.
os.environ.pop("COLUMNS", None)

ROOT = Path(__file__).parent.parent
DUMPS = ROOT / "fixtures" / "dumps"
GOLDEN = Path(__file__).parent / "golden"

Golden = Callable[[str, object], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing_tilelang = importlib.util.find_spec("tilelang") is None
    for item in items:
        if item.get_closest_marker("tilelang") and missing_tilelang:
            item.add_marker(pytest.mark.skip(reason="TileLang is not installed"))
        if item.get_closest_marker("gpu") and not _has_gpu():
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def _has_gpu() -> bool:
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(name, data)` compares JSON-ready data with `tests/golden/name.json`."""

    def check(name: str, data: object) -> None:
        path = GOLDEN / f"{name}.json"
        text = json.dumps(data, indent=1) + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists():
            pytest.fail(f"{path.name} is missing; run pytest --update-golden and look at it")
        else:
            assert json.loads(text) == json.loads(path.read_text())

    return check


@pytest.fixture(params=sorted(DUMPS.glob("*.tir")), ids=lambda path: path.stem)
def dump_path(request: pytest.FixtureRequest) -> Path:
    """Every dump in the repository, one after the other."""
    path = request.param
    assert isinstance(path, Path)
    return path
