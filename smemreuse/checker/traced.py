"""One access, as the trace performs it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import ByteIndices
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.effects import Proxy

ANYONE = -1
"""In place of a thread: several threads access the byte, or it is not known which."""


@dataclass(frozen=True)
class TracedAccess:
    """The bytes of one buffer that threads read or write, each with the thread that does.

    `certain` is False where the access may not happen at all, or not to all of these bytes.
    """

    buffer: Buffer
    where: ByteIndices
    by_thread: np.ndarray
    is_write: bool
    certain: bool
    ids: np.ndarray
    warps: np.ndarray
    event: int
    proxy: Proxy = Proxy.GENERIC

    def of_warp(self, warp: int) -> TracedAccess:
        """The access as one of a warp, none of whose threads is known to have made it."""
        return TracedAccess(
            self.buffer,
            self.where,
            by_anyone(len(self.where)),
            self.is_write,
            self.certain,
            self.ids,
            np.array([warp]),
            self.event,
            self.proxy,
        )


def by_anyone(count: int) -> np.ndarray:
    return np.broadcast_to(np.int64(ANYONE), (count,))
