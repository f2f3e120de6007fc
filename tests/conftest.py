"""Shared fixtures: golden files, the dumps in the repository, and what this machine has."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from hypothesis import settings

# A failure must come back when the run is repeated, and a slow machine is no failure.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

# Output is as wide as it is when piped, whatever the terminal that the tests run in.
os.environ.pop("COLUMNS", None)

ROOT = Path(__file__).parent.parent
DUMPS = ROOT / "fixtures" / "dumps"
GOLDEN = Path(__file__).parent / "golden"

ONE_OF_EACH = (
    "batched_gemm.sm_80",  # asynchronous copies, and reuse across a loop
    "flash_attention.sm_90a",  # warp-specialized: TMA, mbarriers, wgmma
    "divergent_arms.sm_80",  # more than its live ranges keeps buffers apart
    "data_dependent_refill.sm_80",  # a policy that is neither proved nor refuted
    "while_table.sm_80",
    "mixed_dtypes.sm_80",
    "mmha_decode.sm_80",  # sizes that are no power of two, and a kernel without shared memory
    "two_kernels.sm_80",
)
"""A dump of each kind, for what is drawn or printed alike for all."""

Golden = Callable[[str, object], None]

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
needs_chromium = pytest.mark.skipif(
    not all(map(shutil.which, ("chromium", "chromedriver"))),
    reason="Chromium or its driver is not installed",
)


@pytest.fixture(autouse=True)
def _own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that a test runs stays `__main__`, and spawned processes would run it again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


# Which tests there are ------------------------------------------------------------------------


def _has_tilelang() -> bool:
    return importlib.util.find_spec("tilelang") is not None


def _has_tvm() -> bool:
    """TileLang has a package called `tvm` too, so the distribution counts."""
    try:
        distribution("apache-tvm")
    except PackageNotFoundError:
        return False
    return True


NEEDING = {
    "tilelang": (
        _has_tilelang,
        (
            *("compilers/tilelang", "gpu", "versions/*/test_*tilelang.py"),
            *("semantics/test_*_tilelang.py", "scripts/test_benchmarks.py"),
            *("scripts/test_spaces.py", "scripts/test_tune.py", "scripts/test_random_levers.py"),
            *("random_levers/test_*.py", "soundness/test_*_tilelang.py"),
        ),
    ),
    "tvm": (_has_tvm, ("compilers/tvm", "versions/merges/test_tvm*.py", "semantics/test_*_tvm.py")),
}
"""The tests with a compiler's marker, which import it."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Imports no compiler that is missing, or whose tests are not asked for."""
    asked = config.getoption("markexpr")
    for marker, (is_there, patterns) in NEEDING.items():
        if any(collection_path.match(f"tests/{pattern}") for pattern in patterns):
            return not is_there() or f"not {marker}" in asked or None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and not _has_gpu():
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_collection_finish() -> None:
    """What is there by now stays to the end: the garbage collector need not look at it again and
    again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


# Options and fixtures -------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Gives TileLang a cache that no other run fills, and that is gone after this one. Verbs keep
    no results, but for tests that name a folder for them."""
    os.environ["SMEMREUSE_CACHE_DIR"] = ""
    folder = tempfile.TemporaryDirectory(prefix="smemreuse-tests-")
    os.environ["TILELANG_CACHE_DIR"] = folder.name
    config.add_cleanup(folder.cleanup)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


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


@pytest.fixture(params=ONE_OF_EACH)
def sample_path(request: pytest.FixtureRequest) -> Path:
    """A dump of each kind, one after the other."""
    return DUMPS / f"{request.param}.tir"
