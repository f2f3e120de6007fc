"""The search for the tightest plan that is proved, for one kernel and storage scope.

A plan is guessed, the checker names the pairs of buffers whose sharing it cannot prove, these are
kept apart, and the plan is made anew: so a pair costs its own bytes, never the whole plan. That is
counterexample-guided synthesis (Solar-Lezama et al., ASPLOS 2006), with pairs for counterexamples.
Guesses begin with different `Start`s, the tightest last to be given up. The compiler's own layout
is the floor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import DYNAMIC_SCOPE, Kernel
from smemreuse.pipeline.candidate import Candidate
from smemreuse.pipeline.objectives import (
    reckoned,
    rooms,
    rounds_of_sharing,
    stands_as,
    with_least_sharing,
)
from smemreuse.pipeline.optimistic_check import order_is_settled
from smemreuse.pipeline.options import PlanOptions
from smemreuse.pipeline.starts import Start, kept_apart, least_bytes, plan_from, side_by_side
from smemreuse.pipeline.wanted import wanted_plan
from smemreuse.policies.packing import Liveness, Pair, packed
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin
from smemreuse.results.verdict import UNPROVED, Verdict
from smemreuse.targets.architectures import Architecture
from smemreuse.versions import version_of
from smemreuse.versions.merges import Merge, merge_of

ROUNDS = 8
"""Plans that are made of one start at most; each keeps more pairs apart."""

FEW_ROUNDS = 3
"""The same where each takes time of a lowering, for the sake of speed."""

STARTS = (Start.TRACED, Start.INNER, Start.OUTER)
"""What is tried beside the rules, the likeliest to be proved first: the others must beat it."""

APPLIED = 6
"""Plans that are applied and looked at; behind them only the compiler shares anything."""


@dataclass
class Search:
    """What may be applied to one kernel and scope, in the light of what was refused so far.

    `refused` are the candidates that may not be applied, in the order in which that was found.
    Verdicts are those on the kernel as it was read, but for what `learn` is told. With `trusting`,
    what follows from the rules and what the compiler does needs none: who applies it judges it.
    """

    kernel: Kernel
    scope: str
    options: PlanOptions
    stock: Merge
    arch: Architecture | None = None
    trusting: bool = False
    refused: list[Candidate] = field(default_factory=list)
    _apart: frozenset[Pair] = frozenset()
    _applied: int = 0
    _glanced: list[Plan] = field(default_factory=list)
    _glanced_in_vain: bool = False
    _wanted_failed: bool = False
    _own_early: bool = False
    _own_doubted: bool = False
    _own_refuted: list[Plan] = field(default_factory=list)

    def best(self) -> Candidate:
        """The candidate to apply next."""
        options = self.options
        self._own_early = False
        by_name = options.policy != "dataflow" and not self._wanted_failed
        if by_name or options.objective == "none":
            return Candidate(self.kernel, wanted_plan(self._facts, self.scope, options, self.arch))
        early = self._own_first()
        self._own_early = early is not None
        found = early or self._proved_or_own()
        if options.objective == "speed":
            found = Candidate(self.kernel, reckoned(self.kernel, found.plan, self.arch))
        return found.made_for(options.objective)

    def _proved_or_own(self) -> Candidate:
        """The best that is proved, or the compiler's own layout where it is smaller than that."""
        proved = self._nothing_shared() if self._is_over else self._tightest()
        own = self._own_below(proved.plan)
        if own is not None:
            return own
        return self._for_speed(proved) if self.options.objective == "speed" else proved

    @property
    def _is_over(self) -> bool:
        """Whether so much was refused that nothing but the compiler's own sharing is tried."""
        return self._applied >= APPLIED

    def doubt(self, judged: Candidate) -> bool:
        """Takes in that the compiler's own layout, kept before any start was tried, is not proved.

        False where it was not kept so: then nothing new can be expected.
        """
        if not self._own_early or not judged.provenance.is_kept or judged.verdict.sound:
            return False
        self._own_doubted = True
        if not judged.verdict.violations:  # it is the pairs that cannot be followed, not the place
            self._apart |= judged.verdict.open_pairs
        return True

    def learn(self, judged: Candidate) -> None:
        """Takes in that a candidate, as it was judged where it was applied, may not stay."""
        self._applied += 1
        self._glanced_in_vain |= any(judged.plan.offsets == one.offsets for one in self._glanced)
        self.refused.append(judged)
        if judged.provenance.is_own:
            self._own_refuted.append(judged.plan)
        elif judged.provenance.policy != "dataflow":
            self._wanted_failed = True
        else:
            self._apart |= _pairs_to_part(judged.plan, judged.verdict)

    def told_of(self, chosen: Plan) -> Iterator[Candidate]:
        """The refused candidates that tell why `chosen` is not smaller, one for each cause."""
        smaller = [one for one in self.refused if one.plan.arena_bytes < chosen.arena_bytes]
        smaller.sort(key=lambda one: one.plan.arena_bytes)
        told: set[tuple[str, bool]] = set()
        for one in smaller:
            cause = (one.verdict.first_finding, one.provenance.is_own)
            if cause not in told:
                told.add(cause)
                yield one

    @property
    def _facts(self) -> KernelFacts:
        return facts_of(self.kernel)

    @property
    def _own(self) -> Plan:
        """What the compiler's merge would do, as this lowering or dump configures it."""
        return self.stock.plan(self.kernel, self.scope)

    def _tightest(self) -> Candidate:
        """The smallest arena that is proved, or follows from the rules where they are trusted."""
        if self.trusting:
            best = self._guess(Start.DATAFLOW, self._apart)
        else:
            best = self._proved_from(Start.DATAFLOW, None) or self._nothing_shared()
        for start in STARTS:
            if self._may_gain(start, best.plan):
                best = self._proved_from(start, best) or best
        return best

    def _may_gain(self, start: Start, best: Plan) -> bool:
        """Whether a start may lead to a plan that is worth more, as far as its least bytes tell.

        In a lowering each guess costs time. For `speed` bytes count there only as far as they add
        a block or leave more L1, once the plan is no larger than the compiler's own.
        """
        least = self._facts.ask(least_bytes, self.scope, start, self.options.packer)
        if least >= best.arena_bytes:
            return False
        if not self.trusting or self.options.objective != "speed":
            return True
        if best.arena_bytes > self._own.arena_bytes:
            return True
        if stands_as(self.kernel, best, least, self.arch):
            return False
        return self._pays(self._guess(start, self._apart).plan, best)

    def _pays(self, guess: Plan, best: Plan) -> bool:
        """Whether what a guess adds is worth its hand-overs, if it were proved as it is."""
        if guess.arena_bytes >= best.arena_bytes:
            return False
        for room in self._rooms(guess):
            if stands_as(self.kernel, best, room, self.arch):
                return False
            if self._is_roomy(with_least_sharing(self.kernel, guess, room), room):
                return True
        return True

    def _rooms(self, smallest: Plan) -> Iterator[int]:
        """Bytes that an arena may take, by carve-out steps; never more than the compiler's own."""
        return (
            min(room, self._own.arena_bytes) for room in rooms(self.kernel, smallest, self.arch)
        )

    def _is_roomy(self, plan: Plan, room: int) -> bool:
        """Whether more bytes may not be had, or save no rounds in which loops take turns: L1 is not
        worth it that there are more of them than in the compiler's own layout."""
        usual = rounds_of_sharing(self.kernel, self._own)
        return room >= self._own.arena_bytes or rounds_of_sharing(self.kernel, plan) <= usual

    def _own_first(self) -> Candidate | None:
        """The compiler's own layout in a lowering, where no start can lead to one worth more.

        It is smaller than what follows from the rules, and its proof is all that could be gained:
        that is looked for where it is applied, once, and only without it among the starts.
        """
        is_open = self.trusting and not self._own_doubted and not self._is_over
        if not is_open or not self._keeps_unproved(self.stock):
            return None
        best = self._guess(Start.DATAFLOW, self._apart).plan
        if self._own.arena_bytes >= best.arena_bytes or not self._may_be_own(self._own):
            return None
        if any(self._may_gain(start, self._own) for start in STARTS):
            return None
        own = Candidate(self.kernel, _vouched_for(self._own, Origin.KEPT_FROM_COMPILER))
        if not self._facts.ask(order_is_settled):
            self._own_doubted = not self._looked_at(own).is_hopeful
        return None if self._own_doubted else own

    def _looked_at(self, candidate: Candidate) -> Candidate:
        """A candidate as it is judged before it is applied: at a glance, where it will be judged
        behind that, and until this was in vain once."""
        if not self.trusting:
            return candidate
        if self._glanced_in_vain:
            return candidate.hoped_for()
        self._glanced.append(candidate.plan)
        return candidate.glanced_at()

    def _hopes_for(self, start: Start) -> bool:
        """Whether the first plan of a start is applied before it is looked at."""
        is_open = self.trusting and start is Start.TRACED and not self._applied
        return is_open and self._facts.ask(order_is_settled)

    def _proved_from(self, start: Start, best: Candidate | None) -> Candidate | None:
        """A plan of one start that is proved, or hopeful, and smaller than `best`; None where none
        is found."""
        apart = self._apart
        is_hasty = self.trusting and self.options.objective == "speed"
        for number in range(FEW_ROUNDS if is_hasty else ROUNDS):
            guess = self._guess(start, apart)
            if best is not None and guess.plan.arena_bytes >= best.plan.arena_bytes:
                return None
            if number == 0 and self._hopes_for(start):
                return guess
            guess = self._looked_at(guess)
            if guess.is_hopeful:
                return guess
            blamed = self._blamed(guess)
            if blamed <= apart:
                return None
            apart |= blamed
        return None

    def _own_below(self, proved: Plan) -> Candidate | None:
        """The compiler's own layout where it is smaller than what is proved, and not refuted."""
        for own in dict.fromkeys((self.stock, merge_of(self.kernel))):
            plan = own.plan(self.kernel, self.scope)
            if plan.arena_bytes < proved.arena_bytes and self._may_be_own(plan):
                origin = self._origin_of_own(own, plan)
                if origin is not None:
                    return Candidate(self.kernel, _vouched_for(plan, origin))
        return None

    def _may_be_own(self, plan: Plan) -> bool:
        refuted = any(plan.offsets == one.offsets for one in self._own_refuted)
        return not plan.provenance.failures and not refuted

    def _origin_of_own(self, own: Merge, plan: Plan) -> Origin | None:
        """On what ground a compiler's own layout may be applied; None where on none."""
        keeps = self._keeps_unproved(own)
        if self.trusting and keeps:
            return Origin.KEPT_FROM_COMPILER
        candidate = Candidate(self.kernel, plan)
        failed = any(plan.shared_bytes(*pair) for pair in self._apart)
        if candidate.verdict.sound and not failed:
            return Origin.COMPILER_PROVED
        if candidate.verdict.verdict is UNPROVED and keeps:
            return Origin.KEPT_FROM_COMPILER
        self._blamed(candidate)
        return None

    def _keeps_unproved(self, own: Merge) -> bool:
        """Whether a compiler's sharing that nobody proves nor refutes may stay."""
        # Its options may be known to be wrong; and by default it merges no other scope, in which
        # its `ThreadSync` would see each buffer alone.
        is_default = own is merge_of(self.kernel) and self.scope == DYNAMIC_SCOPE
        return version_of(self.kernel).keeps_unproved and is_default and not self.options.strict

    def _for_speed(self, proved: Candidate) -> Candidate:
        """As little sharing as keeps the blocks of the smallest arena, and the most L1."""
        found = proved
        for room in self._rooms(proved.plan):
            found = self._roomy(proved, room)
            if self._is_roomy(found.plan, room):
                break
        return found

    def _roomy(self, proved: Candidate, room: int) -> Candidate:
        """The least sharing in so many bytes that is proved."""
        tight = proved.plan
        for _ in range(ROUNDS):
            least = with_least_sharing(self.kernel, tight, room)
            if self._trusts(least) or self._shares_less(least, proved.plan):
                return Candidate(self.kernel, least)
            roomy = self._looked_at(Candidate(self.kernel, least))
            if roomy.is_hopeful:
                return roomy
            blamed = self._blamed(roomy)
            if blamed <= tight.concurrent:
                break
            tight = packed(kept_apart(Liveness.of_plan(tight), blamed), tight.provenance)
            if tight.arena_bytes > room:
                break
        return proved

    def _shares_less(self, plan: Plan, proved: Plan) -> bool:
        """Whether a plan is what is proved, or hopeful because that is: it will be judged where it
        is applied, and no other pairs share bytes in it."""
        if plan.offsets == proved.offsets:
            return True
        if not self.trusting or self._glanced_in_vain:
            return False
        pairs, others = (
            {frozenset((one, two)) for one, two, _ in each.sharing_pairs()}
            for each in (plan, proved)
        )
        return pairs <= others

    def _trusts(self, plan: Plan) -> bool:
        return self.trusting and plan.provenance.origin is Origin.POLICY

    def _guess(self, start: Start, apart: frozenset[Pair]) -> Candidate:
        plan = self._facts.ask(plan_from, self.scope, start, self.options.packer, apart)
        return Candidate(self.kernel, plan)

    def _nothing_shared(self) -> Candidate:
        plan = self._facts.ask(side_by_side, self.scope, self.options.packer)
        return Candidate(self.kernel, plan)

    def _blamed(self, refused: Candidate) -> frozenset[Pair]:
        """The pairs that keep a candidate from being proved, which is noted."""
        if all(refused.plan.offsets != one.plan.offsets for one in self.refused):
            self.refused.append(refused)
        return _pairs_to_part(refused.plan, refused.verdict)


def _pairs_to_part(plan: Plan, verdict: Verdict) -> frozenset[Pair]:
    """The pairs to keep apart so that the rest may hold; all that share where none is named."""
    return verdict.open_pairs or frozenset(
        frozenset((one, two)) for one, two, _ in plan.sharing_pairs()
    )


def _vouched_for(plan: Plan, origin: Origin) -> Plan:
    """A compiler's plan, taken for that of dataflow."""
    return plan.with_provenance(policy="dataflow", origin=origin)
