"""What might be put in for one hazard."""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.ir.kernel import Stmt
from smemreuse.results.mending import Edit, Inserted, Insertion
from smemreuse.semantics.effects import Signal
from smemreuse.semantics.table import effect_of

Edits = tuple[Edit, ...]


@dataclass(frozen=True, eq=False)
class MendCandidate:
    """Edits that together might mend a hazard.

    `weaker` are variants that ask for less, each for less than the one before. They are tried only
    if the candidate itself mends.
    """

    edits: Edits
    weaker: tuple[Edits, ...] = ()

    @classmethod
    def of(cls, anchor: Stmt, behind: bool, *inserted: Inserted) -> MendCandidate:
        """A single insertion."""
        return cls((Insertion(anchor, behind, inserted),))

    @property
    def may_block(self) -> bool:
        """Whether threads wait for others at what is put in."""
        insertions = (one for one in self.edits if isinstance(one, Insertion))
        effects = (effect_of(one.call) for each in insertions for one in each.inserted)
        return any(one.meetings or one.signals is Signal.WAIT for one in effects)

    @property
    def operations(self) -> frozenset[str]:
        """The operations that are put in."""
        insertions = (one for one in self.edits if isinstance(one, Insertion))
        return frozenset(one.call.op for each in insertions for one in each.inserted)
