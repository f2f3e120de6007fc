"""Which kernel of a baseline is which, and what is worse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.results.findings import FindingKind
from smemreuse.results.matching import matched
from smemreuse.results.regressions import BaselineChange, BaselineEntry, changes
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND

ONE = BaselineEntry(
    "dir/a.tir", "main", "shared.dyn", 1024, UNPROVED, frozenset({"rule 2, A and B"})
)


def kinds(now: BaselineEntry, before: BaselineEntry | None) -> list[FindingKind]:
    return [one.kind for one in BaselineChange(now, before).worse]


def test_what_is_worse() -> None:
    assert kinds(ONE, ONE) == []
    assert kinds(replace(ONE, arena_bytes=1025), ONE) == [FindingKind.LARGER]
    assert kinds(replace(ONE, arena_bytes=1023), ONE) == []
    assert kinds(replace(ONE, verdict=UNSOUND), ONE) == [FindingKind.WORSE]
    assert kinds(replace(ONE, verdict=SOUND, faults=frozenset()), ONE) == []
    assert kinds(replace(ONE, faults=ONE.faults | {"rule 4, A and C"}), ONE) == [FindingKind.NEW]


def test_fewer_blocks_are_worse_on_one_architecture() -> None:
    before = replace(ONE, blocks=4, arch="sm_90")
    (worse,) = BaselineChange(replace(before, blocks=3), before).worse
    assert (worse.kind, worse.sentence) == (
        FindingKind.FEWER,
        "4 -> 3 blocks per SM by shared memory, threads and barriers",
    )
    for now in (4, 5, None):
        assert kinds(replace(before, blocks=now), before) == []
    assert kinds(replace(before, blocks=3, arch="sm_80"), before) == []
    assert kinds(before, replace(before, blocks=None)) == []


def test_a_proof_that_assumes_more_is_weaker() -> None:
    before = replace(ONE, verdict=SOUND, assumed=frozenset({"fenced, open"}))
    more = replace(before, assumed=frozenset({"fenced, open", "in-bounds, open"}))
    (worse,) = BaselineChange(more, before).worse
    assert (worse.kind, worse.sentence) == (FindingKind.ASSUMED, "in-bounds, open")
    assert kinds(before, more) == []
    assert kinds(more, replace(before, assumed=None)) == []
    assert kinds(more, replace(before, verdict=UNPROVED, assumed=frozenset())) == []


def test_a_new_kernel_has_no_bytes_to_be_larger_than() -> None:
    assert kinds(ONE, None) == [FindingKind.WORSE, FindingKind.NEW]
    assert kinds(replace(ONE, verdict=SOUND, faults=frozenset()), None) == []
    assert BaselineChange(ONE, None).is_any


def test_a_file_elsewhere_is_no_change() -> None:
    assert not BaselineChange(ONE, replace(ONE, file="elsewhere.tir")).is_any
    assert BaselineChange(ONE, replace(ONE, arena_bytes=2048)).is_any


@pytest.mark.parametrize(
    ("now", "before", "pairs"),
    [
        (["dir/a.tir", "dir/b.tir"], ["dir/b.tir", "dir/a.tir"], [1, 0]),
        (["x/a.tir", "y/b.tir"], ["b.tir", "a.tir"], [1, 0]),
        (["x/a.tir", "y/a.tir"], ["y/a.tir", "x/a.tir"], [1, 0]),
        (["y/a.tir"], ["x/a.tir", "r/y/a.tir"], [1]),
        (["/r/y/a.tir", "/r/x/a.tir"], ["x/a.tir", "y/a.tir"], [1, 0]),
        (["./y/a.tir"], ["x/a.tir", "y/a.tir"], [1]),
        (["z/a.tir"], ["x/a.tir", "y/a.tir"], [None]),
        (["new.tir"], ["old.tir"], [0]),
        (["a.tir", "new.tir"], ["a.tir", "old.tir"], [0, 1]),
        (["new.tir", "newer.tir"], ["old.tir", "older.tir"], [None, None]),
        (["new.tir", "new.tir"], ["old.tir", "old.tir"], [0, 1]),
        (["a.tir", "a.tir"], ["a.tir", "a.tir"], [0, 1]),
        (["a.tir", "a.tir"], ["a.tir"], [0, None]),
        (["a.tir"], [], [None]),
    ],
)
def test_a_kernel_is_found_by_its_file_else_by_its_name(
    now: list[str], before: list[str], pairs: list[int | None]
) -> None:
    old = [replace(ONE, file=file) for file in before]
    assert matched([replace(ONE, file=file) for file in now], old) == pairs


def named(*names: str) -> list[BaselineEntry]:
    """Entries of `file/kernel/scope`."""
    return [
        replace(ONE, file=f, kernel=k, scope=s) for f, k, s in (one.split("/") for one in names)
    ]


@pytest.mark.parametrize(
    ("now", "before", "pairs"),
    [
        (["a/k/dyn", "a/other/dyn"], ["a/k/dyn", "a/k/static"], [0, None]),
        (["a/k/static"], ["a/k/dyn"], [0]),
        (["b/k/static"], ["a/k/dyn"], [0]),
        (["a/k/static", "a/k/dyn"], ["a/k/dyn"], [None, 0]),
        (["a/new/dyn"], ["a/old/dyn"], [0]),
        (["a/new/dyn", "a/k/dyn"], ["a/k/dyn", "a/old/dyn"], [1, 0]),
        (["a/1/dyn", "a/2/dyn"], ["a/3/dyn", "a/4/dyn"], [0, 1]),
        (["a/1/dyn", "a/2/dyn"], ["a/3/dyn"], [None, None]),
        (["x/1/dyn"], ["y/2/dyn"], [0]),
        (["x/1/static"], ["y/2/dyn"], [None]),
        (["x/1/dyn", "z/2/dyn"], ["y/3/dyn", "w/4/dyn"], [None, None]),
    ],
)
def test_a_kernel_may_change_its_name_or_its_scope(
    now: list[str], before: list[str], pairs: list[int | None]
) -> None:
    assert matched(named(*now), named(*before)) == pairs


def test_what_was_not_looked_for_is_not_taken_for_renamed() -> None:
    now, before = named("x/1/dyn"), named("y/2/dyn")
    assert matched(now, before, lambda one: one.file == "y") == [0]
    assert matched(now, before, lambda one: False) == [None]


def test_kernels_of_other_names_or_scopes_are_others() -> None:
    static, other = replace(ONE, scope="shared"), replace(ONE, kernel="other")
    first, second = changes([static, other], [ONE, replace(static, arena_bytes=4096)]).rows
    assert first.before is not None
    assert first.before.arena_bytes == 4096
    assert second.before is None


def test_a_scope_that_is_new_took_no_bytes() -> None:
    static = replace(ONE, scope="shared", arena_bytes=16, verdict=SOUND, faults=frozenset())
    same, new = changes([ONE, static], [ONE]).rows
    assert not same.is_any
    assert [one.sentence for one in new.worse] == ["0 -> 16 bytes"]


def test_a_kernel_that_was_renamed_and_grew_is_worse() -> None:
    (row,) = changes([replace(ONE, kernel="new", arena_bytes=2048)], [ONE]).rows
    assert [one.kind for one in row.worse] == [FindingKind.LARGER]
    assert row.renamed_from == ONE
    assert row.is_any


@pytest.mark.parametrize(
    ("now", "before", "asked", "missing"),
    [
        (["a/k/dyn"], ["a/k/dyn", "a/gone/dyn"], "", ["gone"]),
        (["a/k/dyn"], ["a/k/dyn", "b/gone/dyn"], "", []),
        (["a/k/dyn"], ["a/k/dyn", "b/gone/dyn"], "b", ["gone"]),
        (["a/k/dyn"], ["a/k/dyn", "a/k/static"], "", []),
        (["a/k/dyn"], ["a/k/dyn", "a/k/dyn"], "", ["k"]),
        (["a/k/dyn"], ["a/k/dyn", "a/1/dyn", "a/2/dyn"], "", ["1", "2"]),
        ([], ["a/k/dyn"], "a", ["k"]),
    ],
)
def test_what_is_missing(now: list[str], before: list[str], asked: str, missing: list[str]) -> None:
    found = changes(named(*now), named(*before), lambda file: file == asked)
    assert [one.kernel for one in found.missing] == missing


def test_a_size_that_is_not_known_may_be_larger() -> None:
    symbolic = replace(ONE, arena_bytes=16, symbolic="16 + n * 4")
    assert kinds(symbolic, ONE) == [FindingKind.LARGER]
    assert kinds(symbolic, symbolic) == []
    assert kinds(replace(symbolic, symbolic="16 + n * 8"), symbolic) == [FindingKind.LARGER]
    assert kinds(replace(symbolic, arena_bytes=32), symbolic) == [FindingKind.LARGER]


def test_a_plan_that_is_gone_is_worse_though_nothing_shared_is_sound() -> None:
    bare = replace(ONE, verdict=SOUND, faults=frozenset(), arena_bytes=0, planned=False)
    assert kinds(bare, replace(bare, planned=True)) == [FindingKind.WORSE]
    assert kinds(bare, bare) == []
