"""The page's text, of a kernel made by hand; `test_browser.py` opens real ones."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

from smemreuse.report.page import report_page
from tests.report.made import KB, entry

UNPACKED = r'<script type="application/json" id="data">(.*?)</script>'
PACKED = r'<script type="text/plain" class="kernel">(.*?)</script>'


def data_of(page: str) -> dict[str, Any]:
    """What the script has beside the kernels."""
    found = re.search(UNPACKED, page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def rows_of(page: str) -> list[dict[str, Any]]:
    """The overview's rows, as the script has them."""
    rows: list[dict[str, Any]] = data_of(page)["rows"]
    return rows


def kernels_of(page: str) -> list[dict[str, Any]]:
    return [json.loads(gzip.decompress(base64.b64decode(one))) for one in re.findall(PACKED, page)]


def titles_of(page: str) -> list[str]:
    return [row["title"] for row in rows_of(page)]


def test_names_cannot_leave_their_element() -> None:
    page = report_page([entry(name="</script><script>alert(1)</script>")])
    assert page.count("</script>") == 3
    assert "alert(1)" in page


def test_titles_tell_kernels_of_one_name_apart() -> None:
    entries = [entry(file=f"{name}.tir") for name in ("gemm.sm_80", "gemm.sm_90a")]
    both = ["gemm.sm_80.tir: gemm_kernel (shared.dyn)", "gemm.sm_90a.tir: gemm_kernel (shared.dyn)"]
    other = entry(name="other")
    assert titles_of(report_page([*entries, other])) == [*both, "other (shared.dyn)"]
    elsewhere = {**entries[0], "file": "elsewhere/gemm.sm_80.tir"}
    again = titles_of(report_page([*entries, elsewhere]))
    assert again == [f"{both[0]} #1", both[1], f"{both[0]} #2"]


def test_a_page_is_the_same_each_time_and_holds_its_kernels() -> None:
    page = report_page([entry(), entry(file="other.tir")])
    assert page == report_page([entry(), entry(file="other.tir")])
    first, second = kernels_of(page)
    assert (first["file"], second["file"]) == ("made.tir", "other.tir")
    assert set(first["maps"]) == set(first["policies"]) == {"outer", "inner", "dataflow"}
    assert set(first["tints"]) == {"As", "Bs", "Cs"}


def test_a_page_loads_nothing() -> None:
    page = report_page([entry()])
    assert not re.search(r'<link|@import|url\(|(src|href)="(?![#$])', page)
    assert len(page) < 100 * KB
