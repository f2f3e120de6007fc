"""Which bytes of shared memory, and of each thread's locals, depend on what nobody has written."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from smemreuse.ir.expr import Expr, Var, variables_in
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.accesses import Footprint
from smemreuse.semantics.effects import LANES
from smemreuse.semantics.evaluate import Threads, Value, evaluate
from smemreuse.semantics.pointers import Address


class Decides(Exception):
    """The poison decides something, or may."""


MAX_BLOCKS = 64
"""Thread blocks, told apart by what an expression names, that it is evaluated for."""


class BlocksAlike:
    """Thread blocks of these indices, of which it is asked what they have in common."""

    def __init__(self, indices: Mapping[Var, np.ndarray]):
        self._indices = indices

    def evaluate(self, expr: Expr, threads: Threads) -> Value:
        """The value of an expression for some threads, where it is the same in all the blocks."""
        value = evaluate(expr, threads)
        names = [one for one in self._indices if one in variables_in(expr)] if value is None else []
        if not names:
            return value
        blocks = np.unique(np.stack([self._indices[one] for one in names]), axis=1).T.tolist()
        if len(blocks) > MAX_BLOCKS:
            return None
        for block in blocks:
            here = threads
            for name, index in zip(names, block, strict=True):
                here = here.bind(name, index)
            found = evaluate(expr, here)
            if found is None or (value is not None and not np.array_equal(found, value)):
                return None
            value = found
        return value


class Poison:
    """The poisoned bytes: `shared` is a mask for each buffer, `local` one of threads times bytes.

    All only grow; `grew` tells that they did. `axes` are the extents of the thread axes.
    """

    def __init__(self, shared: Mapping[Buffer, np.ndarray], axes: Mapping[str, int]):
        self.shared = {buffer: mask.copy() for buffer, mask in shared.items()}
        self.local: dict[Buffer, np.ndarray] = {}
        self._variables: dict[Var, np.ndarray] = {}
        self.grew = True
        self._count = math.prod(axes.values())

    def is_in(self, named: Buffer | Var) -> bool:
        """Whether some of an allocation, or a variable, may be poisoned."""
        return named in self.shared or named in self.local or named in self._variables

    def in_variable(self, var: Var, threads: Threads) -> np.ndarray:
        """For which threads the value of a variable is poisoned."""
        known = self._variables.get(var)
        return np.zeros(threads.count, dtype=bool) if known is None else known[threads.ids]

    def in_registers(self, place: Address, size: int, threads: Threads) -> np.ndarray:
        """Which of `size` bytes of a local are poisoned: threads times bytes."""
        known = self.local.get(place.buffer)
        if known is None:
            return np.zeros((threads.count, size), dtype=bool)
        return _taken(known, threads.ids, evaluate(place.offset, threads), size)

    def in_shared(
        self, buffer: Buffer, footprint: Footprint, size: int, threads: Threads, more: int = 0
    ) -> np.ndarray:
        """Which of `size` bytes are poisoned, `more` after a footprint begins: threads times
        bytes."""
        first = None if footprint.start is None else evaluate(footprint.start, threads)
        start = None if first is None else first + more
        return _taken(self.shared[buffer][None], _nobody(threads), start, size)

    def add_shared(self, buffer: Buffer, footprint: Footprint, threads: Threads) -> None:
        """Poisons what all these threads write. Raises `Decides` where it leaves the buffer."""
        if buffer.size is None:
            raise Decides
        known = self.shared.setdefault(buffer, np.zeros(buffer.size, dtype=bool))
        start = None if footprint.start is None else evaluate(footprint.start, threads)
        runs = np.arange(footprint.count)[:, None] * footprint.stride
        each = (runs + np.arange(footprint.size)).ravel()
        self._mark(known[None], _nobody(threads), start, each)

    def add_variable(self, var: Var, threads: Threads) -> None:
        """Poisons the value of a variable of all these threads."""
        if threads.count:
            known = self._variables.setdefault(var, np.zeros(self._count, dtype=bool))
            self.grew |= not known[threads.ids].all()
            known[threads.ids] = True

    def add_local(self, place: Address | None, size: int, threads: Threads) -> None:
        """Poisons `size` bytes of a local of all these threads. Raises `Decides` where it is not
        known which."""
        if place is None or place.buffer.size is None:
            raise Decides
        if threads.count:
            shape = (self._count, place.buffer.size)
            known = self.local.setdefault(place.buffer, np.zeros(shape, dtype=bool))
            self._mark(known, threads.ids, evaluate(place.offset, threads), np.arange(size))

    def _mark(self, known: np.ndarray, rows: np.ndarray, start: Value, each: np.ndarray) -> None:
        """Poisons, in the row of each thread, bytes from where it starts; all where that is not
        known."""
        before = int(known.sum())
        if start is None:
            known[rows] = True
        else:
            at = np.broadcast_to(np.asarray(start), (len(rows),))[:, None] + each
            if at.size and (at.min() < 0 or at.max() >= known.shape[1]):
                raise Decides
            known[rows[:, None], at] = True
        self.grew |= int(known.sum()) != before


def where(threads: Threads, holds: Value, way: bool) -> Threads:
    """The threads for which a condition comes out this way."""
    mask = np.broadcast_to(np.asarray(holds) != 0, (threads.count,)) == way
    return threads if mask.all() else threads.where(mask)


def is_whole_warps(threads: Threads) -> bool:
    """Whether all lanes of some warps are there, in their order."""
    if not threads.count or threads.count % LANES:
        return False
    warps = threads.ids.reshape(-1, LANES)
    return bool((warps == warps[:, :1] // LANES * LANES + np.arange(LANES)).all())


def _nobody(threads: Threads) -> np.ndarray:
    """The only row of what is the same for all threads, for each of them."""
    return np.zeros(threads.count, dtype=np.int64)


def _taken(known: np.ndarray, rows: np.ndarray, start: Value, size: int) -> np.ndarray:
    """Bytes of some rows from where each starts; True for what is outside, and for a row that has
    any where the start is not known."""
    if start is None:
        return np.repeat(known[rows].any(axis=1)[:, None], size, axis=1)
    at = np.broadcast_to(np.asarray(start), (len(rows),))[:, None] + np.arange(size)
    inside = (at >= 0) & (at < known.shape[1])
    return np.where(inside, known[rows[:, None], np.where(inside, at, 0)], True)
