"""Draw the pictures of README and docs, in docs/pictures.

    python -m scripts.make_pictures [pages | notebook | terminal ...]

Pages are the report's own, photographed in a browser, and the lifetimes of Graphviz: that needs
Graphviz, Chromium with its driver, and selenium. The notebook, as Jupyter shows it, needs nbclient,
nbconvert and ipykernel. The terminal shows what commands print on one.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import tempfile
from itertools import islice
from pathlib import Path
from subprocess import run
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from scripts.results import ROOT, options_of
from smemreuse.commands.graph import picture_of
from smemreuse.commands.report import entry_of
from smemreuse.commands.subjects import read_subjects
from smemreuse.linter import lint
from smemreuse.report.data import Data, Subject
from smemreuse.report.graphs import draw, render
from smemreuse.report.page import report_page, with_hazards
from smemreuse.report.roofline import roofline_page
from smemreuse.targets.cards import card
from smemreuse.worksheet import Gemm, advise

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

OUT = ROOT / "docs" / "pictures"
NOTEBOOK = ROOT / "fixtures" / "notebooks" / "kernel.ipynb"
COLUMNS = 100
COMMANDS = (
    ("compare", "fixtures/dumps/batched_gemm.sm_80.tir", "--objective", "bytes"),
    ("explain", "fixtures/dumps/flash_attention.sm_90a.tir"),
)
FONTS = re.compile(r"@font-face \{.*?\}\n?", re.DOTALL)
"""Those that rich would have loaded from the network."""
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
    """The map under outer and dataflow; the whole with a buffer chosen, wide and narrow."""
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
        for name, width, height in (("report", 1280, 1320), ("report-narrow", 400, 1400)):
            _open(driver, f"{look}&buffer=As&theme=light", width, height)
            driver.save_screenshot(str(out / f"{name}.png"))


def photograph_overview(page: Path, out: Path) -> None:
    """Forty kernels, the best first."""
    with browser(1280, 1000) as driver:
        _open(driver, f"{page.as_uri()}#sort=-saved&theme=light", 1280, 900)
        driver.save_screenshot(str(out / "overview.png"))


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
    entries = (_entry(one, f"{DUMPS}/{Path(one.file).name}") for one in found)
    return report_page([*islice(entries, OVERVIEW)])


def _entry(subject: Subject, file: str) -> Data:
    """What the page shows of a kernel, with its hazards, under another file's name."""
    entry = {**entry_of(subject, "best", "bytes"), "file": file}
    return with_hazards(entry, file, lint(subject.kernel))


def _difference(page: Path) -> str:
    """What `diff --page` writes of two fixtures that differ."""
    files = [f"{DUMPS}/{name}" for name in CHANGED]
    command = [sys.executable, "-m", "smemreuse", "diff", *files, "--page", str(page)]
    run([*command, "--allow-growth"], cwd=ROOT, check=True, capture_output=True)
    return page.read_text(encoding="utf-8")


def pages(out: Path) -> None:
    found = read_subjects([str(ROOT / DUMP)])
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        entries = [_entry(one, DUMP) for one in found]
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


def notebook(out: Path) -> None:
    """The whole page with all that the notebook's cells show, from top to bottom."""
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    found = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(found, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    with tempfile.TemporaryDirectory() as folder, browser(1000, 900) as driver:
        page = Path(folder) / "notebook.html"
        page.write_text(HTMLExporter().from_notebook_node(found)[0], encoding="utf-8")
        driver.get(page.as_uri())
        height = driver.execute_script("return document.body.scrollHeight")
        driver.set_window_size(1000, height + 150)
        body = driver.find_element("css selector", "body")
        (out / "notebook.png").write_bytes(body.screenshot_as_png)


def terminal(out: Path) -> None:
    """What commands print where their output is a terminal, colours included."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    environ = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "PYTHONPATH": str(ROOT)}
    for command in COMMANDS:
        console.print(Text(f"$ smemreuse {' '.join(command)}", style="bold"))
        call = [sys.executable, "-m", "smemreuse", *command]
        done = run(call, capture_output=True, text=True, check=True, cwd=ROOT, env=environ)
        console.print(Text.from_ansi(done.stdout))
    svg = console.export_svg(title="smemreuse", unique_id="terminal")
    (out / "terminal.svg").write_text(FONTS.sub("", svg))


DRAWN = {"pages": pages, "notebook": notebook, "terminal": terminal}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("what", nargs="*", help=f"of {', '.join(DRAWN)} (default: all)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.what or DRAWN:
        DRAWN[name](options.out)


if __name__ == "__main__":
    main()
