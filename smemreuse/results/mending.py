"""What was put into a kernel to mend hazards of its own, and what could not be fixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from smemreuse.ir.expr import Call, Expr, format_expr
from smemreuse.ir.kernel import Evaluate, Stmt
from smemreuse.ir.labels import label
from smemreuse.results.hazards import (
    UNFOLLOWED,
    Hazard,
    LintReport,
    LintStatus,
    Remedy,
    brief_sentence,
    hazard_sentence,
)
from smemreuse.results.sites import Site
from smemreuse.results.verdict import unfollowed_words


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
    def texts(self) -> tuple[str, ...]:
        """What is put in."""
        return tuple(map(str, self.inserted))

    @property
    def side(self) -> str:
        """On which side of the anchor; the value is the word for it in JSON."""
        return "behind" if self.after else "before"


@dataclass(frozen=True, eq=False)
class Guard:
    """A branch that is put around a statement: from then on threads execute it only if `condition`,
    an expression of the kernel's own variables, holds for them."""

    anchor: Stmt
    condition: Expr

    def at(self, anchor: Stmt, others: Mapping[Stmt, Stmt]) -> Guard:
        """The same around another statement."""
        return replace(self, anchor=anchor)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is put in."""
        return (f"if {format_expr(self.condition)}",)

    side = "around"


@dataclass(frozen=True, eq=False)
class Removal:
    """A statement that is taken out."""

    anchor: Stmt

    def at(self, anchor: Stmt, others: Mapping[Stmt, Stmt]) -> Removal:
        """The same of another statement."""
        return Removal(anchor)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is taken out."""
        return (label(self.anchor),)

    side = "instead of"


Edit: TypeAlias = Insertion | Guard | Removal
"""One change of a kernel's text."""


@dataclass(frozen=True, eq=False)
class Mended:
    """An edit, and the hazard for which it was made."""

    edit: Edit
    hazard: Hazard

    @property
    def remedy(self) -> Remedy:
        return self.hazard.mend.remedy

    @property
    def sentence(self) -> str:
        """What was put in where, and why."""
        return f"{self._inserted} {self.place} to fix {hazard_sentence(self.hazard)}"

    @property
    def brief_sentence(self) -> str:
        """The same, with long indices of statements elided where their lines are known."""
        place = self.place.shortened(str(self.place))
        return f"{self._inserted} {place} to fix {brief_sentence(self.hazard)}"

    @property
    def brief_repetition(self) -> str:
        """What was put in where for a hazard that another sentence has in full."""
        place = self.place.shortened(str(self.place))
        return f"{self._inserted} {place} to fix the same {self.hazard.kind}"

    @property
    def _inserted(self) -> str:
        what = ", ".join(f"`{one}`" for one in self.edit.texts)
        side = "after" if self.edit.side == "behind" else self.edit.side
        return f"inserted {what} {side}"

    @property
    def place(self) -> Site:
        """The statement that the edit is at."""
        return Site.of(self.edit.anchor)


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
    def edits(self) -> tuple[Edit, ...]:
        return tuple(one.edit for one in self.mends)

    @property
    def is_clean(self) -> bool:
        """Whether there was nothing to mend."""
        return not self.edits and self.before.status is LintStatus.CLEAN

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was put in, what could not be mended and why, and what lint finds then."""
        told = (*self._done(), *self._left(), self._outcome)
        return tuple(f"{self.kernel}: {one}" for one in told)

    def _done(self) -> Iterator[str]:
        explained = list[Hazard]()
        for one in self.mends:
            yield one.brief_repetition if one.hazard in explained else one.brief_sentence
            explained.append(one.hazard)

    def _left(self) -> Iterator[str]:
        for left in self.unmended:
            site = left.hazard.site
            yield f"not fixed: {left.hazard.kind} at {site.shortened(str(site))}: {left.why}"
        for reason in self.after.unknown:
            yield f"not followed: {unfollowed_words(reason)}"

    @property
    def _outcome(self) -> str:
        if self.mends and self.after.status is not LintStatus.CLEAN:
            fixed, left = len(self.mends), len(self.unmended)
            return f"{fixed:,} fixed, {left:,} left: lint finds it {_FOUND[self.after.status]}"
        if self.mends:
            return "fixed: lint finds it clean"
        if self.is_clean:
            return "clean: nothing to fix, and nothing changed"
        return f"nothing inserted: lint finds it {_FOUND[self.after.status]}"

    def taken_back(self, doubt: str) -> Mending:
        """The same, with nothing put in, and why."""
        left = tuple(Unmended(one.hazard, doubt) for one in self.mends)
        return Mending(self.before, self.before, (), (*left, *self.unmended), doubt)


_FOUND = {
    LintStatus.CLEAN: "clean",
    LintStatus.HAZARDS: "with certain hazards",
    LintStatus.POSSIBLE: "with possible hazards",
    LintStatus.UNKNOWN: UNFOLLOWED,
}
