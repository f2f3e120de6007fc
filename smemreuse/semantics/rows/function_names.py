"""Names of C++ functions with template arguments: `tl::AllReduce<tl::SumOp, 128, 1>::run`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PART = re.compile(r"[A-Za-z_]\w*")
_OPEN, _CLOSE = "<([{", ">)]}"


@dataclass(frozen=True, slots=True)
class FunctionName:
    """`path` is the name without template arguments, `tl::AllReduce::run`; `arguments` are all of
    these, in the order in which they stand, each as its text."""

    path: str
    arguments: tuple[str, ...] = ()

    def number(self, at: int) -> int | None:
        """The template argument at this position, where it is an integer."""
        if at >= len(self.arguments):
            return None
        text = self.arguments[at]
        return int(text) if re.fullmatch(r"-?\d+", text) else None


def parse_name(text: str) -> FunctionName | None:
    """A function's name in its parts; None for what is no such name."""
    path: list[str] = []
    arguments: list[str] = []
    rest = text.strip().removeprefix("::")
    while True:
        part = _PART.match(rest)
        if part is None:
            return None
        path.append(part[0])
        rest = rest[part.end() :].lstrip()
        if rest.startswith("<"):
            listed = _listed(rest)
            if listed is None:
                return None
            arguments += listed[0]
            rest = rest[listed[1] :].lstrip()
        if not rest:
            return FunctionName("::".join(path), tuple(arguments))
        if not rest.startswith("::"):
            return None
        rest = rest[2:].lstrip().removeprefix("template ").lstrip()


def _listed(text: str) -> tuple[list[str], int] | None:
    """The arguments of the list in angle brackets that a text begins with, and where it ends."""
    parts = [""]
    opened: list[str] = []
    for at, character in enumerate(text):
        compares = character in "<>" and opened[-1:] not in ([], ["<"])
        if character in _OPEN and not compares:
            opened.append(character)
        elif character in _CLOSE and not compares:
            if opened.pop() != _OPEN[_CLOSE.index(character)]:
                return None
            if not opened:
                stripped = [part.strip() for part in parts]
                return (stripped if any(stripped) else []), at + 1
        if character == "," and opened == ["<"]:
            parts.append("")
        elif at:
            parts[-1] += character
    return None
