"""Draw the README's pictures: needs Graphviz, Chromium with its driver, and selenium.

    python scripts/make_pictures.py [--out docs/pictures]

The memory maps are the report's own, photographed in a browser; the lifetimes are Graphviz's.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from itertools import islice
from pathlib import Path
from subprocess import run
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from smemreuse.commands.graph import picture_of  # noqa: E402
from smemreuse.commands.report import entry_of  # noqa: E402
from smemreuse.commands.subjects import read_subjects  # noqa: E402
from smemreuse.report.graphs import draw, render  # noqa: E402
from smemreuse.report.page import report_page  # noqa: E402
from smemreuse.report.roofline import roofline_page  # noqa: E402
from smemreuse.targets.cards import card  # noqa: E402
from smemreuse.worksheet import Gemm, advise  # noqa: E402

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

DUMPS = "fixtures/dumps"
DUMP = f"{DUMPS}/batched_gemm.sm_80.tir"
KERNEL = "batched_gemm_kernel (shared.dyn)"
CHANGED = ("tma_store_waited_for.sm_90a.tir", "tma_store_in_flight.sm_90a.tir")
OVERVIEW = 40  # kernels
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)


def browser(width: int, height: int) -> Chrome:
    """Headless Chromium with a window of so many pixels."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = _program("chromium")
    for flag in (*FLAGS, f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(_program("chromedriver")))


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is not installed; `apt-get install chromium chromium-driver`")
    return found


def photograph(page: Path, out: Path) -> None:
    """The map under outer and dataflow; the whole with a buffer chosen, dark, light and narrow."""
    look = f"{page.as_uri()}#kernel={KERNEL}"
    with browser(1280, 1000) as driver:
        for policy in ("outer", "dataflow"):
            _open(driver, f"{look}&plan={policy}", 1100, 1000)
            driver.execute_script(
                "for (const one of document.querySelectorAll('.source, .step, output'))"
                " one.remove();"
                "document.querySelector('.columns').style.display = 'block';"
                "document.querySelector('.map').style.padding = '12px'"
            )
            picture = driver.find_element("css selector", ".map").screenshot_as_png
            (out / f"batched_gemm-{policy}.png").write_bytes(picture)
        for name, scheme, width, height in (
            ("report", "light", 1280, 1320),
            ("report-dark", "dark", 1280, 1320),
            ("report-narrow", "light", 400, 1400),
        ):
            _open(driver, f"{look}&buffer=As&theme={scheme}", width, height)
            driver.save_screenshot(str(out / f"{name}.png"))


def photograph_overview(page: Path, out: Path) -> None:
    """Forty kernels, the best first, in both colours and on a narrow screen."""
    with browser(1280, 1000) as driver:
        for name, scheme, width, height in (
            ("overview", "light", 1280, 900),
            ("overview-dark", "dark", 1280, 900),
            ("overview-narrow", "dark", 400, 1100),
        ):
            _open(driver, f"{page.as_uri()}#sort=-saved&theme={scheme}", width, height)
            driver.save_screenshot(str(out / f"{name}.png"))


def photograph_difference(page: Path, out: Path) -> None:
    """Two maps side by side, with the buffer chosen whose live range got longer."""
    with browser(1280, 1000) as driver:
        _open(driver, f"{page.as_uri()}#buffer=stage", 1280, 1100)
        driver.save_screenshot(str(out / "diff.png"))


def _open(driver: Chrome, address: str, width: int, height: int) -> None:
    """Opens a view in a window of so many pixels, which may be narrower than Chromium's least."""
    from selenium.webdriver.support.ui import WebDriverWait

    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.get("about:blank")
    driver.get(address)
    shown = "return document.querySelector('main').dataset.shown !== undefined"
    WebDriverWait(driver, 20).until(lambda one: one.execute_script(shown))


def photograph_roofline(page: Path, out: Path) -> None:
    """The roofline alone."""
    from selenium.webdriver.support.ui import WebDriverWait

    with browser(1100, 1300) as driver:
        driver.get(page.as_uri())
        wait = WebDriverWait(driver, 20)
        wait.until(lambda one: one.execute_script("return !!document.querySelector('.point')"))
        driver.execute_async_script(_SETTLED)
        picture = driver.find_element("css selector", "#roofline").screenshot_as_png
        (out / "roofline.png").write_bytes(picture)


# Plotly draws in the next frames.
_SETTLED = "const done = arguments[0]; setTimeout(() => done(), 400)"


def _many() -> str:
    """The page of the first kernels among the fixtures."""
    files = sorted((ROOT / DUMPS).glob("*.tir"))
    found = (one for one in read_subjects(map(str, files)) if one.has_buffers)
    entries = (
        {**entry_of(one, "best", "bytes"), "file": f"{DUMPS}/{Path(one.file).name}"}
        for one in found
    )
    return report_page([*islice(entries, OVERVIEW)])


def _difference(page: Path) -> str:
    """What `diff --page` writes of two fixtures that differ."""
    files = [f"{DUMPS}/{name}" for name in CHANGED]
    command = [sys.executable, "-m", "smemreuse", "diff", *files, "--page", str(page)]
    run([*command, "--allow-growth"], cwd=ROOT, check=True, capture_output=True)
    return page.read_text(encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    found = read_subjects([str(ROOT / DUMP)])
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        entries = [{**entry_of(one, "best", "bytes"), "file": DUMP} for one in found]
        page.write_text(report_page(entries), encoding="utf-8")
        photograph(page, out)
        page.write_text(_many(), encoding="utf-8")
        photograph_overview(page, out)
        page.write_text(_difference(Path(folder) / "diff.html"), encoding="utf-8")
        photograph_difference(page, out)
        advice = advise(Gemm(4096, 4096, 4096), card("a100"), "float16")
        page.write_text(roofline_page(advice, 30), encoding="utf-8")
        photograph_roofline(page, out)
    pictures = [picture_of("lifetime", one, "dataflow") for one in found]
    lifetimes = render(draw("lifetime", pictures, "dataflow"), "svg", "lifetime", "dataflow")
    (out / "batched_gemm-lifetime.svg").write_bytes(lifetimes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
