"""Every `smemreuse` command in the README runs, in order, on a real dump."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.commands.running import run
from tests.conftest import DUMPS, ROOT

FLAGS = re.DOTALL | re.MULTILINE
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def commands() -> list[list[str]]:
    """The arguments of each command line, without its comment.

    Those of `run` need TileLang, and run in `tests/compilers/tilelang/test_run.py`.
    """
    text = "\n".join(BLOCK.findall((ROOT / "README.md").read_text()))
    lines = (line for line in text.splitlines() if line.startswith("smemreuse "))
    return [shlex.split(line, comments=True)[1:] for line in lines]


def python_of(section: str) -> list[str]:
    """The Python code of a section, which the tests of the compilers run."""
    (text,) = re.findall(rf"^## {section}\n(.*?)^## ", (ROOT / "README.md").read_text(), FLAGS)
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_every_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(DUMPS / "batched_gemm.sm_80.tir", tmp_path / "kernel.tir")
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    found = commands()
    assert {arguments[0] for arguments in found} == {
        *("compare", "explain", "analyze", "plan", "apply", "check"),
        *("graph", "lint", "report", "run", "pack", "advise"),
    }
    for arguments in (each for each in found if each[0] != "run"):
        result = run(*arguments)
        assert result.exit_code == 0, (arguments, result.output)


def test_the_functions_print_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(DUMPS / "batched_gemm.sm_80.tir", tmp_path / "kernel.tir")
    monkeypatch.chdir(tmp_path)
    (code,) = python_of("In Python")
    exec(compile(code, "README.md", "exec"), {})
    assert f"```\n{capsys.readouterr().out}```\n" in (ROOT / "README.md").read_text()


def test_the_dumps_that_the_first_command_names_are_there() -> None:
    assert "smemreuse compare fixtures/dumps/*.tir" in (ROOT / "README.md").read_text()
    assert len(list(DUMPS.glob("*.tir"))) > 40
