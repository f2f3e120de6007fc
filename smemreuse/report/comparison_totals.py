"""What `compare` tells of many kernels: totals, and the worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.text import Text

from smemreuse.report.columns import percent_text
from smemreuse.report.comparison_legends import BOUND
from smemreuse.report.titles import counted
from smemreuse.report.verdicts import kind_text, rules_lines, tally
from smemreuse.results.comparison import CHOSEN, Comparison, Concern
from smemreuse.results.verdict import VerdictKind
from smemreuse.results.words import DEFAULT_MERGE

WORST = 10

_ORDER = (VerdictKind.SOUND, VerdictKind.UNPROVED, VerdictKind.UNSOUND)


def summary_lines(rows: Sequence[Comparison]) -> Iterator[Text]:
    """How many there are, what they take together under each policy and how much of that is
    proved, and what the applied plans change."""
    held = [row for row in rows if row.buffers]
    sharing = {(row.file, row.kernel) for row in held}  # some in two scopes
    kernels = counted(len({(row.file, row.kernel) for row in rows}), "kernel")
    files = counted(len({row.file for row in rows}), "file")
    sums = f"; bytes of all, and their difference in % of the {DEFAULT_MERGE}:" if held else ""
    twice = len(held) - len(sharing)
    both = "1 kernel has" if twice == 1 else f"{twice:,} kernels have"
    scopes = f"; {len(held):,} layouts, as {both} two storage scopes"
    several = scopes if len(held) > len(sharing) else ""
    sizes = f"{files}: {kernels}, {len(sharing):,} with shared memory{several}{sums}"
    yield Text(sizes, style="bold")
    if held:
        yield from _totals(held)
        yield _changes(held)


def _totals(rows: Sequence[Comparison]) -> Iterator[Text]:
    """The sums of bytes one above the other, their differences from the default's, and verdicts."""
    policies = [one for one in rows[0].policies if all(one in row.policies for row in rows)]
    applied = rows[0].applied.policy
    usual = sum(row.usual_bytes for row in rows)
    sums = {CHOSEN: sum(row.applied.arena_bytes for row in rows)}
    sums[BOUND] = sum(row.applied.lower_bound_bytes for row in rows)
    sums[DEFAULT_MERGE] = usual
    sums["side by side"] = sum(row.side_by_side_bytes for row in rows)
    others = [one for one in policies if one != applied]
    sums |= {one: sum(row.policies[one].arena_bytes for row in rows) for one in others}
    width = max(len(f"{value:,}") for value in sums.values())
    for name, value in sums.items():
        change = percent_text(value, usual) if usual and name != DEFAULT_MERGE else ""
        line = Text(f"  {name:<{len(BOUND)}}  {value:>{width},} bytes  {change:>8}")
        policy = applied if name == CHOSEN else name
        if policy in policies:
            verdicts = Counter(row.policies[policy].verdict for row in rows)
            line.append("  ").append_text(tally(verdicts, _ORDER, kind_text))
        line.rstrip()
        yield line


def not_sound_lines(rows: Sequence[Comparison], titles: Sequence[str]) -> Iterator[Text]:
    """Of which kernels a policy's layout, other than the chosen one, is not proved sound, where no
    concern tells it."""
    found: dict[tuple[str, VerdictKind], list[str]] = {}
    for row, title in zip(rows, titles, strict=True):
        for name, one in row.policies.items():
            told = one is row.stock and row.concern is Concern.STOCK_UNSOUND
            if not told and one is not row.applied and one.verdict is not VerdictKind.SOUND:
                found.setdefault((name, one.verdict), []).append(title)
    for (name, verdict), named in sorted(found.items(), key=lambda one: one[0][0], reverse=True):
        rest = len(named) - _MOST_NAMED
        of = ", ".join(named[:_MOST_NAMED]) + (f" and {rest:,} more (--all)" if rest > 0 else "")
        yield Text(
            f"not chosen: {name}'s layout of {of}, which is {verdict}",
            style="dim",
        )


_MOST_NAMED = 2
"""Kernels of one verdict that are named."""


def _changes(rows: Sequence[Comparison]) -> Text:
    """What the chosen layouts change of what compilers do by default."""
    smaller = [row.saved_bytes for row in rows if row.saved_bytes > 0]
    larger = [-row.saved_bytes for row in rows if row.saved_bytes < 0]
    more = sum(row.gains_block for row in rows)
    fitting = sum(row.applied.fits is True and row.stock.fits is False for row in rows)
    all_told = " in all" if len(smaller) > 1 else ""
    parts = [f"{len(smaller):,} smaller by {sum(smaller):,} bytes{all_told}"] if smaller else []
    all_told = " in all" if len(larger) > 1 else ""
    parts += [f"{len(larger):,} larger by {sum(larger):,} bytes{all_told}"] if larger else []
    parts += [f"{more or 'none'} with more blocks per SM"] if more or smaller else []
    parts += [f"{fitting:,} that only so can launch"] if fitting else []
    return Text(
        f"chosen layouts against the {DEFAULT_MERGE}: {', '.join(parts) or 'as many bytes'}"
    )


def worst_lines(rows: Sequence[Comparison], titles: Sequence[str], width: int) -> Iterator[Text]:
    """The ten against which there is most to say, in lines of `width` characters; every kind of
    concern has its turn."""
    concerned = [(row, title) for row, title in zip(rows, titles, strict=True) if row.concern]
    if not concerned:
        return
    kinds = []
    for concern in Concern:
        kind = [one for one in concerned if one[0].concern is concern]
        kinds.append(sorted(kind, key=lambda one: -one[0].weight))
    turns = [one for turn in zip_longest(*kinds) for one in turn if one is not None]
    shown = sorted(turns[:WORST], key=lambda one: [*Concern].index(one[0].concern or Concern.GAP))
    counts = Counter(row.concern for row, _ in concerned)
    by_concern = ", ".join(f"{one}: {counts[one]:,}" for one in Concern if counts[one])
    yield Text()
    some = f"the worst {len(shown)} of " if len(shown) < len(concerned) else ""
    kinds_told = f" ({by_concern})" if len(counts) > 1 else ""
    yield Text(f"To look at: {some}{len(concerned):,}{kinds_told}:", style="bold")
    for row, title in shown:
        yield from _concern_lines(row, title, width)
    yield from rules_lines(row.why for row, _ in shown)
    yield Text()


def _concern_lines(row: Comparison, title: str, width: int) -> Iterator[Text]:
    """A concern and its reason, which gets lines of its own where less than half of one is left."""
    line = Text(f"  {row.concern}: ", style=_style(row.concern)).append(f"{title}:", "default")
    if len(line) <= width // 2:
        yield line.append(f" {row.why}", "default")
    else:
        yield line
        yield Text(f"    {row.why}")


def _style(concern: Concern | None) -> str:
    return "bold red" if concern in (Concern.UNSOUND, Concern.TOO_LARGE) else "yellow"
