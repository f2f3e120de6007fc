"""What the base install does; a missing extra is one line that names it, and exit code 2."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.running import assert_one_line_error
from tests.conftest import DUMPS, ROOT

BATCHED = str(DUMPS / "batched_gemm.sm_80.tir")
HIDDEN = (
    *("plotly", "graphviz", "ortools", "tilelang", "tvm", "torch", "elftools", "pandas"),
    *("dask", "distributed"),
)
"""Packages that only extras bring."""

ALONE = f"""\
import sys
for package in {HIDDEN}:
    sys.modules[package] = None  # as if it were not installed
from smemreuse.cli import main
main(sys.argv[1:], prog_name="smemreuse")
"""


def run_alone(*args: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command line as the base install has it."""
    return subprocess.run(
        [sys.executable, "-c", ALONE, *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )


@pytest.mark.parametrize(
    "args",
    [
        ("advise", "--gemm", "64", "64", "64", "--top", "1"),
        ("analyze", BATCHED),
        ("apply", BATCHED, "-o", "-"),
        ("check", BATCHED, "--allow-unproved"),
        ("compare", BATCHED),
        ("compare", BATCHED, "--format", "json"),
        ("compare", BATCHED, BATCHED, "--format", "json", "--jobs", "2"),
        ("explain", BATCHED),
        ("graph", "--help"),
        ("lint", BATCHED),
        ("lint", BATCHED, "--format", "sarif"),
        ("pack", "fixtures/ranges.csv"),
        ("plan", BATCHED),
        ("report", BATCHED, "-o", "-"),
        ("run", "--help"),
    ],
    ids=" ".join,
)
def test_the_base_install_is_enough(args: tuple[str, ...]) -> None:
    done = run_alone(*args)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "cannot be imported" not in done.stderr


@pytest.mark.parametrize(
    ("args", "extra"),
    [
        (("advise", "--gemm", "64", "64", "64", "-o", "page.html"), "report"),
        (("graph", BATCHED, "--format", "dot"), "graph"),
        (("lint", BATCHED, BATCHED, "--backend", "dask"), "dask"),
        (("run", "script.py"), "tilelang"),
        (("advise", "script.py"), "tilelang"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_missing_extra_is_named(args: tuple[str, ...], extra: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("raise SystemExit('the script ran')\n")
    done = run_alone(*args, cwd=tmp_path)
    assert_one_line_error(done.returncode, done.stdout, done.stderr)
    assert f"`pip install 'smemreuse[{extra}]'`" in done.stderr
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("door", ["tilelang", "tvm"])
def test_a_door_into_a_compiler_names_its_extra(door: str) -> None:
    importing = ALONE.split("from smemreuse")[0] + f"import smemreuse.{door}"
    done = subprocess.run(
        [sys.executable, "-c", importing], capture_output=True, text=True, check=False, cwd=ROOT
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("smemreuse.errors.BackendError: ")
    assert f"`pip install 'smemreuse[{door}]'`" in last


def test_every_extra_that_a_line_may_name_is_there() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    assert {"report", "graph", "solver", "tilelang", "tvm", "dev"} <= set(extras)
    base = setup["options"]["install_requires"]
    assert not any(package in base for package in HIDDEN)
