"""What `check` tells, of audits made by hand."""

from __future__ import annotations

import re

from smemreuse.ir.kernel import Kernel
from smemreuse.report.audits import NOT_MERGED, check_entry, check_lines, checked
from smemreuse.report.data import Subject
from smemreuse.results.audit import Audit, PlanSource
from smemreuse.results.verdict import SOUND, Verdict
from tests.report.made import KB, OVERWRITTEN, SCOPE, SUBJECT

MERGED = Audit(PlanSource.MERGED, {"As": 0, "Cs": 0}, 32 * KB, OVERWRITTEN)


def test_an_audit_as_data() -> None:
    data = check_entry(checked(SUBJECT, MERGED))
    assert [*data][:6] == ["file", "name", "scope", "plan", "arena_bytes", "offsets"]
    assert (data["plan"], data["offsets"]) == ("merged in the file", {"As": 0, "Cs": 0})
    assert (data["arena_bytes"], data["verdict"]) == (32 * KB, "unsound")


def test_the_verdict_comes_first() -> None:
    heading, finding, known_by = (line.plain for line in check_lines(checked(SUBJECT, MERGED)))
    assert heading == (
        "unsound: made.tir: gemm_kernel (shared.dyn), merged in the file, 2 buffers in 32,768 bytes"
    )
    assert finding == "  rule 2 (loop-carried), As and Cs: `Cs[0] = acc[0]` overwrote it"
    assert re.fullmatch(r"  to accept it in smemreuse.toml: \[plan-[0-9a-f]{8}\]", known_by)


def test_where_nothing_is_merged_there_is_nothing_to_audit() -> None:
    audit = Audit(PlanSource.NOTHING_MERGED, {}, 0, Verdict(SOUND))
    (line,) = check_lines(checked(SUBJECT, audit))
    assert line.plain.endswith(f": {NOT_MERGED} sound)")
    (line,) = check_lines(checked(Subject("k.tir", Kernel("k", ()), SCOPE), audit))
    assert line.plain == "k.tir: k has no shared buffers"
