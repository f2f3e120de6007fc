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
            end = _closing(rest)
            if end is None:
                return None
            arguments += _listed(rest[1:end])
            rest = rest[end + 1 :].lstrip()
        if not rest:
            return FunctionName("::".join(path), tuple(arguments))
        if not rest.startswith("::"):
            return None
        rest = rest[2:].lstrip().removeprefix("template ").lstrip()


def _closing(text: str) -> int | None:
    """The position of the bracket that closes the first one of a text."""
    open_brackets: list[str] = []
    for at, character in enumerate(text):
        if character in "<>" and open_brackets and open_brackets[-1] != "<":
            continue  # a comparison in brackets of another kind
        if character in _OPEN:
            open_brackets.append(character)
        elif character in _CLOSE:
            if not open_brackets or _OPEN.index(open_brackets.pop()) != _CLOSE.index(character):
                return None
            if not open_brackets:
                return at
    return None


def _listed(text: str) -> list[str]:
    """The arguments of a list, cut at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in _OPEN) - (character in _CLOSE)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    stripped = [part.strip() for part in parts]
    return stripped if any(stripped) else []
