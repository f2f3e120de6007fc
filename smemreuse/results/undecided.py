"""Why a hazard is only possible: what decides about it, and is not known."""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.results.sites import Site
from smemreuse.results.words import Worded


class UndecidedKind(Worded):
    """What is not known; the value is the word for it in JSON, `sentence` says it of a `{site}`."""

    BRANCH = "branch", "it depends on data which way {site} goes"
    LOOP = "loop", "it depends on data how many rounds {site} has"
    ACCESS = "access", "it is not certain that {site} accesses all of these bytes"
    PHASE = "phase", "it depends on the schedule for which phase of its mbarrier {site} has waited"
    LANES = "lanes", "only some lanes of a warp come to {site}; lint follows warps"
    BARRIER = "barrier", "it is not known which threads meet at {site}"
    OPERATION = "operation", "{site} may hold a barrier, or wait for other threads"


@dataclass(frozen=True, slots=True)
class Undecided:
    """What is not known, and the statement that it is about; many hazards may hang on one."""

    kind: UndecidedKind
    site: Site

    @property
    def sentence(self) -> str:
        """What is not known, without a full stop."""
        text = f"`{self.site.brief or self.site.statement}`"
        return self.kind.sentence.format(site=f"{text}{self.site.place}")

    def without_statement(self) -> Undecided:
        """The same by its text alone, which needs no kernel."""
        return Undecided(self.kind, self.site.without_statement())
