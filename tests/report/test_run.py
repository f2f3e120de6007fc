"""What `run` tells of kernels, on results made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from smemreuse.report.run import MAX_REFUSED, run_entry, run_lines, run_overview_entry, run_table
from smemreuse.report.titles import numbered
from smemreuse.results.explanation import ArenaSharing, Explanation, Unneeded
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.provenance import Origin
from smemreuse.results.run import RunKernel, RunPlan
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from tests.report.made import (
    APART,
    INNER_PLAN,
    KB,
    KERNEL,
    OVERVIEW,
    OVERWRITTEN,
    PAIRS,
    SCOPE,
    SHARED,
    TOGETHER,
    A,
    B,
    buffer,
    cells,
    explanation,
    out,
    printed,
)
from tests.report.test_mending import AFTER, BEFORE, MENDING

FOOTPRINT = KernelFootprint(
    name="gemm_kernel",
    arch="sm_80",
    threads=128,
    registers=64,
    bytes_before=64 * KB,
    bytes_after=32 * KB,
    static_bytes=0,
    blocks_before=2,
    blocks_after=4,
    limit=163 * KB,
    fits=True,
)
UNKNOWN = KernelFootprint("one", *[None] * 10)
REFUSED, MAY, MAY_TOO = PAIRS
SHARING = ArenaSharing((((("As", "Cs")), 16 * KB), (("Bs", "Cs"), 16 * KB)), (REFUSED,), ())
APPLIED = RunPlan(SHARED, Verdict(SOUND), (), SHARING, APART, Verdict(SOUND))
GEMM = RunKernel("gemm_kernel", KERNEL, FOOTPRINT, (APPLIED,))
ONE = RunKernel("one", KERNEL, UNKNOWN)


def lines(*plans: RunPlan, footprint: KernelFootprint = FOOTPRINT) -> list[str]:
    kernel = replace(GEMM, plans=plans, footprint=footprint)
    return [line.plain for line in run_lines(kernel)]


def plan_data(plan: RunPlan) -> dict[str, Any]:
    """The only plan of a kernel, as JSON has it."""
    plans: Any = run_entry("s.py", replace(GEMM, plans=(plan,)))["plans"]
    (only,) = plans
    assert isinstance(only, dict)
    return only


def test_where_there_are_more_bytes_the_same_line_says_why() -> None:
    """`speed` shares less than TileLang's own merge only where that must not be believed."""
    took = replace(FOOTPRINT, bytes_before=32 * KB, bytes_after=64 * KB)

    def told(plan: RunPlan) -> str:
        _, row = cells(run_table(out(), [replace(GEMM, plans=(plan,), footprint=took)], "speed"))
        return row[-1]

    apart = replace(APPLIED, plan=APART, stock=SHARED, sharing=ArenaSharing((), (), ()))
    assert told(replace(apart, stock_verdict=OVERWRITTEN)) == (
        "-; more bytes, because TileLang's own merge is unsound"
    )
    assert told(apart) == "-; more bytes, because packer best lays them out so"
    none = replace(apart, plan=APART.with_provenance(objective="none"))
    assert told(none) == "-; more bytes, because reuse is switched off"


def test_table_shows_what_is_known() -> None:
    heading, gemm, unknown = cells(run_table(out(), [GEMM, ONE], "bytes"))
    assert heading[:4] == ["kernel", "arch", "before", "after"]
    assert gemm == [
        *("gemm_kernel", "sm_80", "65,536", "32,768", "166,912"),
        *("2 -> 4", "sound", "As+Cs, Bs+Cs"),
    ]
    assert unknown[1:] == ["-", "-", "-", "-", "- -> -", "-", "-"]
    console = out()
    console.print(run_table(console, [GEMM], "occupancy"))
    assert "objective `occupancy`" in " ".join(printed(console).split())


def test_json_has_the_footprint_and_every_pair() -> None:
    entry = run_entry("s.py", GEMM)
    assert (entry["name"], entry["bytes_after"], entry["fits"]) == ("gemm_kernel", 32 * KB, True)
    plan = plan_data(APPLIED)
    assert (plan["file"], plan["name"], plan["verdict"]) == ("s.py", "gemm_kernel", "sound")
    assert plan["before"]["arena_bytes"] == 64 * KB
    assert plan["before"]["verdict"] == "sound"
    assert plan["shared"] == [
        {"buffers": ["As", "Cs"], "bytes": 16 * KB},
        {"buffers": ["Bs", "Cs"], "bytes": 16 * KB},
    ]
    assert plan["not_shared"] == [
        {
            "buffers": ["As", "Bs"],
            "may_share": False,
            "reasons": [TOGETHER.text],
            "verdict": "unsound",
        }
    ]


def test_what_the_checker_alone_forbids_has_its_witness_for_a_reason() -> None:
    found = explanation(A, B, verdict=OVERWRITTEN)
    plan = replace(APPLIED, sharing=ArenaSharing((), (found,), ()))
    (pair,) = plan_data(plan)["not_shared"]
    assert pair["reasons"] == ["rule 2, As and Cs: `Cs[0] = acc[0]` overwrote it"]


