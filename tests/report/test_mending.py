"""What is told of mends, made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Evaluate
from smemreuse.report.mending import mending_data, unchanged_line
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, Mend, Remedy
from smemreuse.results.mending import Inserted, Insertion, Mended, Mending, Unmended
from smemreuse.results.sites import Site

READ, WRITE = (Site(text, line) for text, line in (("x = As[0]", 4), ("As[0] = 1", 7)))
HAZARD = Hazard(
    HazardKind.RACE,
    True,
    WRITE,
    ("As",),
    "thread 1 is too early",
    Mend(Remedy.BARRIER, "Meet.", READ, WRITE),
    other=READ,
)
BEFORE = LintReport("kernel", barriers_follow=False, hazards=(HAZARD,))
AFTER = replace(BEFORE, hazards=())
ANCHOR = Evaluate(Call("anchor", ()), line=6)
MENDED = Mended(Insertion(ANCHOR, False, (Inserted(Call("meet", ())),)), HAZARD)
MENDING = Mending(BEFORE, AFTER, (MENDED,))


def test_what_was_put_in_where_and_why() -> None:
    assert list(MENDING.sentences) == [
        "kernel: inserted `meet()` before `anchor()` (line 6) to fix race (certain by PTX, the "
        "author's): thread 1 is too early",
        "kernel: fixed: lint finds it clean",
    ]


def test_a_hazard_with_several_fixes_is_explained_once() -> None:
    _, second, _ = Mending(BEFORE, AFTER, (MENDED, MENDED)).sentences
    assert second == "kernel: inserted `meet()` before `anchor()` (line 6) to fix the same race"


def test_what_the_compiler_put_in_is_called_so() -> None:
    theirs = replace(MENDED, hazard=replace(HAZARD, origin=type(HAZARD.origin).COMPILER))
    first, _ = Mending(BEFORE, AFTER, (theirs,)).sentences
    assert "to fix race (certain by PTX, the compiler's): thread 1" in first


def test_what_could_not_be_mended() -> None:
    left = Mending(BEFORE, BEFORE, (), (Unmended(HAZARD, "who knows how"),))
    assert list(left.sentences) == [
        "kernel: not fixed: race at `As[0] = 1` (line 7): who knows how",
        "kernel: nothing inserted: lint finds it with certain hazards",
    ]


def test_what_was_taken_back() -> None:
    found = MENDING.taken_back("it cannot be written")
    assert (found.mends, found.after, found.doubt) == ((), BEFORE, "it cannot be written")
    assert [one.why for one in found.unmended] == ["it cannot be written"]


def test_a_clean_kernel() -> None:
    assert list(Mending(AFTER, AFTER).sentences) == [
        "kernel: clean: nothing to fix, and nothing changed"
    ]


def test_a_file_of_clean_kernels_is_an_unchanged_copy() -> None:
    clean = Mending(AFTER, AFTER)
    told = unchanged_line([clean, clean], "fixed.tir")
    assert told is not None
    assert told.plain == "clean: nothing to fix; fixed.tir is an unchanged copy"
    for others in ([], [MENDING], [None], [Mending(BEFORE, BEFORE)]):
        assert unchanged_line([*others, *[clean] * bool(others)], "fixed.tir") is None


def test_what_was_not_followed_is_told() -> None:
    unknown = replace(AFTER, unknown=("a budget",))
    assert list(Mending(unknown, unknown).sentences) == [
        "kernel: not followed: a budget",
        "kernel: nothing inserted: lint finds it not followed to the end",
    ]


def test_as_data() -> None:
    data: Any = mending_data(MENDING)
    assert (data["status_before"], data["status"]) == ("hazards", "clean")
    assert data["unmended"] == []
    (mend,) = data["mends"]
    assert mend["at"] == {"statement": "anchor()", "line": 6, "source": None, "loops": {}}
    assert mend["put_in"] == ["meet()"]


def test_what_is_left_is_counted() -> None:
    left = Mending(BEFORE, BEFORE, (MENDED,), (Unmended(HAZARD, "who knows how"),))
    *_, outcome = left.sentences
    assert outcome == "kernel: 1 fixed, 1 left: lint finds it with certain hazards"
