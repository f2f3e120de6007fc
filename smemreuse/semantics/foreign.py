"""Calls of functions that are written in CUDA: what can be read of their text, name and type.

The text of a function is seldom at hand, and where it is, it is not understood. It is searched for
signs of what outlasts the call (rule 5); a function without text counts as one that has them.
"""

from __future__ import annotations

import re

from smemreuse.ir.expr import Call, Const
from smemreuse.semantics.effects import Answer, Effect, Engine

INLINED = "cuda.func_call"
"""`func_call(name, arguments..., source text[, type that it returns])`"""

_TYPED = ("call_extern", "call_pure_extern")
"""`call_extern(type that it returns, name, arguments...)`"""

FOREIGN = frozenset({INLINED, *_TYPED, "call_global"})

ADDRESS_TYPES = frozenset({"handle", "int64", "uint64", "uint32"})
"""What a function may give a pointer back as; addresses in shared memory have 32 bits."""

# Too narrow for an address, or not used for one.
_NO_ADDRESS = re.compile(r"bool|b?float|u?int(4|8|16)(x|$)")


def may_hold_address(dtype: str) -> bool:
    """Whether a value of a type may be an address, or a part of one."""
    return _NO_ADDRESS.match(dtype) is None


# Inline assembly, and what copies or multiplies asynchronously, or reaches another block's memory.
_STARTS_SOMETHING = re.compile(
    r"asm|async|bulk|cluster|cp_|cute::|cutlass|mapa|mbarrier|pipeline|sm90|sm100|tcgen05|tma_"
    r"|wgmma|#\s*include\s*\"",
    re.IGNORECASE,
)


def foreign_effect(call: Call) -> Effect:
    """The effect of a CUDA function without a row, as far as its text or name shows it."""
    return Effect(
        handed_on=True,
        by_reference=not takes_values(call),
        swizzles=names_instructions(call),
        follows=True,
        engine=Engine.THREAD if is_over_at_return(call) else Engine.UNKNOWN_ASYNC,
        answer=Answer.VARIES,
        address=returns_address(call),
    )


def function_of(call: Call) -> str:
    """The function that a call is of: its name where it is written in CUDA, or the operation."""
    return (call.op in FOREIGN and texts_of(call)[0]) or call.op


def is_over_at_return(call: Call) -> bool:
    """Whether a CUDA function certainly leaves nothing running after it returns, by its text or
    name.
    """
    name, *others = texts_of(call)
    if _STARTS_SOMETHING.search(name) or names_instructions(call):
        return False
    return any(re.search(rf"\b{re.escape(name)}\s*\(", text) for text in others)


def takes_values(call: Call) -> bool:
    """Whether an element that a function is handed is read there and no more.

    C++ passes `x[0]` by reference where the parameter is one; from there all of `x` is in reach.
    """
    name, *others = texts_of(call)
    texts = others if call.op == INLINED else []
    defined = any(re.search(rf"\b{re.escape(name)}\s*\(", text) for text in texts)
    return defined and not any("&" in text for text in texts)


def names_instructions(call: Call) -> bool:
    """Whether a call brings source text with instructions in it that nothing here understands."""
    return call.op in FOREIGN and any(map(_STARTS_SOMETHING.search, texts_of(call)[1:]))


def returns_address(call: Call) -> bool:
    """Whether what a function gives back may be one of the pointers that it was handed."""
    operands = call.args[:1] if call.op in _TYPED else call.args[-1:]
    types = [arg.value for arg in operands if isinstance(arg, Const)]
    return not types or not isinstance(types[0], str) or types[0] in ADDRESS_TYPES


def texts_of(call: Call) -> list[str]:
    """The strings among a call's operands: the function's name first, empty if there is none."""
    args = call.args[1:] if call.op in _TYPED else call.args
    values = [arg.value for arg in args if isinstance(arg, Const)]
    return [value for value in values if isinstance(value, str)] or [""]
