"""What a plan's bytes hang on, in words and as data."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rich.text import Text

from smemreuse.ir.labels import brief, end_of_scope
from smemreuse.ir.source import place_words, source_of
from smemreuse.report.data import Data, Subject, place_data
from smemreuse.report.residents import l1_more, residents_data
from smemreuse.report.titles import counted
from smemreuse.results.headroom import Change, Headroom, NextBlock
from smemreuse.results.plan import Plan
from smemreuse.results.residents import REGISTERS, SHARED_MEMORY, RegisterSource
from smemreuse.results.serialized import as_data, picked
from smemreuse.results.timeline import Step
from smemreuse.targets.architectures import architecture

Names = tuple[str, str]

_ARE_LIVE = "are live", ""

MOST_LIVE = 8
"""Buffers at the peak that get a line each."""


@dataclass(frozen=True)
class ShippedHeadroom:
    """The headroom of the layout that ships, made for an `objective`, and that of the smallest one
    that is proved, on which changes of the kernel were tried."""

    shipped: Headroom
    smallest: Headroom
    objective: str = "bytes"

    @property
    def unshared(self) -> int:
        """Bytes that the shipped layout takes though a smaller one is proved."""
        return max(0, self.shipped.arena_bytes - self.smallest.arena_bytes)

    @property
    def why_unshared(self) -> str:
        """Why those are not shared, by the objective."""
        if self.objective == "none":
            return "could be shared, which --objective none does not"
        then, now = self.smallest.residents, self.shipped.residents
        if self.objective != "speed" or then is None or now is None:
            return "could be shared"
        more = l1_more(then, now, architecture(now.arch))
        l1 = f"gains {more // 1024} KB of L1, which is not worth its barriers in loops"
        gain = l1 if more else "gains neither a resident block nor L1"
        return f"could be shared (--objective bytes), but that {gain}"

    @property
    def changes(self) -> tuple[Change, ...]:
        """Those that lower the bytes of what ships: where bytes are left unshared, others gain
        nothing."""
        changes = self.smallest.changes
        return tuple(one for one in changes if one.adds_block) if self.unshared else changes


def headroom_lines(
    both: ShippedHeadroom, *, everything: bool = False, unordered: Collection[Names] = ()
) -> Iterator[Text]:
    """The peak and who is live there, what stops the next block, and changes that take
    fewer bytes: of those that gain no block only the sizes, unless `everything` is asked for.

    `unordered` are pairs of buffers that are live together by the order of the text alone: a peak
    that has such a pair is assumed.
    """
    found = both.shipped
    if found.step is None:
        return
    peak = found.peak
    which = "all" if found.arena_bytes == peak.bytes else f"{peak.bytes:,} of the"
    there = {one.name for one in found.live}
    assumed = any(there.issuperset(pair) for pair in unordered)
    are, why = ("are taken to be live", ", by the order of the text") if assumed else _ARE_LIVE
    yield Text(
        f"peak: {which} {found.arena_bytes:,} bytes {are} at {place(found.step)}{why}:",
        style="bold",
    )
    width = max(len(one.name) for one in found.live[:MOST_LIVE])
    for one in found.live[:MOST_LIVE]:
        first, last = place(one.first), place(one.last)
        ends = f"only at {first}" if first == last else f"from {first} to {last}"
        yield Text(f"  {one.name:<{width}} {one.bytes:>7,} {ends}")
    if found.live[MOST_LIVE:]:
        rest = found.live[MOST_LIVE:]
        yield Text(f"  and {len(rest)} more of {sum(one.bytes for one in rest):,} bytes")
    yield from _beyond_lines(both)
    if found.residents is not None:
        yield Text(found.residents.words)
    if both.smallest.next_block is not None:
        yield from _next_block_lines(both.smallest.next_block, both)
    yield from _change_lines(both, everything or both.objective == "bytes")


def _change_lines(both: ShippedHeadroom, everything: bool) -> Iterator[Text]:
    """Changes that take fewer bytes, those that gain a block always in full."""
    told = [one for one in both.changes if one.adds_block or everything]
    for number, change in enumerate(told):
        lead = "cheapest change (fewest statements to rewrite)" if number == 0 else "  or"
        yield Text(f"{lead}: {change_words(change, both.shipped)}")
    rest = [one.arena_bytes for one in both.changes if one not in told]
    if rest:
        least = f"{'as few as ' if len(rest) > 1 else ''}{min(rest):,} bytes"
        what = f"{counted(len(rest), 'change')} of the source would reduce the arena to {least}"
        them = "it" if len(rest) == 1 else "them"
        why_not = _gains_nothing(both, min(rest))
        yield Text(f"{what}, {why_not} (--all lists {them})", style="dim")


def _gains_nothing(both: ShippedHeadroom, arena: int) -> str:
    """That no block is gained by so few bytes, and what stops it where shared memory would not."""
    residents = both.shipped.residents
    over = None if residents is None else residents.bytes_over
    if residents is None or not over or both.shipped.arena_bytes - arena < over:
        return "and gain no block"
    others = " and ".join(one for one in residents.limits if one != SHARED_MEMORY)
    return f"enough for one more block by shared memory, but not by {others}"


def _beyond_lines(both: ShippedHeadroom) -> Iterator[Text]:
    """What the bytes are for that are not live at the peak, and whose they are."""
    beyond = both.shipped.arena_bytes - both.shipped.peak.bytes
    if beyond <= 0:
        return
    unshared = min(both.unshared, beyond)
    shares = {
        both.why_unshared: unshared,
        _APART if both.shipped.beyond else _GAPS: beyond - unshared,
    }
    parts = [(size, why) for why, size in shares.items() if size]
    other = f"the other {beyond:,} bytes{_owners(both.shipped)}"
    if len(parts) == 1:
        yield Text(f"  {other} {parts[0][1]}")
    else:
        told = "; ".join(f"{size:,} {why}" for size, why in parts)
        yield Text(f"  {other}: {told}")


_APART = "lie beside those, where conflicts with other buffers, or alignment, leave them no room"
_GAPS = "are gaps that alignment leaves"
"""What lies where nothing is live at the peak: buffers that are not live there, or gaps."""

MOST_NAMED = 6
"""Buffers that a sentence names; more are counted."""


def _owners(found: Headroom) -> str:
    """The buffers that lie beside those of the peak, in parentheses; empty for gaps alone."""
    if not found.beyond:
        return ""
    rest = len(found.beyond) - MOST_NAMED
    named = ", ".join(found.beyond[:MOST_NAMED])
    return f" ({named}{f' and {rest} more' if rest > 0 else ''}, not live there)"


def _next_block_lines(found: NextBlock, both: ShippedHeadroom) -> Iterator[Text]:
    """What gains a block, where no single change has told it, or that nothing does, where fewer
    bytes might be hoped to."""
    told, residents = both.changes, both.shipped.residents
    hoped = told or (residents is not None and SHARED_MEMORY in residents.limits)
    if found.why_not and hoped and not found.stopped_by:
        none_launches = residents is not None and residents.blocks == 0
        enough = f"to launch at all: {found.why_none('is enough')}; smaller tiles may be"
        yield Text(enough if none_launches else f"one more block: {found.why_not}")
    alone = len(found.changes) == 1 and any(
        one.adds_block and one.buffers == found.changes[0].buffers for one in told
    )
    if not found.changes or alone:
        return
    how = "with one change" if len(found.changes) == 1 else f"with {len(found.changes)} changes"
    blocks = counted(found.blocks or 0, "block")
    yield Text(f"one more block: {found.arena_bytes:,} bytes, {blocks}, {how}:")
    for number, change in enumerate(found.changes):
        yield Text(f"  {'and ' if number else ''}{change.condition}")


def registers_words(both: ShippedHeadroom) -> str:
    """That registers stop one more block and shared memory does not; or, where they are estimated,
    as how many a change of the shared memory gains one. Empty where neither is so."""
    residents, arena = both.shipped.residents, both.shipped.arena_bytes
    if residents is None or residents.registers is None or REGISTERS not in residents.limits:
        return ""
    if residents.limits == (REGISTERS,):
        return ", as registers stop it"
    saved = max((arena - one.arena_bytes for one in both.changes), default=0)
    is_estimate = residents.registers.source is RegisterSource.ESTIMATE
    if not (is_estimate and residents.most_registers and 0 < (residents.bytes_over or 0) <= saved):
        return ""
    most = f"{residents.most_registers} registers or fewer"
    return f"; if `ptxas -v` counts {most}, a change gains one (--all lists it)"


def place(step: Step) -> str:
    """A position's statement and line; of the end of a scope the lines from its head to its end."""
    if step.is_end:
        return end_of_scope(step.stmt)
    return f"`{brief(step.stmt)}`{place_words(step.stmt.line, source_of(step.stmt))}"


