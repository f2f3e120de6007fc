"""The output of `diff`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from smemreuse.report.data import Data
from smemreuse.report.titles import counted, holding
from smemreuse.results.difference import CauseKind, Difference, NamedLayout
from smemreuse.results.serialized import picked

ORDER = ", ".join(kind.value for kind in CauseKind)
"""The order in which bytes are attributed."""

BLOCKS = "blocks per SM are counted by shared memory and threads alone, without registers"
"""What the blocks of `heading` go by."""


UNTOLD = (
    "diff cannot know whether a kernel grew: each side has kernels that the other side lacks, or "
    "neither has any"
)


def growth_clauses(found: Sequence[Difference], *, untold: bool) -> list[str]:
    """Why the exit code is 1, a clause for each reason; `untold` where some of it is not known."""
    larger = sum(one.bytes > 0 for one in found)
    may_be = sum(one.may_be_growth and one.bytes <= 0 for one in found)
    lost = sum(one.blocks is not None and one.blocks[1] < one.blocks[0] for one in found)
    clauses = {
        f"{counted(larger, 'kernel')} took more bytes": larger,
        f"{counted(may_be, 'kernel')} may take more bytes, for sizes that are not known": may_be,
        f"{counted(lost, 'kernel')} lost a resident block": lost,
        UNTOLD: untold,
    }
    return holding(clauses)


def difference_lines(found: Difference, title: str | None = None) -> Iterator[Text]:
    """One kernel: what it took and takes, and the causes, the largest first.

    `title` is by default its name and scope.
    """
    yield Text(heading(found, title), style="bold" if found.bytes else "")
    telling = sorted((one for one in found.causes if one.bytes), key=lambda one: -abs(one.bytes))
    width = max((len(f"{one.bytes:+,}") for one in telling), default=0)
    for cause in telling:
        yield Text(f"  {cause.bytes:>+{width},}  {cause.text}")
    silent = [one for one in found.causes if not one.bytes]
    for cause in silent[:3]:
        yield Text(f"  {'+0':>{width}}  {cause.text}", style="dim")
    if silent[3:]:
        yield Text(f"  and {len(silent) - 3} more changes of 0 bytes (--format json)")
    for old, new in found.renamed:
        yield Text(
            f"  {new} is matched with {old} of the old kernel: the same bytes, accessed alike"
        )


def heading(found: Difference, title: str | None = None) -> str:
    """The kernel, and what its arena and its blocks were and are."""
    old, new = found.old, found.new
    grown = found.bytes
    more = f"{abs(grown):,} {'more' if grown > 0 else 'fewer'}" if grown else "no change"
    renamed = f", matched with {old.kernel}" if old.kernel != new.kernel else ""
    title = title or f"{new.kernel} ({new.scope})"
    if found.may_be_growth:
        more = "which may be more"
    before, after = old.symbolic or f"{old.arena:,}", new.symbolic or f"{new.arena:,}"
    sizes = f"{title}{renamed}: {before} to {after} bytes, {more}"
    blocks = found.blocks
    if blocks is None or old.residents is None or new.residents is None:
        return sizes
    on = new.residents.arch
    if on != old.residents.arch:
        return f"{sizes}; {blocks[0]} blocks per SM on {old.residents.arch}, {blocks[1]} on {on}"
    if blocks[0] == blocks[1]:
        return f"{sizes}; {blocks[0]} block{'s' if blocks[0] != 1 else ''} per SM of {on} as before"
    lost = blocks[1] < blocks[0] and new.residents.limits
    limits = f", limited by {' and '.join(new.residents.limits)}" if lost else ""
    return f"{sizes}; {blocks[0]} to {blocks[1]} blocks per SM of {on}{limits}"


def only_line(layout: NamedLayout, side: str) -> Text:
    """A kernel that only one side has."""
    what = "vanished" if side == "old" else "is new"
    return Text(f"{layout.kernel} ({layout.scope}) {what}: {layout.arena:,} bytes")


def difference_entry(found: Difference) -> Data:
    """One kernel of `smemreuse.diff/1`."""
    return {
        **picked(found.new, "name=kernel scope"),
        "old": side_data(found.old),
        "new": side_data(found.new),
        **picked(found, "bytes blocks_per_sm=blocks growth=is_growth"),
        "renamed": [{"old": old, "new": new} for old, new in found.renamed],
        **picked(found, "causes"),
    }


def side_data(layout: NamedLayout) -> Data:
    """One of the two plans that are compared."""
    place = picked(layout, "file name=kernel scope arena_bytes=arena")
    return {**place, "residents": _residents(layout)}


def _residents(layout: NamedLayout) -> Data | None:
    """Blocks by shared memory and threads alone; None where they are not known."""
    found = layout.residents
    return None if found is None else picked(found, "arch assumed blocks block_bytes")
