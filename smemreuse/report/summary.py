"""What `compare` tells first of many kernels: totals, what changes, and the worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.text import Text

from smemreuse.report.titles import counted
from smemreuse.report.verdicts import kind_text
from smemreuse.results.comparison import STOCK, Comparison, Concern
from smemreuse.results.verdict import VerdictKind

WORST = 10

_ORDER = (VerdictKind.SOUND, VerdictKind.UNPROVED, VerdictKind.UNSOUND)


def summary_lines(rows: Sequence[Comparison], files: int) -> Iterator[Text]:
    """How many there are, what they take together under each policy and how much of that is
    proved, and what the applied plans change."""
    held = [row for row in rows if row.buffers]
    without = len(rows) - len(held)
    more = f", {without:,} without" if without else ""
    kernels = counted(len(held), "kernel")
    yield Text(f"{counted(files, 'file')}: {kernels} with shared memory{more}", style="bold")
    if held:
        yield from _totals(held)
        yield _changes(held)


def _totals(rows: Sequence[Comparison]) -> Iterator[Text]:
    """The sums of bytes one above the other, how they differ from outer's, and the verdicts."""
    policies = [one for one in rows[0].policies if all(one in row.policies for row in rows)]
    sums = {"side by side": sum(row.side_by_side_bytes for row in rows)}
    sums |= {one: sum(row.policies[one].arena_bytes for row in rows) for one in policies}
    sums["lower bound"] = sum(row.applied.lower_bound_bytes for row in rows)
    stock = sum(row.stock.arena_bytes for row in rows)
    width = max(len(f"{value:,}") for value in sums.values())
    for name, value in sums.items():
        change = f"{100 * (value - stock) / stock:+.1f} %" if stock and name != STOCK else ""
        line = Text(f"  {name:<12}  {value:>{width},} bytes  {change:>9}")
        if name in policies:
            verdicts = Counter(row.policies[name].verdict for row in rows)
            line.append("  ").append_text(_verdicts(verdicts))
        line.rstrip()
        yield line


def _verdicts(found: Counter[VerdictKind]) -> Text:
    """`3 sound, 1 unproved`."""
    parts = [Text(f"{found[kind]:,} ").append_text(kind_text(kind)) for kind in _ORDER]
    there = [part for part, kind in zip(parts, _ORDER, strict=True) if found[kind]]
    return Text(", ").join(there)


def _changes(rows: Sequence[Comparison]) -> Text:
    """What `dataflow` changes of what compilers do by default."""
    smaller = [row.saved_bytes for row in rows if row.saved_bytes > 0]
    larger = [-row.saved_bytes for row in rows if row.saved_bytes < 0]
    more = sum((row.applied.blocks or 0) > (row.stock.blocks or 0) for row in rows)
    fitting = sum(row.applied.fits is True and row.stock.fits is False for row in rows)
    parts = [f"{len(smaller):,} smaller by {sum(smaller):,} bytes"] if smaller else []
    parts += [f"{len(larger):,} larger by {sum(larger):,}"] if larger else []
    parts += [f"{more:,} with more blocks per SM"] if more else []
    parts += [f"{fitting:,} that did not fit"] if fitting else []
    return Text(f"dataflow against outer: {', '.join(parts) or 'nothing changes'}")


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
    told = ", ".join(f"{concern}: {counts[concern]:,}" for concern in Concern if counts[concern])
    yield Text()
    yield Text(f"The worst {len(shown)} of {len(concerned):,} ({told}):", style="bold")
    for row, title in shown:
        yield from _concern_lines(row, title, width)
    yield Text()


def _concern_lines(row: Comparison, title: str, width: int) -> Iterator[Text]:
    """One line, or two where the reason would not have half of it."""
    line = Text(f"  {row.concern}: ", style=_style(row.concern)).append(f"{title}:", "default")
    if len(line) <= width // 2:
        yield _cut(line.append(f" {row.why}", "default"), width)
    else:
        yield line
        yield _cut(Text(f"    {row.why}"), width)


def _cut(line: Text, width: int) -> Text:
    """As much of a line as there is room for."""
    if len(line) <= width:
        return line
    line.truncate(width - 3)
    return line.append("...")


def _style(concern: Concern | None) -> str:
    return "bold red" if concern in (Concern.UNSOUND, Concern.TOO_LARGE) else "yellow"
