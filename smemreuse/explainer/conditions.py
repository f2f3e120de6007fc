"""What would let two buffers share: a sentence for a change, and how many statements it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from smemreuse.analysis.stages import stages_of
from smemreuse.explainer.pairs import OF_CHANGES, BufferPair, Explainer, where
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.results.explanation import Explanation
from smemreuse.results.headroom import ChangeKind, ChangeStep
from smemreuse.results.rules import Rule
from smemreuse.results.sequence import StmtEntry
from smemreuse.semantics.products import Ahead, Products
from smemreuse.targets.architectures import threads_of

_REMEDY: Mapping[Rule, str] = {
    Rule.EVERY_ACCESS: "if it were known where the address of {one} or {two} goes",
    Rule.LOOP_CARRIED: "if each iteration wrote what it reads",
    Rule.WHILE_LOOP: "if each iteration wrote what it reads",
    Rule.DIVERGENT_ARMS: "if a barrier of all threads, or mbarriers, ordered {one} and {two}",
    Rule.IN_FLIGHT: "if the kernel waited for asynchronous accesses before {one} and {two} share",
    Rule.BARRIER: "if {one} and {two} were used where all threads can meet at a barrier",
    Rule.CLUSTER: "if a barrier of the cluster stood between {one} and {two}",
    Rule.PROXY: "if a proxy fence stood between {one} and {two}",
}
"""What would meet a rule, by what it says against a pair. Rules that are not here have none."""


_REMEDY_OF_CHECKER: Mapping[Rule, str] = {
    **_REMEDY,
    Rule.BARRIER: "if a barrier of all threads stood between {one} and {two}",
}
"""The same where it is the checker that found the rule broken, and nothing else."""


_REGISTER_BYTES = 4

_FIRST = {
    Ahead.IN_REGISTERS: "an mma, which takes them from registers anyway",
    Ahead.AS_FIRST_MATRIX: "a wgmma, which takes its first one from there",
}
"""Why an operand may wait in registers, by what the product is."""


@dataclass(frozen=True)
class _Way:
    """A move of statements: a sentence, how many it moves, how many registers of each thread it
    takes, and which buffer is done with before which one begins."""

    condition: str
    statements: int
    registers: int = 0
    order: BufferPair | None = None


@dataclass(frozen=True)
class PairChange:
    """A change as it is told, and which buffer it has done with before which one begins."""

    told: ChangeStep
    order: BufferPair | None = None


def products_of(facts: KernelFacts) -> Products:
    """What the products of a kernel need together."""
    return Products.of(facts.kernel.body, facts.accesses, facts.pointers)


class Conditions:
    """The changes of one kernel that would let pairs of its buffers share."""

    def __init__(self, kernel: Kernel, explainer: Explainer):
        self._kernel = kernel
        self._explainer = explainer

    def agree(self, orders: Sequence[BufferPair]) -> bool:
        """Whether buffers can be done with before others in all of these orders at once."""
        after: dict[Buffer, set[Buffer]] = {}
        for first, second in orders:
            after.setdefault(first, set()).add(second)
        products = facts_of(self._kernel).ask(products_of)
        for first in after:
            reached, pending = set[Buffer](), [*after[first]]
            while pending:
                one = pending.pop()
                if one is first or products.before(first, one) is Ahead.NEVER:
                    return False
                if one not in reached:
                    reached.add(one)
                    pending += after.get(one, ())
        return True

    def of(self, pair: BufferPair) -> PairChange | None:
        """The change that lets a pair share; None where one change is not enough, or no remedy is
        known."""
        together = self._explainer.is_touched_together(pair)
        most = 0 if together else OF_CHANGES  # no verdict is needed then
        found = self._explainer.pair(pair, most=most)
        against = [(one.rule, one.sentence) for one in found.causes if one.rule is not None]
        if together:
            return None if against else self._reordered(found)
        known = _REMEDY
        if not found.causes and not found.verdict.uncovered:
            against = [
                (each.rule, f"{each.witness} (rule {each.rule})")
                for each in found.verdict.violations
            ]
            known = _REMEDY_OF_CHECKER
        remedies = {known.get(rule) for rule, _ in against}
        remedy = remedies.pop() if len(remedies) == 1 else None
        if remedy is None:
            return None
        one, two = found.names
        handed = facts_of(self._kernel).undeclared
        if any(buffer in handed for buffer in found.buffers):
            remedy = "if it were known what is done to {one} and {two}"
        condition = f"{remedy.format(one=one, two=two)}; now: {against[0][1]}"
        return PairChange(ChangeStep(ChangeKind.PAIR, found.names, condition, len(against)))

    def _reordered(self, found: Explanation) -> PairChange | None:
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
        if not ways:
            return None
        way = min(ways, key=lambda way: way.statements)
        count = max(1, way.statements)  # a scope that needs one, and the other inside of it
        told = ChangeStep(ChangeKind.RANGE, found.names, way.condition, count, way.registers)
        return PairChange(told, way.order)

    def _ways(
        self,
        at: dict[Buffer, list[int]],
        entries: Sequence[StmtEntry],
        first: Buffer,
        second: Buffer,
    ) -> Iterator[_Way]:
        """Moves that separate two live ranges."""
        one, two = (self._explainer.names[buffer] for buffer in (first, second))
        begin, end = at[second][0], at[second][-1]
        until, after = at[first][-1], [each for each in at[first] if each > begin]
        ahead = [each for each in at[second] if each < until]
        before = [each for each in at[first] if each < begin]

        def stmt_at(position: int) -> str:
            return where(entries[position].stmt)

        how = facts_of(self._kernel).ask(products_of).before(first, second)
        if how is Ahead.NEVER:
            return
        last = f"now {stmt_at(until)} is its last use"
        if how is not Ahead.FREELY:
            taken = self._registers(first)
            loaded = "loaded to registers" + (f" ({taken}+ registers per thread)" if taken else "")
            both = f"both are operands of {_FIRST[how]}"
            yield _Way(
                f"if {one} were {loaded} before {two} begins at {stmt_at(begin)}: {both}; {last}",
                len(after),
                taken,
                order=(first, second),
            )
            return
        yield _Way(
            f"if {one} were not used any more once {two} begins at {stmt_at(begin)}; {last}",
            len(after),
            order=(first, second),
        )
        yield _Way(
            f"if {two} began only after the last use of {one}, {stmt_at(until)}; "
            f"now it begins at {stmt_at(begin)}",
            len(ahead),
            order=(first, second),
        )
        if before and after and after[0] > end:
            yield _Way(
                f"if {one} were not held over {two}, from {stmt_at(before[-1])} "
                f"to {stmt_at(after[0])}, but written again after it",
                1,
            )

    def _registers(self, buffer: Buffer) -> int:
        """How many registers of each thread a stage of a buffer fills, spread over all threads; 0
        where that is not known."""
        threads = threads_of(self._kernel)
        if not threads or not buffer.size:
            return 0
        stages = facts_of(self._kernel).ask(stages_of).get(buffer)
        taken = buffer.size // (stages.count if stages else 1)
        return -(-taken // (threads * _REGISTER_BYTES))
