"""What the headings of `compare`'s tables mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.columns import BLOCKS, by_registers, percent_text
from smemreuse.results.comparison import CHOSEN, Comparison, PolicyResult
from smemreuse.results.residents import ESTIMATED
from smemreuse.results.words import DEFAULT_MERGE

_KEPT = f"`kept`: the layout of the {DEFAULT_MERGE}, as no better one is proved."
_CHOSEN = (
    "smemreuse's layout (policy dataflow): the best for the objective of the layouts that are "
    "proved; if none is, the default one"
)
_OUTER = "outer, for comparison: what smemreuse's packing makes of the default merge's live ranges."
_INNER = (
    "inner, for comparison: what a rule takes by which a buffer lives from its first access to its "
    "last, even where a loop comes round to it again. That may be wrong: such a layout is chosen "
    "only where it is proved, and better for the objective"
)
_OF_INNER = "; its verdicts are on its own layouts, those to look at may be others"
BOUND = "its lower bound"
"""The lower bounds of the chosen layouts, among the totals."""
_MOST_ABOVE = 3
"""Kernels that are named whose layouts are above their bounds for one reason."""
SCOPES = (
    f"{BLOCKS} of a kernel in two scopes: each row has the other scope's buffers side by side, so "
    "the two may differ."
)
_MOST_TOLD = 4
"""Numbers of blocks whose registers are told; others are alike."""
_ABOVE = "above bound: bytes beyond the lower bound, in % of it."


def objective_lines(compared: Sequence[Comparison]) -> Iterator[Text]:
    """What plans are for, where that is not the fewest bytes."""
    if any(one.applied.objective == "speed" for one in compared):
        yield Text(
            "planned for speed: buffers share bytes only where that gains a resident block, or "
            "more L1 for no more barriers in loops than the default merge needs; else they lie "
            "side by side (--objective bytes plans the smallest arena)"
        )


def answer_lines(compared: Sequence[Comparison]) -> Iterator[Text]:
    """A sentence for each kernel: what is chosen, against what its compiler makes by default."""
    for row in compared:
        applied, name = row.applied, f"{row.kernel} ({row.scope})"
        if len({one.file for one in compared}) > 1:
            name = f"{printable(Path(row.file).name)}: {name}"
        limit = f"; that does not fit: {row.limit}" if applied.fits is False else ""
        blocks = ""
        if applied.resident:
            many = f"{applied.resident:,} block{'s' * (applied.resident > 1)} per SM"
            gain = row.default_blocks is not None and row.gains_block
            blocks = f"; {many}" + (f", {row.default_blocks:,} by default" if gain else "")
        yield Text(
            f"{name} takes {applied.arena_text} bytes{_against_default(row)}{blocks}{limit}",
            style="bold",
        )


def _against_default(row: Comparison) -> str:
    """How many bytes fewer or more than by default; nothing where that is not known."""
    if row.default_bytes is None or row.applied.symbolic:
        return ""
    default = f"{row.compiler or 'the compiler'}'s {DEFAULT_MERGE}"
    if not row.saved_bytes:
        return f", as many as {default}"
    more = "fewer" if row.saved_bytes > 0 else "more"
    change = percent_text(row.applied.arena_bytes, row.default_bytes)
    return f", {abs(row.saved_bytes):,} {more} than {default} ({change})"


def _default_words(compared: Sequence[Comparison]) -> str:
    """Whose default merges kernels are compared with."""
    names = [*filter(None, dict.fromkeys(row.compiler for row in compared))]
    verb = "make" if len(names) > 1 else "makes"
    return f"what {' and '.join(names) or 'the compiler'} {verb} by default"


def _registers_legend(results: Sequence[PolicyResult]) -> Iterator[Text]:
    """What blocks mean where registers stop some, of each number of blocks once."""
    told: dict[int, tuple[set[int], set[str]]] = {}
    for one in results:
        if one.resident is None or one.blocks is None or one.resident == one.blocks:
            continue
        allowed, words = told.setdefault(one.resident, (set(), set()))
        allowed.add(one.blocks)
        words.add(one.registers.words if one.registers else ESTIMATED)
    for resident, (allowed, words) in [*told.items()][:_MOST_TOLD]:
        least, most = min(allowed), max(allowed)
        numbers = f"{least} to {most}" if least < most else f"{least}"
        if least < most or len(words) > 1:
            numbers += ", as `smemreuse explain` says of each kernel"
        line = by_registers(resident, numbers, words.pop() if len(words) == 1 else "")
        yield Text(line, style="dim")


def _launch_legend(results: Sequence[PolicyResult]) -> Iterator[Text]:
    """That a layout may be sound and yet too large, where one is."""
    if any(one.fits is False for one in results):
        yield Text(
            "too large: no block launches, as it takes more shared memory than the GPU has for "
            "one; `sound` says only that no byte is overwritten too early.",
            style="dim",
        )


def _differ_by_scope(compared: Sequence[Comparison]) -> bool:
    """Whether a kernel has other blocks in one scope than in another one, under one policy."""
    blocks: dict[tuple[str, str, str], set[int | None]] = {}
    for row in compared:
        for name, found in row.policies.items():
            blocks.setdefault((row.file, row.kernel, name), set()).add(found.resident)
    return any(len(found) > 1 for found in blocks.values())


def blocks_change(row: Comparison) -> bool:
    """Whether the chosen layout has another number of resident blocks than the default."""
    known = row.default_blocks is not None and row.applied.resident is not None
    return known and row.default_blocks != row.applied.resident


def policies_legend(compared: Sequence[Comparison]) -> Iterator[Text]:
    """What the policies are, and which layouts their lower bound is of."""
    hoped = any(row.hoped_bytes is not None for row in compared)
    yield Text(f"{CHOSEN}: {_CHOSEN}.", style="dim")
    yield Text(
        f"{BOUND}: with these live ranges no layout takes fewer bytes; with inner's, which are "
        "shorter, one may.",
        style="dim",
    )
    yield Text(_OUTER, style="dim")
    yield Text(f"{_INNER}{_OF_INNER * hoped}.", style="dim")


def above_bound_lines(compared: Sequence[Comparison], titles: Sequence[str]) -> Iterator[Text]:
    """Why chosen layouts take more bytes than their lower bounds, those of one reason together,
    where nothing else is to say of them."""
    reasons: dict[str, list[str]] = {}
    for row, title in zip(compared, titles, strict=True):
        if row.why_above_bound:
            told = f"{title} ({row.applied.gap_bytes:,} bytes)"
            reasons.setdefault(row.why_above_bound, []).append(told)
    for why, named in reasons.items():
        rest = len(named) - _MOST_ABOVE
        more = f" and {rest:,} more" if rest > 0 else ""
        yield Text(f"above the lower bound: {', '.join(named[:_MOST_ABOVE])}{more}: {why}")


def kernels_legend(out: Console, compared: Sequence[Comparison]) -> Iterator[Text]:
    """What the headings of `kernels_table` mean."""
    yield Text(f"default: {_default_words(compared)}.", style="dim")
    yield Text("change: of the chosen layout, in % of default.", style="dim")
    if out.width > 99:
        yield Text(_ABOVE, style="dim")
    applied = [one.applied for one in compared]
    yield from _launch_legend(applied)
    if any(blocks_change(one) for one in compared):
        yield Text(f"{BLOCKS}, `2 -> 3`: 2 with the default, 3 with the chosen layout.")
    yield from _registers_legend(applied)


def compare_legend(compared: Sequence[Comparison]) -> Iterator[Text]:
    """What the headings and the policies of `compare_table` mean."""
    unknown = "; `-`: it makes no layout" * any(one.default is None for one in compared)
    yield Text(f"{DEFAULT_MERGE}: {_default_words(compared)}{unknown}.", style="dim")
    yield Text(f"{CHOSEN}: {_CHOSEN}.", style="dim")
    yield Text(_OUTER, style="dim")
    yield Text(f"{_INNER}; its verdict is on this one layout alone.", style="dim")
    yield Text("lower bound: no layout by the same live ranges takes fewer bytes.", style="dim")
    yield Text(_ABOVE, style="dim")
    yield Text("proved smallest: yes, no such layout is smaller; no, one may be.", style="dim")
    results = [one for row in compared for one in row.policies.values()]
    if any(one.own for one in results):
        yield Text(_KEPT, style="dim")
    yield from _launch_legend(results)
    if _differ_by_scope(compared):
        yield Text(SCOPES, style="dim")
    yield from _registers_legend(results)
