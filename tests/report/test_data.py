"""The machine contract, on a kernel made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from smemreuse.ir.expr import Call, Const, Var
from smemreuse.ir.kernel import Allocate, Kernel
from smemreuse.report.data import (
    Subject,
    analyze_entry,
    compare_entry,
    gap_text,
    kept_apart,
    plan_entry,
    subjects,
    verdict_data,
)
from smemreuse.results.provenance import Origin
from smemreuse.results.rules import Rule
from smemreuse.results.sequence import Linearization, LiveRange, StmtEntry
from smemreuse.results.verdict import UNPROVED, Verdict, Violation
from tests.report.made import (
    APART,
    FILL_A,
    KB,
    KERNEL,
    PLANS,
    SCOPE,
    SEQUENCE,
    SHARED,
    SUBJECT,
    A,
    B,
    C,
    buffer,
    plan,
)

HEADING = {
    "file": "made.tir",
    "name": "gemm_kernel",
    "scope": "shared.dyn",
    "dialect": "tilelang",
}
BUFFERS = [
    {"name": "As", "bytes": 16 * KB, "alignment": 16},
    {"name": "Bs", "bytes": 16 * KB, "alignment": 16},
    {"name": "Cs", "bytes": 32 * KB, "alignment": 16},
]


def test_analyze() -> None:
    def row(stmt: str, label: str, offset: int, line: int, *touched: str) -> dict[str, object]:
        names = {"stmt": stmt, "label": label, "scope_pair_offset": offset}
        return {**names, "touched": [*touched], "line": line}

    data = analyze_entry(SUBJECT, "inner", SEQUENCE, SHARED.live)
    assert json.loads(json.dumps(data)) == {
        **HEADING,
        "policy": "inner",
        "sequence": [
            row("For", "for b in serial(4)", 8, 11),
            row("BufferStore", "As[0] = 1", 0, 12, "As"),
            row("BufferStore", "Bs[0] = 1", 0, 13, "Bs"),
            row("For", "for k in serial(8)", 2, 14),
            row("BufferStore", "acc[0] = As[0] + Bs[0]", 0, 15, "As", "Bs"),
            row("For", "for k in serial(8)", -2, 14),
            row("BufferStore", "Cs[0] = acc[0]", 0, 17, "Cs"),
            row("BufferStore", "out[0] = Cs[0]", 0, 18, "Cs"),
            row("For", "for b in serial(4)", -8, 11),
        ],
        "alloc_level": {"As": 0, "Bs": 0, "Cs": 0},
        "gen": {"As": 1, "Bs": 2, "Cs": 6},
        "kill": {"As": 4, "Bs": 4, "Cs": 7},
        "live": {"As": [1, 5], "Bs": [2, 5], "Cs": [6, 8]},
    }


@pytest.mark.parametrize(
    ("arena", "bound", "text"),
    [
        (33_536, 33_536, "1.000"),
        (33_552, 33_536, "1.001"),
        (2**62 + 1, 2**62, "1.001"),
        (3, 2, "1.500"),
        (4000, 1, "4,000.000"),
        (0, 0, "-"),
    ],
)
def test_a_gap_is_1_only_where_it_is_exactly_that(arena: int, bound: int, text: str) -> None:
    assert gap_text(replace(APART, arena_bytes=arena, lower_bound_bytes=bound)) == text


def test_plan() -> None:
    proved = SHARED.with_provenance(origin=Origin.INNER_PROVED)
    assert plan_entry(SUBJECT, proved) == {
        **HEADING,
        "policy": "dataflow",
        "packer": "best",
        "objective": "bytes",
        "buffers": BUFFERS,
        "arena_bytes": 32 * KB,
        "lower_bound_bytes": 32 * KB,
        "optimal": True,
        "offsets": {"As": 0, "Bs": 16 * KB, "Cs": 0},
        "live": {"As": [1, 5], "Bs": [2, 5], "Cs": [6, 8]},
        "apart": [],
        "kept": False,
        "hoped": None,
        "notes": ["inner's sharing, as far as the checker proves it"],
    }


def test_compare() -> None:
    smaller, doubted = PLANS["inner"][0], Verdict(UNPROVED, uncovered=("why not",))
    data: Any = compare_entry(SUBJECT, [*PLANS.values()], (smaller, doubted))
    assert {key: data[key] for key in HEADING} == HEADING
    assert data["buffers"] == BUFFERS
    assert data["total_bytes"] == 64 * KB
    assert [*data["policies"]] == ["outer", "inner", "dataflow"]
    assert (data["arch"], data["arch_assumed"]) == ("sm_80", False)
    assert (data["limit_bytes"], data["beside_bytes"]) == (163 * KB, 0)
    hoped = {"arena_bytes": 32 * KB, "verdict": "unproved", "reason": "why not"}
    assert data["policies"]["dataflow"]["hoped"] == hoped
    assert compare_entry(SUBJECT, [*PLANS.values()])["policies"]["dataflow"]["hoped"] is None  # type: ignore[index]
    assert data["policies"]["inner"] == {
        "arena_bytes": 32 * KB,
        "lower_bound_bytes": 32 * KB,
        "optimal": True,
        "offsets": {"As": 0, "Bs": 16 * KB, "Cs": 0},
        "live": {"As": [1, 5], "Bs": [2, 5], "Cs": [6, 8]},
        "blocks_per_sm": 4,
        "residents": {
            "arch": "sm_80",
            "assumed": False,
            "blocks": 4,
            "blocks_by_memory": 4,
            "block_bytes": 32 * KB,
            "threads": 1,
            "registers": 25,
            "registers_from": "estimate",
            "stopped_by": ["shared memory"],
            "most_bytes_for_one_more": 32_512,
            "bytes_over": 256,
        },
        "fits": True,
        "apart": [],
        "kept": False,
        "sound": False,
        "verdict": "unsound",
        "violations": [
            {
                "rule": 2,
                "buffers": ["As", "Cs"],
                "witness": "`Cs[0] = acc[0]` overwrote it",
                "acts": [],
            }
        ],
        "uncovered": [],
        "assumptions": [],
        "notes": [],
    }


def test_a_verdict_is_plain_data() -> None:
    """Numbers and words, whatever kinds of enum they are in the program."""
    violations = tuple(Violation(rule, ("As",), "?") for rule in Rule)
    data: Any = verdict_data(Verdict(UNPROVED, violations, ("u",), ("a",)))
    assert [each["rule"] for each in data["violations"]] == list(range(1, 13))
    assert {type(each["rule"]) for each in data["violations"]} == {int}
    assert (data["verdict"], type(data["verdict"]), data["sound"]) == ("unproved", str, False)
    assert (data["uncovered"], data["assumptions"]) == (["u"], ["a"])


def test_what_is_never_merged_is_kept_apart() -> None:
    others = (buffer("mbar", 16, "shared.barrier"), buffer("tmem", 8, "shared.tmem"))
    kernel = Kernel("k", (*KERNEL.body, *map(Allocate, (*others, buffer("local", 4, "local")))))
    assert kept_apart(kernel) == [
        {"name": "mbar", "scope": "shared.barrier", "bytes": 16},
        {"name": "tmem", "scope": "shared.tmem", "bytes": 8},
    ]


def test_symbolic_sizes_are_expressions() -> None:
    symbolic = buffer("Ss", Var("n"), line=8)
    made = plan(
        "dataflow",
        {A: 0},
        {A: (1, 2), symbolic: (1, 2)},
        buffers=(A, symbolic),
        symbolic_offsets={symbolic: Const(256)},
        arena_expr=Call("add", (Const(256), Var("n"))),
    )
    data: Any = plan_entry(SUBJECT, made)
    assert data["arena"] == "256 + n"
    assert data["offsets"] == {"As": 0, "Ss": "256"}
    assert data["buffers"][1] == {
        "name": "Ss",
        "bytes": None,
        "alignment": 16,
        "size": "n * 1",
        "line": 8,
    }


def test_names_that_occur_twice_get_a_suffix_everywhere() -> None:
    one, two = buffer("X", 8), buffer("X", 8)
    found = Subject("k", Kernel("k", (Allocate(one), Allocate(two))), SCOPE)
    live = {one: LiveRange(one, 0, 1), two: LiveRange(two, 1, 2)}
    sequence = Linearization((StmtEntry(FILL_A, 0), StmtEntry(FILL_A, 0)), {one: 0, two: 0})
    data: Any = analyze_entry(found, "inner", sequence, live)
    for key in ("alloc_level", "gen", "kill", "live"):
        assert list(data[key]) == ["X", "X#1"]
    made = plan("outer", {one: 0, two: 0}, {one: (0, 1), two: (1, 2)})
    assert plan_entry(found, made)["offsets"] == {"X": 0, "X#1": 0}


def test_a_subject_for_each_kernel_and_scope() -> None:
    static = buffer("S", 32, "shared")
    both = Kernel("both", tuple(map(Allocate, (A, B, C, static))))
    found = subjects("k.tir", [both, Kernel("none", ())])
    assert [(each.kernel.name, each.scope, each.has_buffers) for each in found] == [
        ("both", "shared", True),
        ("both", "shared.dyn", True),
        ("none", "shared.dyn", False),
    ]
