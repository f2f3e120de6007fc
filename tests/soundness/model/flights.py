"""What is under way: asynchronous accesses between their issue and their completion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from random import Random

import numpy as np

from tests.soundness.model.modes import NEVER, Mode


class Kind(Enum):
    """Who keeps groups."""

    CP_ASYNC = auto()
    TMA_LOAD = auto()
    TMA_STORE = auto()
    WGMMA = auto()
    ARRIVAL = auto()
    """Of an mbarrier, by copies that have landed."""


Landing = Callable[[np.ndarray], None]
"""Carries out the rows of the threads at these places in the flight."""


@dataclass(frozen=True)
class Flight:
    """One thing that each of some threads has under way, in a group of its own counting."""

    kind: Kind
    ids: np.ndarray
    group: np.ndarray
    rows: np.ndarray
    land: Landing
    due: int


class Flights:
    """Everything under way, and the groups that threads have committed."""

    def __init__(self, threads: int, mode: Mode, random: Random) -> None:
        self._committed = {kind: np.zeros(threads, dtype=np.int64) for kind in Kind}
        self._mode = mode
        self._random = random
        self._under_way: list[Flight] = []
        self._next = NEVER

    def __bool__(self) -> bool:
        return bool(self._under_way)

    def start(self, kind: Kind, ids: np.ndarray, now: int, land: Landing) -> None:
        """At step `now`; it happens at once if the mode says so."""
        due = now + self._delay(now)
        rows = np.arange(len(ids))
        if due == now and kind is not Kind.ARRIVAL:
            land(rows)
            return
        self._under_way.append(Flight(kind, ids, self._committed[kind][ids], rows, land, due))
        self._next = min(self._next, due)

    def _delay(self, now: int) -> int:
        late = self._mode.late
        if late is None:
            draw = self._random.random()
            return 0 if draw < 0.3 else NEVER if draw < 0.55 else int(40 ** self._random.random())
        return late if late >= 0 else now * -late % 5 + 1

    def commit(self, kind: Kind, ids: np.ndarray) -> None:
        self._committed[kind][ids] += 1

    def wait(self, kind: Kind, ids: np.ndarray, keep: int) -> None:
        """All but the last `keep` groups of these threads are over."""
        committed = self._committed[kind]
        self._finish(kind, ids, lambda one: one.group < committed[one.ids] - keep)

    def finish(self, kind: Kind, ids: np.ndarray) -> None:
        """All that these threads have under way is over, in a group or in none."""
        self._finish(kind, ids, lambda one: np.ones(len(one.ids), dtype=bool))

    def _finish(self, kind: Kind, ids: np.ndarray, is_over: Callable[[Flight], np.ndarray]) -> None:
        left = []
        for one in self._under_way:
            if one.kind is not kind:
                left.append(one)
                continue
            done = np.isin(one.ids, ids) & is_over(one)
            if done.any():
                one.land(one.rows[done])
            if not done.all():
                rest = (part[~done] for part in (one.ids, one.group, one.rows))
                others, group, rows = rest
                left.append(replace(one, ids=others, group=group, rows=rows))
        self._under_way = left

    def tick(self, now: int) -> None:
        """What is due by step `now` happens."""
        while self._next < now:
            due = [one for one in self._under_way if one.due < now]
            self._under_way = [one for one in self._under_way if one.due >= now]
            self._next = min((one.due for one in self._under_way), default=NEVER)
            for one in due:
                one.land(one.rows)

    def land_one(self) -> None:
        """Nothing else goes on: any of them happens."""
        number = 0 if self._mode.assumed else self._random.randrange(len(self._under_way))
        if self._mode.races:  # what nobody waits for is under way to the end
            kinds = [one.kind in (Kind.TMA_LOAD, Kind.ARRIVAL) for one in self._under_way]
            number = kinds.index(True) if any(kinds) else number
        one = self._under_way.pop(number)
        one.land(one.rows)
