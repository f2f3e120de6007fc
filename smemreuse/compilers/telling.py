"""The one line of a compiler's error that says what is wrong."""

from __future__ import annotations

import re

_SAYS_SO = re.compile(r"\b(error|fatal)\b\s*:\s*\S", re.IGNORECASE)
_LONGEST = 300


def telling_line(error: BaseException) -> str:
    """The kind of an error and its first line that says anything.

    That is the one that calls itself an error, for nvcc is shown with the whole source before it;
    of a traceback it is the last.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    first = lines[-1 if lines[0].startswith("Traceback") else 0]
    found = next((line for line in lines if _SAYS_SO.search(line)), first)
    return f"{type(error).__name__}: {found}"[:_LONGEST]
