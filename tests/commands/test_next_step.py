"""Every verb ends with what to do next, and keeps to the width of the terminal."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import Result

from smemreuse.cli import VERBS, load_verb
from tests.commands.running import SMALLEST, run
from tests.conftest import DUMPS, ROOT

LINT = ROOT / "fixtures" / "lint"
RANGES = ROOT / "fixtures" / "ranges.csv"
GEMM, BATCHED = DUMPS / "gemm.sm_90a.tir", DUMPS / "batched_gemm.sm_80.tir"
HALO, REFILL = DUMPS / "halo.sm_80.tir", DUMPS / "alternate_refill.sm_80.tir"
WITNESS = LINT / "race_between_threads.tir"
MANY = (*sorted(DUMPS.glob("*gemm*.tir"))[:3], HALO, REFILL)

CALLS: dict[str, tuple[tuple[object, ...], str]] = {
    "analyze": (("analyze", BATCHED), "the layout that these live ranges give"),
    "analyze-outer": (("analyze", "--policy", "outer", HALO), "the layout that these live"),
    "compare": (("compare", BATCHED), "nothing to do"),
    "compare-bytes": (("compare", *SMALLEST, BATCHED), "to build it, 32,768 bytes fewer than by"),
    "compare-blocks": (
        ("compare", DUMPS / "mmha_decode.sm_80.tir"),
        "to build it, 4 blocks per SM instead of 2",
    ),
    "compare-many": (("compare", *MANY), ""),
    "compare-all": (("compare", "--all", *MANY), ""),
    "plan": (("plan", *SMALLEST, BATCHED), "write the merged TIR"),
    "plan-hoped": (
        ("plan", *SMALLEST, DUMPS / "data_dependent_refill.sm_80.tir"),
        "what keeps a smaller layout from being proved",
    ),
    "plan-large": (
        ("plan", *SMALLEST, "--arch", "sm_75", DUMPS / "stream_k.sm_90a.tir"),
        "what would make it fit",
    ),
    "plan-inner": (("plan", "--policy", "inner", GEMM), "whether it is sound"),
    "explain": (
        ("explain", BATCHED),
        "no known layout or change of shared memory gains a resident",
    ),
    "explain-bytes": (("explain", *SMALLEST, BATCHED), "write it with the layout of 32,768 bytes"),
    "explain-change": (
        ("explain", *SMALLEST, DUMPS / "miss_tiles.sm_80.tir"),
        "what it takes to have 8,192 bytes a block",
    ),
    "explain-all": (("explain", "--all", GEMM), ""),
    "explain-one": (("explain", BATCHED, "As"), "what would lower the bytes"),
    "explain-two": (("explain", BATCHED, "As", "Cs"), "where each buffer lies"),
    "explain-apart": (("explain", BATCHED, "As", "Bs"), "what would lower the bytes"),
    "graph": (("graph", BATCHED, "--format", "dot", "-o", "a.dot"), "look at it"),
    "report": (("report", BATCHED, "-o", "a.html"), "look at it"),
    "check-bare": (("check", BATCHED), "compute smemreuse's layout and check that"),
    "lint": (("lint", GEMM), "make all fixes"),
    "lint-clean": (("lint", BATCHED), "nothing to do"),
    "lint-many": (("lint", GEMM, WITNESS, HALO), ""),
    "diff": (("diff", *SMALLEST, REFILL, HALO), "what makes it "),
    "diff-alike": (("diff", HALO, HALO), "nothing to do"),
    "diff-untold": (("diff", BATCHED, DUMPS / "two_kernels.sm_80.tir"), "what each side has"),
    "apply": (("apply", *SMALLEST, BATCHED, "-o", "a.tir"), "check what was written"),
    "fit": (("fit", BATCHED, "--limit", "2000"), "which buffers are live at the peak"),
    "fit-all": (("fit", BATCHED, "--limit", "200000"), "nothing to do"),
    "advise": (("advise", "--gemm", "64", "64", "64", "--top", "3"), "a page with the roofline"),
    "pack": (("pack", RANGES, "-o", "a.csv"), "nothing to do"),
    "reproduce": (("reproduce", GEMM, "-o", "found"), "make all fixes"),
    "reproduce-none": (("reproduce", HALO, "-o", "found"), "nothing to do"),
}
"""Calls that need no compiler, and what is said to do next, where one case decides it."""

WITHOUT = {"run"}
"""Verbs whose calls need a compiler; `tests/report/test_next_steps.py` has their last line."""


@pytest.fixture(autouse=True)
def narrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def called(name: str) -> Result:
    result = run(*map(str, CALLS[name][0]))
    assert result.exit_code in (0, 1), result.stderr
    return result


def last_step(text: str) -> list[str]:
    """The lines of the last step, which must be the end of it all."""
    lines = text.splitlines()
    (place,) = (at for at, line in enumerate(lines) if line.startswith("next"))
    return lines[place:]


def test_no_verb_is_left_out() -> None:
    assert {str(words[0]) for words, _ in CALLS.values()} | WITHOUT == set(VERBS)


@pytest.mark.parametrize("name", CALLS)
def test_every_verb_ends_with_what_to_do_next(name: str) -> None:
    words = CALLS[name][1]
    told = " ".join(last_step(called(name).stdout))
    by_hand = ("next: to fix all in a build, ", "next: to build it, ")
    assert told.startswith(("next: nothing to do: ", "next (", *by_hand))
    assert words in told


@pytest.mark.parametrize("name", CALLS)
def test_no_line_is_wider_than_the_terminal(name: str) -> None:
    lines = called(name).stdout.splitlines()
    assert max(map(len, lines)) <= 80, max(lines, key=len)


def commands_in(step: list[str]) -> Iterator[list[str]]:
    """The calls of smemreuse in a last step, as the shell that joins its lines has them."""
    at = next((at for at, line in enumerate(step) if line.startswith("or (")), 0)
    first, *rest = step[at:]
    text = "\n".join([first.partition("): ")[2], *rest] if rest else [first.partition("): ")[2]])
    done = subprocess.run(
        ["sh", "-c", 'smemreuse() { for one; do printf "%s\\n" "$one"; done; }; ' + text],
        capture_output=True,
        text=True,
        check=True,
    )
    yield done.stdout.splitlines()


@pytest.mark.parametrize(
    "name",
    [name for name, (_, words) in CALLS.items() if "nothing" not in words and "look" not in words],
)
def test_the_command_can_be_pasted(name: str) -> None:
    """Its verb takes its arguments, and the files that it reads are there."""
    step = last_step(called(name).stdout)
    if step[0].startswith("next: "):
        return  # of calls whose next step no case decides
    for words in commands_in(step):
        verb = load_verb(words[0])
        with click.Context(verb, info_name=words[0]) as context:
            verb.parse_args(context, words[1:])


def test_programs_are_told_nothing_of_it() -> None:
    for name in ("compare", "plan", "explain", "lint", "check-bare", "diff", "fit", "analyze"):
        words = [*map(str, CALLS[name][0]), "--format", "json"]
        json.loads(run(*words).stdout)
    for kind in ("github", "sarif"):
        for name in ("compare-many", "lint", "check-bare"):
            assert "next" not in run(*map(str, CALLS[name][0]), "--format", kind).stdout


def test_what_a_program_reads_has_it_on_standard_error() -> None:
    for words in (
        ("apply", *SMALLEST, str(BATCHED), "-o", "-"),
        ("graph", str(BATCHED), "--format", "dot"),
        ("pack", str(RANGES)),
        ("lint", str(GEMM), "--fix", "-o", "-"),
        ("report", str(BATCHED), "-o", "-"),
    ):
        result = run(*words)
        assert "\nnext" not in result.stdout, words
        assert result.stderr.splitlines()[-1], words
        assert any(line.startswith("next") for line in result.stderr.splitlines()), words


def test_what_was_inserted_keeps_to_the_width_too() -> None:
    fixed = run("lint", str(GEMM), "--fix", "-o", "fixed.tir")
    assert max(map(len, fixed.stderr.splitlines())) <= 80
    assert "certain by PTX; generated by the compiler" in " ".join(fixed.stderr.split())
    assert last_step(fixed.stdout) == [
        "next (fixed.tir has no hazard; what was inserted, and is not in its source):",
        f"diff {GEMM} fixed.tir",
    ]


def test_where_a_merge_gains_nothing_it_is_why() -> None:
    result = run("apply", str(BATCHED), "-o", "a.tir")
    assert "no two of them share bytes" in " ".join(result.stderr.split())
    assert " ".join(" ".join(last_step(result.stdout)).split()) == (
        "next: nothing to do: a.tir is not needed: the default merge is proved, and takes as many "
        "bytes"
    )


def test_options_go_with_it() -> None:
    """What was asked of one architecture and objective is asked of them again."""
    words = ("plan", *SMALLEST, "--arch", "sm_90", str(BATCHED))
    step = shlex.split(" ".join(last_step(run(*words).stdout)).replace("\\", ""))
    assert step[step.index("--objective") + 1] == "bytes"
    assert step[step.index("--arch") + 1] == "sm_90"


def test_against_a_baseline_it_is_the_difference(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    before.write_text(run("compare", REFILL, "--format", "json").stdout.replace("8192", "4096"))
    dump = tmp_path / REFILL.name
    dump.write_text(REFILL.read_text())
    text = before.read_text().replace(json.dumps(str(REFILL)), json.dumps(str(dump)))
    before.write_text(text)
    result = run("compare", str(dump), "--baseline", str(before))
    assert result.exit_code == 1
    told = " ".join(last_step(result.stdout))
    assert told.startswith("next (why, by cause): ")
    assert "smemreuse diff " in told
