"""Memory maps as HTML, of a kernel made by hand: what stands where, by its percentages."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from smemreuse.report.overview import overview_entry
from smemreuse.report.page.maps import map_fragment, map_legend, memory_map
from smemreuse.results.timeline import Band, Step
from tests.report.made import INNER, KB, OVERVIEW, SUBJECT, TIMELINE, entry


class Elements(HTMLParser):
    """The elements of a fragment: their class, style and attributes, in order."""

    def __init__(self, text: str):
        super().__init__()
        self.found: list[dict[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append({"tag": tag, **{name: value or "" for name, value in attrs}})

    def of(self, name: str) -> list[dict[str, str]]:
        return [one for one in self.found if name in one.get("class", "").split()]


def percentages(style: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"([\w-]+):([\d.]+)%", style)}


def test_a_rectangle_for_each_buffer() -> None:
    drawn = Elements(memory_map(entry(), "dataflow")).of("smem-buffer")
    across, upwards = 100 / 9, 100 / (64 * KB * 1.06)
    places = {one["data-buffer"]: percentages(one["style"]) for one in drawn}
    expected = {
        "As": (1, 4, 0, 16 * KB),
        "Bs": (2, 3, 16 * KB, 16 * KB),
        "Cs": (6, 2, 0, 32 * KB),
    }
    assert list(places) == list(expected)
    for name, (left, width, bottom, height) in expected.items():
        found = [round(value, 1) for value in places[name].values()]
        wanted = (left * across, width * across, bottom * upwards, height * upwards)
        assert found == [round(value, 1) for value in wanted], name


def test_plans_of_a_kernel_have_one_scale_and_two_kernels_may() -> None:
    def height(policy: str, top: int | None = None) -> float:
        first = Elements(memory_map(entry(), policy, top)).of("smem-buffer")[0]
        return percentages(first["style"])["height"]

    assert height("outer") == height("dataflow")
    assert height("dataflow", 128 * KB) < 0.6 * height("dataflow")


def test_what_a_rectangle_tells() -> None:
    *_, cs = Elements(memory_map(entry(), "inner")).of("smem-buffer")
    for words in ("32,768 bytes", "offset 0 to 32,768", "gen: Cs[0] = acc[0] (line 17)", "kill: "):
        assert words in cs["title"]


def test_levels_marks_and_lanes() -> None:
    found = Elements(memory_map(entry(), "dataflow"))
    (barrier,), (arena,), (peak,) = map(found.of, ("smem-barrier", "smem-arena", "smem-peak"))
    assert round(percentages(barrier["style"])["left"], 1) == round(600 / 9, 1)
    assert round(percentages(arena["style"])["bottom"], 1) == round(50 / 1.06, 1)
    assert round(percentages(peak["style"])["left"], 1) == round(250 / 9, 1)
    assert not found.of("smem-bound"), "it is the arena"
    assert [one["data-line"] for one in found.of("smem-band")] == ["11", "14"]
    legend = re.sub("<[^>]*>", "|", map_legend(entry(), "dataflow"))
    for words in ("arena 32,768", "peak live 32,768", "barrier", "loop"):
        assert f"|{words}|" in legend
    assert "lower bound" not in legend


def test_the_limit_of_a_block_is_drawn_where_it_is_near() -> None:
    arch = {**entry()["arch"], "per_block": 60 * KB}
    near = entry(arch=arch)
    assert Elements(memory_map(near, "dataflow")).of("smem-limit")
    assert "limit of a block on sm_80 61,440" in map_legend(near, "dataflow")
    assert not Elements(memory_map(entry(), "dataflow")).of("smem-limit")


def test_names_are_text() -> None:
    bad = '<img src=x onerror="alert(1)">'
    given = entry()
    for one in (given["buffers"][0], given["policies"]["dataflow"]["rectangles"][0]):
        one["name"] = bad
    given["bands"][0]["text"] = bad
    found = Elements(map_fragment(given, "dataflow"))
    assert "img" not in {one["tag"] for one in found.found}
    assert found.of("smem-buffer")[0]["data-buffer"] == bad


def test_a_fragment_brings_its_style_and_needs_nothing_else() -> None:
    text = map_fragment(entry(), "dataflow")
    assert text.count("<style>") == 1
    assert not re.search(r"<script|<link|src=|href=|url\(|@import", text)
    classes = re.findall(r"\.([a-z][\w-]*)", text[: text.index("</style>")])
    assert all(name == "smem" or name.startswith("smem-") for name in classes)


def test_a_long_kernel_has_few_numbers_below() -> None:
    steps = TIMELINE.steps + tuple(
        Step(position, 1, INNER, False, {}) for position in range(9, 10_000)
    )
    bands = tuple(Band("loop", at, at + 2, 1, INNER) for at in range(10, 900, 8))
    overview = replace(OVERVIEW, timeline=replace(TIMELINE, steps=steps, bands=bands))
    text = memory_map(overview_entry(SUBJECT, overview), "dataflow")
    assert len(Elements(text).of("smem-band")) == len(bands) > 100
    numbers = re.findall(r">(\d+)</span>", text[text.index("smem-positions") :])
    assert numbers == ["0", "2000", "4000", "6000", "8000", "10000"]
