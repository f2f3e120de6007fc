"""The local scalars on which control flow or the place of an access depends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Value

UNKNOWN = np.iinfo(np.int64).min


@dataclass
class Counters:
    """Elements of local buffers: one value that all threads have, or an array over the threads."""

    everyone: np.ndarray
    values: dict[tuple[Buffer | Var, int], int | np.ndarray] = field(default_factory=dict)
    version: int = 0
    """How often something has been set."""
    _asked: dict[tuple[Buffer | Var, int], tuple[np.ndarray, np.ndarray, Value]] = field(
        default_factory=dict, repr=False
    )

    def copy(self) -> Counters:
        return Counters(self.everyone, dict(self.values))

    def joined(self, other: Counters) -> Counters:
        """The join after a branch: known where both sides agree."""
        twin = self.copy()
        for key in {**self.values, **other.values}:
            mine, theirs = self.values.get(key, UNKNOWN), other.values.get(key, UNKNOWN)
            if mine is not theirs and not np.all(np.equal(mine, theirs)):
                twin.values[key] = UNKNOWN
        return twin

    def same(self, other: Counters) -> bool:
        """Whether as much is known in both."""
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

    def set(self, storage: Buffer | Var, index: int, ids: np.ndarray, value: Value) -> None:
        self.version += 1
        new = UNKNOWN if value is None else value
        if ids is self.everyone and isinstance(new, int):
            self.values[storage, index] = new
            return
        values = np.full(len(self.everyone), self.values.get((storage, index), UNKNOWN))
        values[ids] = new
        self.values[storage, index] = values

    def forget(self, storage: Buffer | Var, ids: np.ndarray) -> None:
        """These threads have set an unknown element of a local."""
        for key in [key for key in self.values if key[0] is storage]:
            self.set(*key, ids, None)
