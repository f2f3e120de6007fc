"""What the device functions of CUDA headers say in their texts, and in those of what they call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.semantics.device_headers import device_functions

_WORD = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/", re.DOTALL)
_ARGUMENTS = r"\s*(?:<[^;(){}]*>)?\s*"
_CALL = re.compile(rf"(?:(\w+){_ARGUMENTS}::\s*(?:template\s+)?)?(\w+){_ARGUMENTS}\(")


@dataclass(frozen=True)
class DeviceText:
    """A device function: its name with namespaces and classes, where it is, and what it says."""

    name: str
    place: str
    text: str

    @property
    def last(self) -> str:
        """The name without namespaces and classes."""
        return self.name.rpartition("::")[2]

    def calls(self) -> set[tuple[str, str]]:
        """The functions that are called, each with the class or namespace in front of it."""
        body = self.text[self.text.index("{") :]
        return {(match[1] or "", match[2]) for match in _CALL.finditer(body)}


def device_texts(path: Path) -> Iterator[DeviceText]:
    """The device functions of a header with their texts, without comments."""
    whole = _WORD.sub(_without_comment, path.read_text())
    lines = [0, *(at.end() for at in re.finditer("\n", whole))]
    for name, line in device_functions(path):
        found = _function(whole, lines[line - 1], name.rpartition("::")[2])
        if found:
            yield DeviceText(name, f"{path.name}:{line}", found)


def _without_comment(word: re.Match[str]) -> str:
    return word[0] if word[0][0] in "\"'" else re.sub(r"[^\n]", " ", word[0])


def _function(text: str, begin: int, name: str) -> str:
    """The text from here to the brace that closes the function of that name; empty if only
    declared."""
    named = re.compile(rf"\b{re.escape(name)}\b").search(text, begin)
    depth, inside = 0, re.compile(r"\"(?:\\.|[^\"\\\n])*\"|[{};]")
    for mark in inside.finditer(text, named.end() if named else begin):
        if mark[0] == ";" and not depth:
            return ""
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if mark[0] == "}" and depth <= 0:
            return text[begin : mark.end()]
    return ""


def saying(functions: Iterable[DeviceText], sign: str) -> Mapping[str, str]:
    """The functions that match a sign in their own texts, or by calling one that does: names and
    places. A class that is a template's argument may be any that has a function of that name."""
    functions = list(functions)
    by_last: dict[str, list[DeviceText]] = {}
    for one in functions:
        by_last.setdefault(one.last, []).append(one)

    def called(one: DeviceText) -> Iterator[DeviceText]:
        for owner, last in one.calls():
            named = by_last.get(last, ())
            own = [callee for callee in named if owner in callee.name.split("::")[:-1]]
            yield from own or named

    says = {id(one) for one in functions if re.search(sign, one.text)}
    while True:
        more = {
            id(one)
            for one in functions
            if id(one) not in says and any(id(callee) in says for callee in called(one))
        }
        if not more:
            return {one.name: one.place for one in functions if id(one) in says}
        says |= more
