"""The report on a finding: what is wrong, the witness, what was done and what it gave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.source import SourceLine
from smemreuse.linter import lint
from smemreuse.report.reproductions import (
    finding_report,
    heading,
    reproduction_data,
    reproduction_lines,
    reproduction_table,
)
from smemreuse.report.tables import console
from smemreuse.results.reproduction import (
    A_DUMP,
    AS_IT_IS,
    DELAYED,
    MENDED,
    Reproduction,
    Shown,
    VariantOutcome,
)
from tests.conftest import ROOT

(KERNEL,) = read_dump(ROOT / "fixtures" / "lint" / "race_round_the_loop.tir").kernels
HAZARD = lint(KERNEL).hazards[0]
NOTHING = {"launches": 0, "differing": 0, "unsteady": 0, "hangs": False, "error": "", "left_out": 0}
FOUND = Reproduction(
    "program.py",
    "kernel",
    "fcb046fc",
    HAZARD,
    shown=Shown.DELAYED,
    attempt="threads 96-127 wait 20,000 cycles",
    reference=MENDED,
    outcomes={
        AS_IT_IS: VariantOutcome(40),
        DELAYED: VariantOutcome(40, differing=40),
        MENDED: VariantOutcome(40),
    },
    tried=("threads 96-127 wait 20,000 cycles",),
    mends=("a barrier inserted",),
    mend_diff="--- a\n+++ b\n+    __syncthreads();",
    diff_of="the generated CUDA",
    delay_diff="--- a\n+++ c\n+    smemreuse_delay(96, 128, 20000, 1);",
    environment={"tilelang": "0.1.15", "card": "NVIDIA H200"},
    report="kernel.md",
    script="kernel.py",
)


def test_it_stands_by_itself() -> None:
    text = finding_report(FOUND)
    for part in (
        "# Nothing orders two accesses to the same bytes: `As` in `kernel`",
        "On the GPU it is shown: delayed, 40 of 40 launches differ.",
        "k = 0  reads byte 0 of As",
        "Threads 96-127 wait 20,000 cycles.",
        "+    smemreuse_delay(96, 128, 20000, 1);",
        "| delayed | 40 | 40 | 0 |  |",
        "- a barrier inserted",
        "+    __syncthreads();",
        "- card: NVIDIA H200",
        "`python kernel.py`",
    ):
        assert part in text, part
    assert "Not run" not in text


def test_without_a_launch_it_says_so() -> None:
    left = replace(FOUND, shown=Shown.NOT_RUN, why="no GPU", outcomes={}, mends=(), mend_diff="")
    text = finding_report(left)
    assert "Not run: no GPU." in text
    assert "| variant |" not in text
    assert "No barrier, wait or fence that can be inserted" in text


def test_the_heading_of_a_file_is_a_docstring() -> None:
    text = heading(replace(FOUND, attempt='three quotes """ and a \\ are told'))
    found: dict[str, object] = {}
    exec(f'"""{text}"""\nx = __doc__', found)
    assert "fcb046fc" in str(found["x"])
    assert "a \\ are" in str(found["x"])


def test_the_table_and_json_have_the_outcomes() -> None:
    out = console()
    with out.capture() as captured:
        out.print(reproduction_table(out, [FOUND]))
    heads, cells = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in captured.get().splitlines()
        if "as it is" in line or "fcb046fc" in line
    )
    assert dict(zip(heads, cells, strict=True)) == {
        **{"finding": "fcb046fc", "hazard": "race", "line": "21", "as it is": "0 / 40"},
        **{"delayed": "40 / 40", "fixed": "0 / 40", "result": "shown"},
    }
    data = reproduction_data(FOUND)
    assert data["outcomes"] == {
        name: {**NOTHING, "launches": 40, "differing": 40 if name == DELAYED else 0}
        for name in FOUND.outcomes
    }
    assert (data["shown"], data["finding"]) == ("shown", "fcb046fc")


def lines_of(*found: Reproduction) -> str:
    return "\n".join(line.plain for line in reproduction_lines(found))


def test_what_was_not_run_is_told_how_to_run() -> None:
    """By the script where it is known: that which was read, or the one a dump's lines name."""
    alone = replace(FOUND, shown=Shown.NOT_RUN, outcomes={}, why="PyTorch sees no GPU here")
    told = "not run: PyTorch sees no GPU here; on a GPU `smemreuse reproduce program.py` launches"
    assert told in lines_of(alone)
    dumped = replace(alone, file="k.tir", why=A_DUMP)
    given = "launches the kernel, given the Python script that compiles it in place of the dump"
    assert given in lines_of(dumped)
    given = "launches these kernels, given the Python script that compiles them in place of"
    assert given in lines_of(dumped, replace(dumped, kernel="other"))
    site = replace(HAZARD.site, source=SourceLine("scan.py", 88))
    named = replace(dumped, hazard=replace(HAZARD, site=site))
    assert "on a GPU `smemreuse reproduce scan.py` launches the kernel" in lines_of(named)


def test_the_number_in_the_name_of_a_finding_is_told_once() -> None:
    told = "-1of2: 1 of 2 findings of that kernel that differ by their lines alone"
    both = (replace(FOUND, finding="fcb046fc-1of2"), replace(FOUND, finding="fcb046fc-2of2"))
    assert lines_of(*both).count(told) == lines_of(*both).count("by their lines alone") == 1
    assert told not in lines_of(FOUND)


@pytest.mark.parametrize(
    ("shown", "outcomes", "answer"),
    [
        (
            Shown.DELAYED,
            FOUND.outcomes,
            "kernel is wrong on this GPU (race of As): 40 of 40 launches differ when it is "
            "delayed, 0 of 40 launches differ with the fix.",
        ),
        (
            Shown.BY_ITSELF,
            {AS_IT_IS: VariantOutcome(hangs=True)},
            "kernel is wrong on this GPU (race of As): hangs when it is unchanged.",
        ),
        (
            Shown.NOT_SHOWN,
            {AS_IT_IS: VariantOutcome(40), DELAYED: VariantOutcome(40)},
            "lint has proved that kernel is wrong (race of As), but no launch shows it: 0 of "
            "40 launches differ.",
        ),
        (
            Shown.NOT_RUN,
            {},
            "lint has proved that kernel is wrong (race of As).",
        ),
    ],
)
def test_one_sentence_says_whether_the_kernel_is_wrong(
    shown: Shown, outcomes: dict[str, VariantOutcome], answer: str
) -> None:
    found = replace(FOUND, shown=shown, outcomes=outcomes, why="there is no GPU")
    *legend, said, fix = map(str, reproduction_lines([found]))
    assert said == f"[fcb046fc] {answer}"
    assert fix == f"  fix: {HAZARD.mend.sentence}"
    explained = {line.partition(":")[0] for line in legend}
    assert explained >= {str(shown), *outcomes}
