"""Counterexample-guided refinement: guesses at a plan, each without the pairs that failed before.

Solar-Lezama et al., ASPLOS 2006: a check of a guess names the pairs of buffers that must not share
bytes, and the next guess keeps them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smemreuse.pipeline.candidate import Candidate
from smemreuse.policies.packing import Pair
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Verdict

Check = Callable[[Candidate], Candidate]
"""Gives a candidate the verdict that decides whether it passes."""


@dataclass(frozen=True)
class Refinement:
    """Guesses that avoid some conflicts, in at most `rounds` rounds.

    - `guess`: the plan that avoids these conflicts. `is_wanted`: whether it is worth a check; if
      not, none of those after it is.
    - `refuse` notes a candidate that does not pass, and gives the pairs to blame.
    - `conflicts`: those of the first guess.
    """

    guess: Callable[[frozenset[Pair]], Candidate]
    is_wanted: Callable[[Candidate], bool]
    refuse: Callable[[Candidate], frozenset[Pair]]
    conflicts: frozenset[Pair]
    rounds: int

    def first_to_pass(self, check: Check, without_doubt: Check) -> Candidate | None:
        """The first guess that passes; None if none does.

        What `check` leaves in doubt may pass `without_doubt`, which takes longer: guesses as small
        that do without the doubted pairs come first.
        """
        found, is_doubted = self._first_to_pass(check)
        return self._first_to_pass(without_doubt)[0] if is_doubted else found

    def _first_to_pass(self, check: Check) -> tuple[Candidate | None, bool]:
        """The first guess that passes one check, and whether there is none and one was doubted."""
        conflicts, most = self.conflicts, None
        for _ in range(self.rounds):
            found = self.guess(conflicts)
            arena = found.plan.arena_bytes
            if not self.is_wanted(found) or (most is not None and arena > most):
                break
            found = check(found)
            if found.passes:
                return found, False
            if found.is_doubted:
                most = arena if most is None else most
                more = counterexamples(found.plan, found.verdict)
            else:
                more = self.refuse(found)
            if more <= conflicts:
                break
            conflicts |= more
        return None, most is not None


def counterexamples(plan: Plan, verdict: Verdict) -> frozenset[Pair]:
    """The pairs that must conflict so that the rest may hold: all that share if none is named."""
    return verdict.open_pairs or shared_pairs(plan)


def shared_pairs(plan: Plan) -> frozenset[Pair]:
    return frozenset(frozenset((one, two)) for one, two, _ in plan.sharing_pairs())
