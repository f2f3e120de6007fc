"""Rows for calls of functions that are written in CUDA, by the function's name.

A function of the kernel's own author has none but what is declared, and one whose text comes with
the call is what that text says: neither is understood here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from smemreuse.ir.expr import Call, Const
from smemreuse.semantics.effects import Effect
from smemreuse.semantics.rows import cuda_functions, tilelang_functions, tilelang_instructions
from smemreuse.semantics.rows.forms import merged, text_at
from smemreuse.semantics.rows.function_names import (
    FunctionName,
    FunctionRow,
    FunctionRows,
    parse_name,
)
from smemreuse.semantics.rows.positions import shifted

FUNCTIONS: Mapping[str, FunctionRow] = merged(
    cuda_functions.ROWS, tilelang_functions.ROWS, tilelang_instructions.ROWS
)
"""Functions of CUDA and of TileLang's device library, by their names without template arguments."""

INSIDE: Mapping[str, str] = merged(tilelang_functions.INSIDE, tilelang_instructions.INSIDE)
"""Those that kernels do not call by name, with the reason. A name, or a beginning that ends in `::`
or `_`. One that is called all the same is not understood."""

DECLARED: FunctionRows = {}
"""Functions of users' own; `smemreuse.semantics.declarations` puts them here."""


def inside(name: str) -> str | None:
    """Why kernels do not call a function of TileLang's library by its name; None if they may."""
    beginnings = (known for known in INSIDE if known.endswith(("::", "_")))
    return INSIDE.get(name) or next(
        (INSIDE[known] for known in beginnings if name.startswith(known)), None
    )


# Where the name stands; the function's arguments come after it.
_NAME_AT = {"call_extern": 1, "call_pure_extern": 1, "cuda.func_call": 0}


def function_row(call: Call) -> Effect | None:
    """What a call of a CUDA function does, in positions of the call's operands.

    None for a function that is not known, or is called in a form that is not understood.
    """
    at = _NAME_AT.get(call.op)
    text = None if at is None else text_at(call, at)
    name = None if text is None else parse_name(text)
    if at is None or text is None or name is None:
        return None
    declared = DECLARED.get(name.path)
    if callable(declared):
        found = declared(name, _parameters(call, at))
        return None if found is None else shifted(found, at + 1)
    if _is_defined_by(call, text):
        return None
    effect = _effect(name, len(call.args) - at - 1)
    return None if effect is None else shifted(effect, at + 1)


def _effect(name: FunctionName, parameters: int) -> Effect | None:
    row = FUNCTIONS.get(name.path)
    return row(name, parameters) if callable(row) else row


def _parameters(call: Call, at: int) -> int:
    """The number of arguments after a function's name; the source text that may follow is none."""
    after = range(at + 1, len(call.args))
    texts = (place for place in after if text_at(call, place) is not None)
    end = next(texts, len(call.args)) if call.op == "cuda.func_call" else len(call.args)
    return end - at - 1


def _is_defined_by(call: Call, name: str) -> bool:
    """Whether a call brings a text that has a function of this name in it."""
    texts = (arg.value for arg in call.args if isinstance(arg, Const))
    return any(
        re.search(rf"\b{re.escape(name)}\s*\(", text) for text in texts if isinstance(text, str)
    )
