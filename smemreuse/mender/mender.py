"""`mend`: tries what might mend each hazard, and keeps the least that the linter calls clean.

A candidate is judged by linting the kernel that has it, as if its author had written it there. It
stays if its hazard is gone and no other has come. What is not needed in the end is taken out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from smemreuse.audit import BarrierStage, barriers_follow
from smemreuse.checker import waits_of
from smemreuse.checker.budget import BUDGET, Work
from smemreuse.checker.machine.events import AccessEvent
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import SHARED_SCOPES, Kernel, Stmt
from smemreuse.ir.tree import StatementTree
from smemreuse.linter import Apart, counterparts, lint_apart, taken_apart
from smemreuse.linter.runs import OF_LINT
from smemreuse.mender.candidate import Edits, MendCandidate
from smemreuse.mender.candidates import MendCandidates
from smemreuse.mender.edited import edited
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, Remedy
from smemreuse.results.mending import Edit, Mended, Mending, Unmended
from smemreuse.results.sites import Site

MOST_LINTS = 60
OF_MENDING = 5 * OF_LINT
"""How often a kernel is linted, with one thing or another put in, and units of work for it all."""

PUT_IN = (Remedy.FENCE, Remedy.WAIT, Remedy.BARRIER, Remedy.NARROW)
MAY_SHOW = (HazardKind.MISSING_FENCE, HazardKind.MISSING_WAIT, HazardKind.RACE)
"""What may show once a hazard is mended: of an access the first hazard alone is reported."""

NOT_PUT_IN = (
    "its fix changes what the kernel does; no barrier, wait or fence can be inserted for it"
)
NOT_FOLLOWED = "lint could not follow all of the kernel, so it cannot prove that a fix works"
NOT_WRITTEN = "smemreuse does not know how the compiler of this dump writes waits and proxy fences"
MAY_HANG = (
    "a barrier or wait that is inserted may wait for ever: threads may wait for others, and it is "
    "not known for what, in {}"
)
NO_PLACE = "no barrier, wait or fence that can be inserted orders the two"
NONE_CLEAN = "none of the {} that can be inserted makes the kernel clean"
GIVEN_UP = f"{BUDGET}it takes too long to try all fixes"

Key = tuple[HazardKind, object, object, tuple[str, ...]]
Found = tuple[object, tuple[str, ...]]


def mend(kernel: Kernel, barriers: BarrierStage = BarrierStage.AUTO) -> Mending:
    """The fewest barriers, waits and proxy fences to insert, and waits to narrow to the warp that
    needs them, that make a kernel clean, if these can.

    Both certain and possible hazards are mended. `barriers` is as for `lint`; what a later pass
    inserts is not inserted here. Each hazard that is left comes with the reason.
    """
    later = barriers_follow(kernel, barriers)
    apart = taken_apart(kernel)
    found = MendSearch(apart, later).result()
    return found if apart.kernel is kernel else _in_the_arena(kernel, apart.kernel, found)


def _in_the_arena(kernel: Kernel, apart: Kernel, found: Mending) -> Mending:
    """The mending of a kernel with separated buffers, transferred to the merged kernel itself."""
    places = counterparts(apart, kernel)
    if places is None or not {one.edit.anchor for one in found.mends} <= places.keys():
        return found.taken_back("its place in the merged kernel is not known")
    mends = tuple(
        replace(one, edit=one.edit.at(places[one.edit.anchor], places)) for one in found.mends
    )
    return replace(found, mends=mends)


@dataclass
class MendSearch:
    """The search for edits that mend one kernel, and those made so far.

    `later` tells that a later pass inserts barriers. `chosen` are the kept edits, each with
    its hazard; `refused` gives the reason why a hazard cannot be mended.
    """

    apart: Apart
    later: bool
    chosen: list[Mended] = field(default_factory=list)
    refused: dict[Key, str] = field(default_factory=dict)
    lints: int = 0

    def __post_init__(self) -> None:
        kernel = self.apart.kernel
        scopes = kernel.shared_scopes() or SHARED_SCOPES
        # One that an author writes is for the first scope, and tells of no pass that has been here.
        scope = SHARED_SCOPES[0] if self.later else scopes[-1]
        self.candidates = MendCandidates(kernel, StatementTree(kernel.body), scope)
        self.hidden = waits_of(kernel, facts_of(kernel).memory).hidden
        self.origins: dict[Stmt, Stmt] = {}
        self.work = Work(OF_MENDING)
        self.before = self._lint(())
        self.once = self.work.done

    def result(self) -> Mending:
        """Mends hazard by hazard, drops superfluous edits, and reports what is left and why.

        The kernel stays as it is if the result is no better.
        """
        report = self.before
        while True:
            hazard = self._next(report)
            if hazard is None:
                break
            report = self._mended(hazard, report)
        report = self._without_needless(report)
        if _badness(report) >= _badness(self.before):
            self.chosen, report = [], self.before
        left = tuple(Unmended(one, self._why(one)) for one in report.hazards)
        return Mending(self.before, report, tuple(self.chosen), left)

    def _next(self, report: LintReport) -> Hazard | None:
        """The first hazard that was not refused, certain ones first; refuses those that cannot be
        mended.
        """
        for hazard in report.hazards:
            key = self._key(hazard)
            if key in self.refused:
                continue
            if self.before.unknown:
                self.refused[key] = NOT_FOLLOWED
            elif hazard.mend.remedy not in PUT_IN:
                self.refused[key] = NOT_PUT_IN
            elif self._is_spent:
                self.refused[key] = GIVEN_UP
            else:
                return hazard
        return None

    def _why(self, hazard: Hazard) -> str:
        return self.refused.get(self._key(hazard), NO_PLACE)

    def _mended(self, hazard: Hazard, report: LintReport) -> LintReport:
        """Tries the candidates for a hazard; the lint report after the first that mends it.

        Returns `report` unchanged, and records the reason, where none does.
        """
        earlier = self._stmt(hazard.other or hazard.mend.after)
        later = self._stmt(hazard.site) if hazard.other is not None else None
        tried, why = 0, NO_PLACE
        for candidate in self.candidates.of(hazard, earlier, later):
            if not self.candidates.are_written(candidate):
                why = NOT_WRITTEN
                continue
            if self.hidden is not None and candidate.may_block:
                # A thread may be kept from what others wait for, and no lint would see it.
                why = MAY_HANG.format(AccessEvent(self.hidden, ()))
                continue
            if self._is_spent:
                self.refused[self._key(hazard)] = GIVEN_UP
                return report
            tried += 1
            found = self._lint((*self._edits, *candidate.edits))
            if self._is_better(hazard, report, found):
                kept, found = self._weakest(candidate, hazard, report, found)
                self.chosen += [Mended(one, hazard) for one in kept]
                return found
        self.refused[self._key(hazard)] = NONE_CLEAN.format(tried) if tried else why
        return report

    def _weakest(
        self, candidate: MendCandidate, hazard: Hazard, before: LintReport, found: LintReport
    ) -> tuple[Edits, LintReport]:
        """The weakest variant of a candidate that mends as well as the candidate does, and its
        report.
        """
        kept = candidate.edits
        for weaker in candidate.weaker:
            if self._is_spent:
                break
            after = self._lint((*self._edits, *weaker))
            if not self._is_better(hazard, before, after) or _badness(after) > _badness(found):
                break
            kept, found = weaker, after
        return kept, found

    def _without_needless(self, report: LintReport) -> LintReport:
        """Drops each edit without which the report is no worse; returns the new report."""
        for one in list(self.chosen) if len(self.chosen) > 1 else []:
            if self._is_spent:
                break
            rest = [other for other in self.chosen if other is not one]
            found = self._lint([each.edit for each in rest])
            if _badness(found) <= _badness(report):
                self.chosen, report = rest, found
        return report

    # Linting ------------------------------------------------------------------------------------

    @property
    def _edits(self) -> Edits:
        return tuple(one.edit for one in self.chosen)

    def _lint(self, edits: Sequence[Edit]) -> LintReport:
        """The lint report of the kernel with these edits."""
        self.lints += 1
        kernel = self.apart.kernel
        body, origins = edited(kernel.body, edits)
        self.origins.update(origins)
        found = replace(self.apart, kernel=replace(kernel, body=body))
        return lint_apart(found, self.later, self.work)

    @property
    def _is_spent(self) -> bool:
        """Whether one more time would be more than is allowed for."""
        return self.lints >= MOST_LINTS or self.work.done + self.once > self.work.limit

    def _is_better(self, hazard: Hazard, before: LintReport, after: LintReport) -> bool:
        """Whether `hazard` is gone and no new hazard has appeared, except ones that it may have
        hidden.
        """
        was, now = set(map(self._key, before.hazards)), set(map(self._key, after.hazards))
        if self._key(hazard) in now or not set(after.unknown) <= set(before.unknown):
            return False
        hidden = {self._found(one) for one in before.hazards}
        new = [one for one in after.hazards if self._key(one) not in was]
        return all(one.kind in MAY_SHOW and self._found(one) in hidden for one in new)

    def _stmt(self, site: Site | None) -> Stmt | None:
        stmt = site.stmt if site is not None else None
        return None if stmt is None else self.origins.get(stmt, stmt)

    def _key(self, hazard: Hazard) -> Key:
        one, two = self._stmt(hazard.other), self._stmt(hazard.site)
        return hazard.kind, one, two or str(hazard.site), hazard.buffers

    def _found(self, hazard: Hazard) -> Found:
        return self._stmt(hazard.site), hazard.buffers


def _badness(report: LintReport) -> tuple[int, int, int]:
    certain = sum(one.certain for one in report.hazards)
    return len(report.unknown), certain, len(report.hazards)
