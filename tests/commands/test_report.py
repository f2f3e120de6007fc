"""`report`: every kind of kernel has a page that fits together, and it works in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scripts.make_pictures import browser as chromium
from smemreuse.commands.report import entry_of as entry_of_subject
from smemreuse.commands.subjects import read_subjects
from smemreuse.report.page import report_page
from smemreuse.report.page.figures import memory_map
from tests.commands.running import run
from tests.compilers.text.texts import dump
from tests.conftest import DUMPS, needs_chromium

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
CARRIED = DUMPS / "scratch_before_carried.sm_80.tir"


def entry_of(path: Path) -> dict[str, Any]:
    return entry_of_subject(read_subjects([str(path)])[0], "best", "bytes")


def test_every_kernel_has_a_view_that_fits_together(sample_path: Path) -> None:
    for subject in read_subjects([str(sample_path)]):
        entry: dict[str, Any] = entry_of_subject(subject, "best", "bytes")
        assert json.loads(json.dumps(entry)) == entry
        names = {buffer["name"] for buffer in entry["buffers"]}
        for policy, plan in entry["policies"].items():
            assert plan["peak"]["bytes"] <= plan["lower_bound_bytes"]
            if policy != "dataflow":  # in which concurrent arms add to what is live at once
                assert plan["peak"]["bytes"] == plan["lower_bound_bytes"]
            for one in plan["rectangles"]:
                assert 0 <= one["begin"] < one["end"] <= len(entry["steps"])
                assert one["offset"] + one["bytes"] <= plan["arena_bytes"]
            bars = memory_map(entry, policy)["data"]
            drawn = [bar["customdata"][0] for bar in bars if bar.get("customdata") is not None]
            assert drawn == [one["name"] for one in plan["rectangles"]]
            assert set(drawn) <= names


def test_what_is_live_at_the_peak() -> None:
    peak = entry_of(BATCHED)["policies"]["dataflow"]["peak"]
    assert peak == {"position": 7, "bytes": 32768, "buffers": ["As", "Bs"]}


def test_peak_live_may_be_less_than_the_lower_bound() -> None:
    """Two arms that run concurrently: in program order one buffer lives after the other."""
    entry = entry_of(DUMPS / "divergent_arms.sm_80.tir")
    figure = memory_map(entry, "dataflow")
    texts = [one["text"] for one in figure["layout"]["annotations"]]
    assert entry["policies"]["dataflow"]["lower_bound_bytes"] == 8192
    assert texts == ["arena 8,192", "peak live 4,096"]


def test_occupancy_before_and_after() -> None:
    entry = entry_of(BATCHED)
    assert entry["side_by_side"] == {"bytes": 65536, "blocks": 2, "fits": True}
    assert [entry["policies"][name]["blocks"] for name in ("outer", "dataflow")] == [2, 4]


def test_the_page_is_written_once(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert run("report", BATCHED, "-o", out).exit_code == 0
    again = run("report", BATCHED, "-o", out)
    assert (again.exit_code, "--force" in again.stderr) == (2, True)
    assert run("report", BATCHED, CARRIED, "-o", out, "--force").exit_code == 0
    assert not re.search(r'(src|href)="(?!#)', out.read_text().split("<script>")[0])


SYMBOLIC = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", {threads})
X = T.alloc_buffer((64,), "float32", scope="shared.dyn")
Y = T.alloc_buffer(({size},), "float32", scope="shared.dyn")
X[tx] = T.float32(0)
Y[tx] = X[tx]
"""


