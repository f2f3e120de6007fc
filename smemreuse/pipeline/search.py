"""The search for the tightest plan that is proved, for one kernel and storage scope.

A plan is guessed, the checker names the pairs of buffers whose sharing it cannot prove, these
become conflicts, and the plan is made anew: a pair costs its own bytes, never the whole plan. This
is counterexample-guided synthesis (Solar-Lezama et al., ASPLOS 2006): pairs are counterexamples.
Guesses begin with policy inner's ranges; the plan of the rules stands where none is proved.
The compiler's own layout is the floor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import DYNAMIC_SCOPE, Buffer, Kernel
from smemreuse.pipeline.candidate import Candidate
from smemreuse.pipeline.judging import Effort
from smemreuse.pipeline.objectives import SpeedObjective, with_least_sharing, with_occupancy
from smemreuse.pipeline.optimistic_check import order_is_settled
from smemreuse.pipeline.options import PlanOptions
from smemreuse.pipeline.refinement import Refinement, counterexamples, shared_pairs
from smemreuse.pipeline.starts import (
    Start,
    least_bytes,
    plan_from,
    side_by_side,
    wanted_plan,
    with_conflicting,
)
from smemreuse.policies.packing import Liveness, Pair, packed
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin
from smemreuse.results.verdict import UNPROVED
from smemreuse.targets.architectures import Architecture
from smemreuse.versions import version_of
from smemreuse.versions.merges import Merge, merge_of

ROUNDS = 12
"""Plans that are made of the same ranges at most; each has more conflicts."""

FEW_ROUNDS = 3
"""The same for objective `speed` in a lowering, where each takes time of the compiler."""

APPLIED = 6
"""Plans that are applied and judged there; after them only the compiler shares anything."""


class OwnFirst(Enum):
    """The fate of the compiler's own layout as the first candidate of a lowering."""

    OPEN = "not proposed"
    PROPOSED = "it is the candidate to apply next"
    DOUBTED = "it is not proved: inner's ranges are tried before it"


