"""With what a kernel is launched: random tensors, of the shapes and ranges that were seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Number: TypeAlias = int | float | bool

HIGHEST = 7
"""Integers of which nothing is known are from 0 to this: small enough for most that are indices."""


@dataclass(frozen=True, slots=True)
class LaunchArgument:
    """One argument of a launch: a tensor of a dtype, as PyTorch names it, or a number.

    Elements of integers are from `low` to `high`, both included; those of floats are normally
    distributed, around `low` with the deviation `high` where these are known. A tensor of few
    integers, such as lengths of sequences, has its own `values`.
    """

    dtype: str
    shape: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    values: tuple[Number, ...] | None = None
    is_number: bool = False

    @property
    def row(self) -> tuple[object, ...]:
        """As the standalone file has it."""
        shape = None if self.is_number else list(self.shape)
        values = None if self.values is None else list(self.values)
        return self.dtype, shape, self.low, self.high, values
