"""Kinds of things that have a word, which is stable, and a sentence, which people read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TypeVar

DEFAULT_MERGE = "default merge"
"""What a kernel's compiler makes by itself."""

_Kind = TypeVar("_Kind", bound="Worded")


class Worded(str, Enum):
    """An enumeration whose members are `(word, sentence)`; the word is the value, and the text."""

    sentence: str

    def __new__(cls: type[_Kind], word: str, sentence: str = "") -> _Kind:
        # The default is for type checkers, to which `HazardKind("race")` is a call of this.
        kind = str.__new__(cls, word)
        kind._value_ = word
        kind.sentence = sentence
        return kind

    def __str__(self) -> str:
        return str(self.value)


_LINE = re.compile(r" \((?:line \d+|(?:line \d+, )?from [^`\n]*?:\d+)\)")


def to_be_declared(function: str) -> str:
    """What is to be done of a device function that is not known; no full stop."""
    return f"`{function}` is not known: declare it in smemreuse.toml"


def occurrences(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Of each name the how-manieth of its like it is, from 1, and how many there are."""
    total, seen = Counter(names), Counter[str]()
    for name in names:
        seen[name] += 1
        yield seen[name], total[name]


def without_lines(text: str) -> str:
    """A sentence without the lines that it names, which change with every edit."""
    return _LINE.sub("", text)
