"""The cheapest changes of a kernel that would lower its arena.

Each is tried by planning anew with that one change: one pair that may share, or one stage less of a
pipeline, and all else as it is. A plan counts only if every other pair that it lets share is proved
to. Whether the algorithm allows the change is for its author to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from smemreuse.analysis.stages import stages_of
from smemreuse.explainer.pairs import BufferPair, Explainer, where
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.planner import PACKERS, Problem
from smemreuse.planner.problem import heaviest_together, with_sizes, without_conflict
from smemreuse.policies.packing import Liveness
from smemreuse.results.explanation import Explanation
from smemreuse.results.headroom import Change, ChangeKind
from smemreuse.results.plan import Plan
from smemreuse.results.residents import Residents
from smemreuse.results.rules import Rule
from smemreuse.results.sequence import StmtEntry
from smemreuse.targets.architectures import Architecture
from smemreuse.targets.residents import residents_of

MOST_PAIRS = 64
"""Pairs that are tried, those first that would save most."""

_REMEDY = {
    Rule.EVERY_ACCESS: "if it were known where the address of {one} or {two} goes",
    Rule.LOOP_CARRIED: "if each round wrote what it reads",
    Rule.WHILE_LOOP: "if each round wrote what it reads",
    Rule.DIVERGENT_ARMS: "if a barrier of all threads, or mbarriers, ordered {one} and {two}",
    Rule.IN_FLIGHT: "if that access were waited for before {one} and {two} meet",
    Rule.BARRIER: "if {one} and {two} were used where all threads can meet at a barrier",
    Rule.CLUSTER: "if a barrier of the cluster stood between {one} and {two}",
    Rule.PROXY: "if a proxy fence stood between {one} and {two}",
}
"""What would meet a rule, by what it says against a pair. Rules that are not here have none."""


_REMEDY_OF_CHECKER = {
    **_REMEDY,
    Rule.BARRIER: "if a barrier of all threads stood between {one} and {two}",
}
"""The same where it is the checker that found the rule broken, and nothing else."""


@dataclass(frozen=True)
class _Tried:
    """A change that is possible as far as the kernel's text tells, and its packing problem."""

    kind: ChangeKind
    buffers: tuple[Buffer, ...]
    condition: str
    statements: int
    problem: Problem


