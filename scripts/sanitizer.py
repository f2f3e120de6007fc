"""What the tools of compute-sanitizer tell of a command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

SANITIZER = "compute-sanitizer"
TOOLS = ("racecheck", "synccheck", "initcheck", "memcheck")
TOLD = re.compile(r"(?:RACECHECK|ERROR) SUMMARY: (\d+) (?:hazards? displayed|errors?)")
_LINE = re.compile(
    r"^=+ (?:Error|Warning): .*|^=+ (?:Invalid|Uninitialized|Barrier) .*", re.MULTILINE
)


@dataclass(frozen=True)
class Sanitized:
    """What one tool told: how many errors or hazards, and the first; or `why` it told nothing."""

    errors: int | None
    first: str = ""
    why: str = ""
    out: str = ""


def sanitized(tool: str, command: Sequence[str], seconds: float) -> Sanitized:
    """Runs a command under a tool, which is killed with all its processes after so many seconds."""
    whole = [SANITIZER, "--tool", tool, "--target-processes", "application-only", *command]
    with subprocess.Popen(
        whole,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            return Sanitized(None, why=f"not done in {seconds:.0f} s", out=out)
    told = TOLD.search(out)
    if told is None:
        last = next(iter(reversed(out.strip().splitlines())), "said nothing")
        return Sanitized(None, why=f"failed: {last[:120]}", out=out)
    first = _LINE.search(out)
    return Sanitized(int(told[1]), first[0].strip("= ")[:160] if first else "", out=out)


def version() -> str:
    """The version of the sanitizer."""
    told = subprocess.run([SANITIZER, "--version"], capture_output=True, text=True, check=True)
    return told.stdout.strip().splitlines()[-1].split()[1]
