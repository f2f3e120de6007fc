"""The page in a real browser: finding kernels, map and listing linked, links, colours, widths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from scripts.make_pictures import browser as chromium
from smemreuse.commands import report
from smemreuse.commands.inputs import Source
from smemreuse.commands.options import Planning
from smemreuse.report.page import report_page, suite_page
from smemreuse.report.page.rows import overview_row
from smemreuse.results.accepted import Acceptances
from tests.conftest import DUMPS, ONE_OF_EACH, ROOT, needs_chromium
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

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

pytestmark = [needs_chromium, pytest.mark.xdist_group("Chromium")]

BATCHED = "batched_gemm_kernel (shared.dyn)"
ATTENTION = "flash_attention_kernel (shared.dyn)"
Open = Callable[..., "Chrome"]


@pytest.fixture(scope="module")
def entries() -> list[Any]:
    """What the page shows of a kernel of each kind, and of one whose live ranges are not enough."""
    names = (*ONE_OF_EACH, "scratch_before_carried.sm_80")
    return [one for name in names for one in entries_of(DUMPS / f"{name}.tir")]


@pytest.fixture(scope="module")
def racing() -> Any:
    """A kernel with a certain hazard."""
    (entry,) = entries_of(ROOT / "fixtures" / "lint" / "race_between_threads.tir")
    return entry


def entries_of(path: Path) -> list[Any]:
    """The entries of a dump, with what lint finds in its kernels."""
    source, planning = Source(path.name, path.read_text(), None), Planning("best", "bytes", None)
    found, _ = report._entries(source, planning, most=None, linting=True, kept=False)
    return [report._shown(one, Acceptances(())) for one in found]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium(1280, 1000) as driver:
        yield driver


@pytest.fixture
def opened(browser: Chrome, tmp_path: Path) -> Iterator[Open]:
    """Opens a page of entries at an address; nothing may be logged: no error, no request."""

    def open_(entries: list[Any], hash_: str = "", width: int = 1280) -> Chrome:
        path = tmp_path / "report.html"
        path.write_text(report_page(entries), encoding="utf-8")
        theme(browser, "light")
        resize(browser, width)
        browser.get("about:blank")
        browser.get(path.as_uri() + hash_)
        until(browser, "document.querySelector('main').dataset.shown !== undefined")
        return browser

    yield open_
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def hash_of(browser: Chrome) -> str:
    text: str = browser.execute_script("return decodeURIComponent(location.hash)")
    return text.replace("+", " ")


def rectangle(browser: Chrome, name: str) -> WebElement:
    return part(browser, f".smem-buffer[data-buffer='{name}']")


def relations(browser: Chrome) -> dict[str, str]:
    found = parts(browser, ".smem-buffer")
    return {
        one.get_attribute("data-buffer") or "": one.get_attribute("data-relation") or ""
        for one in found
    }


def kernels(browser: Chrome) -> list[str]:
    return texts(browser, ".kernels tbody a")


def column(browser: Chrome, head: str) -> list[str]:
    return texts(browser, f".kernels td[data-head='{head}']")


# The overview --------------------------------------------------------------------------------


def test_a_click_sorts_and_another_turns_it_round(opened: Open, entries: list[Any]) -> None:
    page = opened(entries)
    assert len(kernels(page)) == len(entries) > 8

    def after() -> list[int]:
        return [int(one.replace(",", "")) for one in column(page, "after")]

    def click(name: str) -> None:
        next(one for one in parts(page, "thead button") if one.text.startswith(name)).click()

    click("after")
    assert after() == sorted(after())
    click("after")
    assert after() == sorted(after(), reverse=True)
    assert part(page, "[aria-sort]").get_attribute("aria-sort") == "descending"
    click("saved")
    saved = [float(one.split()[0]) for one in column(page, "saved")]
    assert saved == sorted(saved, reverse=True), "what is saved most comes first"
    click("kernel")
    assert kernels(page) == sorted(kernels(page))
    assert hash_of(page) == "#sort=kernel"


def test_search_finds_kernels_files_buffers_and_verdicts(opened: Open, entries: list[Any]) -> None:
    page = opened(entries)
    field = part(page, "input[type=search]")
    steps = page.execute_script("return history.length")
    assert "10 kernels" in part(page, ".totals").text
    for words, expected in (
        ("FLASH", [ATTENTION]),
        ("batched sm_80.tir", [BATCHED]),
        ("qs os", [ATTENTION, "mmha_decode_kernel (shared.dyn)"]),
        ("nothing of the kind", []),
    ):
        field.clear()
        field.send_keys(words)
        assert kernels(page) == expected
        assert part(page, ".none").is_displayed() == (not expected)
    assert hash_of(page) == "#find=nothing of the kind"
    assert page.execute_script("return history.length") == steps, "typing is not worth a step back"


def test_numbers_of_a_kernel(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, "#find=batched")
    wanted = {
        "before": "65,536",
        "after": "32,768",
        "lower bound": "32,768",
        "saved": "50.0 %",
        "blocks per SM": "2 (regs)",
        "verdict": "sound",
    }
    assert {head: column(page, head)[0] for head in wanted} == wanted
    totals = part(page, ".totals").text
    assert "32,768 bytes, 50.0 % less than TileLang's default (65,536)" in totals
    assert "gains a block" not in totals


def test_a_kernel_in_two_storage_scopes_is_one_and_two_of_one_name_are_two(
    opened: Open, entries: list[Any]
) -> None:
    entry = next(one for one in entries if one["file"] == "batched_gemm.sm_80.tir")
    static = {**entry, "scope": "shared"}
    page = opened([entry, static])
    assert "1 kernel in 2 storage scopes" in part(page, ".totals").text
    page = opened([entry, static, entry, {**entry, "file": "other.tir"}])
    assert "3 kernels in 4 storage scopes" in part(page, ".totals").text


def test_a_link_does_not_repeat_the_file_below_it(opened: Open, entries: list[Any]) -> None:
    (entry,) = (one for one in entries if one["file"] == "batched_gemm.sm_80.tir")
    files = ["x/one.tir", "x/two.tir"]
    page = opened([{**entry, "file": file} for file in files])
    assert kernels(page) == [BATCHED, BATCHED]
    assert texts(page, ".kernels tbody .file") == files
    parts(page, ".kernels tbody a")[1].click()
    until(page, "document.querySelector('section.kernel h2') !== null")
    assert part(page, "h2").text == f"two.tir: {BATCHED}"


def test_the_overview_works_by_keyboard(opened: Open, entries: list[Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened(entries)
    part(page, "body").send_keys("/")
    page.switch_to.active_element.send_keys("flash")
    for _ in range(len(parts(page, "thead button")) + 1):
        page.switch_to.active_element.send_keys(Keys.TAB)
    page.switch_to.active_element.send_keys(Keys.ENTER)
    until(page, "document.querySelector('section.kernel h2') !== null")
    assert part(page, "h2").text == ATTENTION


def test_five_hundred_kernels(opened: Open, entries: list[Any]) -> None:
    many = [{**entries[at % len(entries)], "file": f"{at}.tir"} for at in range(500)]
    page = opened(many, "#sort=-saved&find=49")
    assert len(kernels(page)) == 15
    parts(page, ".kernels tbody a")[0].click()
    until(page, "document.querySelector('.smem-buffer') !== null")
    assert "1 of 15" in part(page, ".trail").text
    size = page.execute_script("return document.documentElement.outerHTML.length")
    assert size < 6_000_000


# Links ---------------------------------------------------------------------------------------


def test_a_kernel_without_a_map_has_a_row_and_no_link(
    opened: Open, entries: list[Any], tmp_path: Path
) -> None:
    rows = [overview_row(one, f"{one['name']} (shared.dyn)") for one in entries]
    last = rows[-1]["title"]
    path = tmp_path / "some.html"
    shown = {f"{one['name']} (shared.dyn)": one for one in entries[1:-1]}
    path.write_text(suite_page(rows, shown, "Some", ["two have <no> map"]), encoding="utf-8")
    browser = opened(entries)
    browser.get(path.as_uri())
    until(browser, "document.querySelector('main').dataset.shown !== undefined")
    assert texts(browser, ".notes li") == ["two have <no> map"]
    assert len(parts(browser, ".kernels tbody tr")) == len(entries)
    assert texts(browser, ".kernels tbody th a") == [*shown]
    assert f"{last}\n{entries[-1]['file']} · no map" in texts(browser, ".kernels tbody th")
    assert overlaps(browser) == []
    assert faint(browser) == []
    part(browser, ".kernels tbody th a").click()
    until(browser, "document.querySelector('h2') !== null")
    assert part(browser, "h2").text == next(iter(shown))
    assert f"1 of {len(shown)}" in part(browser, ".trail").text
    browser.get("about:blank")
    browser.get(f"{path.as_uri()}#{urlencode({'kernel': last})}")
    until(browser, "document.querySelector('main').dataset.shown !== undefined")
    assert len(parts(browser, ".kernels tbody tr")) == len(entries)


def test_a_view_has_a_link_and_a_way_back(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, "#sort=kernel")
    next(one for one in parts(page, ".kernels a") if one.text == BATCHED).click()
    until(page, "document.querySelector('.smem-buffer') !== null")
    part(page, "input[value=outer]").click()
    rectangle(page, "Cs").click()
    link = page.current_url
    assert hash_of(page) == f"#kernel={BATCHED}&plan=outer&buffer=Cs&sort=kernel"
    page.back()
    until(page, "document.querySelector('.who h3').textContent === 'Who could share?'")
    page.back()
    until(page, "document.querySelector('.summary .chosen').textContent.includes('dataflow')")
    page.back()
    until(page, "document.querySelector('.kernels') !== null")
    assert kernels(page) == sorted(kernels(page))
    page.get("about:blank")
    page.get(link)
    until(page, "document.querySelector('.who h3')?.textContent.includes('with Cs')")
    assert part(page, ".summary .chosen").text.startswith("outer")
    assert relations(page)["Cs"] == "chosen"


def test_a_link_to_what_is_not_there_shows_what_is(opened: Open, entries: list[Any]) -> None:
    assert kernels(opened(entries, "#kernel=nobody&theme=pink&sort=-nothing"))
    page = opened(entries, f"#kernel={BATCHED}&plan=best&buffer=Zs&line=x")
    assert part(page, ".summary .chosen").text.startswith("dataflow")


def test_colours_are_chosen_and_linked(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, "#theme=dark")
    paper = "return getComputedStyle(document.body).backgroundColor"
    dark = page.execute_script(paper)
    part(page, "#theme option:nth-child(2)").click()
    assert page.execute_script(paper) == "rgb(255, 255, 255)" != dark
    assert hash_of(page) == "#theme=light"
    assert "theme=light" in (part(page, ".kernels a").get_attribute("href") or "")


# Map and listing -----------------------------------------------------------------------------


def accesses(browser: Chrome) -> dict[int, str]:
    found = parts(browser, ".line[data-access]")
    return {
        int(one.get_attribute("data-line") or 0): one.get_attribute("data-access") or ""
        for one in found
    }


def is_seen(browser: Chrome, line: int) -> bool:
    """Whether a line of the listing is scrolled to."""
    found: bool = browser.execute_script(
        """const place = (selector) => document.querySelector(selector).getBoundingClientRect();
        const [box, room] = [place(`.line[data-line='${arguments[0]}']`), place('.code')];
        return box.top >= room.top && box.bottom <= room.bottom;""",
        line,
    )
    return found


def test_a_rectangle_selects_its_statements(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, f"#kernel={ATTENTION}")
    page.execute_script("document.querySelector('.code').style.maxHeight = '200px'")
    assert accesses(page) == {}
    rectangle(page, "Ks").click()
    assert accesses(page) == {78: "write", 105: "read"}
    assert is_seen(page, 78)
    shown = {name: part(page, f"[data-access={name}]") for name in ("read", "write")}
    assert len({one.value_of_css_property("background-color") for one in shown.values()}) == 2
    assert [part(one, ".access").text for one in shown.values()] == ["R", "W"]  # type: ignore[arg-type]
    assert "1 written" in part(page, ".uses").text
    for line in (105, 78, 105):
        part(page, "[aria-label='next use']").click()
        assert f"line={line}" in hash_of(page)
    rectangle(page, "Ks").click()
    assert accesses(page) == {}, "a second click lets it go"


def test_a_line_selects_its_buffers(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, f"#kernel={BATCHED}")

    def touched() -> dict[str, str]:
        found = parts(page, ".smem-buffer.touched")
        return {
            one.get_attribute("data-buffer") or "": one.get_attribute("data-access") or ""
            for one in found
        }

    part(page, ".line[data-line='50'] .no").click()
    assert touched() == {"As": "R"}
    assert "ptx_ldmatrix" in part(page, "output").text
    part(page, ".line[data-line='48'] .no").click()
    assert touched() == {"As": "R", "Bs": "R"}, "what the loop below it touches"
    part(page, ".line[data-line='22'] .no").click()
    assert list(touched()) == ["Cs"], "its allocation"
    part(page, ".line[data-line='54'] .no").click()
    assert touched() == {}
    part(page, ".line[data-line='20'] code b").click()
    assert relations(page)["As"] == "chosen", "a name in the listing is its buffer"


def test_gen_and_kill_stand_at_their_lines(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, f"#kernel={BATCHED}")

    def bounds() -> dict[str, int]:
        return {
            str(text): int(line)
            for text, line in page.execute_script(
                """return [...document.querySelectorAll('.lens button')].map((one) => {
                  const beside = one.closest('.gen') ? 'next' : 'previous';
                  const row = one.parentElement[`${beside}ElementSibling`];
                  return [one.textContent, row.dataset.line];
                })"""
            )
        }

    assert bounds() == {
        **{"gen As": 33, "gen Bs": 35, "gen Cs": 72},
        **{"kill As": 62, "kill Bs": 64, "kill Cs": 74},
    }
    part(page, "input[value=outer]").click()
    assert set(bounds().values()) == {27, 74}, "all live in all of the outermost loop"


def test_a_line_in_a_text_is_a_link_to_it(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, f"#kernel={BATCHED}&buffer=As")
    link = part(page, ".who .line-link")
    line = int(link.text.removeprefix("line "))
    link.click()
    assert is_seen(page, line)
    assert part(page, ".chosen-line").get_attribute("data-line") == str(line)
    assert hash_of(page) == f"#kernel={BATCHED}&buffer=As&line={line}"


def test_choosing_lights_up_conflicts_and_sharers(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, f"#kernel={ATTENTION}")
    rectangle(page, "Ks").click()
    wanted = {"Qs": "conflicts", "Vs": "conflicts", "Ks": "chosen", "Os": "shares"}
    assert relations(page) == wanted
    tints = {rectangle(page, name).value_of_css_property("background-color") for name in wanted}
    assert len(tints) == 3
    why = "return getComputedStyle(arguments[0].querySelector('b'), '::after').content"
    assert "live together" in page.execute_script(why, rectangle(page, "Vs"))


def test_what_is_told_on_hovering_covers_no_rectangle(opened: Open, entries: list[Any]) -> None:
    from selenium.webdriver import ActionChains

    page = opened(entries, f"#kernel={BATCHED}")
    boxes = "return [document.querySelector('.smem-map').getBoundingClientRect().bottom]"
    before = page.execute_script(boxes)
    ActionChains(page).move_to_element(rectangle(page, "Cs")).perform()
    text = part(page, "output").text
    for words in ("Cs", "32,768 bytes", "offset 0 to 32,768", "gen: Cs_1[", "(line 72)", "kill: "):
        assert words in text
    assert page.execute_script(boxes) == before, "nothing moves"
    assert part(page, "output").rect["y"] >= before[0]
    assert not rectangle(page, "Cs").get_attribute("title")


def test_kernels_without_a_dump_list_their_steps(opened: Open, entries: list[Any]) -> None:
    given = {**entries[0], "source": ""}
    page = opened([given], "#line=7")
    assert "without a dump" in part(page, ".source-head").text
    assert part(page, ".smem-buffer.touched").get_attribute("data-buffer") == "Bs"


def test_a_long_dump_is_drawn_by_and_by(opened: Open, entries: list[Any]) -> None:
    given = dict(entries[0])
    lines = given["source"].splitlines()
    given["source"] = "\n".join([*lines, *("            # a comment" for _ in range(20_000))])
    page = opened([given])
    assert len(parts(page, ".chunk")) > 100
    page.execute_script("location.hash = 'line=19000'")
    until(page, "document.querySelector('.chosen-line') !== null")
    assert is_seen(page, 19_000)
    style = "return getComputedStyle(document.querySelector('.chunk')).contentVisibility"
    assert page.execute_script(style) == "auto"


@pytest.fixture(scope="module")
def carried(entries: list[Any]) -> Any:
    """A kernel of which a policy is refuted."""
    return next(one for one in entries if one["name"].startswith("scratch_before_carried"))


def test_an_unsound_plan_says_why_and_links_to_it(opened: Open, carried: Any) -> None:
    page = opened([carried], "#plan=inner")
    assert "unsound" in part(page, ".summary .chosen").text
    assert "overwrote it" in part(page, ".findings").text
    part(page, ".findings .line-link").click()
    assert part(page, ".chosen-line").is_displayed()


def test_a_kernel_works_by_keyboard(opened: Open, entries: list[Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened(entries, f"#kernel={BATCHED}")
    part(page, "input[value=dataflow]").send_keys(Keys.ARROW_LEFT)
    assert part(page, ".summary .chosen").text.startswith("inner")
    rectangle(page, "As").send_keys(Keys.ENTER)
    assert part(page, ".who h3").text == "Who could share with As?"
    rectangle(page, "As").send_keys(Keys.SPACE)
    assert part(page, ".who h3").text == "Who could share?"
    slider = part(page, "input[type=range]")
    slider.send_keys(Keys.END)
    assert "live here: nothing; 0 bytes" in part(page, "output").text
    part(page, ".peak").send_keys(Keys.SPACE)
    told = "live here, the peak: As (16,384), Bs (16,384); 32,768 bytes"
    assert told in part(page, "output").text
    part(page, ".line[data-line='72'] .no").send_keys(Keys.ENTER)
    assert part(page, ".smem-buffer.touched").get_attribute("data-buffer") == "Cs"


def test_who_shares_is_told_of_the_chosen_plan(opened: Open, entries: list[Any]) -> None:
    page = opened(entries, f"#kernel={BATCHED}&buffer=As")
    text = part(page, ".who").text
    assert "Bs: ✗ must not share, live together" in text
    assert "Cs: ✓ may share; shares 16,384 bytes under dataflow" in text
    part(page, "input[value=outer]").click()
    assert "shares 16,384" not in part(page, ".who").text
    assert relations(page) == {"As": "chosen", "Bs": "conflicts", "Cs": "could"}


def test_hazards_stand_beside_the_map_and_link_to_their_lines(opened: Open, racing: Any) -> None:
    page = opened([racing], width=1600)
    box = part(page, ".hazards")
    assert "1 certain" in box.text
    assert "Fix: let threads 0-127 meet at a barrier between line 22 and line 23." in box.text
    assert box.location["x"] > part(page, ".map").location["x"] + part(page, ".map").size["width"]
    [link, *_] = parts(page, ".hazards .line-link")
    link.click()
    assert hash_of(page).endswith(f"line={link.text.removeprefix('line ')}")
    drawn = part(page, ".hazards .timeline")
    assert drawn.text == "Timeline"
    drawn.find_element("css selector", "summary").click()
    assert "a barrier is missing: let threads 0-127 meet" in drawn.text


def test_the_overview_sorts_by_hazards_and_by_the_next_block(
    opened: Open, entries: list[Any], racing: Any
) -> None:
    page = opened([*entries, racing])
    by = {one.text: one for one in parts(page, "thead button")}
    by["hazards"].click()
    assert column(page, "hazards")[0] == "1 certain"
    by["one more block"].click()
    bytes_less = [one for one in column(page, "one more block") if one.endswith("bytes less")]
    assert bytes_less
    assert column(page, "one more block")[: len(bytes_less)] == bytes_less


@pytest.mark.parametrize("width", [1280, 1600, 1920])
def test_names_of_buffers_are_not_squeezed(opened: Open, entries: list[Any], width: int) -> None:
    page = opened(entries, f"#kernel={ATTENTION}", width)
    for one in parts(page, ".buffers tbody button"):
        assert one.size["height"] < 40, one.text


# Widths and colours --------------------------------------------------------------------------

VIEWS = (
    "#sort=-saved",
    f"#kernel={BATCHED}",
    f"#kernel={ATTENTION}&buffer=Ks",
    f"#kernel={ATTENTION}&line=88",
    "#kernel=mmha_decode_kernel (shared.dyn)&buffer=Ms",
    "#kernel=kernel (shared.dyn)",
)


@pytest.mark.parametrize("width", [1920, 1280, 520, 360])
@pytest.mark.parametrize("view", VIEWS)
def test_no_text_covers_another_and_nothing_is_too_wide(
    opened: Open, entries: list[Any], racing: Any, view: str, width: int
) -> None:
    page = opened([*entries, racing], view, width)
    assert not is_scrolled_sideways(page)
    assert overlaps(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_text_stands_out(
    opened: Open, entries: list[Any], racing: Any, view: str, scheme: str
) -> None:
    from selenium.webdriver import ActionChains

    page = opened([*entries, racing], view)
    theme(page, scheme)
    assert faint(page) == []
    if "kernel" in view:
        ActionChains(page).move_to_element(part(page, ".smem-buffer")).perform()
        assert faint(page) == []
