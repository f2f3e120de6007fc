"""Whatever the verb, the format and the reason: a line says why an exit code is not 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from smemreuse.commands.script import End
from smemreuse.commands.suite import OwnExit, _own_failures, say_exit_code, unhooked_failures
from smemreuse.compilers.records import Settings
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.suite import Judgement, Suite, SuiteKernel, Trouble
from smemreuse.results.verdict import UNSOUND
from tests.commands.running import run
from tests.commands.test_exit_codes import GROWN, HOST, RACE, K, kernel
from tests.commands.test_lint_baseline import CLEAN, OPEN, POSSIBLE
from tests.conftest import DUMPS, ROOT

FORMATS = ("table", "json", "sarif", "github")
SMALL = DUMPS / "leaf_both.sm_80.tir"


def write(**texts: str) -> None:
    for name, text in texts.items():
        Path(f"{name}.tir").write_text(text)


def baseline(*args: str) -> str:
    """What the verb writes now, to be held against later."""
    Path("known.json").write_text(run(*args, "--format", "json").stdout)
    return "known.json"


def merged(policy: str) -> None:
    run("apply", SMALL, "--policy", policy, "-o", "a.tir")


def planned(dump: Path) -> list[str]:
    """A plan by the bare rule, which is checked of nothing."""
    Path("plan.json").write_text(run("plan", dump, "--policy", "inner", "--format", "json").stdout)
    return ["check", str(dump), "--plan", "plan.json"]


def check_unsound() -> list[str]:
    return planned(DUMPS / "while_table.sm_80.tir")


def check_unproved() -> list[str]:
    return planned(ROOT / "fixtures" / "declared" / "tiles.sm_80.tir")


def check_bare() -> list[str]:
    write(a=K)
    return ["check", "a.tir"]


def check_nothing() -> list[str]:
    write(a=HOST)
    return ["check", "a.tir"]


def check_worse() -> list[str]:
    merged("dataflow")
    known = baseline("check", "a.tir")
    entries = json.loads(Path(known).read_text())
    entries["kernels"][0]["arena_bytes"] -= 1
    Path(known).write_text(json.dumps(entries))
    return ["check", "a.tir", "--baseline", known]


def check_missing() -> list[str]:
    merged("dataflow")
    known = baseline("check", "a.tir")
    write(a=HOST)
    return ["check", "a.tir", "--baseline", known]


def lint_certain() -> list[str]:
    write(a=RACE)
    return ["lint", "a.tir"]


def lint_possible() -> list[str]:
    write(a=POSSIBLE)
    return ["lint", "a.tir", "--fail-on", "possible"]


def lint_unfollowed() -> list[str]:
    write(a=OPEN)
    return ["lint", "a.tir", "--strict"]


def lint_nothing() -> list[str]:
    write(a=HOST)
    return ["lint", "a.tir"]


def lint_new() -> list[str]:
    write(a=CLEAN)
    known = baseline("lint", "a.tir")
    write(a=RACE)
    return ["lint", "a.tir", "--baseline", known]


def compare_worse() -> list[str]:
    write(a=K)
    known = baseline("compare", "a.tir")
    write(a=GROWN)
    return ["compare", "a.tir", "--baseline", known]


def compare_missing() -> list[str]:
    write(a=K, b=kernel("m"))
    known = baseline("compare", "a.tir", "b.tir")
    write(b=HOST)
    return ["compare", "a.tir", "b.tir", "--baseline", known]


def diff_grown() -> list[str]:
    write(a=K, b=GROWN)
    return ["diff", "a.tir", "b.tir"]


def diff_untold() -> list[str]:
    write(a=K, b=HOST)
    return ["diff", "b.tir", "a.tir"]


REASONS: list[tuple[Callable[[], list[str]], str]] = [
    (check_unsound, "1 plan unsound"),
    (check_unproved, "1 plan unproved (--allow-unproved lets that pass)"),
    (
        check_bare,
        "nothing checked in 1 file: give --plan, or the dump from after "
        "MergeSharedMemoryAllocations and ThreadSync",
    ),
    (check_nothing, "there is no device kernel to check"),
    (check_worse, "1 kernel worse than in the baseline"),
    (check_missing, "1 kernel of the baseline missing"),
    (lint_certain, "1 kernel with certain hazards of the kernel's own source (--fail-on author)"),
    (lint_possible, "1 kernel with hazards, certain or possible (--fail-on possible)"),
    (lint_unfollowed, "1 kernel not followed to the end, which fails by --strict"),
    (lint_nothing, "there is no device kernel to lint"),
    (lint_new, "1 kernel with new certain hazards of the kernel's own source (--fail-on author)"),
    (compare_worse, "1 kernel worse than in the baseline"),
    (compare_missing, "1 kernel of the baseline missing"),
    (diff_grown, "1 kernel took more bytes"),
    (diff_untold, "diff cannot know whether a kernel grew"),
]


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize(("made", "why"), REASONS, ids=lambda one: getattr(one, "__name__", ""))
def test_exit_code_1_has_a_line_that_says_why(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    made: Callable[[], list[str]],
    why: str,
    output_format: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    command = made()
    if command[0] == "diff" and output_format in ("sarif", "github"):
        pytest.skip("diff has no findings of that format")
    result = run(*command, "--format", output_format)
    assert result.exit_code == 1, result.output
    (line,) = [one for one in result.stderr.splitlines() if "exit code" in one]
    assert line.startswith(f"smemreuse: exit code 1: {why}")


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("verb", ["check", "lint", "compare", "diff"])
def test_exit_code_2_names_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str, output_format: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(a=K, b="this is no dump\n")
    files = ["a.tir", "b.tir"]
    if verb == "diff":
        if output_format in ("sarif", "github"):
            pytest.skip("diff has no findings of that format")
    result = run(verb, *files, "--format", output_format)
    assert result.exit_code == 2
    assert any("b.tir" in one for one in result.stderr.splitlines())


@pytest.mark.parametrize("output_format", FORMATS)
def test_exit_code_0_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output_format: str
) -> None:
    monkeypatch.chdir(tmp_path)
    merged("dataflow")
    write(b=CLEAN)
    for verb, file in (("check", "a.tir"), ("lint", "b.tir"), ("compare", "b.tir")):
        result = run(verb, file, "--format", output_format)
        assert (result.exit_code, "exit code" in result.stderr) == (0, False), verb


@pytest.mark.parametrize("verb", ["run", "advise"])
def test_a_dump_is_never_executed_as_a_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tir").write_text("open('executed', 'w').close()\n")
    result = run(verb, "a.tir")
    assert (result.exit_code, Path("executed").exists()) == (2, False)
    why = "a.tir: is a dump, which is not executed; give a Python script"
    assert result.stderr.strip() == f"smemreuse: {why}"


# Runs --------------------------------------------------------------------------------------------


FOOTPRINT = KernelFootprint("k", "sm_90", 128, None, 4096, 2048, 0, 8, 16, 232_448, True)
AUDITED = Settings(policy="none")


def suite(**parts: object) -> Suite:
    made = Suite()
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def test_a_run_says_why_too(capsys: pytest.CaptureFixture[str]) -> None:
    refuted = SuiteKernel(FOOTPRINT, compiler=Judgement(UNSOUND, "it overwrites"))
    left = suite(kernels=[SuiteKernel(FOOTPRINT)])
    left.left[Trouble("k", "a fault")] += 2
    for end, own, told in (
        (End(3), OwnExit(), "exit code 3: that of x.py"),
        (End(143, uncaught=True), OwnExit(), "exit code 143: x.py was ended by SIGTERM"),
        (End(0), _own_failures(suite(unhooked=1), AUDITED), "exit code 2: smemreuse could not get"),
        (
            End(0),
            _own_failures(suite(kernels=[refuted]), AUDITED),
            "exit code 1: 1 merge of Tile",
        ),
        (End(0), _own_failures(left, AUDITED), "exit code 1: 2 kernels not judged"),
        (End(0), _own_failures(suite(), AUDITED), "exit code 1: no kernel was lowered for CUDA"),
    ):
        say_exit_code(end, "x.py", own)
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"smemreuse: {told}"), line
    say_exit_code(End(0), "x.py", unhooked_failures(suite()))
    say_exit_code(End(1, uncaught=True), "x.py", OwnExit())  # its traceback was printed
    assert capsys.readouterr().err == ""