def test_what_stays_as_the_compiler_makes_it_is_told_with_the_reason() -> None:
    kept = APPLIED.plan.with_provenance(origin=Origin.KEPT_FROM_COMPILER)
    doubted = Verdict(UNPROVED, uncovered=("nobody knows the phase",))
    told = lines(replace(APPLIED, plan=kept, verdict=doubted))
    why = "keeps TileLang's own merge, which is not proved: nobody knows the phase"
    assert [line for line in told if line.endswith(why)]


def test_refused_pairs_are_capped_for_people_alone() -> None:
    count = MAX_REFUSED + 2
    refused = tuple(explanation(A, buffer(f"X{number}", 4), TOGETHER) for number in range(count))
    plan = replace(APPLIED, sharing=ArenaSharing((), refused, ()))
    told = lines(plan)
    assert len([line for line in told if "do not share" in line]) == MAX_REFUSED
    assert told[-1] == "gemm_kernel (shared.dyn): ... and 2 more pairs refused"
    assert len(plan_data(plan)["not_shared"]) == count


def test_a_plan_that_was_not_applied_is_told_with_its_reason() -> None:
    plan = replace(APPLIED, rejected=((INNER_PLAN, OVERWRITTEN),))
    first, *_ = lines(plan)
    assert first == (
        "gemm_kernel (shared.dyn): inner's plan of 32,768 bytes was not applied, unsound: "
        "rule 2 (loop-carried), As and Cs: `Cs[0] = acc[0]` overwrote it"
    )
    (rejected,) = plan_data(plan)["rejected"]
    assert (rejected["policy"], rejected["arena_bytes"]) == ("inner", 32 * KB)
    assert rejected["violations"][0]["rule"] == 2


def test_an_unsound_default_is_told() -> None:
    (told, *_) = lines(replace(APPLIED, stock_verdict=OVERWRITTEN))
    assert "TileLang's own merge is unsound: rule 2, " in told
    assert not [line for line in lines(APPLIED) if "own merge" in line]
    unproved = replace(APPLIED, stock_verdict=Verdict(UNPROVED, uncovered=("?",)))
    assert not [line for line in lines(unproved) if "own merge" in line]


def test_what_could_share_is_told_by_its_cause() -> None:
    def unneeded(*found: tuple[Explanation, str]) -> RunPlan:
        pairs = tuple(Unneeded(pair, why) for pair, why in found)
        return replace(APPLIED, sharing=ArenaSharing((), (), pairs))

    plan = unneeded((MAY, "one cause"), (MAY_TOO, "one cause"), (REFUSED, "another"))
    assert lines(plan) == [
        "gemm_kernel (shared.dyn): As+Cs, Bs+Cs could share; one cause",
        "gemm_kernel (shared.dyn): As+Bs could share; another",
    ]
    assert plan_data(plan)["not_shared"][0]["buffers"] == ["As", "Cs"]
    many = [(MAY, "one cause")] * (MAX_REFUSED + 2)
    (line,) = lines(unneeded(*many))
    assert line.endswith("+Cs and 2 more could share; one cause")


def test_a_kernel_too_large_says_so() -> None:
    told = lines(APPLIED, footprint=replace(FOOTPRINT, fits=False))
    assert told[0] == "gemm_kernel: does not fit on sm_80"
    assert lines(APPLIED, footprint=replace(FOOTPRINT, fits=None)) == lines(APPLIED)


def test_kernels_of_one_name_are_told_apart_for_people_alone() -> None:
    names = numbered(["gemm_kernel", "other", "gemm_kernel"])
    assert names == ["gemm_kernel #1", "other", "gemm_kernel #2"]
    kernels = [replace(GEMM, title=name) for name in names]
    _, *rows = cells(run_table(out(), kernels, "bytes"))
    assert [row[0] for row in rows] == names
    assert all(line.plain.startswith("gemm_kernel #2") for line in run_lines(kernels[2]))
    assert run_overview_entry("s.py", kernels[2], SCOPE, OVERVIEW)["name"] == "gemm_kernel #2"
    entry: Any = run_entry("s.py", kernels[2])
    assert (entry["name"], entry["plans"][0]["name"]) == ("gemm_kernel", "gemm_kernel")


LINTED = replace(GEMM, lint=BEFORE, mending=MENDING)


def test_what_lint_finds_has_a_column() -> None:
    """Only where it was asked."""
    heading, row, _ = cells(run_table(out(), [LINTED, ONE], "speed"))
    assert row[heading.index("lint")] == "hazards"
    assert "lint" not in cells(run_table(out(), [GEMM], "speed"))[0]


def test_hazards_and_mends_have_a_line_each() -> None:
    told = [line.plain for line in run_lines(LINTED)]
    assert "gemm_kernel: race (certain by PTX; in the source): thread 1 is too early" in told
    assert any(line.startswith("gemm_kernel: inserted `meet()` before") for line in told)
    unknown = replace(GEMM, lint=replace(AFTER, unknown=("a budget",)))
    assert "gemm_kernel: lint could not follow: a budget" in [
        line.plain for line in run_lines(unknown)
    ]


def test_hazards_and_mends_as_data() -> None:
    data: Any = run_entry("script.py", LINTED)
    assert data["lint"]["status"] == "hazards"
    assert data["mending"]["status"] == "clean"
    bare: Any = run_entry("script.py", GEMM)
    assert (bare["lint"], bare["mending"]) == (None, None)
