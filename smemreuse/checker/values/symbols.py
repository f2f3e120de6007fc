"""Symbolic values: unknown, but the same for all threads of a block as long as the kernel runs.

An example is a value loaded from memory that the kernel never writes, at an index that all threads
share: every thread, in every arm, gets the same. Expressions are rewritten in terms of such values
and of known ones alone, so that equal values have equal expressions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from smemreuse.checker.values.counters import Counters
from smemreuse.checker.values.interned import InternedExpr
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer

Key = InternedExpr
"""An unknown value, identified by its interned expression."""


@dataclass(frozen=True)
class SymbolicValue:
    """An expression of symbolic values; `even` if it is the same in every iteration of the loops
    around it."""

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


class Bindings(Protocol):
    """What a state knows of locals and variables: numbers, and symbolic values."""

    counters: Counters
    memo: Definitions


@dataclass
class Definitions:
    """The symbolic values of variables and locals, by the threads that set them."""

    places: dict[Place, tuple[ReachingDefinition, ...]] = field(default_factory=dict)
    version: int = 0
    """How often something has been set."""

    def copy(self) -> Definitions:
        return Definitions(dict(self.places))

    def joined(self, other: Definitions) -> Definitions:
        """The join after a branch: the definitions that are on both sides."""
        found = {
            place: tuple(one for one in mine if any(map(one.same, other.places.get(place, ()))))
            for place, mine in self.places.items()
        }
        return Definitions(
            {place: definitions for place, definitions in found.items() if definitions}
        )

    def same(self, other: Definitions) -> bool:
        """Whether as much is known in both."""
        return all(
            len(self.places.get(place, ())) == len(other.places.get(place, ()))
            and all(any(map(one.same, other.places[place])) for one in self.places.get(place, ()))
            for place in {**self.places, **other.places}
        )

    def set(self, place: Place, ids: np.ndarray, written: SymbolicValue | None = None) -> None:
        """These threads have set a place; `written` is None if the value is known, or not
        symbolic."""
        self.version += 1
        before = self.places.pop(place, ())
        left = tuple(
            one for one in before if one.ids is not ids and not np.isin(one.ids, ids).any()
        )
        definitions = left if written is None else (*left, ReachingDefinition(ids, written))
        if definitions:
            self.places[place] = definitions

    def forget(self, storage: Buffer | Var, ids: np.ndarray) -> None:
        """These threads have set an unknown element of a local."""
        for place in list(self.places):
            if isinstance(place, tuple) and place[0] is storage:
                self.set(place, ids)

    def get(self, place: Place, ids: np.ndarray) -> SymbolicValue | None:
        """The definition that reaches all of these threads, if there is a single one."""
        for one in self.places.get(place, ()):
            if one.ids is ids or np.isin(ids, one.ids).all():
                return one.written
        return None
