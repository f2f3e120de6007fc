"""Whether two programs leave the same in global memory, and the statement that they do not."""

from __future__ import annotations

from dataclasses import dataclass

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
    """What an execution leaves."""

    globals: dict[Storage, int]
    events: int

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
    """Whether a kernel and another form of it are reads-from equivalent, as written and with the
    loads of their pipelined loops as far ahead as may be. By induction over loops first; where
    that is not enough, round by round."""
    with np.errstate(over="ignore"):
        try:
            found = _compared(original, changed, unrolled=False)
        except Unfollowed as error:
            found = str(error)
        if not found:
            return Proof()
        try:
            again = _compared(original, changed, unrolled=True)
        except Unfollowed as error:
            return Proof(found or str(error))
        return Proof(again, unrolled=True)


def _compared(original: TileProgram, changed: TileProgram, *, unrolled: bool) -> str:
    names = Numbering()
    reference = _outcome(original, names, ahead=False, unrolled=unrolled)
    if _is_pipelined(original):
        early = _outcome(original, names, ahead=True, unrolled=unrolled)
        difference = reference.difference(early)
        if difference:
            return f"with its loads run ahead, before any change, {difference}"
    for ahead in (False, True) if _is_pipelined(changed) else (False,):
        found = _outcome(changed, names, ahead=ahead, unrolled=unrolled)
        difference = reference.difference(found)
        if difference:
            return difference
    return ""


def _is_pipelined(program: TileProgram) -> bool:
    return any(isinstance(one, Loop) and one.ahead for one in statements_in(program.body))


def _outcome(program: TileProgram, names: Numbering, *, ahead: bool, unrolled: bool) -> _Outcome:
    execution = Execution(names, ahead, unrolled)
    execution.run(program.body)
    state = execution.tiles.state
    return _Outcome({key: one.digest for key, one in state.globals.items()}, state.events)
