"""What is looked at to separate two buffers: their accesses, and where all their threads meet."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.separation.facts import Accesses, Facts
from smemreuse.checker.separation.reach import Reach
from smemreuse.ir.kernel import Block, If, Stmt
from smemreuse.semantics.effects import Engine


class Ground:
    """The statements of a kernel as they concern two buffers that threads of one group access.

    `accesses` tell for a statement which of the two it accesses, and who carries that out;
    `accessed` are those statements, and the branches and loops around them.
    `barriers` are those of all of the group, or more.
    """

    def __init__(
        self,
        facts: Facts,
        accesses: tuple[Accesses, Accesses],
        group: Reach,
        prediction: Prediction | None,
    ):
        self._facts = facts
        self._group = group
        self._prediction = prediction
        self.accesses: dict[Stmt, list[tuple[int, Engine]]] = {}
        self.accessed: set[Stmt] = set()
        for which, found in enumerate(accesses):
            for stmt, access in found:
                self.accesses.setdefault(stmt, []).append((which, access.engine))
                self.accessed.update(facts.tree.around(stmt))
        self.barriers: Collection[Stmt] = facts.meeting(group)

    def statements(self, block: Block) -> Sequence[Stmt]:
        """Those of a block, and of the attributes in it."""
        return self._facts.tree.scopes[block].statements if block else ()

    def concerns(self, stmt: Stmt) -> bool:
        return bool(self._facts.acting(stmt))

    def may_meet(self, stmt: Stmt) -> bool:
        return self._facts.may_meet(stmt)

    def assumed_before(self, stmt: Stmt) -> bool:
        """Whether a later pass puts a barrier before a statement, if there is need for one: it does
        where all threads pass that access the buffers (rule 6)."""
        if self._prediction is None or not self._facts.assumed_for(stmt, self._group):
            return False
        if self._facts.touches(stmt):
            return True
        parts = isinstance(stmt, If) and self._facts.parts_for_sure(stmt)
        return parts and not self.meets_in_part(stmt)

    def assumed_after(self, stmt: Stmt) -> bool:
        """Whether a later pass puts a barrier directly after a statement."""
        if self._prediction is None or not self._prediction.candidates.is_followed(stmt):
            return False
        return self._facts.assumed_for(stmt, self._group)

    def meets_in_part(self, stmt: Stmt) -> bool:
        """Whether some threads may meet in a branch, which a later pass may be content with."""
        if not isinstance(stmt, If) or self._prediction is None:
            return False
        return self._facts.splits(stmt) and self._prediction.candidates.may_be_inside(stmt)
