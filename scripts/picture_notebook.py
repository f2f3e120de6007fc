"""Draw a notebook as Jupyter shows it: needs nbclient, nbconvert, ipykernel, Chromium and selenium.

python scripts/picture_notebook.py [--out docs/pictures/notebook.png]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.make_pictures import browser  # noqa: E402

NOTEBOOK = ROOT / "fixtures" / "notebooks" / "kernel.ipynb"
WIDTH = 1000  # pixels


def executed_as_html(notebook: Path) -> str:
    """The notebook with all that its cells show."""
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    found = nbformat.read(notebook, as_version=4)
    NotebookClient(found, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    text: str = HTMLExporter().from_notebook_node(found)[0]
    return text


def photograph(page: Path, out: Path) -> None:
    """The whole page, from top to bottom."""
    with browser(WIDTH, 900) as driver:
        driver.get(page.as_uri())
        height = driver.execute_script("return document.body.scrollHeight")
        driver.set_window_size(WIDTH, height + 150)
        out.write_bytes(driver.find_element("css selector", "body").screenshot_as_png)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures" / "notebook.png")
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "notebook.html"
        page.write_text(executed_as_html(NOTEBOOK), encoding="utf-8")
        photograph(page, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