def change_words(change: Change, found: Headroom) -> str:
    """One change and its effect: the arena and the blocks per SM after it."""
    blocks = ""
    if found.residents is not None:
        many = counted(change.blocks or 0, "block")
        others = [one for one in change.stopped_by if one != SHARED_MEMORY]
        stop = f" ({' and '.join(others)} allow no more)" if others else ""
        blocks = f", {many}{stop}" if change.adds_block else ", no block more"
    saved = found.arena_bytes - change.arena_bytes
    to = f"from {found.arena_bytes:,} to {change.arena_bytes:,} bytes"
    return f"{to}, {saved:,} fewer{blocks}, {change.condition}"


def headroom_data(subject: Subject, found: Headroom, planned: Plan) -> Data:
    """One of the `summaries` of `smemreuse.explain/1`: of the smallest arena, and the bytes of the
    plan for the objective that was asked for."""
    return {
        **place_data(subject),
        "planned_bytes": planned.arena_bytes,
        "arena_bytes": found.arena_bytes,
        "peak": {
            **picked(found.peak, "bytes position"),
            **({} if found.step is None else _step(found.step)),
            "live": [
                {**picked(one, "name bytes"), "first": _step(one.first), "last": _step(one.last)}
                for one in found.live
            ],
        },
        "residents": residents_data(found.residents),
        **picked(found, "changes"),
        "next_block": _next_block(found.next_block),
    }


def _next_block(found: NextBlock | None) -> Data | None:
    if found is None:
        return None
    return picked(found, "bytes_over changes arena_bytes blocks stopped_by why_not")


def _step(step: Step) -> Data:
    lines = {"line": step.stmt.line, "source": as_data(source_of(step.stmt))}
    return {"statement": brief(step.stmt), **lines, "is_end": step.is_end}
