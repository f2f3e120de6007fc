"""What the base install does; a missing extra is one line that names it, and exit code 2."""

from __future__ import annotations

import configparser
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from smemreuse.extras import install_command
from tests.commands.running import assert_one_line_error
from tests.conftest import DUMPS, ROOT

KERNEL = str(DUMPS / "halo.sm_80.tir")
OTHER = str(DUMPS / "gemm.sm_80.tir")
HIDDEN = (
    *("plotly", "graphviz", "ortools", "tilelang", "tvm", "torch", "elftools", "pandas"),
    *("dask", "distributed"),
)
"""Packages that only extras bring."""

WITHOUT_EXTRAS = f"""\
import sys
for package in {HIDDEN}:
    sys.modules[package] = None  # as if it were not installed
"""

ONE_BY_ONE = (
    WITHOUT_EXTRAS
    + """\
import json
from click.testing import CliRunner
from smemreuse.cli import main
for args in json.loads(sys.stdin.read()):
    done = CliRunner().invoke(main, args, prog_name="smemreuse")
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""
)
"""Runs each command line that standard input lists."""

ENOUGH = (
    ("advise", "--gemm", "64", "64", "64", "--top", "1"),
    ("analyze", KERNEL),
    ("apply", KERNEL, "-o", "-"),
    ("check", KERNEL, "--allow-unproved"),
    ("compare", KERNEL),
    ("compare", KERNEL, "--format", "json"),
    ("compare", KERNEL, KERNEL, "--format", "json", "--jobs", "2"),
    ("explain", KERNEL),
    ("graph", "--help"),
    ("lint", KERNEL),
    ("lint", KERNEL, "--format", "sarif"),
    ("pack", str(ROOT / "fixtures" / "ranges.csv")),
    ("plan", KERNEL),
    ("report", KERNEL, "-o", "-"),
    ("run", "--help"),
)
"""What needs no extra."""

NEEDING = {
    ("advise", "--gemm", "64", "64", "64", "-o", "page.html"): "report",
    ("graph", KERNEL, "--format", "dot"): "graph",
    ("lint", KERNEL, OTHER, "--backend", "dask"): "dask",
    ("run", "script.py"): "tilelang",
    ("advise", "script.py"): "tilelang",
}
"""What needs an extra, and which."""


class Done(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the base install runs; it has a script, which must not run."""
    path = tmp_path_factory.mktemp("base")
    (path / "script.py").write_text("raise SystemExit('the script ran')\n")
    return path


@pytest.fixture(scope="module")
def base_install(folder: Path) -> dict[tuple[str, ...], Done]:
    """What the base install answers to each command line, from one process for all of them."""
    asked = [*ENOUGH, *NEEDING]
    process = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    answers = [Done(*json.loads(line)) for line in process.stdout.splitlines()]
    return dict(zip(asked, answers, strict=True))


@pytest.mark.xdist_group("base install")
@pytest.mark.parametrize("args", ENOUGH, ids=" ".join)
def test_the_base_install_is_enough(
    args: tuple[str, ...], base_install: dict[tuple[str, ...], Done]
) -> None:
    done = base_install[args]
    assert done.exit_code == 0, done.stderr
    assert done.stdout
    assert "cannot be imported" not in done.stderr


@pytest.mark.xdist_group("base install")
@pytest.mark.parametrize(
    ("args", "extra"), NEEDING.items(), ids=[" ".join(args) for args in NEEDING]
)
def test_a_missing_extra_is_named(
    args: tuple[str, ...], extra: str, base_install: dict[tuple[str, ...], Done], folder: Path
) -> None:
    done = base_install[args]
    assert_one_line_error(done.exit_code, done.stdout, done.stderr)
    assert f"`{install_command(extra)}`" in done.stderr
    assert not (folder / "page.html").exists()


@pytest.mark.parametrize("door", ["tilelang", "tvm"])
def test_a_door_into_a_compiler_names_its_extra(door: str) -> None:
    importing = WITHOUT_EXTRAS + f"import smemreuse.{door}"
    done = subprocess.run(
        [sys.executable, "-c", importing], capture_output=True, text=True, check=False, cwd=ROOT
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("smemreuse.errors.BackendError: ")
    assert f"`{install_command(door)}`" in last


def test_every_extra_that_a_line_may_name_is_there() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    assert {"report", "graph", "solver", "tilelang", "tvm", "dev"} <= set(extras)
    base = setup["options"]["install_requires"]
    assert not any(package in base for package in HIDDEN)
