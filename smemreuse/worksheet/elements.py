"""Bytes of an element by its type, and what computes on it."""

from __future__ import annotations

from smemreuse.errors import PlanError

SIZES = {
    "float32": 4.0,
    "tfloat32": 4.0,
    "float16": 2.0,
    "bfloat16": 2.0,
    "float8": 1.0,
    "int8": 1.0,
    "float4": 0.5,
    "int4": 0.5,
}
"""Bytes of an element; two of 4 bits lie in one."""

ACCUMULATOR = 4
"""Bytes of a sum: 32 bits, whatever the operands."""


def size_of(dtype: str) -> float:
    """Raises `PlanError` for a type that is not known."""
    if dtype not in SIZES:
        raise PlanError(f"unknown type {dtype!r}; choose one of {', '.join(SIZES)}")
    return SIZES[dtype]


def output_size(dtype: str) -> float:
    """Bytes of an element of the result: as the operands, but 2 where they have fewer."""
    return max(2.0, size_of(dtype))
