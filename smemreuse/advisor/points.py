"""Points of a kernel's execution that stand for all: some blocks, and some rounds of each loop.

What a kernel does is summed over these with weights, so that causal loops, tails and conditions on
the block count as often as they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.expr import Expr, Var
from smemreuse.semantics.evaluate import Threads, Value, evaluate

MOST_POINTS = 4096


@dataclass(frozen=True)
class Points:
    """`values` of variables, the `block` (its number among those that are looked at) and the
    `weight` of each point: how often what stands here is done for every time it is seen."""

    values: Mapping[Var, Value]
    block: np.ndarray
    weight: np.ndarray

    @property
    def count(self) -> int:
        return len(self.block)

    def evaluate(self, expr: Expr, more: Mapping[Var, Value] | None = None) -> Value:
        """The value of an integer expression at each point; None where that is not known."""
        values = {**self.values, **more} if more else self.values
        return evaluate(expr, Threads(np.arange(self.count), values, row=-1))

    def bind(self, var: Var, value: Value) -> Points:
        """The same points with one more variable."""
        return Points({**self.values, var: value}, self.block, self.weight)

    def where(self, mask: np.ndarray) -> Points:
        """Only the points at which `mask` holds."""
        values = {
            var: value[mask] if isinstance(value, np.ndarray) else value
            for var, value in self.values.items()
        }
        return Points(values, self.block[mask], self.weight[mask])

    def scaled(self, factor: float) -> Points:
        """The same points, each so many times as often."""
        return Points(self.values, self.block, self.weight * factor)

    def summed(self, each: np.ndarray | float, blocks: int) -> np.ndarray:
        """What `each` point takes, summed by block."""
        return np.bincount(self.block, weights=self.weight * each, minlength=blocks)

    def rounds(
        self, var: Var, begin: Value, step: Value, trips: np.ndarray, single: bool
    ) -> Points:
        """The points inside a loop of so many `trips`: its first, its last and two in between.

        With `single`, or where there would be too many points, one in the middle stands for all.
        """
        trips = np.maximum(trips, 0)
        if single or 4 * self.count > MOST_POINTS:
            chosen = [(trips // 2, trips)]
        else:
            inner = np.maximum(trips - 2, 0)
            chosen = [
                (np.zeros_like(trips), np.minimum(trips, 1)),
                (1 + inner // 3, (inner + 1) // 2),
                (1 + 2 * inner // 3, inner // 2),
                (trips - 1, np.minimum(np.maximum(trips - 1, 0), 1)),
            ]
        parts = []
        for at, times in chosen:
            value = np.broadcast_to(np.asarray(begin) + np.asarray(step) * at, (self.count,))
            points = Points({**self.values, var: value.astype(np.int64)}, self.block, self.weight)
            parts.append(points._times(times))
        return _joined([one for one in parts if one.count] or [self.where(trips < 0)])

    def _times(self, times: np.ndarray) -> Points:
        kept = Points(self.values, self.block, self.weight * times)
        return kept.where(kept.weight > 0)


def _joined(parts: list[Points]) -> Points:
    if len(parts) == 1:
        return parts[0]
    values: dict[Var, Value] = {}
    for var in parts[0].values:
        held = [one.values[var] for one in parts]
        if any(value is None for value in held):
            values[var] = None
        elif all(isinstance(value, int) and value == held[0] for value in held):
            values[var] = held[0]
        else:
            values[var] = np.concatenate(
                [
                    np.broadcast_to(np.asarray(value), (one.count,))
                    for value, one in zip(held, parts, strict=True)
                ]
            )
    return Points(
        values,
        np.concatenate([one.block for one in parts]),
        np.concatenate([one.weight for one in parts]),
    )
