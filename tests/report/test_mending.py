"""What is told of mends, made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Evaluate
from smemreuse.report.mending import mending_data, mending_lines
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, Mend, Remedy, Site
from smemreuse.results.mending import Inserted, Insertion, Mended, Mending, Unmended

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
    assert list(mending_lines(MENDING)) == [
        "kernel: `meet()` inserted before `anchor()` (line 6) for race (certain): "
        "thread 1 is too early",
        "kernel: fixed, and now clean",
    ]


def test_what_the_compiler_put_in_is_called_so() -> None:
    theirs = replace(MENDED, hazard=replace(HAZARD, origin=type(HAZARD.origin).COMPILER))
    first, _ = mending_lines(Mending(BEFORE, AFTER, (theirs,)))
    assert "for race (certain, inserted by the compiler): thread 1" in first


def test_what_could_not_be_mended() -> None:
    left = Mending(BEFORE, BEFORE, (), (Unmended(HAZARD, "who knows how"),))
    assert list(mending_lines(left)) == [
        "kernel: not fixed: race at `As[0] = 1` (line 7): who knows how",
        "kernel: hazards: nothing was inserted",
    ]


def test_what_was_taken_back() -> None:
    found = MENDING.taken_back("it cannot be written")
    assert (found.mends, found.after, found.doubt) == ((), BEFORE, "it cannot be written")
    assert [one.why for one in found.unmended] == ["it cannot be written"]


def test_a_clean_kernel() -> None:
    assert list(mending_lines(Mending(AFTER, AFTER))) == ["kernel: clean: nothing to fix"]


def test_what_was_not_followed_is_told() -> None:
    unknown = replace(AFTER, unknown=("a budget",))
    assert list(mending_lines(Mending(unknown, unknown))) == [
        "kernel: not followed: a budget",
        "kernel: unknown: nothing was inserted",
    ]


def test_as_data() -> None:
    data: Any = mending_data(MENDING)
    assert (data["status_before"], data["status"]) == ("hazards", "clean")
    assert data["unmended"] == []
    (mend,) = data["mends"]
    assert mend["at"] == {"statement": "anchor()", "line": 6, "source": None, "loops": {}}
    assert mend["put_in"] == ["meet()"]
