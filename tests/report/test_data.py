"""The machine contract, on a kernel small enough to check by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.report.data import (
    Subject,
    analyze_entry,
    compare_entry,
    gap_text,
    plan_entry,
    subjects,
)
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of

SOURCE = dump(
    LAUNCH
    + BUFFERS
    + 'mbar = T.alloc_buffer((2,), "uint64", scope="shared.barrier")\n'
    + "for i in range(4):\n    As[i] = T.float32(0.0)\n"
    + "for i in range(4):\n    Bs[i] = T.float32(0.0)\n"
)


def subject() -> Subject:
    return Subject("k.tir", kernel_of(SOURCE), "shared.dyn")


def entries(data: dict[str, object], key: str = "sequence") -> list[dict[str, object]]:
    found = data[key]
    assert isinstance(found, list)
    return found


def test_analyze() -> None:
    found = subject()
    data = analyze_entry(found, "outer", *sequence_of(found.kernel, "shared.dyn", "outer"))
    assert data == {
        "file": "k.tir",
        "name": "main",
        "scope": "shared.dyn",
        "dialect": "tilelang",
        "policy": "outer",
        "sequence": [
            scope_row("AttrStmt", "launch_thread('blockIdx.x', 4)", 5, [], 5),
            scope_row("For", "for i in serial(4)", 1, [], 9),
            scope_row("For", "for i in serial(4)", -1, ["As"], 9),
            scope_row("For", "for i in serial(4)", 1, [], 11),
            scope_row("For", "for i in serial(4)", -1, ["Bs"], 11),
            scope_row("AttrStmt", "launch_thread('blockIdx.x', 4)", -5, [], 5),
        ],
        "alloc_level": {"As": 1, "Bs": 1},
        "gen": {"As": 1, "Bs": 3},
        "kill": {"As": 2, "Bs": 4},
        "live": {"As": [1, 3], "Bs": [3, 5]},
    }


def scope_row(stmt: str, label: str, offset: int, touched: list[str], at: int) -> dict[str, object]:
    row = {"stmt": stmt, "label": label, "scope_pair_offset": offset, "touched": touched}
    return {**row, "line": at}


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
    plan = plan_kernel(subject().kernel, "shared.dyn", policy="outer")
    assert gap_text(replace(plan, arena_bytes=arena, lower_bound_bytes=bound)) == text


def test_plan() -> None:
    found = subject()
    data = plan_entry(found, plan_kernel(found.kernel, "shared.dyn", policy="outer"))
    assert data == {
        "file": "k.tir",
        "name": "main",
        "scope": "shared.dyn",
        "dialect": "tilelang",
        "policy": "outer",
        "packer": "best",
        "objective": "bytes",
        "buffers": [
            {"name": "As", "bytes": 256, "alignment": 16, "line": 6},
            {"name": "Bs", "bytes": 256, "alignment": 16, "line": 7},
        ],
        "arena_bytes": 256,
        "lower_bound_bytes": 256,
        "optimal": True,
        "offsets": {"As": 0, "Bs": 0},
        "notes": [],
    }


def test_compare() -> None:
    found = subject()
    plans = [
        plan_kernel(found.kernel, "shared.dyn", policy=policy) for policy in ("outer", "inner")
    ]
    data = compare_entry(found, plans)
    assert data["total_bytes"] == 512
    assert data["kept_apart"] == [{"name": "mbar", "scope": "shared.barrier", "bytes": 16}]
    assert data["policies"] == {
        policy: {
            "arena_bytes": 256,
            "lower_bound_bytes": 256,
            "optimal": True,
            "offsets": {"As": 0, "Bs": 0},
            "live": live,
        }
        for policy, live in (
            ("outer", {"As": [1, 3], "Bs": [3, 5]}),
            ("inner", {"As": [2, 3], "Bs": [5, 6]}),
        )
    }


def test_without_reuse_buffers_stand_side_by_side() -> None:
    found = subject()
    data = plan_entry(found, plan_kernel(found.kernel, "shared.dyn", objective="none"))
    assert data["objective"] == "none"
    assert data["arena_bytes"] == 512


def test_symbolic_sizes_are_expressions() -> None:
    body = 'Ss = T.alloc_buffer((n,), scope="shared.dyn")\nSs[0] = As[0]\n'
    kernel = kernel_of(dump(LAUNCH + BUFFERS + body))
    data = plan_entry(Subject("k", kernel, "shared.dyn"), plan_kernel(kernel, "shared.dyn"))
    assert data["arena"] == "(256 + n * 4 + 15) // 16 * 16"
    assert data["offsets"] == {"As": 0, "Ss": "256"}
    assert entries(data, "buffers")[2] == {
        "name": "Ss",
        "bytes": None,
        "alignment": 16,
        "size": "n * 4",
        "line": 8,
    }


def test_names_that_occur_twice_get_a_suffix_everywhere() -> None:
    block = 'for i in range(2):\n    X = T.alloc_buffer((8,), scope="shared.dyn")\n    X[i] = 0.0\n'
    kernel = kernel_of(dump(LAUNCH + block + block))
    found = Subject("k", kernel, "shared.dyn")
    data = analyze_entry(found, "inner", *sequence_of(kernel, "shared.dyn", "inner"))
    for key in ("alloc_level", "gen", "kill", "live"):
        value = data[key]
        assert isinstance(value, dict)
        assert list(value) == ["X", "X#1"]
    assert plan_entry(found, plan_kernel(kernel, "shared.dyn", policy="outer"))["offsets"] == {
        "X": 0,
        "X#1": 0,
    }


def test_a_subject_for_each_kernel_and_scope() -> None:
    static = 'S = T.alloc_buffer((8,), scope="shared")\n'
    both = dump(LAUNCH + BUFFERS + static + "As[0] = S[0]\n").replace("main", "both")
    none = dump(LAUNCH).replace("main", "none").partition("\n\n")[2]
    found = subjects("k.tir", parse_dump(both + "\n" + none).kernels)
    assert [(each.kernel.name, each.scope) for each in found] == [
        ("both", "shared"),
        ("both", "shared.dyn"),
        ("none", "shared.dyn"),
    ]
    empty = plan_entry(found[2], plan_kernel(found[2].kernel, "shared.dyn"))
    assert (empty["buffers"], empty["arena_bytes"], empty["offsets"]) == ([], 0, {})
