"""What happens before what in one execution: a race is found by order, whatever the values are.

PTX's causality order, as vector clocks: threads hand on what they know where they release, at
barriers and arrivals, and learn it where they acquire. Each byte knows which accesses have been
made to it since the last one that all were ordered before. What is under way is in no order.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

import numpy as np

from tests.soundness.model.modes import IllDefined

Clock: TypeAlias = np.ndarray
"""How much is known of each thread, and of the copies that each mbarrier reports."""

ENGINES = 40
"""Mbarriers that report copies, at most."""

RACE = "the unmerged kernel races"


class Order:
    """The order of accesses to the bytes of the unmerged kernel.

    With `everywhere` a barrier stands between any two statements, and only what is under way is in
    no order. Raises `IllDefined` at a race.
    """

    def __init__(self, threads: int, width: int, *, everywhere: bool) -> None:
        self._everywhere = everywhere
        known = 1 if everywhere else threads + ENGINES
        self._threads = threads
        self._clocks = np.zeros((threads, known), dtype=np.int32)
        if not everywhere:
            np.fill_diagonal(self._clocks, 1)
        self._written = np.zeros((width, known), dtype=np.int32)
        self._read = np.zeros((width, known), dtype=np.int32)
        self._writer = np.full(width, -1, dtype=np.int64)
        self._value = np.zeros(width, dtype=np.uint8)
        self._coming = np.zeros(width, dtype=np.int32)
        self._leaving = np.zeros(width, dtype=np.int32)
        self._engines: dict[Hashable, int] = {}
        self._landings = np.zeros(ENGINES, dtype=np.int32)
        self._begun: dict[Hashable, tuple[int, int]] = {}
        self.engine: Hashable = None
        """The mbarrier that reports what lands now; None if threads have waited for it."""

    # What threads hand on -----------------------------------------------------------------------

    def release(self, ids: np.ndarray) -> Clock:
        """What these threads know; what they do from here on is not part of it."""
        found: Clock = self._clocks[ids].max(axis=0)
        if not self._everywhere:
            self._clocks[ids, ids] += 1
        return found

    def acquire(self, ids: np.ndarray, clock: Clock | None) -> None:
        if clock is not None:
            self._clocks[ids] = np.maximum(self._clocks[ids], clock)

    def landed(self, key: Hashable) -> Clock:
        """What an mbarrier hands on of the copies that it reports: that they are over."""
        found = np.zeros(self._clocks.shape[1], dtype=np.int32)
        if not self._everywhere:
            column = self._column(key)
            found[column] = self._landings[column - self._threads]
        return found

    def _column(self, key: Hashable) -> int:
        return self._threads + self._engines.setdefault(key, len(self._engines))

    def initializes(self, key: Hashable, ids: np.ndarray) -> None:
        """An mbarrier is initialized by a thread."""
        if not self._everywhere:
            one = int(ids[0])
            self._begun[key] = one, int(self._clocks[one, one])

    def uses(self, key: Hashable, ids: np.ndarray) -> None:
        if key in self._begun:
            one, epoch = self._begun[key]
            if (self._clocks[ids, one] < epoch).any():
                raise IllDefined("an mbarrier is used in no order with its initialization")

    # Accesses of threads ------------------------------------------------------------------------

    def reads(self, at: np.ndarray, ids: np.ndarray) -> None:
        """Threads read bytes (threads, bytes)."""
        if self._coming[at].any():
            raise IllDefined(RACE)
        if not self._everywhere:
            if self._unseen(at, ids).any():
                raise IllDefined(RACE)
            self._read[at, ids[:, None]] = self._clocks[ids, ids][:, None]

    def writes(self, at: np.ndarray, ids: np.ndarray, data: np.ndarray, statement: int) -> None:
        """Threads write bytes. That some store the same in one statement is no race."""
        if self._coming[at].any() or self._leaving[at].any():
            raise IllDefined(RACE)
        if self._everywhere:
            return
        self._in_order(at, ids, data, statement)
        self._written[at, ids[:, None]] = self._clocks[ids, ids][:, None]

    def _in_order(self, at: np.ndarray, ids: np.ndarray, data: np.ndarray, statement: int) -> None:
        """Bytes are written from here on, after all that was done to them before."""
        again = (self._writer[at] == statement) & (self._value[at] == data)
        late = self._late(self._written, at, ids) | self._late(self._read, at, ids)
        if (late & ~again).any():
            raise IllDefined(RACE)
        over = at[~late]
        self._written[over] = 0
        self._read[over] = 0
        self._writer[at], self._value[at] = statement, data
        if (self._value[at] != data).any():
            raise IllDefined(RACE)  # two threads in one statement

    def _late(self, table: np.ndarray, at: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Which bytes were accessed in no order with what each thread does now.

        A warp whose threads act as one knows what each of them does.
        """
        known = self._clocks[ids]
        if len(at) < len(ids):
            known = known.max(axis=0, keepdims=True)
        found: np.ndarray = (table[at] > known[:, None, :]).any(axis=2)
        return found

    def _unseen(self, at: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Which bytes were written in no order with what each thread does now, unless one of the
        threads that store the same there came before it, as it may have done itself."""
        known = self._clocks[ids]
        if len(at) < len(ids):
            known = known.max(axis=0, keepdims=True)
        written = self._written[at]
        before = (written > 0) & (written <= known[:, None, :])
        found: np.ndarray = (written > 0).any(axis=2) & ~before.any(axis=2)
        return found

    # What is under way --------------------------------------------------------------------------

    def begins(
        self, at: np.ndarray, ids: np.ndarray, data: np.ndarray | None, statement: int
    ) -> None:
        """Bytes are written, or read without data, from now on until it is over."""
        coming = self._coming[at] > 0
        if data is None:
            if coming.any() or (not self._everywhere and self._unseen(at, ids).any()):
                raise IllDefined(RACE)
            np.add.at(self._leaving, at, 1)
            return
        again = (self._writer[at] == statement) & (self._value[at] == data)
        if (coming & ~again).any() or self._leaving[at].any():
            raise IllDefined(RACE)
        if self._everywhere:
            self._writer[at], self._value[at] = statement, data
        else:
            self._in_order(at, ids, data, statement)
        np.add.at(self._coming, at, 1)

    def ends(self, at: np.ndarray, ids: np.ndarray, *, is_write: bool) -> None:
        """It is over for whoever has waited for it: the threads, or those that ask the mbarrier."""
        np.subtract.at(self._coming if is_write else self._leaving, at, 1)
        if self._everywhere:
            return
        table = self._written if is_write else self._read
        if self.engine is not None:
            column = self._column(self.engine)
            self._landings[column - self._threads] += 1
            table[at, column] = self._landings[column - self._threads]
        else:
            epochs = self._clocks[ids, ids]
            where = at if len(at) == len(ids) else np.repeat(at, len(ids), axis=0)
            table[where, ids[:, None]] = epochs[:, None]
