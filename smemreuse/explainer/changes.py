"""Changes of a kernel that would lower its arena: the cheapest ones, and those that gain a block.

Each is tried by planning anew with that one change, or a few together: pairs that may share, stages
less of a pipeline, and all else as it is. A plan counts only if every other pair that it lets share
is proved to. Whether the algorithm allows a change is for its author to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from smemreuse.analysis.stages import Stages, stages_of
from smemreuse.explainer.conditions import Conditions
from smemreuse.explainer.pairs import OF_CHANGES, BufferPair, Explainer, where
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.ir.launch import least_blocks
from smemreuse.planner import PACKERS, Placement, Problem
from smemreuse.planner.problem import (
    bounded,
    heaviest_together,
    with_conflicts,
    with_sizes,
    without_conflict,
)
from smemreuse.policies.packing import Liveness
from smemreuse.results.headroom import Change, ChangeKind, ChangeStep
from smemreuse.results.plan import Plan
from smemreuse.results.residents import REGISTERS, RegisterSource, Residents
from smemreuse.targets.architectures import (
    Architecture,
    most_by_registers,
    most_registers,
    threads_of,
)
from smemreuse.targets.registers import registers_of
from smemreuse.targets.residents import residents_of
from smemreuse.versions import TILELANG, version_of

MOST_PAIRS = 64
"""Pairs that are tried, those first that would save most."""
MOST_LEARNED = 8
"""Plans that are made anew because they let a pair share that is not proved to."""
_NO_OVERLAP = ", so that no load overlaps computation"


@dataclass(frozen=True, eq=False)
class Trial:
    """A change that is possible as far as the kernel's text tells: two items that may share, or
    items that get smaller because a loop has fewer stages."""

    told: ChangeStep
    pair: tuple[int, int] | None = None
    order: BufferPair | None = None
    sizes: tuple[tuple[int, int], ...] = ()
    stages: Stages | None = None
    fewer: int = 0

    @property
    def weight(self) -> int:
        """What has to change: statements, or stages."""
        return self.told.statements + max(0, self.fewer - 1)

    def touches(self, items: frozenset[int]) -> bool:
        """Whether the change may make these items lighter together."""
        if self.pair is not None:
            return items.issuperset(self.pair)
        return any(item in items for item, _ in self.sizes)


Trials = tuple[Trial, ...]


class Changes:
    """The changes that lower the arena of one plan, which has to be the smallest; `beside` are the
    plans of other scopes."""

    def __init__(
        self,
        kernel: Kernel,
        plan: Plan,
        explainer: Explainer,
        arch: Architecture | None,
        beside: Sequence[Plan] = (),
    ):
        self._kernel = kernel
        self._beside = beside
        self._plan = plan
        self._explainer = explainer
        self._arch = arch
        self._ranges = Liveness.of_plan(plan)
        self._conditions = Conditions(kernel, explainer)
        self._known: dict[tuple[int, int], Trial | None] = {}
        self._learned: dict[tuple[int, int], None] = {}
        self._residents: dict[int, Residents | None] = {}

    def cheapest(self, now: Residents | None) -> list[Change]:
        """Of each kind the one with the fewest statements to change that adds a block; where none
        does, the one that saves the most bytes for each. Those that add a block come first."""
        if not self.is_smallest:
            return []
        found: dict[ChangeKind, Change] = {}
        one_less = (step for step in self._stages if step.fewer == 1)
        for step in (*self._pairs(), *one_less):
            change = self._planned(step, now)
            if change is None:
                continue
            before = found.get(change.kind)
            if before is None or self._merit(change) > self._merit(before):
                found[change.kind] = change
        return sorted(found.values(), key=self._merit, reverse=True)

    @cached_property
    def is_smallest(self) -> bool:
        """Whether the plan was packed for the fewest bytes by its own ranges and conflicts."""
        made = self._plan.provenance
        smallest = (made.packer, made.objective) == ("best", "bytes") and not made.is_own
        return smallest and made.fallback is None and bool(self._plan.offsets)

    def _merit(self, change: Change) -> tuple[bool, float, int]:
        saved = self._plan.arena_bytes - change.arena_bytes
        if change.adds_block:
            return True, -change.statements, saved
        return False, saved / change.statements, saved

    @cached_property
    def _problem(self) -> Problem:
        return self._ranges.problem()

    @cached_property
    def _constant(self) -> Sequence[Buffer]:
        return self._ranges.constant

    def _planned(self, step: Trial, now: Residents | None) -> Change | None:
        """What becomes of the arena; None if it is no smaller, or not proved to be."""
        arena = self.packed((step,), self._plan.arena_bytes - 1)
        if arena is None or self.spills((step,)):
            return None
        blocks = self.blocks_at(arena, (step,))
        adds = now is not None and blocks is not None and blocks > now.blocks
        told, then = step.told, self._residents[arena]
        stopped_by = () if then is None else then.limits
        if then is not None and blocks is not None and blocks < then.blocks:
            stopped_by = (REGISTERS,)  # those that the change takes
        return Change(
            *(told.kind, told.buffers, told.condition, told.statements, arena, blocks, adds),
            stopped_by,
        )

    @property
    def arena_bytes(self) -> int:
        return self._plan.arena_bytes

    def blocks_at(self, arena: int, steps: Trials = ()) -> int | None:
        """Resident blocks if the arena had so many bytes, and threads the registers that changes
        take; None where they are not known."""
        if arena not in self._residents:
            plans = [replace(self._plan, arena_bytes=arena), *self._beside]
            self._residents[arena] = residents_of(self._kernel, plans, self._arch)
        found = self._residents[arena]
        taken = self._registers_with(steps)
        if found is None or found.threads is None or taken is None:
            return None if found is None else found.blocks
        return min(found.by_memory, most_by_registers(found.threads, taken))

    def spills(self, steps: Trials) -> bool:
        """Whether changes take more registers than a thread can have."""
        taken, threads = self._registers_with(steps), threads_of(self._kernel)
        if taken is None or threads is None:
            return False
        return taken > most_registers(threads, least_blocks(self._kernel.body))

    def agree(self, steps: Trials) -> bool:
        """Whether the orders that changes bring about can be had together."""
        return self._conditions.agree([step.order for step in steps if step.order is not None])

    def _registers_with(self, steps: Trials) -> int | None:
        """Registers of each thread with the changes made; None if these take none, or warp groups
        hand registers over."""
        more = sum(step.told.registers for step in steps)
        found = registers_of(self._kernel)
        if not more or found is None or found.source is RegisterSource.HAND_OVER:
            return None
        return found.count + more

    # Packing with changes -----------------------------------------------------------------------

    def problem_with(self, steps: Trials) -> Problem:
        """The packing problem with these changes made."""
        problem = self._problem
        lifted = [step.pair for step in steps if step.pair is not None]
        if len(lifted) == 1:
            problem = without_conflict(problem, *lifted[0])
        elif lifted:
            apart = {frozenset(pair) for pair in lifted}
            kept = [pair for pair in problem.conflicts.edges if frozenset(pair) not in apart]
            problem = bounded(problem.sizes, problem.alignments, kept, problem.names)
        smaller = dict(change for step in steps for change in step.sizes)
        if smaller:
            sizes = [smaller.get(item, size) for item, size in enumerate(problem.sizes)]
            problem = with_sizes(problem, sizes)
        changed = {step.pair for step in steps}
        return with_conflicts(problem, [pair for pair in self._learned if pair not in changed])

    def heaviest(self, steps: Trials) -> list[tuple[str, int]]:
        """The buffers of which no two may share with these changes made, by name and bytes, the
        largest first: no arena is smaller than all of them."""
        problem = self.problem_with(steps)
        items = sorted(heaviest_together(problem), key=lambda item: -problem.sizes[item])
        return [(self.name(item), problem.sizes[item]) for item in items]

    def name(self, item: int) -> str:
        """The buffer that an item of the problem is."""
        return self._explainer.names[self._constant[item]]

    def packed(self, steps: Trials, most: int) -> int | None:
        """The arena with these changes; None if no plan of at most so many bytes is proved.

        A pair that such a plan lets share, and must not, is kept apart from then on.
        """
        for _ in range(MOST_LEARNED):
            problem = self.problem_with(steps)
            if problem.lower_bound > most:
                return None
            placement = PACKERS["best"](problem)
            if placement.arena > most:
                return None
            unproved = self._unproved(problem, placement, steps)
            if not unproved:
                return placement.arena
            self._learned.update(dict.fromkeys(unproved))
        return None

    def _unproved(
        self, problem: Problem, placement: Placement, steps: Trials
    ) -> list[tuple[int, int]]:
        """The pairs that share in a placement, and are not proved to and not changed."""
        sizes, offsets = problem.sizes, placement.offsets
        changed = {step.pair for step in steps}
        found = []
        for one, two in combinations(range(len(sizes)), 2):
            begin = max(offsets[one], offsets[two])
            overlap = begin < min(offsets[one] + sizes[one], offsets[two] + sizes[two])
            pair = (self._constant[one], self._constant[two])
            if overlap and (one, two) not in changed and not self._may_share(pair):
                found.append((one, two))
        return found

    def _may_share(self, pair: BufferPair) -> bool:
        if self._plan.shared_bytes(*pair):
            return True
        return self._explainer.pair(pair, most=OF_CHANGES).may_share

    # What may be changed ------------------------------------------------------------------------

    def steps_against(self, problem: Problem) -> Iterator[Trial]:
        """The changes that may lower what is heaviest together, those of the most bytes first."""
        heaviest = heaviest_together(problem)
        yield from (step for step in self._stages if step.touches(heaviest))
        edges = [edge for edge in self._edges(problem) if heaviest.issuperset(edge)]
        for edge in self._by_size([edge for edge in edges if edge not in self._learned]):
            step = self._pair(edge)
            if step is not None:
                yield step

    def _pairs(self) -> Iterator[Trial]:
        """One pair of buffers may share. Only one of what is heaviest can help where the arena is
        no larger than that."""
        problem = self._problem
        edges = self._edges(problem)
        if self._plan.arena_bytes == problem.lower_bound:
            heaviest = heaviest_together(problem)
            edges = [edge for edge in edges if set(edge) <= heaviest]
        for edge in self._by_size(edges):
            step = self._pair(edge)
            if step is not None:
                yield step

    def all_steps(self) -> Trials:
        """All pairs that may be made to share, and the fewest stages of each loop."""
        steps = map(self._pair, self._by_size(self._edges(self._problem)))
        fewest = {step.stages: step for step in self._stages}
        return (*(step for step in steps if step is not None), *fewest.values())

    @staticmethod
    def _edges(problem: Problem) -> list[tuple[int, int]]:
        return [(min(edge), max(edge)) for edge in problem.conflicts.edges]

    def _by_size(self, edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        sizes = self._problem.sizes
        return sorted(edges, key=lambda edge: (-min(sizes[one] for one in edge), edge))[:MOST_PAIRS]

    def _pair(self, edge: tuple[int, int]) -> Trial | None:
        """The change that lets two items share; None where no single one is known."""
        if edge not in self._known:
            found = self._conditions.of((self._constant[edge[0]], self._constant[edge[1]]))
            self._known[edge] = None if found is None else Trial(found.told, edge, found.order)
        return self._known[edge]

    @cached_property
    def _stages(self) -> Sequence[Trial]:
        """Fewer stages for all buffers of a loop that have the same number of them."""
        return [*self._fewer_stages()]

    def _fewer_stages(self) -> Iterator[Trial]:
        found = facts_of(self._kernel).ask(stages_of)
        knob = " (`num_stages`)" * (version_of(self._kernel).key == TILELANG)
        for stages in dict.fromkeys(found.values()):
            items = [item for item, one in enumerate(self._constant) if found.get(one) == stages]
            names = tuple(self._explainer.names[self._constant[item]] for item in items)
            for left in range(stages.count - 1, 0, -1) if items else ():
                condition = (
                    f"if the loop {where(stages.loop)} had {left} stage{'s' if left > 1 else ''} "
                    f"instead of {stages.count}{knob}{_NO_OVERLAP * (left == 1)}"
                )
                sizes = ((item, self._problem.sizes[item]) for item in items)
                yield Trial(
                    ChangeStep(ChangeKind.STAGES, names, condition, 1),
                    sizes=tuple((item, size // stages.count * left) for item, size in sizes),
                    stages=stages,
                    fewer=stages.count - left,
                )
