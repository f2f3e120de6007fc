"""Which kernel of a baseline is which, and what is worse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.results.findings import FindingKind
from smemreuse.results.regressions import BaselineChange, BaselineEntry, changes, matched
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
        (["new.tir"], ["old.tir"], [0]),
        (["a.tir", "new.tir"], ["a.tir", "old.tir"], [0, 1]),
        (["new.tir", "newer.tir"], ["old.tir", "older.tir"], [None, None]),
        (["a.tir", "a.tir"], ["a.tir", "a.tir"], [0, 1]),
        (["a.tir", "a.tir"], ["a.tir"], [0, None]),
        (["a.tir"], [], [None]),
    ],
)
def test_a_kernel_is_found_by_its_file_else_by_its_name(
    now: list[str], before: list[str], pairs: list[int | None]
) -> None:
    old = [replace(ONE, file=file, arena_bytes=size) for size, file in enumerate(before)]
    found = matched([replace(ONE, file=file) for file in now], old)
    assert [one and one.arena_bytes for one in found] == pairs


def test_kernels_of_other_names_or_scopes_are_others() -> None:
    static, other = replace(ONE, scope="shared"), replace(ONE, kernel="other")
    first, second = changes([static, other], [ONE, replace(static, arena_bytes=4096)])
    assert first.before is not None
    assert first.before.arena_bytes == 4096
    assert second.before is None
