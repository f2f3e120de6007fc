"""Findings that were tried once more, and the reasons of those that never showed."""

from __future__ import annotations

from typing import Any

from scripts.findings_page import ONCE_MORE, PLANS, STUDIES, shown_counts
from scripts.results import RESULTS, read
from scripts.unshown_page import name_of, reasons, unshown_table, with_again, withdrawn
from smemreuse.results.reproduction import Shown


def row(finding: str, shown: str, *tried: str) -> dict[str, Any]:
    about = {"kind": "race", "mechanism": "read after write", "buffers": ["As"]}
    return {
        **about,
        "kernel": "scan_kernel",
        "finding": finding,
        "shown": shown,
        "tried": [*tried],
        "reference": "fixed",
        "outcomes": {},
    }


def study(*rows: dict[str, Any]) -> dict[str, Any]:
    programs = [{"program": "scan", "findings": [*rows]}, {"program": "died", "error": "no"}]
    return {"device": "NVIDIA H100", "date": "2026-11-27", "programs": programs}


def again(*rows: dict[str, Any]) -> dict[str, Any]:
    found = [{"study": "h100", "program": "scan", **one} for one in rows]
    return {"device": "NVIDIA H200", "date": "2026-11-28", "findings": found}


FIRST = study(row("aaaa", "not shown", "late"), row("bbbb", "not shown", "late"))
SECOND = again(row("aaaa", "shown", "queued"), row("bbbb", "not shown", "queued", "late"))


def test_what_showed_later_takes_the_place_of_what_did_not() -> None:
    (found,) = with_again([FIRST], SECOND)
    shown, not_shown = found["programs"][0]["findings"]
    assert (shown["shown"], shown["card"], shown["tried"]) == ("shown", "H200", ["queued"])
    assert (not_shown["shown"], not_shown["tried"]) == ("not shown", ["late", "queued"])
    assert found["programs"][1] == {"program": "died", "error": "no"}
    assert with_again([FIRST], None) == [FIRST]


def test_an_error_tells_nothing() -> None:
    failed = {"kernel": "scan_kernel", "finding": "aaaa", "error": "no memory"}
    assert with_again([FIRST], again(failed)) == [FIRST]


def test_what_is_not_certain_any_more_is_left_out() -> None:
    kernel, finding = next(iter(withdrawn())).split()
    gone = {**row(finding, "not shown"), "kernel": f"{kernel}_kernel"}
    (found,) = with_again([study(gone, row("aaaa", "shown"))], None)
    assert [one["finding"] for one in found["programs"][0]["findings"]] == ["aaaa"]


def test_the_counts_say_what_trying_once_more_has_shown() -> None:
    told = shown_counts(with_again([FIRST], SECOND), SECOND)
    assert told.startswith("Of 2 certain findings 1 were shown (50 %)")
    assert "Of these 1 were shown by other attempts, on an H200, 2026-11-28; " in told


def test_every_finding_that_was_not_shown_has_a_reason_and_no_other() -> None:
    studies = [read(name) for name in (*STUDIES, PLANS)]
    once_more = read(ONCE_MORE) if (RESULTS / f"{ONCE_MORE}.json").exists() else None
    names = {
        name_of(one)
        for study in with_again(studies, once_more)
        for program in study["programs"]
        for one in program.get("findings", ())
        if Shown(one["shown"]) is Shown.NOT_SHOWN
    }
    words, of_finding = reasons()
    assert names == {*of_finding}
    assert {*of_finding.values()} == {*words}
    assert not of_finding.keys() & withdrawn().keys()


def test_the_table_counts_what_was_tried() -> None:
    one = row("7a29f618", "not shown", "late", "queued")
    table = unshown_table([study({**one, "kernel": "main_kernel"}, row("cccc", "shown"))])
    assert "| scan | race: read after write | As | 2 | used before another release |" in table
    assert "cccc" not in table
    assert table.count("\n- *used before another release*: ") == 1
