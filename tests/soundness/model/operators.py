"""Operators on arrays of int64: rows, threads, lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def _broadcast(value: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.repeat(value, int(lanes[0, 0, 0]), axis=2)
    return found


def _ramp(base: np.ndarray, stride: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    steps: np.ndarray = base + stride * np.arange(int(lanes[0, 0, 0]))
    return steps


def _truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    quotient = np.abs(a) // np.abs(b)
    found: np.ndarray = np.where((a < 0) != (b < 0), -quotient, quotient)
    return found


OPERATORS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "div": _truncated,
    "mod": np.fmod,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "min": np.minimum,
    "max": np.maximum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "likely": lambda value: value,
    "ramp": _ramp,
    "broadcast": _broadcast,
}
