"""What might be put in for one hazard."""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.ir.kernel import Stmt
from smemreuse.results.mending import Edit, Inserted, Insertion

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
    def operations(self) -> frozenset[str]:
        """The operations that are put in."""
        insertions = (one for one in self.edits if isinstance(one, Insertion))
        return frozenset(one.call.op for each in insertions for one in each.inserted)
