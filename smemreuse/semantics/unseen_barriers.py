"""Functions written in CUDA that may have a barrier inside, as far as their text shows it; and
those in which a thread may wait by a loop of its own.

A barrier orders accesses, which need not be known to prove less. But it also has to be reached by
all that it counts, which nobody sees who does not know of it: so the answer says what it assumes.
Nothing is refuted by what a barrier or a loop that polls may order.
"""

from __future__ import annotations

import re

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Effect
from smemreuse.semantics.foreign import texts_of
from smemreuse.semantics.rows.device_functions import FUNCTIONS

_MEETS = re.compile(r"asm|barrier|\bbar\b|sync|cluster|cooperative|#\s*include\s*\"", re.IGNORECASE)
_LOOPS = re.compile(r"\b(?:while|for|goto)\b")
_MAY_CHANGE = re.compile(r"volatile|atomic|fence|nanosleep|__ld", re.IGNORECASE)
"""In a loop that polls memory: what else a compiler may take to be the same in each round."""

_CALLED = re.compile(r"([A-Za-z_][\w:]*)\s*(?:<[^;(){}]*>)?\s*\(")
_BEFORE_PARENTHESES = """
    if for while switch return sizeof alignof defined alignas __launch_bounds__ __align__
    static_cast reinterpret_cast const_cast bool char short int long unsigned signed float double
    half __half half_t bfloat16_t __nv_bfloat16 int8_t int16_t int32_t int64_t uint8_t uint16_t
    uint32_t uint64_t
"""
_WORDS = frozenset(_BEFORE_PARENTHESES.split())
"""What stands before a parenthesis in C++ and is no call of a function."""


def why_it_may_meet(call: Call) -> str:
    """Why a function may have a barrier inside; empty where its text comes with the call and names
    neither barriers nor inline assembly, nor calls anything that is not known to have none."""
    name, *others = texts_of(call)
    if not any(re.search(rf"\b{re.escape(name)}\s*\(", text) for text in others):
        return "its text is not at hand"
    sign = next(filter(None, map(_MEETS.search, others)), None)
    if sign is not None:
        return f"its text has `{sign[0]}` in it"
    called = (match[1] for text in others for match in _CALLED.finditer(text))
    unseen = next((one for one in called if one != name and not _has_no_barrier(one)), None)
    return f"its text calls `{unseen}`" if unseen else ""


def may_poll(call: Call) -> bool:
    """Whether a function may wait in a loop until other threads write, by the text that comes with
    its call."""
    texts = texts_of(call)[1:]
    return any(_LOOPS.search(text) for text in texts) and any(map(_MAY_CHANGE.search, texts))


def _has_no_barrier(function: str) -> bool:
    row = FUNCTIONS.get(function)
    return function in _WORDS or (isinstance(row, Effect) and not row.meetings)
