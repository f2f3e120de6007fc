"""How Apache TVM writes a PTX instruction: `T.ptx.cp(operands..., "async", "wait_group", "")`.

The operation's name is the instruction's first word. The operands come in PTX's order, destinations
first, then the predicate if there is one. Then the words after the dots, "" for each one that may
stand in a place and does not; last a list of marks, of which `pred` tells of the predicate and
`s<n>` that operand n is the sink `_`, for which nothing is handed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Effect, Operand, Row
from smemreuse.semantics.rows.forms import text_at

_BITS = re.compile(r"(?:b|u|s|f|bf)(8|16|32|64|128)(x2|x4)?")


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction's words in their order, and the operands handed over, the predicate aside."""

    words: tuple[str, ...]
    count: int
    predicated: bool = False
    sunk: int = 0

    def has(self, *words: str) -> bool:
        """Whether one of these words occurs."""
        return any(word in self.words for word in words)

    def begins(self, beginning: str) -> bool:
        """Whether a word begins so: `multicast::cluster::32b`."""
        return any(word.startswith(beginning) for word in self.words)

    @property
    def lanes(self) -> int:
        """How many registers a vector has; 1 for a scalar."""
        return next((int(word[1:]) for word in self.words if re.fullmatch(r"v[248]", word)), 1)

    @property
    def bytes(self) -> int | None:
        """Bytes of all lanes of the last type that is named; None if there is none."""
        for word in reversed(self.words):
            match = _BITS.fullmatch(word)
            if match is not None:
                packed = int((match[2] or "x1")[1:])
                return int(match[1]) * packed * self.lanes // 8
        return None


def parse(call: Call) -> Instruction | None:
    """The instruction of a call; None for a call that does not have this form."""
    split = len(call.args)
    while split and text_at(call, split - 1) is not None:
        split -= 1
    texts = [text_at(call, at) or "" for at in range(split, len(call.args))]
    if not texts:
        return None
    *words, last = texts
    marks = last.split(",") if last else []
    predicated = "pred" in marks
    sunk = sum(bool(re.fullmatch(r"s\d+", mark)) for mark in marks)
    known = all(re.fullmatch(r"pred|keep|[ps]\d+", mark) for mark in marks)
    if not known or predicated > split:
        return None
    return Instruction(tuple(filter(None, words)), split - predicated, predicated, sunk)


Finder: TypeAlias = Callable[[Instruction], Effect | None]


def instruction(find: Finder) -> Row:
    """A row that is found by an instruction's words and the number of its operands.

    Under a predicate, accesses may not happen, and no order is relied on.
    """

    def row(call: Call) -> Effect | None:
        """The effect of one call, weakened where a predicate may switch the instruction off."""
        parsed = parse(call)
        found = None if parsed is None else find(parsed)
        if parsed is None or found is None or not parsed.predicated:
            return found
        meeting = found.meeting
        return replace(
            found,
            operands=tuple(map(_maybe, found.operands)),
            commits=None,
            waits=None,
            mbarrier=None,
            meeting=None if meeting is None else replace(meeting, waits=False),
            fence=False,
            handed_on=True,
            follows=True,
        )

    return row


def _maybe(operand: Operand) -> Operand:
    return replace(operand, certain=False)