@dataclass
class PlanSearch:
    """The search for the plan to apply to one kernel and scope, given the candidates refused so
    far.

    With `trusting`, the door that applies a plan judges it again. Then plans that follow from the
    rules and the compiler's own layout need no verdict here, and other plans get a cheaper one.

    - `refused`: the candidates that may not be applied, in the order in which that was found.
    - `failures`: those of them that were refused where they were applied.
    - `conflicts`: the pairs of buffers that these refusals showed.
    - `passed`: the layouts that a bounded check let pass. `bounded_failed`: whether one of these
      was refused later.
    - `tightest`: the bytes of the smallest arena that was proved; objective `speed` may choose a
      larger one.
    """

    kernel: Kernel
    scope: str
    options: PlanOptions
    stock: Merge
    arch: Architecture | None = None
    trusting: bool = False
    refused: list[Candidate] = field(default_factory=list)
    failures: list[Candidate] = field(default_factory=list)
    conflicts: frozenset[Pair] = frozenset()
    passed: list[Mapping[Buffer, int]] = field(default_factory=list)
    bounded_failed: bool = False
    own_first: OwnFirst = OwnFirst.OPEN
    tightest: int | None = None

    # What to apply, and what came of it ---------------------------------------------------------

    def best(self) -> Candidate:
        """The candidate to apply next.

        For an attribution rule or objective `none` that is its plan. Else it is the compiler's own
        layout where no search can gain anything, or the tightest that is proved.
        """
        options = self.options
        if self.own_first is OwnFirst.PROPOSED:
            self.own_first = OwnFirst.OPEN
        if options.objective == "none" or (options.policy != "dataflow" and not self._named_failed):
            return Candidate(self.kernel, wanted_plan(self._facts, self.scope, options, self.arch))
        found = self._own_at_first() or self._proved_or_own()
        if options.objective == "speed":
            found = Candidate(self.kernel, with_occupancy(self.kernel, found.plan, self.arch))
        return found.made_for(options.objective)

    def learn(self, judged: Candidate) -> None:
        """Records a candidate that was refused where it was applied, and the conflicts that this
        shows.
        """
        self.failures.append(judged)
        self.refused.append(judged)
        self.bounded_failed |= judged.plan.offsets in self.passed
        if judged.provenance.policy == "dataflow" and not judged.provenance.is_own:
            self.conflicts |= counterexamples(judged.plan, judged.verdict)

    def doubt(self, judged: Candidate) -> bool:
        """Records that the compiler's own layout, proposed before any search, was not proved.

        Returns False where it was not proposed that way: then a further search finds nothing new.
        """
        if self.own_first is not OwnFirst.PROPOSED:
            return False
        if not judged.provenance.is_kept or judged.verdict.sound:
            return False
        self.own_first = OwnFirst.DOUBTED
        if not judged.verdict.violations:  # it is the pairs that cannot be followed, not the place
            self.conflicts |= judged.verdict.open_pairs
        return True

    def refused_below(self, chosen: Plan) -> Iterator[Candidate]:
        """The refused candidates smaller than `chosen`, and than any that is proved, one for each
        cause."""
        least = min(chosen.arena_bytes, self.tightest or chosen.arena_bytes)
        smaller = [one for one in self.refused if one.plan.arena_bytes < least]
        smaller.sort(key=lambda one: one.plan.arena_bytes)
        causes: set[tuple[str, bool]] = set()
        for one in smaller:
            cause = (one.verdict.first_finding, one.provenance.is_own)
            if cause not in causes:
                causes.add(cause)
                yield one

    @property
    def _named_failed(self) -> bool:
        """Whether the plan of an attribution rule that was asked for has failed."""
        return any(one.provenance.policy != "dataflow" for one in self.failures)

    @property
    def _is_over(self) -> bool:
        """Whether so much has failed that nothing but the compiler's own sharing is tried."""
        return len(self.failures) >= APPLIED

    @property
    def _facts(self) -> KernelFacts:
        return facts_of(self.kernel)

    # The tightest plan --------------------------------------------------------------------------

    def _proved_or_own(self) -> Candidate:
        """The best proved candidate, or the compiler's own layout where that is smaller."""
        proved = self._nothingshared_pairs() if self._is_over else self._tightest()
        if not self.trusting:
            self.tightest = proved.plan.arena_bytes
        own = self._own_below(proved.plan)
        if own is not None:
            return own
        return self._with_room(proved) if self.options.objective == "speed" else proved

    def _tightest(self) -> Candidate:
        """The smallest arena that is proved, or follows from the rules where they are trusted."""
        if self.trusting:
            best = self._guess(Start.DATAFLOW)
        else:
            best = self._proved_from(Start.DATAFLOW, None) or self._nothingshared_pairs()
        if self._may_gain(best.plan):
            best = self._proved_from(Start.INNER, best) or best
        return best

    def _proved_from(self, start: Start, best: Candidate | None) -> Candidate | None:
        """A plan made from one start that passes the check and is smaller than `best`; None if none
        is found.
        """
        below = None if best is None else best.plan.arena_bytes
        most = self._own.arena_bytes if self._own_may_stay else None

        def is_wanted(guess: Candidate) -> bool:
            arena = guess.plan.arena_bytes
            return (below is None or arena < below) and (most is None or arena <= most)

        refinement = Refinement(
            lambda conflicts: self._guess(start, conflicts),
            is_wanted,
            self._refuse,
            self.conflicts,
            FEW_ROUNDS if self._is_hasty else ROUNDS,
        )
        return refinement.first_to_pass(self._checked, self._without_doubt)

    def _checked(self, candidate: Candidate) -> Candidate:
        """A candidate with the verdict that it needs before it is applied.

        Where it is judged again after that, this is a bounded check, with more effort once one of
        these has been wrong.
        """
        if not self.trusting:
            return candidate
        if self.bounded_failed:
            return candidate.checked(Effort.OPTIMISTIC)
        self.passed.append(candidate.plan.offsets)
        return candidate.checked(Effort.BOUNDED)

    def _without_doubt(self, candidate: Candidate) -> Candidate:
        """As `_checked`, with an answer where a bounded check has none."""
        found = self._checked(candidate)
        return candidate.checked(Effort.OPTIMISTIC) if found.is_doubted else found

    def _refuse(self, refused: Candidate) -> frozenset[Pair]:
        """Notes a candidate that does not pass, and gives the pairs to blame."""
        if all(refused.plan.offsets != one.plan.offsets for one in self.refused):
            self.refused.append(refused)
        return counterexamples(refused.plan, refused.verdict)

    def _guess(self, start: Start, conflicts: frozenset[Pair] | None = None) -> Candidate:
        """The plan of a start with some conflicts, by default those that failures have shown."""
        conflicts = self.conflicts if conflicts is None else conflicts
        asked = (self.scope, start, self.options.packer, conflicts, self._is_hasty)
        plan = self._facts.ask(plan_from, *asked)
        return Candidate(self.kernel, plan)

    def _nothingshared_pairs(self) -> Candidate:
        plan = self._facts.ask(side_by_side, self.scope, self.options.packer)
        return Candidate(self.kernel, plan)

    @property
    def _is_hasty(self) -> bool:
        """Whether a compiler waits, and asked for speed: each guess takes its time."""
        return self.trusting and self.options.objective == "speed"

    # The compiler's own layout ------------------------------------------------------------------

    @property
    def _own(self) -> Plan:
        """What the compiler's merge would do, as this lowering or dump configures it."""
        return self.stock.plan(self.kernel, self.scope)

    def _own_at_first(self) -> Candidate | None:
        """In a lowering, the compiler's own layout as the first candidate, if no search can be
        worth more.

        That is so where it is smaller than the plan that follows from the rules, and `_may_gain`
        expects nothing better. Its proof is then left to the place where it is applied. None
        otherwise.
        """
        is_open = self.trusting and self.own_first is OwnFirst.OPEN and not self._is_over
        if not is_open or not self._keeps_unproved(self.stock):
            return None
        rules = self._guess(Start.DATAFLOW).plan
        if self._own.arena_bytes >= rules.arena_bytes or not self._may_be_own(self._own):
            return None
        if self._may_gain(self._own):
            return None
        own = Candidate(self.kernel, _taken_over(self._own, Origin.KEPT_FROM_COMPILER))
        if not self._facts.ask(order_is_settled) and not self._checked(own).passes:
            self.own_first = OwnFirst.DOUBTED
            return None
        self.own_first = OwnFirst.PROPOSED
        return own

    @property
    def _own_may_stay(self) -> bool:
        """Whether no larger plan will be applied: in a lowering the compiler's own layout is, and
        proved or refuted there."""
        return self.trusting and self._keeps_unproved(self.stock) and self._may_be_own(self._own)

    def _own_below(self, proved: Plan) -> Candidate | None:
        """The compiler's own layout where it is smaller than the proved plan and not refuted, else
        None.
        """
        default = merge_of(self.kernel)
        others = () if self.stock.configured is default else (default,)
        for own in (self.stock, *others):
            plan = own.plan(self.kernel, self.scope)
            if plan.arena_bytes < proved.arena_bytes and self._may_be_own(plan):
                origin = self._origin_of_own(own, plan)
                if origin is not None:
                    return Candidate(self.kernel, _taken_over(plan, origin))
        return None

    def _may_be_own(self, plan: Plan) -> bool:
        """Whether a compiler's plan compiles, and has not failed yet."""
        own = (one.plan for one in self.failures if one.provenance.is_own)
        return not plan.provenance.failures and all(plan.offsets != one.offsets for one in own)

    def _origin_of_own(self, own: Merge, plan: Plan) -> Origin | None:
        """The justification for applying a compiler's own layout; None if there is none."""
        keeps = self._keeps_unproved(own)
        if self.trusting and keeps:
            return Origin.KEPT_FROM_COMPILER
        candidate = Candidate(self.kernel, plan)
        failed = any(plan.shared_bytes(*pair) for pair in self.conflicts)
        if candidate.verdict.sound and not failed:
            return Origin.COMPILER_PROVED
        if candidate.verdict.verdict is UNPROVED and keeps:
            return Origin.KEPT_FROM_COMPILER
        self._refuse(candidate)
        return None

    def _keeps_unproved(self, own: Merge) -> bool:
        """Whether a compiler's sharing that is neither proved nor refuted may stay."""
        # Its options may be known to be wrong; and by default it merges no other scope, in which
        # its `ThreadSync` would see each buffer alone.
        is_default = own.configured is merge_of(self.kernel) and self.scope == DYNAMIC_SCOPE
        version = version_of(self.kernel)
        is_what_it_does = version.is_known or own.configured is not own
        keeps = version.keeps_unproved and is_what_it_does
        return keeps and is_default and not self.options.strict

    # Objective `speed` --------------------------------------------------------------------------

    @property
    def _speed(self) -> SpeedObjective:
        return SpeedObjective(self.kernel, self._own, self.arch)

    def _may_gain(self, best: Plan) -> bool:
        """Whether a search from inner's live ranges may find a plan that is worth more than `best`.

        The lower bound of their bytes decides. In a lowering each guess costs time: for objective
        `speed`, once the plan is no larger than the compiler's own, bytes count only if they add a
        resident block or leave more L1.
        """
        least = self._facts.ask(least_bytes, self.scope, Start.INNER, self.options.packer)
        if least >= best.arena_bytes:
            return False
        if not self.trusting or self.options.objective != "speed":
            return True
        if best.arena_bytes > self._own.arena_bytes:
            return True
        if self._speed.stands_as(best, least):
            return False
        return self._speed.gains(self._guess(Start.INNER).plan, best)

    def _with_room(self, proved: Candidate) -> Candidate:
        """The plan with the least sharing that keeps the smallest arena's resident blocks and the
        most L1.
        """
        found = proved
        for room in self._speed.rooms(proved.plan):
            found = self._least_sharing(proved, room)
            if self._speed.is_roomy(found.plan, room):
                break
        return found

    def _least_sharing(self, proved: Candidate, room: int) -> Candidate:
        """The plan with the least sharing in an arena of `room` bytes that passes the check."""
        tight = proved.plan
        for _ in range(ROUNDS):
            least = Candidate(self.kernel, with_least_sharing(self.kernel, tight, room))
            if self._follows(least.plan, proved.plan):
                return least
            checked = self._without_doubt(least)
            if checked.passes:
                return checked
            more = self._refuse(checked)
            if more <= tight.concurrent:
                break
            tight = packed(with_conflicting(Liveness.of_plan(tight), more), tight.provenance)
            if tight.arena_bytes > room:
                break
        return proved

    def _follows(self, plan: Plan, proved: Plan) -> bool:
        """Whether a plan needs no check of its own, given the `proved` one.

        That is so if it shares no other pairs of buffers, or follows from the rules where these are
        trusted because it is judged again where it is applied.
        """
        if plan.offsets == proved.offsets:
            return True
        if not self.trusting:
            return False
        if plan.provenance.origin is Origin.POLICY:
            return True
        return not self.bounded_failed and shared_pairs(plan) <= shared_pairs(proved)


def _taken_over(plan: Plan, origin: Origin) -> Plan:
    """A compiler's plan as one of policy dataflow."""
    return plan.with_provenance(policy="dataflow", origin=origin)