def symbolic(folder: Path, **given: str) -> dict[str, Any]:
    """The entry of a kernel that names no GPU."""
    path = folder / "kernel.tir"
    path.write_text(dump(SYMBOLIC.format(**given)))
    return entry_of(path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium(1280, 1400) as driver:
        yield driver


@pytest.fixture
def page(browser: Chrome, tmp_path: Path) -> Iterator[Chrome]:
    """The report of two kernels, opened; nothing may be logged, no error and no blocked request."""
    path = tmp_path / "report.html"
    path.write_text(report_page([entry_of(BATCHED), entry_of(CARRIED)]), encoding="utf-8")
    browser.get(path.as_uri())
    until(browser, "return document.querySelectorAll('#kernel-0 .bars .point').length > 3")
    yield browser
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def until(browser: Chrome, condition: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(condition))


def part(browser: Chrome, selector: str) -> WebElement:
    return browser.find_element("css selector", f"#kernel-0 {selector}")


def bar(browser: Chrome, name: str) -> WebElement:
    """A buffer's rectangle, by the name written on it."""
    from selenium.webdriver.common.by import By

    return browser.find_element(
        By.XPATH,
        "//*[@id='kernel-0']//*[local-name()='g'][contains(@class, 'point')]"
        f"[*[local-name()='text'][.='{name}']]/*[local-name()='path']",
    )


@needs_chromium
def test_hover_shows_the_buffer(page: Chrome) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(page).move_to_element(bar(page, "Cs")).perform()
    until(page, "return document.querySelector('#kernel-0 .hoverlayer').textContent !== ''")
    text = part(page, ".hoverlayer").get_attribute("textContent") or ""
    for words in ("Cs", "32,768 bytes", "offset 0 to 32,768", "gen: Cs_1[", "(line 72)", "kill: "):
        assert words in text


@needs_chromium
def test_a_click_tells_who_could_share(page: Chrome) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(page).move_to_element(bar(page, "As")).click().perform()
    until(page, "return document.querySelector('#kernel-0 .who h3').textContent.includes('As')")
    text = part(page, ".who").text
    assert "Bs: ✗ must not share, live together" in text
    assert "Cs: ✓ may share; shares 16,384 bytes under dataflow" in text
    assert "both are touched in `for b in serial(4)` (line 27)" in text


@needs_chromium
def test_policies_switch(page: Chrome) -> None:
    def offsets() -> list[str]:
        rows = page.find_elements("css selector", "#kernel-0 .buffers tr")
        return [row.find_elements("css selector", "td")[1].text for row in rows[1:]]

    assert offsets() == ["0", "16,384", "0"]
    assert "▶" in (page.execute_script(_MARKER) or "")
    part(page, "input[value=outer]").click()
    until(page, "return document.querySelector('#kernel-0 .chosen th').textContent === 'outer'")
    assert sorted(offsets()) == ["0", "32,768", "49,152"]
    part(page, "input[value=inner]").click()
    assert offsets() == ["0", "16,384", "0"]


_MARKER = """return getComputedStyle(
    document.querySelector('#kernel-0 .chosen th'), '::before').content"""


@needs_chromium
def test_everything_works_by_keyboard(page: Chrome) -> None:
    from selenium.webdriver.common.keys import Keys

    part(page, ".buffers button").send_keys(Keys.ENTER)
    assert part(page, ".who h3").text == "Who could share with As?"
    links = [link.text for link in page.find_elements("css selector", "#contents a")]
    assert links == [head.text for head in page.find_elements("css selector", "h2")]
    assert links[0] == "batched_gemm_kernel (shared.dyn)"
    part(page, "input[value=dataflow]").send_keys(Keys.ARROW_LEFT)
    assert part(page, ".chosen th").text == "inner"
    slider = part(page, "input[type=range]")
    slider.send_keys(Keys.END)
    assert "live here: nothing; 0 bytes" in part(page, "output").text
    part(page, ".peak").send_keys(Keys.SPACE)
    assert slider.get_attribute("value") == "8"
    assert (
        "live here, the peak: As (16,384), Bs (16,384); 32,768 bytes" in part(page, "output").text
    )


@needs_chromium
def test_an_unsound_plan_says_why(page: Chrome) -> None:
    page.execute_script("document.getElementById('kernel-1').scrollIntoView()")
    until(page, "return document.querySelector('#kernel-1 .chosen') !== null")
    page.find_element("css selector", "#kernel-1 input[value=inner]").click()
    row = page.find_element("css selector", "#kernel-1 .chosen").text
    assert "unsound" in row
    assert "overwrote it" in page.find_element("css selector", "#kernel-1 .findings").text


@needs_chromium
@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_dark_and_light(page: Chrome, scheme: str, is_dark: bool) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    style = "return getComputedStyle(document.body)"
    paper = page.execute_script(f"{style}.backgroundColor")
    ink = page.execute_script(f"{style}.color")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == is_dark
    until(
        page,
        "return getComputedStyle(document.querySelector('#kernel-0 .ytick text')).fill"
        f" === '{ink}'",
    )


@needs_chromium
def test_the_page_says_what_is_not_known(browser: Chrome, tmp_path: Path) -> None:
    entry = symbolic(tmp_path, threads="n", size="n")
    path = tmp_path / "report.html"
    path.write_text(report_page([entry]), encoding="utf-8")
    browser.get(path.as_uri())
    until(browser, "return document.querySelectorAll('#kernel-0 .summary tr').length > 3")
    _, *rows = part(browser, ".summary").text.splitlines()
    assert rows
    assert all(row.endswith("not known") for row in rows)
    assert "On sm_90 (assumed: the kernel names no GPU)" in part(browser, ".about").text
