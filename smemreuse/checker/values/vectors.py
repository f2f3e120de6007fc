"""Values of many threads, computed once: the same question gets the very same array.

So whatever is derived from arrays can be remembered by their identity. What is remembered depends
on nothing that a trace changes, so that the traces of one check share it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from smemreuse.checker.values.interned import InternTable
from smemreuse.ir.expr import Const, Expr, Var
from smemreuse.semantics.evaluate import Threads, Value, evaluate

Key = tuple[Hashable, ...]

ALL_LANES = 2**32 - 1
"""The mask of all lanes of a warp."""


def identity(value: Value) -> Hashable:
    """A key for a value, valid as long as it is kept alive: arrays are compared by identity."""
    return (id(value),) if isinstance(value, np.ndarray) else value


class Vectors:
    """Evaluation and selection of the values of `count` threads, with a memory.

    `row` is how many of them differ in threadIdx.x alone; 0 for all.
    """

    def __init__(self, count: int, row: int = 0):
        self.row = row
        self.everyone = np.arange(count)
        self.interned = InternTable()
        self._known: dict[Key, tuple[Any, object]] = {}
        self._arrays: dict[tuple[str, bytes], np.ndarray] = {}

    def _once(self, key: Key, kept: object, compute: Callable[[], Any]) -> Any:
        """What is known under `key`, which identifies arrays that `kept` keeps alive."""
        entry = self._known.get(key)
        if entry is None:
            entry = self._known[key] = (compute(), kept)
        return entry[0]

    def key(self, expr: Expr, threads: Threads) -> Key | None:
        """What decides the value of `expr`; None if it loads, so that the machine's state does."""
        reading = self.interned.reading(expr)
        if reading.loads:
            return None
        values = threads.values
        return (expr, id(threads.ids), *[identity(values.get(var)) for var in reading.outside])

    def evaluate(self, expr: Expr, threads: Threads) -> Value:
        """The value of an integer expression for these threads."""
        if isinstance(expr, Var):
            return threads.values.get(expr)
        if isinstance(expr, Const):
            return evaluate(expr, threads)
        reading = self.interned.reading(expr)
        if reading.loads and reading.binds:  # it may load from where a variable of its own says
            return self._shared_array(evaluate(expr, threads))
        loaded = {load: self._shared_array(threads.load(load, threads)) for load in reading.loads}
        values = threads.values
        key = (
            expr,
            id(threads.ids),
            *[identity(values.get(var)) for var in reading.outside],
            *map(identity, loaded.values()),
        )
        entry = self._known.get(key)
        if entry is None:
            asking = replace(threads, load=lambda load, _: loaded[load]) if loaded else threads
            value = evaluate(expr, asking)
            value = self._shared_array(value) if loaded else value
            entry = self._known[key] = (value, (threads.ids, values))
        known: Value = entry[0]
        return known

    def _shared_array(self, value: Value) -> Value:
        if not isinstance(value, np.ndarray):
            return value
        return self._arrays.setdefault((value.dtype.str, value.tobytes()), value)

    def uniform(self, value: Value) -> Value:
        """An int where all threads have the same."""
        if not isinstance(value, np.ndarray):
            return value
        known: Value = self._once(
            ("uniform", id(value)),
            value,
            lambda: int(value[0]) if (value == value[0]).all() else value,
        )
        return known

    def masks(self, condition: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which threads a condition holds for, and which not."""
        known: tuple[np.ndarray, np.ndarray] = self._once(
            ("masks", id(condition)), condition, lambda: (condition != 0, condition == 0)
        )
        return known

    def choices(self, masks: list[np.ndarray]) -> list[tuple[tuple[bool, ...], np.ndarray]]:
        """The combinations of masks that threads have, each with the mask of those who do."""

        def combine() -> list[tuple[tuple[bool, ...], np.ndarray]]:
            taken = np.stack(masks)
            return [
                (tuple(map(bool, choice)), (taken == choice[:, None]).all(axis=0))
                for choice in np.unique(taken, axis=1).T
            ]

        known: list[tuple[tuple[bool, ...], np.ndarray]] = self._once(
            ("choices", *map(id, masks)), masks, combine
        )
        return known

    def where(self, threads: Threads, mask: np.ndarray) -> Threads:
        """Only the threads for which `mask` holds."""

        def chosen(values: np.ndarray) -> np.ndarray:
            found: np.ndarray = self._once(
                ("where", id(values), id(mask)), (values, mask), lambda: values[mask]
            )
            return found

        return threads if mask.all() else _mapped(threads, chosen)

    def repeated(self, threads: Threads, var: Var, rounds: range) -> Threads:
        """Every thread once for each iteration of a loop: the whole loop as more threads."""

        def each(values: np.ndarray) -> np.ndarray:
            found: np.ndarray = self._once(
                ("repeat", id(values), len(rounds)), values, lambda: np.repeat(values, len(rounds))
            )
            return found

        choices = self._once(
            ("choices of", rounds, threads.count),
            None,
            lambda: np.tile(np.array(rounds), threads.count),
        )
        return _mapped(threads, each).bind(var, choices)

    def digit(self, ids: np.ndarray, stride: int, extent: int) -> np.ndarray:
        """The index of each thread along one axis of the block."""
        known: np.ndarray = self._once(
            ("digit", id(ids), stride, extent), ids, lambda: ids // stride % extent
        )
        return known

    def warps(self, ids: np.ndarray) -> np.ndarray:
        """The warps that some threads are of."""
        known: np.ndarray = self._once(
            ("warps", id(ids)), ids, lambda: np.flatnonzero(np.bincount(ids // 32))
        )
        return known

    def full_warps(self, ids: np.ndarray) -> np.ndarray:
        """The warps all of whose threads are among `ids`."""
        known: np.ndarray = self._once(("full", id(ids)), ids, lambda: self._full_warps(ids))
        return known

    def common(self, one: np.ndarray, two: np.ndarray) -> np.ndarray:
        """The warps that are in both of two arrays."""
        known: np.ndarray = self._once(
            ("common", id(one), id(two)), (one, two), lambda: np.intersect1d(one, two)
        )
        return known

    def _full_warps(self, ids: np.ndarray) -> np.ndarray:
        count = len(self.everyone)
        present = np.zeros(-(-count // 32) * 32, dtype=bool)
        present[count:] = True
        present[ids] = True
        full: np.ndarray = np.flatnonzero(present.reshape(-1, 32).all(axis=1))
        return full

    def lanes(self, ids: np.ndarray, mask: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the warps that some threads are of: those of which exactly the lanes of a mask are
        there; the threads of the others that are missing; those that the mask does not name."""
        known: tuple[np.ndarray, np.ndarray, np.ndarray] = self._once(
            ("lanes", id(ids), mask), ids, lambda: self._lanes(ids, mask)
        )
        return known

    def _lanes(self, ids: np.ndarray, mask: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        warps, count = self.warps(ids), len(self.everyone)
        every = 32 * warps[:, None] + np.arange(32)
        named = (mask >> np.arange(32)) & 1 != 0
        here = np.isin(every, ids)
        missing, outside = named & ~here & (every < count), here & ~named
        whole = ~(missing | outside).any(axis=1)
        return warps[whole], every[missing], every[outside]


def _mapped(threads: Threads, change: Callable[[np.ndarray], np.ndarray]) -> Threads:
    values = {
        var: change(value) if isinstance(value, np.ndarray) else value
        for var, value in threads.values.items()
    }
    return Threads(change(threads.ids), values, threads.load, threads.row)
