"""A fault of smemreuse in one file is one line that names it; the others go on; exit code 2."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smemreuse.cli import main
from smemreuse.commands.batches import Spread, of_each
from smemreuse.commands.inputs import Source, find_inputs
from tests.commands.running import assert_one_line_error, run, run_faulty
from tests.conftest import DUMPS

BAD, GOOD = str(DUMPS / "gemm.sm_80.tir"), str(DUMPS / "halo.sm_80.tir")
FAULT = "a fault of smemreuse, please report it: ZeroDivisionError: nobody divides by it in test_"

FILES: dict[str, tuple[str, ...]] = {
    "analyze": (BAD,),
    "apply": (BAD, "-o", "-"),
    "check": (BAD,),
    "compare": (BAD,),
    "explain": (BAD,),
    "graph": (BAD, "--format", "dot"),
    "lint": (BAD,),
    "plan": (BAD,),
    "report": (BAD, "-o", "-"),
}
"""The arguments of each verb of one dump."""


def failing(*_args: object, **_options: object) -> Any:
    raise ZeroDivisionError("nobody divides by it")


def failing_on_the_bad(text: str, file: str, parse: Any) -> Any:
    return failing() if file == BAD else parse(text, file)


@pytest.fixture
def injected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads the bad file fails in a way that nothing expects."""
    for name in ("commands.subjects", "commands.lint"):
        module = import_module(f"smemreuse.{name}")
        broken = partial(failing_on_the_bad, parse=module.parse_dump)
        monkeypatch.setattr(module, "parse_dump", broken)
    monkeypatch.setattr(import_module("smemreuse.commands.apply"), "read_dump", failing)


@pytest.mark.usefixtures("injected")
@pytest.mark.parametrize("verb", FILES)
def test_a_verb_of_one_file_names_it(verb: str) -> None:
    result = run_faulty(verb, *FILES[verb])
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert result.stderr.startswith(f"smemreuse: {BAD}: {FAULT}")


@pytest.mark.usefixtures("injected")
@pytest.mark.parametrize("verb", ["compare", "check", "lint"])
def test_the_other_files_go_on(verb: str) -> None:
    result = run_faulty(verb, BAD, GOOD, "--format", "json")
    assert result.exit_code == 2
    assert json.loads(result.stdout) == json.loads(run(verb, GOOD, "--format", "json").stdout)
    assert result.stderr.startswith(f"smemreuse: {BAD}: {FAULT}")
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("injected")
def test_a_page_has_the_other_files() -> None:
    result = run_faulty("report", BAD, GOOD, "-o", "-")
    assert result.exit_code == 2
    assert "halo_kernel" in result.stdout
    assert result.stderr.startswith(f"smemreuse: {BAD}: {FAULT}")


@pytest.mark.usefixtures("injected")
def test_a_folder_is_compared_without_the_file(tmp_path: Path) -> None:
    result = run_faulty("diff", GOOD, BAD)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    for name in ("halo.sm_80.tir", "leaf_both.sm_80.tir"):
        (tmp_path / name).write_text((DUMPS / name).read_text())
    whole = run("diff", tmp_path, tmp_path, "--format", "json")
    assert len(json.loads(whole.stdout)["kernels"]) == 2


def test_a_pair_of_kernels_costs_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = import_module("smemreuse.commands.diff")
    right = module.difference_of
    monkeypatch.setattr(
        module,
        "difference_of",
        lambda old, new: failing() if new.kernel == "halo_kernel" else right(old, new),
    )
    for name in ("halo.sm_80.tir", "leaf_both.sm_80.tir"):
        (tmp_path / name).write_text((DUMPS / name).read_text())
    result = run_faulty("diff", tmp_path, tmp_path, "--format", "json")
    assert result.exit_code == 2
    assert len(json.loads(result.stdout)["kernels"]) == 1
    assert result.stderr.startswith(f"smemreuse: {tmp_path / 'halo.sm_80.tir'}: {FAULT}")


@pytest.mark.parametrize(
    ("module", "name", "args"),
    [
        ("pack", "minimized", ("pack", "{file}")),
        ("advise", "advise_problem", ("advise", "--gemm", "64", "64", "64")),
        ("run", "run_script", ("run", "{file}")),
        ("tuned", "execute", ("advise", "{file}")),
        ("graph", "picture_of", ("graph", BAD, "--format", "dot")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_verbs_end_in_one_line_too(
    module: str, name: str, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "given"
    file.write_text("id,lower,upper,size\na,0,1,2\n")
    broken = import_module(f"smemreuse.commands.{module}")
    if module == "tuned":
        pytest.importorskip("tilelang")
    monkeypatch.setattr(broken, name, failing)
    result = run_faulty(*(one.format(file=file) for one in args))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert FAULT in result.stderr
    assert (str(file) in result.stderr) == ("{file}" in args)


def test_a_verb_that_cannot_be_imported_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smemreuse.cli.load_verb", failing)
    result = run_faulty("plan", BAD)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert FAULT in result.stderr


def work_that_fails_on_the_bad(source: Source) -> tuple[list[str], list[str]]:
    return failing() if source.file == BAD else ([source.file], [])


def test_a_worker_process_tells_it_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    found = of_each(find_inputs([BAD, GOOD]), work_that_fails_on_the_bad, Spread(2))
    assert found == ([GOOD], False)
    told = capsys.readouterr().err
    assert told.startswith(f"smemreuse: {BAD}: {FAULT}")
    assert "Traceback" not in told


def test_the_traceback_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMEMREUSE_DEBUG", "1")
    monkeypatch.setattr(import_module("smemreuse.commands.compare"), "judged_plans", failing)
    result = CliRunner().invoke(main, ["compare", BAD])
    assert result.exit_code == 2
    trace, _, last = result.stderr.rstrip("\n").rpartition("\n")
    assert trace.startswith("Traceback (most recent call last):")
    assert "in failing" in trace
    assert last.startswith(f"smemreuse: {BAD}: {FAULT}")
