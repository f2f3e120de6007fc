"""Two maps side by side: what the page is told of a difference, and what a browser shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.make_pictures import browser as chromium
from smemreuse.commands.subjects import read_subjects
from smemreuse.explainer.difference import difference_of
from smemreuse.explainer.layouts import layout_of
from smemreuse.explainer.plans import judged_plan, side_by_side
from smemreuse.explainer.timeline import timeline_of
from smemreuse.report.overview import overview_entry
from smemreuse.report.page.comparison import ComparedMaps, comparison_page
from smemreuse.results.difference import NamedLayout
from smemreuse.results.overview import Overview
from tests.conftest import DUMPS, needs_chromium
from tests.report.looking import (
    faint,
    is_scrolled_sideways,
    overlaps,
    part,
    parts,
    resize,
    texts,
    theme,
    until,
)
from tests.report.test_page import kernels_of, rows_of

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

STORES = ("tma_store_waited_for.sm_90a", "tma_store_in_flight.sm_90a")
GROUPS = ("gemm_two_consumers.sm_90a", "gemm_three_groups.sm_90a")


def compared(old: str, new: str) -> ComparedMaps:
    """Two dumps of one kernel each, under policy dataflow."""
    found = [_side(DUMPS / f"{name}.tir") for name in (old, new)]
    (one, before), (other, after) = found
    return ComparedMaps(difference_of(one, other), before, after)


def _side(path: Path) -> tuple[NamedLayout, dict[str, object]]:
    (subject,) = read_subjects([str(path)])
    kernel, scope = subject.kernel, subject.scope
    plan, verdict = judged_plan(kernel, scope)
    apart, timeline = side_by_side(kernel, scope), timeline_of(kernel, scope)
    shown = Overview({"dataflow": (plan, verdict)}, apart, timeline, ())
    return layout_of(path.name, kernel, plan, None), overview_entry(subject, shown)


@pytest.fixture(scope="module")
def page_text() -> str:
    return comparison_page([compared(*STORES), compared(*GROUPS)])


def test_a_row_for_each_pair(page_text: str) -> None:
    stores, groups = rows_of(page_text)
    assert (stores["before"], stores["after"], stores["change"]) == (4096, 8192, 4096)
    assert stores["mainly"] == "live range"
    assert groups["mainly"] == "appeared", "the largest of those that made it grow"
    assert groups["blocks"] == [5, 3]


def test_lines_are_told_apart_by_their_side(page_text: str) -> None:
    (cause,) = [one for one in rows_of(page_text)[0]["causes"] if one["bytes"]]
    (old, before), (new, after) = cause["parts"]
    assert (old, new) == (0, 1)
    assert before.endswith("(line 30)")
    assert "(line 35)" in after
    vanished = [one for one in rows_of(page_text)[1]["causes"] if one["kind"] == "vanished"]
    assert {side for one in vanished for side, _ in one["parts"]} == {0}


def test_both_maps_have_one_scale(page_text: str) -> None:
    one, other, *_ = kernels_of(page_text)
    assert one["maps"]["dataflow"][1].count("8,192</span>") == 1
    assert other["maps"]["dataflow"][1].count("8,192</span>") == 1


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium(1280, 1000) as driver:
        yield driver


@pytest.fixture
def page(browser: Chrome, page_text: str, tmp_path: Path) -> Iterator[Chrome]:
    path = tmp_path / "diff.html"
    path.write_text(page_text, encoding="utf-8")
    resize(browser, 1280)
    theme(browser, "light")
    browser.get(path.as_uri())
    until(browser, "document.querySelector('.kernels') !== null")
    yield browser
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def look(browser: Chrome, name: str) -> None:
    next(one for one in parts(browser, ".kernels a") if name in one.text).click()
    until(browser, "document.querySelectorAll('.side .smem-buffer').length > 2")


@needs_chromium
@pytest.mark.xdist_group("Chromium")
def test_what_grew_comes_first_when_asked_for(page: Chrome) -> None:
    next(one for one in parts(page, "thead button") if one.text == "change").click()
    assert texts(page, "td[data-head=change]") == ["+32,768", "+4,096"]
    assert "1 lost a resident block" in part(page, ".totals").text


@needs_chromium
@pytest.mark.xdist_group("Chromium")
def test_a_line_is_a_link_into_its_own_side(page: Chrome) -> None:
    look(page, "tma_store")
    for text, side in (("line 30", 0), ("line 35", 1)):
        next(one for one in parts(page, ".causes a") if one.text == text).click()
        chosen = part(page, ".chosen-line")
        assert chosen.get_attribute("data-line") == text.removeprefix("line ")
        where = (
            "return [...document.querySelectorAll('.side')].indexOf(arguments[0].closest('.side'))"
        )
        assert page.execute_script(where, chosen) == side
        assert len(parts(page, ".chosen-line")) == 1


@needs_chromium
@pytest.mark.xdist_group("Chromium")
def test_a_buffer_lights_up_in_both_maps(page: Chrome) -> None:
    look(page, "tma_store")
    part(page, ".causes button").click()
    chosen = parts(page, "[data-relation=chosen]")
    assert [one.get_attribute("data-buffer") for one in chosen] == ["stage", "stage"]
    assert len(parts(page, "[data-relation=shares]")) == 1, "before"
    assert len(parts(page, "[data-relation=conflicts]")) == 1, "after"
    part(page, ".side:last-child .smem-buffer[data-relation=chosen]").click()
    assert not parts(page, "[data-relation=chosen]")


@needs_chromium
@pytest.mark.xdist_group("Chromium")
@pytest.mark.parametrize("width", [1280, 520, 360])
@pytest.mark.parametrize("name", ["tma_store", "gemm_three"])
def test_it_fits_and_stands_out(page: Chrome, name: str, width: int) -> None:
    resize(page, width)
    look(page, name)
    assert not is_scrolled_sideways(page)
    assert overlaps(page) == []
    for scheme in ("light", "dark"):
        theme(page, scheme)
        assert faint(page) == []
