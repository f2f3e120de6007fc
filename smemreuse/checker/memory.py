"""What the arena holds, for each buffer that shares bytes, byte by byte.

`ok`: the arena surely still holds the buffer's latest value. `defined`: the buffer may hold one at
all. `writer` and `culprit`: the events that wrote the value and that overwrote it, for the witness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import ByteIndices, Layout, as_index
from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.kernel import Buffer


@dataclass
class Shadow:
    """The bytes of one buffer."""

    ok: np.ndarray
    defined: np.ndarray
    writer: np.ndarray
    culprit: np.ndarray
    certainly_lost: np.ndarray

    @staticmethod
    def empty(size: int) -> Shadow:
        def bits() -> np.ndarray:
            return np.zeros(size, dtype=bool)

        def events() -> np.ndarray:
            return np.full(size, -1, dtype=np.int32)

        return Shadow(bits(), bits(), events(), events(), bits())

    def copy(self) -> Shadow:
        return Shadow(*(array.copy() for array in vars(self).values()))

    def joined(self, other: Shadow) -> Shadow:
        """Either may be the case: what is sure in both is sure."""
        lost = self.defined & ~self.ok & other.defined & ~other.ok
        return Shadow(
            self.ok & other.ok,
            self.defined | other.defined,
            np.where(self.ok, other.writer, self.writer),
            np.where(self.ok, other.culprit, self.culprit),
            lost & self.certainly_lost & other.certainly_lost,
        )

    def same(self, other: Shadow) -> bool:
        return bool(
            np.array_equal(self.ok, other.ok) and np.array_equal(self.defined, other.defined)
        )


class Memory:
    """The shadows of all buffers that share bytes."""

    def __init__(self, layout: Layout, shadows: dict[Buffer, Shadow] | None = None):
        self.layout = layout
        self.shadows = shadows or {
            buffer: Shadow.empty(layout.sizes[buffer]) for buffer in layout.partners
        }

    def copy(self) -> Memory:
        return Memory(self.layout, {one: shadow.copy() for one, shadow in self.shadows.items()})

    def joined(self, other: Memory) -> Memory:
        shadows = {one: mine.joined(other.shadows[one]) for one, mine in self.shadows.items()}
        return Memory(self.layout, shadows)

    def same(self, other: Memory) -> bool:
        return all(shadow.same(other.shadows[buffer]) for buffer, shadow in self.shadows.items())

    def write(self, traced: TracedAccess) -> None:
        """A buffer gets a new value, and its partners lose theirs."""
        shadow, at = self.shadows[traced.buffer], as_index(traced.where)
        shadow.defined[at] = True
        if traced.certain:
            shadow.ok[at] = True
            shadow.certainly_lost[at] = False
        shadow.writer[at] = traced.event
        for partner in self.layout.partners[traced.buffer]:
            lost = self.layout.in_other(traced.buffer, partner, traced.where)
            if len(lost):
                self._clobber(self.shadows[partner], as_index(lost), traced)

    def _clobber(self, shadow: Shadow, at: slice | ByteIndices, traced: TracedAccess) -> None:
        if traced.certain:
            shadow.certainly_lost[at] |= shadow.ok[at]
        shadow.ok[at] = False
        shadow.culprit[at] = traced.event

    def lost(self, traced: TracedAccess) -> ByteIndices:
        """The bytes read whose value may have been overwritten.

        Bytes that nothing has ever written do not count: no well-defined program reads them.
        """
        shadow, at = self.shadows[traced.buffer], as_index(traced.where)
        lost: ByteIndices = traced.where[shadow.defined[at] & ~shadow.ok[at]]
        return lost
