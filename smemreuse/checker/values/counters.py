"""The local scalars on which control flow or the place of an access depends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Value

UNKNOWN = np.iinfo(np.int64).min

Local = tuple[Buffer | Var, int]
"""An element of a local buffer."""


@dataclass
class Counters:
    """Elements of local buffers: one value that all threads have, or an array over the threads.

    `uneven` are those of which threads that hold an unknown value may hold different ones, since
    what they held before a join was.
    """

    everyone: np.ndarray
    values: dict[Local, int | np.ndarray] = field(default_factory=dict)
    uneven: set[Local] = field(default_factory=set)
    version: int = 0
    """How often something has been set."""
    _asked: dict[Local, tuple[np.ndarray, np.ndarray, Value]] = field(
        default_factory=dict, repr=False
    )

    def copy(self) -> Counters:
        return Counters(self.everyone, dict(self.values), set(self.uneven))

    def joined(self, other: Counters) -> Counters:
        """The join after a branch that all threads take the same way: known where both sides
        agree."""
        twin = self.copy()
        twin.uneven |= other.uneven
        for key in {**self.values, **other.values}:
            mine, theirs = self.values.get(key, UNKNOWN), other.values.get(key, UNKNOWN)
            if mine is not theirs and not np.all(np.equal(mine, theirs)):
                twin.values[key] = UNKNOWN
                if not (_is_even(mine) and _is_even(theirs)):
                    twin.uneven.add(key)
        return twin

    def same(self, other: Counters) -> bool:
        """Whether as much is known in both."""
        if self.uneven != other.uneven:
            return False
        for key in {**self.values, **other.values}:
            mine, theirs = self.values.get(key, UNKNOWN), other.values.get(key, UNKNOWN)
            if mine is not theirs and not np.all(np.equal(mine, theirs)):
                return False
        return True

    def get(self, storage: Buffer | Var, index: int, ids: np.ndarray) -> Value:
        """The value, if it is known for all of these threads."""
        values = self.values.get((storage, index), UNKNOWN)
        if isinstance(values, int):
            return None if values == UNKNOWN else values
        asked = self._asked.get((storage, index))
        if asked is not None and asked[0] is values and asked[1] is ids:
            return asked[2]
        mine = values[ids]
        found: Value = None
        if not (mine == UNKNOWN).any():
            found = int(mine[0]) if (mine == mine[0]).all() else mine
        self._asked[storage, index] = (values, ids, found)
        return found

    def may_differ(self, storage: Buffer | Var, index: int | None, ids: np.ndarray) -> bool:
        """Whether these threads may hold different values in an element; in any element that has
        been set, for None. Those that have set it to what is unknown set it to the same."""
        places = [(storage, index)] if index is not None else self._elements(storage)
        return any(
            one in self.uneven or not _is_even(_of(self.values.get(one, UNKNOWN), ids))
            for one in places
        )

    def _elements(self, storage: Buffer | Var) -> list[Local]:
        return [one for one in self.values if one[0] is storage]

    def set(self, storage: Buffer | Var, index: int, ids: np.ndarray, value: Value) -> None:
        self.version += 1
        new = UNKNOWN if value is None else value
        if ids is self.everyone:
            self.uneven.discard((storage, index))
        if ids is self.everyone and isinstance(new, int):
            self.values[storage, index] = new
            return
        values = np.full(len(self.everyone), self.values.get((storage, index), UNKNOWN))
        values[ids] = new
        self.values[storage, index] = values

    def forget(self, storage: Buffer | Var, ids: np.ndarray) -> None:
        """These threads have set an unknown element of a local."""
        for key in self._elements(storage):
            self.set(*key, ids, None)


def _of(values: int | np.ndarray, ids: np.ndarray) -> int | np.ndarray:
    return values if isinstance(values, int) else values[ids]


def _is_even(values: int | np.ndarray) -> bool:
    """Whether threads hold the same, or are alike in that it is unknown."""
    return isinstance(values, int) or bool((values == values[:1]).all())
