"""Why two buffers may share bytes, or what forbids it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.ir.kernel import Buffer, Kernel, Stmt, unique_names
from smemreuse.ir.labels import label
from smemreuse.pipeline.judging import judge_offsets
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.planner.problem import align_up
from smemreuse.policies.attribution import outer
from smemreuse.policies.dataflow import Dataflow, Reason, dataflow
from smemreuse.results.plan import Plan
from smemreuse.results.sequence import LiveRange, StmtEntry
from smemreuse.results.verdict import UNSOUND, Verdict
from smemreuse.semantics.table import waits_for_phase

Pair = tuple[Buffer, Buffer]

MAY, MUST_NOT, NOT_PROVED = "may", "must not", "not proved"
"""What is known of two buffers' sharing."""

_WORDS = {MAY: "may share", MUST_NOT: "must not share", NOT_PROVED: "not proved to share"}

LIVE_TOGETHER = "live together"
_KINDS = {
    1: "address kept",
    2: "loop-carried",
    4: "concurrent arms",
    5: "in flight",
    6: "no barrier can stand",
    9: "size not known",
}
"""What forbids sharing, by rule, in two or three words."""


@dataclass(frozen=True)
class Cause:
    """One thing that forbids sharing: a word or two, the rule if it is one's, and a sentence."""

    kind: str
    rule: int | None
    text: str


@dataclass(frozen=True)
class Explanation:
    """The static causes against sharing, and the checker's own verdict on it.

    `causes` are those that stand, none if sharing is proved. `settled` are of rules 4 and 5, where
    only a trace can tell whether mbarriers order the accesses, and it did. `outer` says why the
    rule of today's compilers keeps the two apart, empty where it does not. `live` are the ranges
    in the plan that `smemreuse plan` makes, None for a buffer that is not used.
    """

    buffers: Pair
    names: tuple[str, str]
    live: tuple[tuple[int, int] | None, tuple[int, int] | None]
    causes: tuple[Cause, ...]
    settled: tuple[str, ...]
    verdict: Verdict
    outer: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(cause.text for cause in self.causes)

    @property
    def sharing(self) -> str:
        """`MAY`, `MUST_NOT` where that is certain, or else `NOT_PROVED`."""
        if not self.causes and self.verdict.sound:
            return MAY
        is_certain = self.verdict.verdict == UNSOUND or self._leaves_no_doubt
        return MUST_NOT if is_certain else NOT_PROVED

    @property
    def _leaves_no_doubt(self) -> bool:
        """Whether a cause is certain by itself, where most rules only say what may be.

        No barrier can stand there, which the checker takes for granted; or both are in use at once.
        Arms that run concurrently are in no order, so in them the order of the text says nothing.
        """
        rules = {cause.rule for cause in self.causes}
        at_once = bool(self.causes) and self.causes[0].kind == LIVE_TOGETHER
        return 6 in rules or (at_once and 4 not in rules and not self.verdict.sound)

    @property
    def words(self) -> str:
        """`sharing` for people: `may share`, `must not share` or `not proved to share`."""
        return _WORDS[self.sharing]

    @property
    def may_share(self) -> bool:
        return self.sharing == MAY

    @property
    def forbidden_by(self) -> str:
        """The deciding rule's short name, as in `rule 2: loop-carried`; empty if they may share."""
        if self.may_share:
            return ""
        if not self.causes:
            return f"the byte trace: {self.verdict.verdict}"
        first = self.causes[0]
        return f"rule {first.rule}: {first.kind}" if first.rule else first.kind


