"""Why two buffers may share bytes, or what forbids it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.checker import work_of
from smemreuse.explainer.plans import judged_plan
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Buffer, Kernel, Stmt, unique_names
from smemreuse.ir.labels import brief, end_of_scope
from smemreuse.ir.source import place_words, source_of
from smemreuse.pipeline.judging import judge_offsets
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.planner.problem import align_up
from smemreuse.policies.attribution import outer
from smemreuse.policies.dataflow import Dataflow, Reason, dataflow
from smemreuse.progress import track
from smemreuse.results.explanation import LIVE_TOGETHER, NOT_JUDGED, Cause, Explanation
from smemreuse.results.plan import Plan
from smemreuse.results.rules import Rule
from smemreuse.results.sequence import LiveRange, StmtEntry
from smemreuse.results.verdict import LIMIT_OF_WORK, UNSOUND, Judged, Verdict

BufferPair = tuple[Buffer, Buffer]


OF_PAIRS = 300_000_000
"""Units of work for the layouts of two buffers that are judged where all pairs are asked for."""

OF_CHANGES = 2 * OF_PAIRS
"""The same where changes to a kernel need some of them, with those that were judged before."""

OF_PAIR = 30_000
"""Units that each of these takes at least, for each of the kernel's buffers."""


class Explainer:
    """Explains pairs of buffers of one kernel and storage scope, analysed once for all of them.

    Pairs that share bytes in one of `plans` that is sound are proved by it.
    """

    def __init__(self, kernel: Kernel, scope: str, plans: Iterable[Judged] = ()):
        self._kernel = kernel
        self._scope = scope
        self._plans = [one for one in plans if one[1].sound]
        self._buffers = kernel.allocations(scope)
        self.names = unique_names(self._buffers)
        self._found = dataflow(kernel, scope)
        self._touched = live_ranges(self.entries)
        self._known: dict[BufferPair, Explanation] = {}
        self._spent = 0  # units of work for pairs

    @property
    def entries(self) -> Sequence[StmtEntry]:
        """The linear sequence under policy inner, on whose positions buffers are touched."""
        return self._found.sequence.entries

    @cached_property
    def _align(self) -> Mapping[Buffer, int]:
        return alignments(self._kernel, self._scope)

    @cached_property
    def _plan(self) -> Plan:
        return plan_kernel(self._kernel, self._scope, objective="bytes")

    @cached_property
    def _outer(self) -> tuple[dict[Buffer, LiveRange], list[tuple[set[Buffer], str]]]:
        """Live ranges under policy outer, and what each scope's entry touches."""
        entries = linearize(self._kernel, self._scope, outer).entries
        scopes = [({touch.buffer for touch in one.touched}, where(one.stmt)) for one in entries]
        return dict(live_ranges(entries)), scopes

    def pairs(self, most: int | None = None, of: Buffer | None = None) -> Iterator[Explanation]:
        """Every pair of buffers that are used, or those of one buffer, in program order.

        `most`: units of work for their layouts; without more of them a pair has no verdict of its
        own. Those come last that are touched together, of which a verdict hardly tells more.
        """
        used = self.pairs_used(of)
        asked = sorted(used, key=self.is_touched_together)
        found = {pair: self.pair(pair, most=most) for pair in track(asked, "explaining")}
        return (found[pair] for pair in used)

    def pairs_used(self, of: Buffer | None = None) -> list[BufferPair]:
        """The pairs of buffers that are used, or those of one buffer, in program order."""
        used = (buffer for buffer in self._buffers if buffer in self._found.live)
        return [pair for pair in combinations(used, 2) if of is None or of in pair]

    def pair(self, pair: BufferPair, *, most: int | None = None) -> Explanation:
        """The explanation of one pair; it is computed once. `most` as in `pairs`."""
        if pair not in self._known:
            found = self._explained(pair, most)
            if found.verdict is NOT_JUDGED:
                return found
            self._known[pair] = found
        return self._known[pair]

    def _explained(self, pair: BufferPair, most: int | None) -> Explanation:
        one, two = pair
        live = self._plan.live
        verdict = self._sharing_verdict(pair, most)
        causes = tuple(self._causes(self._found, pair))
        settled: tuple[str, ...] = ()
        if verdict.sound and not self.is_touched_together(pair):
            settled = tuple(cause.text for cause in causes)
            causes = ()
        return Explanation(
            pair,
            (self.names[one], self.names[two]),
            (_positions(live.get(one)), _positions(live.get(two))),
            causes,
            settled,
            verdict,
            self._kept_apart_by_outer(pair),
            (self._lifetime(one), self._lifetime(two)),
        )

    def _lifetime(self, buffer: Buffer) -> str:
        """The statements between which a buffer is live in the plan; empty if it is not used."""
        live, entries = self._plan.live.get(buffer), self._plan.entries
        if live is None:
            return ""
        last = entries[live.end - 1]
        end = end_of_scope(last.stmt) if last.scope_pair_offset < 0 else where(last.stmt)
        return f"from {where(entries[live.begin].stmt)} to {end}"

    def _sharing_verdict(self, pair: BufferPair, most: int | None) -> Verdict:
        """The checker's verdict on a plan, or on the smallest, if that is sound and the two share
        bytes there: other sharing in it may bring the barriers that they need. Else on a layout in
        which only the two share: both at 0, others after.
        """
        for plan, verdict in (*self._plans, self._smallest):
            if verdict.sound and plan.shared_bytes(*pair):
                return verdict
        work = work_of(self._kernel)
        if most is not None and self._spent + max(work.of_proof, 1) > most:
            return NOT_JUDGED  # what is begun would end without an answer
        before = work.done
        verdict = self._alone(pair, None if most is None else most - self._spent)
        self._spent += max(work.done - before, OF_PAIR * len(self._buffers))
        is_cut_short = any(one.startswith(LIMIT_OF_WORK) for one in verdict.uncovered)
        is_judged = most is None or verdict.verdict is UNSOUND or not is_cut_short
        return verdict if is_judged else NOT_JUDGED

    @cached_property
    def _smallest(self) -> Judged:
        return judged_plan(self._kernel, self._scope, objective="bytes")

    def _alone(self, pair: BufferPair, most: int | None) -> Verdict:
        align = self._align
        offsets = {pair[0]: 0, pair[1]: 0}
        end = max(buffer.size or 0 for buffer in pair)
        for buffer in self._buffers:
            if buffer not in offsets and buffer.size is not None:
                offsets[buffer] = align_up(end, align[buffer])
                end = offsets[buffer] + buffer.size
        return judge_offsets(self._kernel, self._scope, offsets, end, align, most=most)

    def _causes(self, found: Dataflow, pair: BufferPair) -> Iterator[Cause]:
        """What decides comes first: `forbidden_by` names that."""
        one, two = pair
        if self.is_touched_together(pair):
            yield _live_together(self._plan.live, self._plan.entries, pair)
        concurrent = found.concurrent.get(frozenset(pair))
        if concurrent is not None:
            yield _because(concurrent, f"{self.names[one]} and {self.names[two]} are ")
        for buffer in pair:
            if buffer.size is None:
                yield _cause(Rule.SYMBOLIC_SIZE, f"the size of {self.names[buffer]} is not known")
        if one in found.live and two in found.live and found.live[one].overlaps(found.live[two]):
            for buffer in pair:
                other = found.live[two if buffer is one else one]
                for widening in found.widened[buffer]:
                    if widening.meets(other):
                        yield _because(widening.reason, f"{self.names[buffer]}: ")
            if not self.is_touched_together(pair):
                yield _live_together(found.live, found.sequence.entries, pair, "so widened, ")

    def is_touched_together(self, pair: BufferPair) -> bool:
        """Whether their accesses alone make the two live together, before any rule does."""
        touched = [self._touched[buffer] for buffer in pair if buffer in self._touched]
        return len(touched) == 2 and touched[0].overlaps(touched[1])

    def _kept_apart_by_outer(self, pair: BufferPair) -> str:
        live, scopes = self._outer
        if not all(buffer in live for buffer in pair) or not live[pair[0]].overlaps(live[pair[1]]):
            return ""
        both = next((place for touched, place in scopes if touched >= set(pair)), None)
        if both is None:
            return "their outermost scopes overlap"
        return f"both buffers are touched in {both}, and it takes them to be live in all of it"


