"""When threads were at statements that a later pass compares with what comes behind (rule 6)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.ir.kernel import For, Stmt


@dataclass(frozen=True, eq=False)
class Arm:
    """A part of the threads, of these warps, that run on their own.

    `meets`: whether a barrier of these alone can be put among them. `may_meet`: whether there may
    be one in what they run.
    """

    warps: np.ndarray
    meets: bool
    may_meet: bool


@dataclass(frozen=True, eq=False)
class Mark:
    """The epochs of all warps when a statement was last carried out, and what was known by then to
    be over: the latest such statement that the pass compares with another one has a barrier between
    the two, and so has all that came before it.

    `arms` are those around the statement; `among` the warps that surely meet at that barrier, None
    for all that come by.
    """

    epochs: np.ndarray
    known: np.ndarray
    arms: tuple[Arm, ...] = ()
    among: np.ndarray | None = None

    def limited(self, warps: np.ndarray) -> Mark:
        """Where no others than these warps may be at the barrier."""
        among = warps if self.among is None else np.intersect1d(self.among, warps)
        return replace(self, among=among)

    def either(self, other: Mark) -> Mark:
        """The earlier of two times."""
        among = self.among if other.among is None else self.limited(other.among).among
        pairs = zip(self.arms, other.arms, strict=False)
        arms = tuple(mine for mine, theirs in pairs if mine is theirs)
        epochs = np.minimum(self.epochs, other.epochs)
        return Mark(epochs, np.minimum(self.known, other.known), arms, among)

    @property
    def is_of_anyone(self) -> bool:
        return self.among is None or len(self.among) > 0


@dataclass
class Marks:
    """Of each statement the latest, oldest first; and those of before the round of each loop.

    `latest` are the statements since which no barrier can have come.
    """

    last: dict[Stmt, Mark] = field(default_factory=dict)
    before: dict[For, dict[Stmt, Mark]] = field(default_factory=dict)
    latest: set[Stmt] = field(default_factory=set)

    def copy(self) -> Marks:
        return Marks(dict(self.last), dict(self.before), set(self.latest))

    def note(self, stmt: Stmt, mark: Mark) -> None:
        self.last.pop(stmt, None)
        self.last[stmt] = mark
        self.latest.add(stmt)

    def settle(self, warps: np.ndarray, epochs: np.ndarray, known: np.ndarray) -> None:
        """A barrier may come now, for the first time behind the latest statements: what these warps
        have done since then is done before it as well."""
        for stmt in self.latest:
            mark = self.last[stmt]
            now = mark.epochs.copy()
            now[warps] = epochs[warps]
            settled = replace(mark, epochs=now, known=np.maximum(mark.known, known))
            for marks in (self.last, *self.before.values()):
                if marks.get(stmt) is mark:
                    marks[stmt] = settled
        self.latest.clear()

    def begin_round(self, loop: For) -> None:
        """What has been done so far was done in earlier rounds of a loop."""
        self.before[loop] = dict(self.last)

    def clear(self) -> None:
        """A barrier that the pass counts on may not have been met."""
        self.last.clear()
        self.before.clear()
        self.latest.clear()

    def keep(self, statements: Collection[Stmt]) -> None:
        """A barrier that the pass counts on may not have been met, but behind these."""
        for marks in (self.last, *self.before.values()):
            for stmt in [one for one in marks if one not in statements]:
                del marks[stmt]
        self.latest.intersection_update(statements)

    def limit(self, warps: np.ndarray) -> None:
        """A barrier that the pass counts on may have been one of these warps alone."""
        for marks in (self.last, *self.before.values()):
            for stmt, mark in list(marks.items()):
                marks[stmt] = mark.limited(warps)
        if not len(warps):
            self.clear()

    def joined(self, other: Marks) -> Marks:
        """Either may be the case."""
        twin = Marks(_either(self.last, other.last))
        for loop in {**self.before, **other.before}:
            twin.before[loop] = _either(self.before.get(loop, {}), other.before.get(loop, {}))
        return twin


def _either(one: dict[Stmt, Mark], other: dict[Stmt, Mark]) -> dict[Stmt, Mark]:
    """A statement that was come by on one side alone might as well have been on the other."""
    found = dict(one)
    for stmt, mark in other.items():
        mine = found.pop(stmt, None)
        found[stmt] = mark if mine is None or mine is mark else mine.either(mark)
    return found
