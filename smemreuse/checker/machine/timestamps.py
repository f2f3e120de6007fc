"""Last-execution timestamps of statements that `ThreadSync` compares with later ones (rule 6)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.ir.kernel import For, Stmt


@dataclass(frozen=True, eq=False)
class Arm:
    """A subset of the threads, of these warps, that runs on its own.

    `meets`: whether the pass can put a barrier of these warps alone into what they run; `may_meet`:
    whether there may be any barrier in it. `fork` is the same for arms that run at the same time.
    """

    warps: np.ndarray
    meets: bool
    may_meet: bool
    fork: object = None

    def is_beside(self, other: Arm) -> bool:
        """Whether the two run at the same time, with no barrier of all between their begins."""
        return self is not other and self.fork is not None and self.fork is other.fork


@dataclass(frozen=True, eq=False)
class Timestamp:
    """The epochs of all warps when a statement was last executed.

    `known` is what each warp knew by then to be over by inserted barriers, a row for each, 0 for
    those that did not take part. `arms` are those around the statement. `among` are the warps that
    surely meet at the barrier between it and what collides with it; None for all that execute both.
    """

    epochs: np.ndarray
    known: np.ndarray
    arms: tuple[Arm, ...] = ()
    among: np.ndarray | None = None

    def limited(self, warps: np.ndarray) -> Timestamp:
        """The timestamp where only these warps are sure to be at the barrier."""
        among = warps if self.among is None else np.intersect1d(self.among, warps)
        return replace(self, among=among)

    def either(self, other: Timestamp) -> Timestamp:
        """The earlier of two timestamps."""
        among = self.among if other.among is None else self.limited(other.among).among
        pairs = zip(self.arms, other.arms, strict=False)
        arms = tuple(mine for mine, theirs in pairs if mine is theirs)
        epochs = np.minimum(self.epochs, other.epochs)
        return Timestamp(epochs, np.minimum(self.known, other.known), arms, among)

    @property
    def is_of_anyone(self) -> bool:
        return self.among is None or len(self.among) > 0


@dataclass
class Timestamps:
    """The last timestamp of each statement, oldest first; and, for each loop, those of before its
    current round.

    `latest` are the statements after which no barrier can have come yet.
    """

    last: dict[Stmt, Timestamp] = field(default_factory=dict)
    before: dict[For, dict[Stmt, Timestamp]] = field(default_factory=dict)
    latest: set[Stmt] = field(default_factory=set)

    def copy(self) -> Timestamps:
        return Timestamps(dict(self.last), dict(self.before), set(self.latest))

    def note(self, stmt: Stmt, stamp: Timestamp) -> None:
        self.last.pop(stmt, None)
        self.last[stmt] = stamp
        if stamp.among is None:  # else the barrier may be one that those have passed
            self.latest.add(stmt)

    def settle(self, warps: np.ndarray, epochs: np.ndarray, known: np.ndarray) -> None:
        """A barrier may come now, the first after the latest statements: what these warps have done
        since then happens before it, too."""
        for stmt in self.latest:
            stamp = self.last[stmt]
            now = stamp.epochs.copy()
            now[warps] = epochs[warps]
            settled = replace(stamp, epochs=now, known=np.maximum(stamp.known, known))
            for timestamps in (self.last, *self.before.values()):
                if timestamps.get(stmt) is stamp:
                    timestamps[stmt] = settled
        self.latest.clear()

    def begin_round(self, loop: For) -> None:
        """All timestamps so far are of earlier rounds of a loop."""
        self.before[loop] = dict(self.last)

    def keep(self, statements: Collection[Stmt]) -> None:
        """A barrier that the pass relies on may not have been met, but for these statements."""
        for timestamps in (self.last, *self.before.values()):
            for stmt in [one for one in timestamps if one not in statements]:
                del timestamps[stmt]
        self.latest.intersection_update(statements)

    def limit(self, warps: np.ndarray) -> None:
        """A barrier that the pass relies on may have been one of these warps alone, which they
        have passed: what they do from now on may come after it."""
        self.latest.clear()
        for timestamps in (self.last, *self.before.values()):
            for stmt, stamp in list(timestamps.items()):
                timestamps[stmt] = stamp.limited(warps)
        if not len(warps):
            self.keep(())

    def joined(self, other: Timestamps) -> Timestamps:
        """The timestamps where either may be the case."""
        twin = Timestamps(_either(self.last, other.last))
        for loop in {**self.before, **other.before}:
            twin.before[loop] = _either(self.before.get(loop, {}), other.before.get(loop, {}))
        return twin


def _either(one: dict[Stmt, Timestamp], other: dict[Stmt, Timestamp]) -> dict[Stmt, Timestamp]:
    """A statement that one side alone has executed might have been executed on the other, too."""
    found = dict(one)
    for stmt, stamp in other.items():
        mine = found.pop(stmt, None)
        found[stmt] = stamp if mine is None or mine is stamp else mine.either(stamp)
    return found
