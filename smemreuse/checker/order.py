"""What is ordered by what: a vector clock for each warp over all warps, counted in barriers.

An event of warp `w` in its epoch `n` happens before an event of warp `v` if `clock[v][w] > n`.
Program order alone orders nothing across threads. TMA loads are known complete by a bit for each,
passed on like clocks.
"""

from __future__ import annotations

import numpy as np


class Order:
    """Vector clocks over warps, and which TMA loads each warp knows to be complete."""

    def __init__(self, warps: int):
        self.clock = np.zeros((warps, warps), dtype=np.int64)
        self.epochs = np.ones(warps, dtype=np.int64)
        self.known = [0] * warps

    def copy(self) -> Order:
        twin = Order(len(self.known))
        twin.clock, twin.epochs = self.clock.copy(), self.epochs.copy()
        twin.known = list(self.known)
        return twin

    def known_to_some(self, warps: np.ndarray) -> int:
        known = 0
        for warp in warps:
            known |= self.known[warp]
        return known

    def known_to_all(self, warps: np.ndarray) -> int:
        known = -1
        for warp in warps:
            known &= self.known[warp]
        return known

    def barrier(self, warps: np.ndarray) -> None:
        """All threads of `warps` meet: what any of them knew all know, and a new epoch begins."""
        if not len(warps):
            return
        known = self.known_to_some(warps)
        if len(warps) == len(self.known):
            self.epochs += 1
            self.clock[:] = self.epochs
            self.known = [known] * len(warps)
            return
        self.epochs[warps] += 1
        merged = self.clock[warps].max(axis=0)
        merged[warps] = self.epochs[warps]
        self.clock[warps] = merged
        for warp in warps:
            self.known[warp] = known

    def advance(self, warps: np.ndarray) -> None:
        """A new epoch begins for warps that meet nobody."""
        self.epochs[warps] += 1

    def release(self, warps: np.ndarray) -> tuple[np.ndarray, int]:
        """What `warps`, all of whose threads arrive, hand over; their next accesses come later."""
        handed = self.clock[warps].max(axis=0)
        self.epochs[warps] += 1
        handed[warps] = self.epochs[warps]  # the threads of one warp are not ordered by this
        return handed, self.known_to_some(warps)

    def release_in_part(self, warps: np.ndarray) -> tuple[np.ndarray, int]:
        """What threads of `warps`, of none of them all, hand over: not their own accesses."""
        return self.clock[warps].min(axis=0), self.known_to_some(warps)

    def acquire(self, warps: np.ndarray, handed: np.ndarray, known: int) -> None:
        self.clock[warps] = np.maximum(self.clock[warps], handed)
        for warp in warps:
            self.known[warp] |= known

    def weakest(self, other: Order) -> None:
        """Keeps only what holds in both orders, after a branch that may have gone either way."""
        self.clock = np.minimum(self.clock, other.clock)
        self.epochs = np.maximum(self.epochs, other.epochs)
        self.known = [a & b for a, b in zip(self.known, other.known, strict=True)]
