"""Draw what commands print on a terminal, as `docs/pictures/terminal.svg`.

python scripts/picture_terminal.py
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "pictures" / "terminal.svg"
WIDTH = 100
COMMANDS = (
    ("compare", "fixtures/dumps/batched_gemm.sm_80.tir"),
    ("explain", "fixtures/dumps/flash_attention.sm_90a.tir"),
)
FONTS = re.compile(r"@font-face \{.*?\}\n?", re.DOTALL)
"""Those that rich would have loaded from the network."""


def printed(command: tuple[str, ...]) -> str:
    """What a command prints where its output is a terminal, colours included."""
    done = subprocess.run(
        [sys.executable, "-m", "smemreuse", *command],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "PYTHONPATH": str(ROOT)},
    )
    return done.stdout


def picture() -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for command in COMMANDS:
        console.print(Text(f"$ smemreuse {' '.join(command)}", style="bold"))
        console.print(Text.from_ansi(printed(command)))
    return FONTS.sub("", console.export_svg(title="smemreuse", unique_id="terminal"))


if __name__ == "__main__":
    OUT.write_text(picture())
