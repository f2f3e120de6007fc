"""`smemreuse advise`: the worksheet on the command line, and its page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from smemreuse.targets.architectures import ARCHITECTURES
from tests.commands.running import assert_one_line_error, run, run_json
from tests.conftest import ROOT, needs_chromium


def words(text: str) -> list[str]:
    """Arguments as they are typed."""
    return text.split()


GEMM = ("--gemm", "4096", "4096", "4096")
KINDS: dict[str, Sequence[str]] = {
    "gemm": GEMM,
    "convolution": words("--convolution 16 56 56 256 256 3 3 --padding 1"),
    "attention": words("--attention 4 32 4096 4096 128 --causal"),
    "decode": words("--decode 8 32 8 8192 128"),
    "elementwise": words("--elementwise 67108864 --operands 3"),
    "reduction": words("--reduction 8192 4096 --sums-only"),
}


def advised(*args: str | Path) -> Any:
    return run_json("advise", "--format", "json", *args)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_with_an_honest_label(kind: str) -> None:
    result = run("advise", *KINDS[kind], "--top", "3")
    assert result.exit_code == 0
    assert result.stdout.isascii()
    assert max(map(len, result.stdout.splitlines())) <= 160
    for told in ("H200 SXM (sm_90)", "ridge at", "at least", "bound by", "uncalibrated: "):
        assert told in result.stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_json_of_every_kind_on_every_architecture(kind: str, arch: str) -> None:
    data = advised(*KINDS[kind], "--arch", arch, "--top", "2")
    assert (data["schema"], data["validation"]) == ("smemreuse.advice/1", "uncalibrated")
    assert (data["card"]["arch"], data["card"]["source"][:6]) == (arch, "NVIDIA")
    assert [level["name"] for level in data["levels"]] == ["DRAM", "L2", "shared memory"]
    assert 0 < len(data["estimates"]) <= 2 <= data["fitting"] <= data["candidates"]
    best = data["estimates"][0]
    assert best["seconds"] >= max(best["seconds_by_term"].values())
    assert best["blocks_per_sm"] >= 1
    assert best["limit"] in data["verdict"]


def test_each_tile_is_told_once_with_its_best_stages_unless_all_are_asked_for() -> None:
    data = advised(*GEMM, "--top", "1000")
    tiles = [{**one["config"], "stages": None} for one in data["estimates"]]
    assert all(tiles.count(one) == 1 for one in tiles)
    every = advised(*GEMM, "--top", "0")
    assert len(every["estimates"]) == every["fitting"] > len(tiles)


def test_types_have_their_own_peaks_and_tiles() -> None:
    half, eighth = (advised(*GEMM, "--dtype", one) for one in ("float16", "float8"))
    assert eighth["card"]["peak_flops"] == 2 * half["card"]["peak_flops"]
    assert eighth["estimates"][0]["seconds"] < half["estimates"][0]["seconds"]
    result = run("advise", *GEMM, "--dtype", "float8", "--card", "a100")
    assert "no tensor cores for float8 on sm_80: the CUDA cores multiply" in result.stdout


def test_what_fits_on_one_card_does_not_on_another() -> None:
    """99 KB and 227 KB."""
    large = [one["shared_bytes"] for one in advised(*GEMM, "--top", "0")["estimates"]]
    small = advised(*GEMM, "--card", "RTX 5090", "--top", "0")["estimates"]
    assert max(large) > 99 * 1024 >= max(one["shared_bytes"] for one in small)


def test_a_card_of_ones_own(tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"like": "h200", "name": "half", "dram": 2.4e12}))
    elementwise = KINDS["elementwise"]
    data = advised(*elementwise, "--card", mine)
    assert (data["card"]["name"], data["card"]["assumed"]) == (
        "half",
        ["dram_latency", "l2_latency"],
    )
    whole = advised(*elementwise)["estimates"][0]["seconds"]
    assert data["estimates"][0]["seconds"] == pytest.approx(2 * whole)


def test_the_documented_card_is_one() -> None:
    text = (ROOT / "docs" / "advise.md").read_text()
    (mine,) = re.findall(r"```json\n(.*?)```", text, re.S)
    assert json.loads(mine)["like"] == "h200"


def test_nothing_fits() -> None:
    args = ("--attention", "1", "1", "128", "128", "65536")
    result = run("advise", *args)
    assert result.exit_code == 1
    assert "nothing fits on sm_90; the nearest needs" in result.stdout
    result = run("advise", "--format", "json", *args)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["estimates"] == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "give one problem of --gemm, --convolution, --attention, --decode"),
        ((*GEMM, "--elementwise", "5"), "there are 2"),
        ((*GEMM, "--causal"), "--causal goes with --attention; leave it out"),
        ((*GEMM, "--sums-only"), "--sums-only goes with --reduction; leave it out"),
        ((*KINDS["decode"], "--stride", "2"), "--stride goes with --convolution"),
        ((*GEMM, "--card", "h300"), "unknown card 'h300'; choose one of v100"),
        ((*GEMM, "--card", "none.json"), "none.json: cannot be read"),
        ((*GEMM, "--arch", "sm_60"), "unknown architecture 'sm_60'"),
        ((*GEMM, "--card", "h200", "--arch", "sm_80"), "the H200 SXM is sm_90, not sm_80"),
        (words("--decode 1 32 5 10 64"), "32 heads cannot share 5 KV heads"),
        (words("--convolution 1 4 4 8 8 5 5"), "do not fit into 4 x 4 pixels"),
        ((*GEMM, "-o", "nowhere/a.html"), "cannot be written: there is no folder nowhere"),
    ],
)
def test_bad_input_is_one_line(args: Sequence[str], told: str) -> None:
    result = run("advise", *args)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert told in result.stderr


@pytest.mark.parametrize("sizes", [("0", "1", "1"), ("-4", "1", "1"), ("x", "1", "1"), ("1", "1")])
def test_sizes_are_whole_numbers_from_one_on(sizes: Sequence[str]) -> None:
    assert run("advise", "--gemm", *sizes).exit_code == 2


@pytest.mark.parametrize("kind", KINDS)
def test_absurd_sizes_are_answered(kind: str) -> None:
    flag, *rest = KINDS[kind]
    sizes = [one for one in rest if one.isdigit()]
    for size in (1, 2**40):
        numbers = [str(size)] * (len(sizes) - (kind in ("convolution", "elementwise")))
        assert run("advise", flag, *numbers).exit_code in (0, 1)


# The page -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_that_loads_nothing(kind: str, tmp_path: Path) -> None:
    page = tmp_path / "advice.html"
    assert run("advise", *KINDS[kind], "-o", page).exit_code == 0
    text = page.read_text()
    assert "://" not in text.split("<script>")[0]
    assert text.count("</script>") == 3
    for told in ("Roofline", "Worksheet", "uncalibrated", "ridge at", "Rates of the card: NVIDIA"):
        assert told in text
    assert run("advise", *KINDS[kind], "-o", page).exit_code == 2
    assert run("advise", *KINDS[kind], "-o", page, "--force").exit_code == 0


def test_a_page_on_standard_output_is_alone_there() -> None:
    result = run("advise", *GEMM, "-o", "-")
    assert result.stdout.startswith("<!doctype html>")
    assert result.stdout.rstrip().endswith("</html>")


def test_names_cannot_leave_their_element(tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    evil = "</script><script>alert(1)</script>"
    mine.write_text(json.dumps({"like": "h200", "name": evil, "source": evil}))
    result = run("advise", *GEMM, "--card", mine, "-o", "-")
    assert result.stdout.count("</script>") == 3
    assert "<script>alert" not in result.stdout


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_its_roofline(scheme: str, tmp_path: Path) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    from scripts.make_pictures import browser

    page = tmp_path / "advice.html"
    assert run("advise", *GEMM, "-o", page, "--top", "5").exit_code == 0
    with browser(1000, 1200) as driver:
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        driver.get(page.as_uri())
        drawn = "return document.querySelectorAll('#roofline .point').length"
        WebDriverWait(driver, 20).until(lambda one: one.execute_script(drawn))
        assert driver.execute_script(drawn) == 3 * 5
        assert driver.execute_script("return document.querySelectorAll('tbody tr').length") == 5
        ink = "return getComputedStyle(document.querySelector('#roofline .xtick text')).fill"
        assert (driver.execute_script(ink) == "rgb(236, 236, 236)") == (scheme == "dark")
        hover = "const { bgcolor, font } = document.getElementById('roofline').layout.hoverlabel;"
        body = "const { backgroundColor, color } = getComputedStyle(document.body);"
        alike = "return bgcolor === backgroundColor && font.color === color"
        assert driver.execute_script(f"{hover} {body} {alike}"), "what stands on white, or black"
        assert driver.get_log("browser") == []  # type: ignore[no-untyped-call]