def explainer_of(kernel: Kernel, scope: str) -> Explainer:
    """The explainer of a kernel and scope; it is cached with the kernel."""
    return facts_of(kernel).ask(explainer_made, scope)


def explainer_made(facts: KernelFacts, scope: str) -> Explainer:
    return Explainer(facts.kernel, scope)


def explained_pairs(
    kernel: Kernel, scope: str, wanted: Sequence[str] = ()
) -> tuple[Explanation, ...] | None:
    """The two buffers wanted by name, all pairs with the one, or all pairs of a kernel's buffers.

    None if the kernel has none of such a name in `scope`.
    """
    by_name = {name: one for one, name in unique_names(kernel.allocations(scope)).items()}
    if not all(name in by_name for name in wanted):
        return None
    explainer = explainer_of(kernel, scope)
    if len(wanted) == 2:
        return (explainer.pair((by_name[wanted[0]], by_name[wanted[1]])),)
    return tuple(explainer.pairs(OF_PAIRS, by_name[wanted[0]] if wanted else None))


def _positions(live: LiveRange | None) -> tuple[int, int] | None:
    return None if live is None else (live.begin, live.end)


def _live_together(
    live: Mapping[Buffer, LiveRange], entries: Sequence[StmtEntry], pair: BufferPair, why: str = ""
) -> Cause:
    both = max(live[buffer].begin for buffer in pair)
    return Cause(None, f"{why}{LIVE_TOGETHER} from {where(entries[both].stmt)} on")


def _because(reason: Reason, subject: str) -> Cause:
    place = f" in {where(reason.stmt)}" if reason.stmt is not None else ""
    return _cause(reason.rule, f"{subject}{reason.text}{place}")


def _cause(rule: Rule, text: str) -> Cause:
    return Cause(rule, f"rule {rule}: {text}")


def where(stmt: Stmt) -> str:
    """A statement for people, and its lines, of the dump and of the user's Python, if known."""
    return f"`{brief(stmt)}`{place_words(stmt.line, source_of(stmt))}"
