"""What the iterations of loops do to mbarriers, tallied while they are executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from smemreuse.checker.values.evaluation import Slot


@dataclass
class Tally:
    """What was done to mbarriers: arrivals, bytes announced less those that came, and how often
    the parity waited for changed. `parities` are those, in order. `clear` is False where that is
    not known."""

    arrivals: Counter[Slot] = field(default_factory=Counter)
    due: Counter[Slot] = field(default_factory=Counter)
    turns: Counter[Slot] = field(default_factory=Counter)
    waits: set[Slot] = field(default_factory=set)
    parities: list[tuple[Slot, int]] = field(default_factory=list)
    clear: bool = True

    @property
    def slots(self) -> set[Slot]:
        return {*self.arrivals, *self.due, *self.waits}

    @property
    def empty(self) -> bool:
        return self.clear and not self.slots

    def copy(self) -> Tally:
        return Tally(
            Counter(self.arrivals),
            Counter(self.due),
            Counter(self.turns),
            set(self.waits),
            list(self.parities),
            self.clear,
        )

    def add(self, other: Tally, times: int = 1) -> None:
        for mine, theirs in (
            (self.arrivals, other.arrivals),
            (self.due, other.due),
            (self.turns, other.turns),
        ):
            for slot, number in theirs.items():
                mine[slot] += number * times
        self.waits |= other.waits
        self.clear = self.clear and other.clear


class LoopTally:
    """The tallies of a loop's iterations so far."""

    def __init__(self) -> None:
        self.rounds: list[Tally] = []
        self._parity: dict[Slot, int] = {}

    def begin(self) -> None:
        self.rounds.append(Tally())

    def latest(self, period: int) -> Tally:
        """What the last `period` iterations have done."""
        total = Tally()
        for one in self.rounds[-period:]:
            total.add(one)
        return total

    def turned(self, period: int) -> dict[Slot, bool | None]:
        """For each mbarrier, whether the last `period` iterations have waited for other parities
        than those before them, each time; None if neither for these nor for the same."""
        now, before = (
            [one for each in rounds for one in each.parities]
            for rounds in (self.rounds[-period:], self.rounds[-2 * period : -period])
        )
        if [slot for slot, _ in now] != [slot for slot, _ in before]:
            return {slot: None for slot, _ in (*now, *before)}
        found: dict[Slot, bool | None] = {}
        for (slot, parity), (_, earlier) in zip(now, before, strict=True):
            is_other = parity != earlier
            found[slot] = is_other if found.get(slot, is_other) is is_other else None
        return found

    def wait(self, slot: Slot, parity: int) -> None:
        now = self.rounds[-1]
        now.waits.add(slot)
        now.parities.append((slot, parity))
        now.turns[slot] += self._parity.get(slot, parity) != parity
        self._parity[slot] = parity


class ArmTallies:
    """What the two arms of a branch that data decide do to mbarriers, in each of some loops around
    it: clear if that is the same."""

    def __init__(self, loops: Sequence[LoopTally]):
        self._loops = loops
        self._before = [one.rounds[-1].copy() for one in loops]
        self._then: list[Tally] = []

    def enter_other(self) -> None:
        """The first arm has been executed, and the other one is next."""
        self._then = [one.rounds[-1] for one in self._loops]
        for one, before in zip(self._loops, self._before, strict=True):
            one.rounds[-1] = before

    def leave(self) -> None:
        """Both arms have been executed."""
        for one, then in zip(self._loops, self._then, strict=True):
            one.rounds[-1].clear &= one.rounds[-1] == then
