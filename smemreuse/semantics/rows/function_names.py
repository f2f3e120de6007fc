"""Names of C++ functions with template arguments, `tl::AllReduce<tl::SumOp, 128, 1>::run`, and rows
by these names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from smemreuse.semantics.effects import Effect

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


FunctionRow: TypeAlias = Effect | Callable[[FunctionName, int], Effect | None]
"""An effect whose positions are those of the function's parameters, or what finds it by the
template arguments and the number of parameters. None where the form is not understood."""

FunctionRows: TypeAlias = dict[str, FunctionRow]
"""Rows by the name without template arguments: `tl::AllReduce::run`."""


def parse_name(text: str) -> FunctionName | None:
    """The parts of a function's name; None for text that is no such name."""
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
