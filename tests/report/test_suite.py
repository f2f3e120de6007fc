"""The one table of a run of many kernels, drawn from records made by hand."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

from rich.console import Console

from smemreuse.report.suite import MAX_SHOWN, suite_data, suite_lines, suite_table
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, Mend, Remedy
from smemreuse.results.sites import Site
from smemreuse.results.suite import Judgement, Suite, SuiteKernel, Trouble
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND

FOOTPRINT = KernelFootprint(
    *("gemm", "sm_90", 128, 32, 4096, 2048, 0, 8, 16, 232_448, True),
    expected_registers=40,
    resident_before=8,
    resident_after=16,
)
SUITE = Suite(
    kernels=[
        SuiteKernel(FOOTPRINT, Judgement(SOUND), Judgement(SOUND), lowered=3, processes={1, 2}),
        SuiteKernel(
            replace(FOOTPRINT, name="wrong", bytes_before=1024, bytes_after=2048),
            Judgement(UNSOUND, "rule 4, A and B: overwritten"),
            Judgement(SOUND),
            lowered=1,
            processes={1},
        ),
        SuiteKernel(
            replace(FOOTPRINT, name="kept", bytes_after=4096, blocks_after=8, resident_after=8),
            Judgement(UNPROVED, "too long"),
            Judgement(UNPROVED, "too long"),
            kept=True,
            lowered=1,
            processes={2},
        ),
        SuiteKernel(replace(FOOTPRINT, name="bare", bytes_before=0, bytes_after=0), lowered=1),
    ],
    stopped=2,
    reloaded=["cached"],
    blind=[Trouble("python3", "ImportError: no"), Trouble("python3", "ImportError: no")],
    lost=1,
    unfinished=["half", "half"],
)
SUITE.untold[Trouble("gemm", "an odd one")] = 1
SUITE.left[Trouble("odd", "a fault of ours")] = 2
SUITE.failed[Trouble("broken", "RuntimeError: k.cu(3): error: no y")] = 1


def table(*, audits_only: bool = False) -> list[list[str]]:
    out = Console(file=io.StringIO(), width=160)
    out.print(suite_table(out, SUITE, audits_only=audits_only))
    assert isinstance(out.file, io.StringIO)
    lines = out.file.getvalue().splitlines()
    return [[c.strip() for c in line.strip("|").split("|")] for line in lines if "|" in line]


def test_a_row_for_each_kernel_with_shared_memory_and_each_trouble() -> None:
    heading, _, *rows = table()
    assert heading[-2:] == ["TileLang's merge", "smemreuse's"]
    assert rows == [
        ["gemm", "3", "sm_90", "4,096", "2,048", "8 -> 16", "sound", "sound"],
        [
            *("wrong", "1", "sm_90", "1,024", "2,048", "8 -> 16", "unsound"),
            "sound; more bytes, because TileLang's merge is unsound",
        ],
        ["kept", "1", "sm_90", "4,096", "4,096", "8", "unproved", "kept, unproved"],
        ["odd", "2", "-", "-", "-", "-", "-", "left"],
        ["broken", "0", "-", "-", "-", "-", "-", "failed"],
    ]


def test_an_audit_tells_of_the_compiler_alone() -> None:
    heading, _, *rows = table(audits_only=True)
    assert "after" not in heading
    assert rows[1] == ["wrong", "1", "sm_90", "1,024", "8", "unsound"]
    assert rows[-2:] == [
        ["odd", "2", "-", "-", "-", "not judged"],
        ["broken", "0", "-", "-", "-", "failed"],
    ]


def test_the_totals_come_first_and_then_what_went_wrong() -> None:
    total, *rest = (one.plain for one in suite_lines(SUITE, audits_only=False, lower_only=True))
    assert total == (
        "4 kernels (1 without shared memory), 6 lowerings in 2 processes; "
        "9,216 bytes before, 8,192 after; 1 smaller, 1 larger, 3 with more blocks per SM; "
        "TileLang's merge: 1 sound, 1 unproved, 1 unsound; smemreuse's: 2 sound, 1 unproved; "
        "2 left to TileLang's merge, 1 not compiled"
    )
    assert rest == [
        "wrong: TileLang's own merge is unsound: rule 4, A and B: overwritten",
        "kept: keeps TileLang's own merge, which is not proved: too long",
        "lowered only: 2 calls of kernels were not run",
        "odd is merged by TileLang instead: a fault of ours",
        "broken was not compiled: RuntimeError: k.cu(3): error: no y",
        "gemm has no full entry: an odd one",
        "from TileLang's cache alone, and so neither merged anew nor judged: cached",
        "kernels of python3 are not seen: ImportError: no",
        "not lowered to the end, as if the process had been ended meanwhile: half",
        "1 note of processes that were ended could not be read",
    ]


HAZARD = Hazard(
    HazardKind.RACE, True, Site("B[0] = 1"), ("B",), "two threads", Mend(Remedy.BARRIER, "put one")
)
LINTED = Suite(
    kernels=[
        SuiteKernel(
            FOOTPRINT,
            Judgement(SOUND),
            Judgement(SOUND),
            lint=LintReport("gemm", False, (HAZARD,)),
            mends=("`sync` put in",),
            unmended=("a wait: no place",),
        ),
        SuiteKernel(replace(FOOTPRINT, name="fine"), lint=LintReport("fine", False)),
    ]
)


def test_hazards_have_a_column_and_lines_where_they_were_looked_for() -> None:
    out = Console(file=io.StringIO(), width=160)
    out.print(suite_table(out, LINTED, audits_only=False))
    assert isinstance(out.file, io.StringIO)
    heading, gemm, fine = (one for one in out.file.getvalue().splitlines() if one.count("|") > 3)
    assert [one.split()[-2] for one in (heading, gemm, fine)] == ["lint", "hazards", "clean"]
    total, *rest = (one.plain for one in suite_lines(LINTED, audits_only=False, lower_only=False))
    assert "; lint: 1 clean, 1 hazards" in total
    assert rest == [
        "gemm: `sync` put in",
        "gemm: not fixed: a wait: no place",
        "gemm: race (certain by PTX; in the source): two threads",
    ]
    kernels = suite_data(LINTED)["kernels"]
    assert isinstance(kernels, list)
    gemm_data, fine_data = kernels
    lint: Any = gemm_data["lint"]
    assert (lint["status"], lint["hazards"][0]["witness"]) == ("hazards", "two threads")
    assert (gemm_data["mends"], fine_data["mends"]) == (["`sync` put in"], [])


def test_of_many_kernels_with_hazards_the_certain_ones_come_first() -> None:
    possible = replace(HAZARD, certain=False)
    kernels = [
        SuiteKernel(
            replace(FOOTPRINT, name=f"k{number}"),
            lint=LintReport("k", False, (HAZARD if number == MAX_SHOWN else possible,)),
        )
        for number in range(MAX_SHOWN + 1)
    ]
    _, first, *rest = (
        one.plain for one in suite_lines(Suite(kernels), audits_only=False, lower_only=False)
    )
    assert first == f"k{MAX_SHOWN}: race (certain by PTX; in the source): two threads"
    assert rest[-1] == "... and 1 more kernels with hazards"


def test_json_has_everything() -> None:
    data = json.loads(json.dumps(suite_data(SUITE)))
    assert data["totals"]["compiler"] == {"sound": 1, "unproved": 1, "unsound": 1}
    assert (data["totals"]["left"], data["totals"]["failed"]) == (2, 1)
    assert [each["name"] for each in data["kernels"]] == ["gemm", "wrong", "kept", "bare"]
    assert data["kernels"][0]["processes"] == 2
    assert data["kernels"][1]["compiler"]["finding"] == "rule 4, A and B: overwritten"
    assert data["kernels"][3]["ours"] is None
    assert (data["kernels"][0]["lint"], data["unfinished"]) == (None, ["half", "half"])
    assert data["untold"] == [{"name": "gemm", "why": "an odd one", "times": 1}]
    assert data["left"] == [{"name": "odd", "why": "a fault of ours", "times": 2}]
