"""Why two buffers may share bytes, or what forbids it."""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.dataflow import Dataflow, Reason, dataflow
from smemreuse.judging import judge_offsets
from smemreuse.model.kernel import Buffer, Kernel
from smemreuse.model.verdict import Verdict
from smemreuse.planner.problem import align_up
from smemreuse.report.labels import label

Data = dict[str, object]


@dataclass(frozen=True)
class Explanation:
    """The static reasons against sharing, and the checker's own verdict on it.

    `reasons` are those that stand, none if sharing is proved. `settled` are of rules 4 and 5, where
    only a trace can tell whether mbarriers order the accesses, and it did.
    """

    names: tuple[str, str]
    live: tuple[tuple[int, int] | None, tuple[int, int] | None]
    reasons: tuple[str, ...]
    settled: tuple[str, ...]
    verdict: Verdict

    @property
    def may_share(self) -> bool:
        return not self.reasons and self.verdict.sound


def explain(
    kernel: Kernel, scope: str, names: dict[Buffer, str], pair: tuple[Buffer, Buffer]
) -> Explanation:
    """Explains one pair of buffers of a kernel and scope."""
    found = dataflow(kernel, scope)
    live = tuple(
        (found.live[buffer].begin, found.live[buffer].end) if buffer in found.live else None
        for buffer in pair
    )
    verdict = _sharing_verdict(kernel, scope, pair)
    reasons = tuple(_reasons(found, names, pair))
    settled: tuple[str, ...] = ()
    if verdict.sound and not _reasons(dataflow(kernel, scope, ordered_by_trace=True), names, pair):
        reasons, settled = (), reasons
    return Explanation(
        (names[pair[0]], names[pair[1]]), (live[0], live[1]), reasons, settled, verdict
    )


def _sharing_verdict(kernel: Kernel, scope: str, pair: tuple[Buffer, Buffer]) -> Verdict:
    """The checker on a layout in which only the two share: both at 0, the others behind them."""
    align = alignments(kernel, scope)
    offsets = {pair[0]: 0, pair[1]: 0}
    end = max(buffer.size or 0 for buffer in pair)
    for buffer in kernel.allocations(scope):
        if buffer not in offsets and buffer.size is not None:
            offsets[buffer] = align_up(end, align[buffer])
            end = offsets[buffer] + buffer.size
    return judge_offsets(kernel, scope, offsets, end, align)


def _reasons(found: Dataflow, names: dict[Buffer, str], pair: tuple[Buffer, Buffer]) -> list[str]:
    one, two = pair
    reasons = []
    concurrent = found.concurrent.get(frozenset(pair))
    if concurrent is not None:
        reasons.append(_text(concurrent, f"{names[one]} and {names[two]} are in "))
    for buffer in pair:
        if buffer.size is None:
            reasons.append(f"rule 9: the size of {names[buffer]} is not known")
    if one in found.live and two in found.live and found.live[one].overlaps(found.live[two]):
        for buffer in pair:
            for reason in found.widened[buffer]:
                reasons.append(_text(reason, f"{names[buffer]}: "))
        both = max(found.live[one].begin, found.live[two].begin)
        stmt = found.sequence.entries[both].stmt if both < len(found.sequence.entries) else None
        where = f" at `{label(stmt)}`{_line(stmt.line)}" if stmt is not None else ""
        reasons.append(f"live together from position {both} on{where}")
    return reasons


def _text(reason: Reason, subject: str) -> str:
    where = ""
    if reason.stmt is not None:
        where = f" in `{label(reason.stmt)}`{_line(reason.stmt.line)}"
    return f"rule {reason.rule}: {subject}{reason.text}{where}"


def _line(line: int | None) -> str:
    return f" (line {line})" if line else ""