class Changes:
    """The changes that lower the arena of one plan, which has to be the smallest."""

    def __init__(self, kernel: Kernel, plan: Plan, explainer: Explainer, arch: Architecture | None):
        self._kernel = kernel
        self._plan = plan
        self._explainer = explainer
        self._arch = arch
        self._ranges = Liveness.of_plan(plan)

    def cheapest(self, now: Residents | None) -> list[Change]:
        """Of each kind the one with the fewest statements to change that adds a block; where none
        does, the one that saves the most bytes for each. Those that add a block come first."""
        if not self._is_smallest:
            return []
        found: dict[ChangeKind, Change] = {}
        for tried in (*self._pairs(), *self._stages()):
            change = self._planned(tried, now)
            if change is None:
                continue
            before = found.get(change.kind)
            if before is None or self._merit(change) > self._merit(before):
                found[change.kind] = change
        return sorted(found.values(), key=self._merit, reverse=True)

    @property
    def _is_smallest(self) -> bool:
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

    def _planned(self, tried: _Tried, now: Residents | None) -> Change | None:
        """What becomes of the arena; None if it is no smaller, or not proved to be."""
        if tried.problem.lower_bound >= self._plan.arena_bytes:
            return None
        placement = PACKERS["best"](tried.problem)
        if placement.arena >= self._plan.arena_bytes:
            return None
        sizes, offsets = tried.problem.sizes, placement.offsets
        for one, two in combinations(range(len(sizes)), 2):
            pair = (self._constant[one], self._constant[two])
            overlap = max(offsets[one], offsets[two]) < min(
                offsets[one] + sizes[one], offsets[two] + sizes[two]
            )
            changed = tried.kind is not ChangeKind.STAGES and set(pair) == set(tried.buffers)
            if overlap and not changed and not self._may_share(pair):
                return None
        smaller = replace(self._plan, arena_bytes=placement.arena)
        then = residents_of(self._kernel, [smaller], self._arch)
        blocks = None if then is None else then.blocks
        adds = now is not None and blocks is not None and blocks > now.blocks
        return Change(
            tried.kind,
            tuple(self._explainer.names[one] for one in tried.buffers),
            tried.condition,
            tried.statements,
            placement.arena,
            blocks,
            adds,
        )

    def _may_share(self, pair: BufferPair) -> bool:
        return bool(self._plan.shared_bytes(*pair)) or self._explainer.pair(pair).may_share

    def _pairs(self) -> Iterator[_Tried]:
        """One pair of buffers may share. Only one of what is heaviest can help where the arena is
        no larger than that."""
        problem, constant = self._problem, self._constant
        edges = [(min(edge), max(edge)) for edge in problem.conflicts.edges]
        if self._plan.arena_bytes == problem.lower_bound:
            heaviest = heaviest_together(problem)
            edges = [edge for edge in edges if set(edge) <= heaviest]
        edges.sort(key=lambda edge: (-min(problem.sizes[one] for one in edge), edge))
        for one, two in edges[:MOST_PAIRS]:
            pair = (constant[one], constant[two])
            found = self._condition(pair)
            if found is not None:
                yield _Tried(found[0], pair, *found[1:], without_conflict(problem, one, two))

    def _condition(self, pair: BufferPair) -> tuple[ChangeKind, str, int] | None:
        """The change that lets a pair share: its kind, a sentence, and how many statements change.

        None where one change is not enough, or no remedy is known.
        """
        found = self._explainer.pair(pair)
        against = [(cause.rule, cause.text) for cause in found.causes if cause.rule is not None]
        if self._explainer.is_touched_together(pair):
            return None if against else self._reordered(found)
        known = _REMEDY
        if not found.causes and not found.verdict.uncovered:
            against = [(each.rule, str(each)) for each in found.verdict.violations]
            known = _REMEDY_OF_CHECKER
        remedies = {known.get(rule) for rule, _ in against}
        remedy = remedies.pop() if len(remedies) == 1 else None
        if remedy is None:
            return None
        one, two = found.names
        condition = f"{remedy.format(one=one, two=two)}: {against[0][1]}"
        return ChangeKind.PAIR, condition, len(against)

    def _reordered(self, found: Explanation) -> tuple[ChangeKind, str, int] | None:
        """The order of the two in which the fewest of their statements would have to move."""
        one, two = found.buffers
        entries = self._explainer.entries
        at = {
            buffer: [
                position
                for position, entry in enumerate(entries)
                if any(touch.buffer is buffer for touch in entry.touched)
            ]
            for buffer in (one, two)
        }
        if set(at[one]) & set(at[two]):
            return None  # one statement needs both
        ways = [way for pair in ((one, two), (two, one)) for way in self._ways(at, entries, *pair)]
        condition, count = min(ways, key=lambda way: way[1])
        return ChangeKind.RANGE, condition, count

    def _ways(
        self,
        at: dict[Buffer, list[int]],
        entries: Sequence[StmtEntry],
        first: Buffer,
        second: Buffer,
    ) -> Iterator[tuple[str, int]]:
        """Moves that separate two live ranges: a sentence, and how many statements each moves."""
        one, two = (self._explainer.names[buffer] for buffer in (first, second))
        begin, end = at[second][0], at[second][-1]
        until, after = at[first][-1], [each for each in at[first] if each > begin]
        ahead = [each for each in at[second] if each < until]
        before = [each for each in at[first] if each < begin]

        def stmt_at(position: int) -> str:
            return where(entries[position].stmt)

        last = f"now {stmt_at(until)} is its last use"
        yield f"if {one} were done with before {two} begins at {stmt_at(begin)}; {last}", len(after)
        yield (
            f"if {two} began only behind the last use of {one}, {stmt_at(until)}; "
            f"now it does at {stmt_at(begin)}",
            len(ahead),
        )
        if before and after and after[0] > end:
            yield (
                f"if {one} were not held over {two}, from {stmt_at(before[-1])} "
                f"to {stmt_at(after[0])}, but written anew behind it",
                1,
            )

    def _stages(self) -> Iterator[_Tried]:
        """One stage less for all buffers of a loop that have the same number of them."""
        found = facts_of(self._kernel).ask(stages_of)
        for stages in dict.fromkeys(found.values()):
            group = [one for one in self._constant if found.get(one) == stages]
            fewer = stages.count - 1
            sizes = [
                (one.size or 0) // stages.count * fewer if one in group else one.size or 0
                for one in self._constant
            ]
            if group:
                condition = (
                    f"if the loop {where(stages.loop)} had {fewer} stage{'s' if fewer > 1 else ''} "
                    f"instead of {stages.count}"
                )
                kept = with_sizes(self._problem, sizes)
                yield _Tried(ChangeKind.STAGES, tuple(group), condition, 1, kept)
