"""Line edits of a source text."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # as Python's tokenizer ends lines


class LineEdits:
    """Edits of whole lines, collected first and made from the end.

    `lines` are those of the text, with what ends them.
    """

    def __init__(self, source: str):
        self.lines = _LINE.findall(source)
        self._edits: list[tuple[int, int, Sequence[str]]] = []

    def replace(self, start: int, end: int, text: Sequence[str]) -> None:
        """Puts `text` in the place of the lines from `start` to before `end`, counted from 0."""
        self._edits.append((start, end, text))

    def result(self) -> str:
        """The text with all edits made."""
        lines = list(self.lines)
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2], reverse=True):
            line_end = self._line_end(min(start, len(self.lines) - 1))
            if start and start == len(self.lines) and not self._line_end(start - 1, ""):
                lines[-1] += line_end
            lines[start:end] = [f"{line}{line_end}" for line in text]
        return "".join(lines)

    def _line_end(self, line: int, otherwise: str = "\n") -> str:
        return re.sub(r"[^\r\n]", "", self.lines[line]) or otherwise

    def indent(self, node: ast.stmt) -> str | None:
        """What stands before a statement that begins its line; None before one that does not."""
        before = self.lines[node.lineno - 1].encode()[: node.col_offset].decode()
        return None if before.strip() else before
