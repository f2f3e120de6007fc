"""What can be said of a plan without executing anything (rules 7, 8 and 9)."""

from __future__ import annotations

import pytest

from smemreuse.checker.verdict.static import static_violations, underaligned
from smemreuse.ir.expr import Const, Var
from smemreuse.ir.kernel import Buffer
from smemreuse.results.verdict import Violation
from smemreuse.versions import apache_tvm_0_27, tilelang_0_1_15
from smemreuse.versions.version import Version
from tests.checker.small import shared

A, B = shared("A", 8), shared("B", 8)
N = Buffer("N", "uint8", (Var("n"),), "shared.dyn")
M = Buffer("M", "uint8", (Var("m"),), "shared.dyn")
LOCAL = Buffer("L", "uint8", (Const(8),), "local")


def violations(
    offsets: dict[Buffer, int], arena: int = 64, alignments: dict[Buffer, int] | None = None
) -> list[Violation]:
    names = {one: one.name for one in offsets}
    return list(static_violations(offsets, alignments or {}, names, arena))


def rules(
    offsets: dict[Buffer, int], arena: int = 64, alignments: dict[Buffer, int] | None = None
) -> list[tuple[int, tuple[str, ...]]]:
    return [(one.rule, one.buffers) for one in violations(offsets, arena, alignments)]


def test_buffers_that_lie_well_break_no_rule() -> None:
    assert rules({A: 0, B: 56}, alignments={A: 16, B: 8}) == []


@pytest.mark.parametrize(("offset", "breaks"), [(-1, True), (0, False), (56, False), (57, True)])
def test_a_buffer_lies_inside_the_arena(offset: int, breaks: bool) -> None:
    assert (rules({A: offset}) == [(7, ("A",))]) is breaks


@pytest.mark.parametrize(("offset", "breaks"), [(0, False), (16, False), (24, True)])
def test_a_buffer_is_aligned_as_it_must_be(offset: int, breaks: bool) -> None:
    assert (rules({A: offset}, alignments={A: 16}) == [(7, ("A",))]) is breaks


def test_scopes_do_not_mix() -> None:
    assert rules({LOCAL: 0}) == [(8, ("L",))]


def test_a_buffer_of_unknown_size_may_reach_all_that_ends_behind_its_start() -> None:
    assert rules({A: 0, N: 8}) == []
    assert rules({A: 0, N: 7}) == [(9, ("N", "A"))]
    assert rules({N: 0, A: 8}) == [(9, ("N", "A"))]


def test_two_buffers_of_unknown_size_may_reach_each_other() -> None:
    assert rules({N: 0, M: 32}) == [(9, ("N", "M")), (9, ("M", "N"))]


def test_the_witness_tells_where_and_why() -> None:
    (leaving,) = violations({A: 60})
    assert leaving.witness == "A at [60, 68) leaves the arena of 64"
    (crooked,) = violations({A: 4}, alignments={A: 16})
    assert crooked.witness == "A at 4 is not aligned to 16 bytes"
    (unknown,) = violations({N: -4})
    assert unknown.witness == "N at [-4, an unknown end) leaves the arena of 64"


@pytest.mark.parametrize(
    ("scope", "needed", "version", "told"),
    [
        ("shared", 16, tilelang_0_1_15.VERSION, []),
        ("shared", 1024, tilelang_0_1_15.VERSION, ["1,024 bytes", "shared to 16"]),
        ("shared.dyn", 1024, tilelang_0_1_15.VERSION, []),
        ("shared.dyn", 2048, tilelang_0_1_15.VERSION, ["2,048 bytes", "shared.dyn to 1,024"]),
        ("shared", 1024, apache_tvm_0_27.VERSION, []),
    ],
)
def test_an_arena_is_aligned_as_the_compiler_does_it(
    scope: str, needed: int, version: Version, told: list[str]
) -> None:
    reasons = list(underaligned(scope, {A: needed, B: 16}, {A: "A"}, version))
    assert len(reasons) == bool(told)
    assert all(part in reason for reason in reasons for part in told)
