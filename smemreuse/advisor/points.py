"""Points of a kernel's execution that stand for all: some blocks, and some rounds of each loop.

What a kernel does is summed over these with weights, so that causal loops, tails and conditions on
the block count as often as they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from smemreuse.ir.expr import Expr, Var
from smemreuse.ir.kernel import Block
from smemreuse.ir.launch import launches, tag_of, thread_axes
from smemreuse.semantics.evaluate import (
    NOBODY,
    Threads,
    Value,
    all_threads,
    axis_index,
    evaluate,
)
from smemreuse.targets.architectures import WARP

MOST_POINTS = 4096


@dataclass(frozen=True)
class Points:
    """Sampled points of execution: the variables' values, the block, and a weight for each.

    `at` has one thread for each point, whose index is the point's block; nothing asks which thread
    that is. `weight` is how many executions the point stands for.
    """

    at: Threads
    weight: np.ndarray

    @staticmethod
    def of_blocks(values: Mapping[Var, Value], blocks: int) -> Points:
        """One point in each of so many blocks."""
        return Points(Threads(np.arange(blocks), values, row=NOBODY), np.ones(blocks))

    @property
    def count(self) -> int:
        return self.at.count

    def evaluate(self, expr: Expr, more: Mapping[Var, Value] | None = None) -> Value:
        """The value of an integer expression at each point; None where that is not known."""
        at = replace(self.at, values={**self.at.values, **more}) if more else self.at
        return evaluate(expr, at)

    def bind(self, var: Var, value: Value) -> Points:
        """The same points with one more variable."""
        return Points(self.at.bind(var, value), self.weight)

    def where(self, mask: np.ndarray) -> Points:
        """Only the points at which `mask` holds."""
        return Points(self.at.where(mask), self.weight[mask])

    def scaled(self, factor: float | np.ndarray) -> Points:
        """The same points, each so many times as often."""
        return Points(self.at, self.weight * factor)

    def summed(self, each: np.ndarray | float, blocks: int) -> np.ndarray:
        """What `each` point takes, summed by block."""
        return np.bincount(self.at.ids, weights=self.weight * each, minlength=blocks)

    def rounds(
        self, var: Var, begin: Value, step: Value, trips: np.ndarray, single: bool
    ) -> Points:
        """The points inside a loop with `trips` rounds: its first, its last, and two in between.

        With `single`, or where there would be too many points, one round in the middle stands for
        all.
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
            parts.append(self.bind(var, value.astype(np.int64))._times(times))
        return _joined([one for one in parts if one.count] or [self.where(trips < 0)])

    def _times(self, times: np.ndarray) -> Points:
        kept = self.scaled(times)
        return kept.where(kept.weight > 0)


def _joined(parts: list[Points]) -> Points:
    """The points of several groups as one; a variable unknown in one of them is unknown."""
    if len(parts) == 1:
        return parts[0]
    values: dict[Var, Value] = {}
    for var in parts[0].at.values:
        held = [one.at.values[var] for one in parts]
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
    ids = np.concatenate([one.at.ids for one in parts])
    weight = np.concatenate([one.weight for one in parts])
    return Points(replace(parts[0].at, ids=ids, values=values), weight)


@dataclass(frozen=True)
class BlockThreads:
    """Active threads of a block, with the values of the thread axes in each."""

    threads: Threads

    @staticmethod
    def of(body: Block) -> BlockThreads:
        """All threads of a kernel's block. Raises `UnknownThreads`."""
        axes = thread_axes(body)
        threads = all_threads(axes)
        for launch in launches(body):
            if launch.var is not None and tag_of(launch) in axes:
                threads = threads.bind(launch.var, axis_index(tag_of(launch), axes, threads))
        return BlockThreads(threads)

    @property
    def count(self) -> int:
        return self.threads.count

    @property
    def warps(self) -> np.ndarray:
        """The numbers of their warps, each once."""
        return np.unique(self.threads.ids // WARP)

    def where(self, mask: np.ndarray) -> BlockThreads:
        """Only those for which `mask` holds."""
        return BlockThreads(self.threads.where(mask))

    def at(self, points: Points, number: int) -> Threads:
        """These threads at one of some points."""
        values: dict[Var, Value] = {
            var: int(value[number]) if isinstance(value, np.ndarray) else value
            for var, value in points.at.values.items()
        }
        return replace(self.threads, values={**values, **self.threads.values})

    def first(self) -> Mapping[Var, Value]:
        """What the thread axes are in the first of them."""
        return {
            var: int(value[0]) if isinstance(value, np.ndarray) else value
            for var, value in self.threads.values.items()
        }
