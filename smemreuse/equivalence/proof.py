"""Whether two programs leave the same in global memory, and the statement that they do not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from smemreuse.equivalence.execution import Execution
from smemreuse.equivalence.memory import Numbering
from smemreuse.equivalence.program import Loop, Storage, TileProgram, Unfollowed, statements_in

MARKERS = "barriers, fences or hints come in another order"


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of comparing two forms of a kernel: `why` is empty where they are equivalent.
    `unrolled` tells that loops had to be followed round by round."""

    why: str = ""
    unrolled: bool = False

    @property
    def holds(self) -> bool:
        return not self.why


@dataclass(frozen=True)
class _Outcome:
    """What an execution leaves; `unsteady` says what it leaves differently with loads run ahead."""

    globals: dict[Storage, int]
    events: int
    unsteady: str = ""

    def difference(self, other: _Outcome) -> str:
        """What two executions leave differently; empty where that is nothing."""
        both = {**self.globals, **other.globals}
        names = sorted(
            {one.name for one in both if self.globals.get(one) != other.globals.get(one)}
        )
        if names:
            return f"{' and '.join(names)} may get other values"
        return MARKERS if self.events != other.events else ""


def equivalence(original: TileProgram, changed: TileProgram) -> Proof:
    """Whether a kernel and another form of it are reads-from equivalent; `Reference` compares many
    forms."""
    return Reference(original).equivalence(changed)


class Reference:
    """A kernel that other forms of it are compared with; it is executed once for all of them."""

    def __init__(self, original: TileProgram) -> None:
        self._original = original
        self._names = Numbering()
        self._known: dict[bool, _Outcome | Unfollowed] = {}

    def equivalence(self, changed: TileProgram) -> Proof:
        """Whether another form is reads-from equivalent, both as written and with the loads of
        their pipelined loops as far ahead as may be. By induction over loops first; where that is
        not enough, round by round."""
        with np.errstate(over="ignore"):
            try:
                found = self._compared(changed, unrolled=False)
            except Unfollowed as error:
                found = str(error)
            if not found:
                return Proof()
            try:
                again = self._compared(changed, unrolled=True)
            except Unfollowed as error:
                return Proof(found or str(error))
            return Proof(again, unrolled=True)

    def _compared(self, changed: TileProgram, *, unrolled: bool) -> str:
        reference = self._outcome(unrolled)
        if reference.unsteady:
            return f"with its loads run ahead, before any change, {reference.unsteady}"
        for ahead in (False, True) if _is_pipelined(changed) else (False,):
            found = _outcome(changed, self._names, ahead=ahead, unrolled=unrolled)
            difference = reference.difference(found)
            if difference:
                return difference
        return ""

    def _outcome(self, unrolled: bool) -> _Outcome:
        """What the original leaves. Raises `Unfollowed`."""
        if unrolled not in self._known:
            try:
                self._known[unrolled] = self._executed(unrolled)
            except Unfollowed as error:
                self._known[unrolled] = error
        known = self._known[unrolled]
        if isinstance(known, Unfollowed):
            raise known
        return known

    def _executed(self, unrolled: bool) -> _Outcome:
        found = _outcome(self._original, self._names, ahead=False, unrolled=unrolled)
        if not _is_pipelined(self._original):
            return found
        early = _outcome(self._original, self._names, ahead=True, unrolled=unrolled)
        return replace(found, unsteady=found.difference(early))


def _is_pipelined(program: TileProgram) -> bool:
    return any(isinstance(one, Loop) and one.ahead for one in statements_in(program.body))


def _outcome(program: TileProgram, names: Numbering, *, ahead: bool, unrolled: bool) -> _Outcome:
    execution = Execution(names, ahead, unrolled)
    execution.run(program.body)
    state = execution.tiles.state
    return _Outcome({key: one.digest for key, one in state.globals.items()}, state.events)
