"""Draw the README's pictures: needs Graphviz, Chromium with its driver, and selenium.

    python scripts/make_pictures.py [--out docs/pictures]

The memory maps are the report's own, photographed in a browser; the lifetimes are Graphviz's.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from smemreuse.advisor.worksheet import Gemm, advise  # noqa: E402
from smemreuse.commands.graph import picture_of  # noqa: E402
from smemreuse.commands.report import entry_of  # noqa: E402
from smemreuse.commands.subjects import read_subjects  # noqa: E402
from smemreuse.report.graphs import draw, render  # noqa: E402
from smemreuse.report.page import report_page  # noqa: E402
from smemreuse.report.roofline import roofline_page  # noqa: E402
from smemreuse.targets.cards import card  # noqa: E402

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

DUMP = "fixtures/dumps/batched_gemm.sm_80.tir"
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
    """The map under outer and dataflow, and the whole section with a buffer chosen."""
    from selenium.webdriver.support.ui import WebDriverWait

    with browser(1100, 1500) as driver:
        driver.get(page.as_uri())
        wait = WebDriverWait(driver, 20)
        wait.until(lambda one: one.execute_script("return !!document.querySelector('.point')"))
        for policy in ("outer", "dataflow"):
            driver.find_element("css selector", f"input[value={policy}]").click()
            driver.execute_async_script(_SETTLED)
            picture = driver.find_element("css selector", ".map").screenshot_as_png
            (out / f"batched_gemm-{policy}.png").write_bytes(picture)
        driver.find_elements("css selector", ".buffers button")[2].click()
        driver.execute_script("window.scrollTo(0, 0)")
        driver.save_screenshot(str(out / "report.png"))


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
        advice = advise(Gemm(4096, 4096, 4096), card("a100"), "float16")
        page.write_text(roofline_page(advice, 30), encoding="utf-8")
        photograph_roofline(page, out)
    pictures = [picture_of("lifetime", one, "dataflow") for one in found]
    lifetimes = render(draw("lifetime", pictures, "dataflow"), "svg", "lifetime", "dataflow")
    (out / "batched_gemm-lifetime.svg").write_bytes(lifetimes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
