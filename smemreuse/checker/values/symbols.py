"""What is not known, and the same for all threads of a block as long as the kernel runs.

A value that is loaded from where the kernel never writes, at a place that all threads share, is
such: whoever asks for it, in whatever arm, gets the same. An expression of such values and of what
is known is written out here with nothing else in it, so that two that are the same are seen to be.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.values.interned import InternedExpr
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer

Key = InternedExpr
"""What is not known is distinguished by how it is written."""


@dataclass(frozen=True)
class SymbolicValue:
    """An expression, written out; `even` if it is that in every round of the loops around."""

    form: InternedExpr
    even: bool


@dataclass(frozen=True)
class ReachingDefinition:
    """What some threads have set a variable or a local to."""

    ids: np.ndarray
    written: SymbolicValue

    def same(self, other: ReachingDefinition) -> bool:
        """Whether the same threads have set it to the same."""
        mine, theirs = self.written, other.written
        alike = mine.even == theirs.even and mine.form is theirs.form
        return alike and (self.ids is other.ids or np.array_equal(self.ids, other.ids))


Place = Var | tuple[Buffer | Var, int]
"""A variable, or an element of a local buffer."""


@dataclass
class Definitions:
    """What variables and locals hold of which the value is not known, but how it is written."""

    places: dict[Place, tuple[ReachingDefinition, ...]] = field(default_factory=dict)
    version: int = 0
    """How often something has been set."""

    def copy(self) -> Definitions:
        return Definitions(dict(self.places))

    def joined(self, other: Definitions) -> Definitions:
        """Either may be the case: what both say."""
        found = {
            place: tuple(one for one in mine if any(map(one.same, other.places.get(place, ()))))
            for place, mine in self.places.items()
        }
        return Definitions({place: told for place, told in found.items() if told})

    def same(self, other: Definitions) -> bool:
        """Whether as much is known in both."""
        return all(
            len(self.places.get(place, ())) == len(other.places.get(place, ()))
            and all(any(map(one.same, other.places[place])) for one in self.places.get(place, ()))
            for place in {**self.places, **other.places}
        )

    def set(self, place: Place, ids: np.ndarray, written: SymbolicValue | None = None) -> None:
        """These threads have set it, to what is known or not written if that is None."""
        self.version += 1
        before = self.places.pop(place, ())
        left = tuple(
            one for one in before if one.ids is not ids and not np.isin(one.ids, ids).any()
        )
        told = left if written is None else (*left, ReachingDefinition(ids, written))
        if told:
            self.places[place] = told

    def forget(self, storage: Buffer | Var, ids: np.ndarray) -> None:
        """These threads have set some element, it is not known which."""
        for place in list(self.places):
            if isinstance(place, tuple) and place[0] is storage:
                self.set(place, ids)

    def get(self, place: Place, ids: np.ndarray) -> SymbolicValue | None:
        """What it holds for all of these threads, if all of them have set it together."""
        for one in self.places.get(place, ()):
            if one.ids is ids or np.isin(ids, one.ids).all():
                return one.written
        return None
