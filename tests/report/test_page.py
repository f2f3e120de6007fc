"""The page's text, of a kernel made by hand; `tests/commands/test_report.py` opens real ones."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from smemreuse.report.overview import overview_entry
from smemreuse.report.page import report_page
from smemreuse.report.page.figures import memory_map
from smemreuse.results.timeline import Band, Step
from tests.report.made import INNER, KB, OVERVIEW, SUBJECT, TIMELINE, entry


def titles_of(page: str) -> list[str]:
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    return [kernel["title"] for kernel in json.loads(data[1])["kernels"]]


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


def test_a_bar_for_each_buffer_and_a_line_for_each_level() -> None:
    figure = memory_map(entry(), "dataflow")
    bars = {
        bar["customdata"][0]: (bar["base"][0], bar["y"][0], bar["x"][0], bar["width"][0])
        for bar in figure["data"]
        if bar.get("customdata") is not None
    }
    assert bars == {
        "As": (0, 16 * KB, 3, 4),
        "Bs": (16 * KB, 16 * KB, 3.5, 3),
        "Cs": (0, 32 * KB, 7, 2),
    }
    texts = [one["text"] for one in figure["layout"]["annotations"]]
    assert texts == ["arena 32,768", "peak live 32,768"]
    assert len(figure["layout"]["shapes"]) == 2, "the arena, and the barrier"


def test_hovering_tells_where_a_buffer_lives() -> None:
    (cs,) = (bar for bar in memory_map(entry(), "inner")["data"] if bar.get("customdata") == ["Cs"])
    for words in ("32,768 bytes", "offset 0 to 32,768", "gen: Cs[0] = acc[0] (line 17)", "kill: "):
        assert words in cs["hovertemplate"]


def test_short_loops_of_a_long_kernel_have_no_room_for_their_text() -> None:
    steps = TIMELINE.steps + tuple(
        Step(position, 1, INNER, False, {}) for position in range(9, 1000)
    )
    bands = tuple(Band("loop", at, at + 2, 1, INNER) for at in range(10, 900, 8))
    overview = replace(OVERVIEW, timeline=replace(TIMELINE, steps=steps, bands=bands))
    figure = memory_map(overview_entry(SUBJECT, overview), "dataflow")
    drawn = [bar for bar in figure["data"] if "customdata" not in bar]
    assert len(drawn) == len(bands) > 100
    assert {bar["text"][0] for bar in drawn} == {""}