class Explainer:
    """Explains pairs of buffers of one kernel and storage scope, analysed once for all of them."""

    def __init__(self, kernel: Kernel, scope: str):
        self._kernel = kernel
        self._scope = scope
        self._buffers = kernel.allocations(scope)
        self.names = unique_names(self._buffers)
        self._found = dataflow(kernel, scope)
        self._touched = live_ranges(self._found.sequence.entries)

    @cached_property
    def _align(self) -> Mapping[Buffer, int]:
        return alignments(self._kernel, self._scope)

    @cached_property
    def _plan(self) -> Plan:
        return plan_kernel(self._kernel, self._scope)

    @cached_property
    def _traced(self) -> Dataflow:
        return dataflow(self._kernel, self._scope, ordered_by_trace=True)

    @cached_property
    def _outer(self) -> tuple[dict[Buffer, LiveRange], list[tuple[set[Buffer], str]]]:
        """Live ranges under policy outer, and what each scope's entry touches."""
        entries = linearize(self._kernel, self._scope, outer).entries
        scopes = [({touch.buffer for touch in one.touched}, _where(one.stmt)) for one in entries]
        return dict(live_ranges(entries)), scopes

    def pairs(self, of: Buffer | None = None) -> Iterator[Explanation]:
        """Every pair of buffers that are used, or those of one buffer, in program order."""
        used = (buffer for buffer in self._buffers if buffer in self._found.live)
        for pair in combinations(used, 2):
            if of is None or of in pair:
                yield self.pair(pair)

    def pair(self, pair: Pair) -> Explanation:
        one, two = pair
        live = self._plan.live
        verdict = self._sharing_verdict(pair)
        causes = tuple(self._causes(self._found, pair))
        settled: tuple[str, ...] = ()
        if verdict.sound and self._trace_decides(pair):
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
        )

    def _trace_decides(self, pair: Pair) -> bool:
        """Whether what speaks against sharing may be settled by mbarriers, as a plan may assume.

        Plans are tried without rules 4 and 5, and in kernels with mbarriers on the bare ranges.
        """
        if not any(self._causes(self._traced, pair)):
            return True
        return waits_for_phase(self._kernel.body) and not self._touched_together(pair)

    def _sharing_verdict(self, pair: Pair) -> Verdict:
        """The checker on a layout in which only the two share: both at 0, the others behind."""
        align = self._align
        offsets = {pair[0]: 0, pair[1]: 0}
        end = max(buffer.size or 0 for buffer in pair)
        for buffer in self._buffers:
            if buffer not in offsets and buffer.size is not None:
                offsets[buffer] = align_up(end, align[buffer])
                end = offsets[buffer] + buffer.size
        return judge_offsets(self._kernel, self._scope, offsets, end, align)

    def _causes(self, found: Dataflow, pair: Pair) -> Iterator[Cause]:
        """What decides comes first: `forbidden_by` names that."""
        one, two = pair
        if self._touched_together(pair):
            yield _live_together(self._plan.live, self._plan.entries, pair)
        concurrent = found.concurrent.get(frozenset(pair))
        if concurrent is not None:
            yield _cause(concurrent, f"{self.names[one]} and {self.names[two]} are ")
        for buffer in pair:
            if buffer.size is None:
                yield Cause(_KINDS[9], 9, f"rule 9: the size of {self.names[buffer]} is not known")
        if one in found.live and two in found.live and found.live[one].overlaps(found.live[two]):
            for buffer in pair:
                other = found.live[two if buffer is one else one]
                for widening in found.widened[buffer]:
                    if widening.meets(other):
                        yield _cause(widening.reason, f"{self.names[buffer]}: ")
            if not self._touched_together(pair):
                yield _live_together(found.live, found.sequence.entries, pair, "so widened, ")

    def _touched_together(self, pair: Pair) -> bool:
        """Whether their accesses alone make the two live together, before any rule does."""
        touched = [self._touched[buffer] for buffer in pair if buffer in self._touched]
        return len(touched) == 2 and touched[0].overlaps(touched[1])

    def _kept_apart_by_outer(self, pair: Pair) -> str:
        live, scopes = self._outer
        if not all(buffer in live for buffer in pair) or not live[pair[0]].overlaps(live[pair[1]]):
            return ""
        both = next((where for touched, where in scopes if touched >= set(pair)), None)
        if both is None:
            return "their outermost scopes overlap"
        return f"both are touched in {both}, and it takes them to be live in all of it"


def _positions(live: LiveRange | None) -> tuple[int, int] | None:
    return None if live is None else (live.begin, live.end)


def _live_together(
    live: Mapping[Buffer, LiveRange], entries: Sequence[StmtEntry], pair: Pair, why: str = ""
) -> Cause:
    both = max(live[buffer].begin for buffer in pair)
    text = f"{why}live together from position {both} on at {_where(entries[both].stmt)}"
    return Cause(LIVE_TOGETHER, None, text)


def _cause(reason: Reason, subject: str) -> Cause:
    where = f" in {_where(reason.stmt)}" if reason.stmt is not None else ""
    text = f"rule {reason.rule}: {subject}{reason.text}{where}"
    return Cause(_KINDS[reason.rule], reason.rule, text)


def _where(stmt: Stmt) -> str:
    return f"`{label(stmt)}`" + (f" (line {stmt.line})" if stmt.line else "")
