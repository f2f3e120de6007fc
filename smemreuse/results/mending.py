"""What was put into a kernel to mend hazards of its own, and what could not be mended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Evaluate, Stmt
from smemreuse.ir.labels import label
from smemreuse.results.hazards import Hazard, LintReport, Remedy, Site


@dataclass(frozen=True, eq=False)
class Inserted:
    """A statement that is put in: an operation, or a copy of a statement that is there."""

    call: Call
    copied: Stmt | None = None

    def __str__(self) -> str:
        return label(Evaluate(self.call))


@dataclass(frozen=True, eq=False)
class Insertion:
    """Statements that are put in on one side of a statement of the kernel, in their order."""

    anchor: Stmt
    after: bool
    inserted: tuple[Inserted, ...]

    def at(self, anchor: Stmt, others: Mapping[Stmt, Stmt]) -> Insertion:
        """The same beside another statement; what it copies is one of the `others` then."""
        made = tuple(
            one if one.copied is None else replace(one, copied=others[one.copied])
            for one in self.inserted
        )
        return Insertion(anchor, self.after, made)

    @property
    def where(self) -> str:
        """The place, in words."""
        return f"{'behind' if self.after else 'before'} {Site.of(self.anchor)}"


@dataclass(frozen=True, eq=False)
class Mended:
    """An insertion, and the hazard for which it was made."""

    insertion: Insertion
    hazard: Hazard

    @property
    def remedy(self) -> Remedy:
        return self.hazard.mend.remedy

    @property
    def sentence(self) -> str:
        """What was put in where, and why."""
        what = ", ".join(f"`{one}`" for one in self.insertion.inserted)
        sure = "certain" if self.hazard.certain else "possible"
        why = f"{self.hazard.kind} ({sure}): {self.hazard.witness}"
        return f"{what} put in {self.insertion.where} for {why}"


@dataclass(frozen=True, eq=False)
class Unmended:
    """A hazard that is still there, and why."""

    hazard: Hazard
    why: str


@dataclass(frozen=True, eq=False)
class Mending:
    """What came of mending one kernel.

    `before` is the report on the kernel as it was and `after` the one on what is left of it: the
    same where nothing was put in. `doubt` says why mends that were found were not put in after all.
    """

    before: LintReport
    after: LintReport
    mends: tuple[Mended, ...] = ()
    unmended: tuple[Unmended, ...] = ()
    doubt: str = ""

    @property
    def kernel(self) -> str:
        return self.before.kernel

    @property
    def insertions(self) -> tuple[Insertion, ...]:
        return tuple(one.insertion for one in self.mends)

    def taken_back(self, doubt: str) -> Mending:
        """The same, with nothing put in, and why."""
        left = tuple(Unmended(one.hazard, doubt) for one in self.mends)
        return Mending(self.before, self.before, (), (*left, *self.unmended), doubt)
