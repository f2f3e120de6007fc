"""Operations of a whole warp or warpgroup that a part of it executes (rule 12)."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import HazardKind, LintReport
from smemreuse.semantics.effects import Together
from smemreuse.semantics.table import effect_of, evaluated_call
from tests.checker.small import (
    DESCRIBE_A,
    DESCRIPTORS,
    SYNC,
    WGMMA_A,
    kernel_of,
    reduced,
    statement,
    under,
)
from tests.linter.test_linter import report_on

REGISTERS = DESCRIPTORS + 'r = T.alloc_buffer((8,), "int32", scope="local")\n'
SOURCE = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, tx % 8 * 4, 4, 1)'
LOAD = f"T.ptx_ldmatrix(T.bool(False), 4, {SOURCE}, r.data)\n"
MULTIPLY = (
    'T.ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", r.data, 0, r.data, 0, '
    "acc.data, 0, T.bool(False))\n"
)
WGMMA = (
    f"{DESCRIBE_A}T.warpgroup_arrive()\n{WGMMA_A}T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n"
)


def _report(body: str, threads: int = 128) -> LintReport:
    return report_on(kernel_of(body, threads=threads, declared=REGISTERS))


def _divided(body: str, threads: int = 128) -> list[tuple[str, bool]]:
    return [
        (one.site.statement.partition("(")[0], one.certain)
        for one in _report(body, threads).hazards
        if one.kind is HazardKind.BARRIER_DIVERGENCE
    ]


@pytest.mark.parametrize(
    ("branch", "hazards"),
    [
        ("if tx < 128", []),
        ("if tx < 32", []),
        ("if tx // 32 % 2 == 0", []),
        ("if D[0] > 0", []),
        ("for k in range(D[0])", []),
        ("if tx < 16", [("ptx_mma", True)]),
        ("if tx % 32 < 31", [("ptx_mma", True)]),
        ("for k in range(tx % 4)", [("ptx_mma", False)]),
        ("if D[tx] > 0", [("ptx_mma", False)]),
    ],
)
def test_all_lanes_of_a_warp_execute_an_mma(branch: str, hazards: list[tuple[str, bool]]) -> None:
    assert _divided(under(branch, MULTIPLY)) == hazards


@pytest.mark.parametrize(
    ("before", "branch", "divided"),
    [
        ("c[0] = tx\n", "if c[0] < 16", True),
        ("c[0] = tx\n", "if D[c[0]] < 16", True),
        ("v: T.int32 = D[tx]\n", "if v < 16", True),
        ("c[0] = As[tx]\nc[1] = c[0] + 1\n", "for k in range(c[1])", True),
        ("c[0] = tx\n", "while c[0] < 40", True),
        ("c[0] = D[0]\n", "if c[0] < 16", False),
        (f"c[0] = {reduced(128, 'tl::NamedBarrier<128>')}\n", "if c[0] < 16", False),
        ("c[0] = tx // 32\n", "while c[0] < D[0]", False),
        ("c[0] = tx // 32 * D[1]\n", "if c[0] < 16", False),
        ("c[0] = tx // 16\n", "while c[0] < D[0]", True),
        ("v: T.int32 = D[tx // 32 % 2]\n", "if v < 16", False),
        ("c[0] = 0\n" + under("if tx % 32 < 16", "c[0] = 1\n"), "if c[0] == D[0]", True),
        ("c[0] = 0\n" + under("if tx < 32", "c[0] = 1\n"), "if c[0] == D[0]", False),
        ("c[0] = 0\n" + under("if D[tx] > 0", "c[0] = 1\n"), "if c[0] == D[0]", True),
    ],
)
def test_what_is_made_of_the_index_decides_by_thread(
    before: str, branch: str, divided: bool
) -> None:
    expected = [("ptx_mma", False)] * divided
    assert _divided(before + under(branch, MULTIPLY + "c[0] = c[0] + 1\n")) == expected


def test_what_is_the_same_for_a_warp_may_differ_in_a_warpgroup() -> None:
    found = _divided("c[0] = tx // 32\n" + under("if c[0] < D[0]", WGMMA))
    assert len(found) == 4
    assert not _divided("c[0] = tx // 128\n" + under("if c[0] < D[0]", WGMMA), threads=256)


SHUFFLE = "O[tx] = T.tvm_warp_shuffle(T.uint32({}), tx, 0, 32, 32)\n"
ALL, HALF = 0xFFFFFFFF, 0xFFFF


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (SHUFFLE.format(ALL), []),
        (under("if tx < 32", SHUFFLE.format(ALL)), []),
        (under("if D[0] > 0", SHUFFLE.format(ALL)), []),
        (under("if tx < 16", SHUFFLE.format(HALF)), []),
        (under("if tx < 16", SHUFFLE.format(ALL)), [False]),  # the others may have ended
        (under("if tx < 16", SHUFFLE.format(ALL)) + SYNC, [True]),
        (under("if tx % 32 < 15", SHUFFLE.format(HALF)) + SYNC, [True]),
        (under("if D[tx] > 0", SHUFFLE.format(ALL)) + SYNC, [False]),
        (under("if tx < 16", SHUFFLE.format("D[0]")) + SYNC, []),
        (under("if tx < 16", "O[tx] = T.warp_reduce_sum(tx)\n") + SYNC, [True]),
        (under("if tx < 16", f"O[tx] = {reduced(16)}\n") + SYNC, [True]),
        (under("if tx < 32", f"O[tx] = {reduced(16)}\n") + SYNC, []),
    ],
)
def test_all_lanes_that_a_mask_names_come_to_a_shuffle(body: str, hazards: list[bool]) -> None:
    assert [certain for _, certain in _divided(body)] == hazards


def test_what_data_decide_further_out_is_not_certain() -> None:
    assert _divided(under("if D[0] > 0", under("if tx < 16", MULTIPLY))) == [("ptx_mma", False)]


def test_a_row_for_each_lane_is_loaded_by_all_lanes() -> None:
    filled = "As[tx] = tx\nT.sync_warp()\n"
    assert not _divided(filled + LOAD)
    assert _divided(filled + under("if tx < 8", LOAD)) == [("ptx_ldmatrix", True)]


def test_a_warpgroup_multiplies_as_one() -> None:
    assert not _divided(WGMMA)
    names = ["warpgroup_arrive", "ptx_wgmma_ss", "warpgroup_commit_batch", "warpgroup_wait"]
    assert _divided(under("if tx < 64", WGMMA)) == [(name, True) for name in names]
    assert _divided(WGMMA, threads=96) == [(name, True) for name in names]
    assert not _divided(under("if tx >= 128", WGMMA), threads=256)


def test_the_witness_names_who_is_missing_of_what() -> None:
    (hazard,) = _report(under("if tx < 16", MULTIPLY)).hazards
    assert hazard.witness.startswith("threads 16-31 do not execute `ptx_mma(")
    assert hazard.witness.endswith("with the others of their warp, and it needs all of them")
    assert hazard.mend.sentence.startswith("let all threads of the warp reach line")


@pytest.mark.parametrize(
    ("text", "group"),
    [
        (LOAD, Together.WARP),
        (MULTIPLY, Together.WARP),
        (WGMMA_A, Together.WARPGROUP),
        ("T.warpgroup_wait(0)\n", Together.WARPGROUP),
        ('T.call_extern("handle", "tl::ptx_ldmatrix_x4", As.data, r.data)\n', Together.WARP),
        ("T.ptx_commit_group()\n", None),
        ("T.fence_proxy_async()\n", None),
    ],
)
def test_who_executes_an_operation_together(text: str, group: Together | None) -> None:
    kernel = kernel_of(text, declared=REGISTERS)
    stmt = statement(kernel, text.removeprefix("T.").partition("(")[0])
    call = evaluated_call(stmt)
    assert call is not None
    assert effect_of(call).together is group
