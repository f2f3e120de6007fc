"""What the fields of a card in JSON must be; anything else is an error that says how to mend it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches

from smemreuse.errors import InputError
from smemreuse.targets.architectures import ARCHITECTURES

TENSOR_TYPES = (*("float16", "bfloat16", "tfloat32", "float8", "float4", "int8", "int4"),)
"""Types of operands that tensor cores take, by the names that `Card.tensor` has."""

_TEXTS = ("name", "arch", "source")
_WHOLE = (
    *("sms", "dram_bytes", "l2_bytes", "fma", "special", "shared"),
    *("dram_latency", "l2_latency", "port"),
)
_RATES = ("clock", "dram", "l2", "tensor_clock")
_OPTIONAL = (
    *("fma", "special", "shared", "port", "mma"),
    *("dram_latency", "l2_latency", "tensor_clock", "assumed"),
)
_KEYS = (*_TEXTS, *_WHOLE, *_RATES, "mma", "tensor", "assumed")
_LARGEST = 1e18


def checked_fields(given: object) -> dict[str, object]:
    """The fields of a card, as `Card` takes them; raises `InputError` with the key and the fix."""
    if not isinstance(given, Mapping):
        raise InputError("not a card; write a JSON object with name, arch, sms, clock, ...")
    for key in given:
        if key not in _KEYS:
            close = get_close_matches(key, _KEYS, 1)
            mend = f"did you mean {close[0]}?" if close else f"keys are {', '.join(_KEYS)}, like"
            raise InputError(f"there is no key {key!r}; {mend}")
    missing = [key for key in _KEYS if key not in given and key not in _OPTIONAL]
    if missing:
        raise InputError(
            f"{', '.join(missing)} is missing; write it, or say which card it is like: "
            '"like": "h200"'
        )
    return {key: _checked(key, value) for key, value in given.items()}


def _checked(key: str, value: object) -> object:
    if key in _TEXTS:
        return _text(key, value)
    if key == "tensor":
        return _tensor(value)
    if key == "assumed":
        return _assumed(value)
    if key == "mma":
        return _number(key, value, 0.01, 1.0)
    number = _number(key, value, 0.0 if key == "tensor_clock" else 1.0)
    if key in _WHOLE and number != int(number):
        raise InputError(f"{key} is {number:g}; write a whole number")
    return int(number) if key in _WHOLE else float(number)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{key} is {_shown(value)}; write a text")
    if key == "arch" and value not in ARCHITECTURES:
        raise InputError(f"arch is {_shown(value)}; choose one of {', '.join(ARCHITECTURES)}")
    return value


def _number(key: str, value: object, least: float, most: float = _LARGEST) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{key} is {_shown(value)}; write a number")
    if not math.isfinite(value) or not least <= value <= most:
        raise InputError(f"{key} is {_shown(value)}; it must be {least:g} to {most:g}")
    return value


def _tensor(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise InputError(
            f"tensor is {_shown(value)}; write the flops of an SM in a cycle by type, such as "
            '{"float16": 4096}'
        )
    for dtype in value:
        if dtype not in TENSOR_TYPES:
            raise InputError(f"tensor has no type {dtype!r}; choose of {', '.join(TENSOR_TYPES)}")
    return {dtype: float(_number(f"tensor.{dtype}", one, 1.0)) for dtype, one in value.items()}


def _assumed(value: object) -> list[str]:
    if not isinstance(value, list) or not all(one in _KEYS for one in value):
        raise InputError(f"assumed is {_shown(value)}; write a list of keys of the card")
    return list(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
