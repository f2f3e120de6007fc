"""How advice is told: sentences, tables, JSON and the roofline, of estimates made by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from smemreuse.report.advice import (
    advice_data,
    advice_lines,
    configuration,
    fitting,
    flops_per_byte,
    rate_text,
    refusals,
    seconds_text,
    verdict,
)
from smemreuse.report.roofline import roofline_page
from smemreuse.report.roofline.figure import roofline
from smemreuse.report.tables import console
from smemreuse.results.advice import Advice, Estimate, MemoryLevel, Validation

ONE = Estimate(
    config={"BM": 128, "BN": 256, "splits": 1, "stages": 3},
    shared_bytes=98_304,
    registers=168,
    threads=256,
    grid=100,
    blocks=1,
    occupancy_limit="registers",
    l1_left=65_536,
    stages=3,
    stages_needed=3,
    waves=0.5,
    balance=0.5,
    intensity={"DRAM": 400.0, "L2": 80.0, "shared memory": math.inf},
    terms={"tensor cores": 1e-4, "DRAM": 5e-5, "L2": 1.5e-4},
    seconds=2e-4,
    limit="L2",
    flops=1e11,
)
MORE = replace(ONE, config={**ONE.config, "stages": 4}, stages=4)
OTHER = replace(ONE, config={**ONE.config, "BM": 64, "splits": 2}, seconds=4e-4)
LARGE = replace(
    ONE, blocks=0, seconds=math.inf, limit="", occupancy_limit="shared memory", refused="too much"
)
ADVICE = Advice(
    problem="a <problem>",
    dtype="float16",
    card="a card",
    arch="sm_90",
    source="its maker",
    assumed=(),
    peak=1e15,
    levels=(
        MemoryLevel("DRAM", 4e12, 250),
        MemoryLevel("L2", 1e13, 100),
        MemoryLevel("shared memory", 3e13, 33.3),
    ),
    estimates=(ONE, MORE, OTHER, LARGE),
    validation=Validation.UNCALIBRATED,
    notes=("a note",),
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.5, "2.5 s"),
        (0.0123, "12.3 ms"),
        (1e-3, "1 ms"),
        (999e-6, "999 us"),
        (1.234e-6, "1.23 us"),
        (5e-9, "0.005 us"),
        (5000, "5,000 s"),
        (0.99961e-3, "1 ms"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_rates_and_intensities() -> None:
    assert [rate_text(one) for one in (1.2e15, 9.96e12, 3.21e11)] == [
        *("1,200 TFLOPS", "10 TFLOPS", "0.32 TFLOPS"),
    ]
    assert [flops_per_byte(one) for one in (1234.5, 99.6, 1 / 12, math.inf)] == [
        *("1,234", "100", "0.083", "-"),
    ]


def test_a_configuration_leaves_out_what_is_the_rule() -> None:
    assert configuration(ONE) == "BM 128, BN 256, stages 3"
    assert configuration(OTHER) == "BM 64, BN 256, splits 2, stages 3"
    assert configuration(replace(ONE, config={"way": "gemv", "splits": 1})) == "gemv"


def test_the_verdict_says_what_limits() -> None:
    told = verdict(ADVICE)
    for words in (
        "BM 128, BN 256, stages 3: at least 200 us, 500 TFLOPS, 50 % of the peak, DRAM 25 % busy",
        "bound by L2",
        "1 block for each SM, limited by registers",
        "100 blocks in 0.50 waves keep the SMs 50 % busy",
        "3 stages hide the latency of DRAM (needed: 3)",
    ):
        assert words in told
    shallow = replace(ADVICE, estimates=(replace(ONE, stages=2),))
    assert "2 stages do not hide the latency of DRAM (needed: 3)" in verdict(shallow)
    assert "stages" not in verdict(replace(ADVICE, estimates=(replace(ONE, config={}, stages=0),)))


def test_nothing_fits() -> None:
    none = replace(ADVICE, estimates=(LARGE,))
    assert verdict(none) == "nothing fits on sm_90; the nearest needs too much"
    assert refusals(none) == "1 of 1 candidates do not fit: 1 by shared memory"
    assert roofline_page(none, 3).count("<tr>") == 1
    assert advice_data(none, 3)["estimates"] == []


def test_of_a_tile_the_first_number_of_stages_is_shown() -> None:
    assert fitting(ADVICE, 5) == [ONE, OTHER]
    assert fitting(ADVICE, 1) == [ONE]
    assert fitting(ADVICE, 0) == [ONE, MORE, OTHER]


def test_json_has_no_infinity() -> None:
    data: Any = advice_data(ADVICE, 0)
    text = json.dumps(data, allow_nan=False)
    assert data["estimates"][0]["flops_per_byte"]["shared memory"] is None
    assert (data["candidates"], data["fitting"]) == (4, 3)
    assert "uncalibrated" in text


def test_the_label_is_always_there() -> None:
    out = console()
    with out.capture() as captured:
        for line in advice_lines(out, ADVICE, 3):
            out.print(line)
    told = captured.get()
    for words in ("uncalibrated: ", "a note", "1 of 4 candidates do not fit", "400 / 80 / -"):
        assert words in told


def traces(figure: Mapping[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in figure["data"]}


def test_roofs_break_at_their_ridges_and_points_stand_below() -> None:
    drawn = traces(roofline(ADVICE, [ONE, OTHER]))
    for level in ADVICE.levels:
        roof = next(one for name, one in drawn.items() if name.startswith(f"{level.name},"))
        assert level.ridge in roof["x"]
        for x, y in zip(roof["x"], roof["y"], strict=True):
            assert y == min(ADVICE.peak, level.bandwidth * x)
    assert list(drawn["by DRAM"]["x"]) == [400, 400]
    assert list(drawn["by L2"]["y"]) == [5e14, 2.5e14]
    assert "by shared memory" not in drawn, "nothing moves there"
    assert drawn["by L2"]["marker"]["symbol"] == ["diamond", "diamond-open"]
    assert "bound by L2" in drawn["by DRAM"]["text"][0]


def test_a_page_escapes_what_it_is_given() -> None:
    page = roofline_page(ADVICE, 3)
    assert "a &lt;problem&gt;" in page
    assert "<problem>" not in page
    assert page.count("<tr>") == 3
