"""The output of `diff`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from smemreuse.report.data import Data
from smemreuse.report.residents import taken_words
from smemreuse.report.titles import counted, holding
from smemreuse.results.difference import (
    CauseKind,
    Difference,
    DifferenceCause,
    KernelDifference,
    NamedLayout,
    by_kernel,
)
from smemreuse.results.serialized import picked
from smemreuse.targets.architectures import architecture, most_by_registers
from smemreuse.targets.residents import blocks_with_fewer

ORDER = ", ".join(kind.value for kind in CauseKind)
"""The order in which bytes are attributed."""

LEGEND = (
    "bytes: what each change does to the arena, made one after another (first buffers that "
    "vanished, then sizes, live ranges, pairs that must not share, new buffers, padding, packing); "
    "so they add up to the difference"
)
"""What the bytes of several causes are."""
CHOSEN = "layouts: those that smemreuse chooses (`chosen` in compare), not the default merge's"
BY_POLICY = "layouts: those of policy {policy}, not the default merge's"
"""Which layouts are compared, by the policy."""
BLOCKS = (
    "blocks per SM: by shared memory, threads and barriers; registers, which may allow fewer, are "
    "not counted"
)
"""What the blocks of `heading` and of causes are."""

ACROSS = (
    "blocks are those of two GPUs: more shared memory on one may hide a block that a layout loses"
)
"""What the blocks of kernels are that are compared across architectures."""

STRANGERS = (
    "these seem to be two different kernels, as they have no buffer name in common: causes would "
    "mean nothing, and are not listed (--format json has them)"
)
"""Said before all else where there is one pair, and else below the heading of the pair."""

UNTOLD = (
    "diff cannot know whether a kernel grew: each side has kernels that the other side lacks, or "
    "neither has any"
)


def growth_clauses(found: Sequence[Difference], *, untold: bool) -> list[str]:
    """Why the exit code is 1, a clause for each reason; `untold` where some of it is not known."""
    kernels = by_kernel(found)
    larger = sum(one.bytes > 0 for one in kernels)
    may_be = sum(one.may_be_growth and one.bytes <= 0 for one in kernels)
    lost = sum(one.lost is not None for one in kernels)
    clauses = {
        f"{counted(larger, 'kernel')} took more bytes": larger,
        f"{counted(may_be, 'kernel')} may take more bytes, for sizes that are not known": may_be,
        _fewer_blocks(kernels, counted(lost, "kernel")): lost,
        UNTOLD: untold,
    }
    return holding(clauses)


def _fewer_blocks(found: Sequence[KernelDifference], who: str) -> str:
    """That kernels have fewer resident blocks; how many, of a single one."""
    lost = [one.lost for one in found if one.lost is not None]
    verb = "has" if len(lost) == 1 else "have"
    numbers = f" ({lost[0][0]} -> {lost[0][1]})" if len(lost) == 1 else ""
    return f"{who} {verb} fewer resident blocks by shared memory{numbers}"


def _matched_by(found: Sequence[KernelDifference], left: int) -> str:
    """By what kernels are matched, with how many by each where that is more than one thing, and how
    many are `left` over."""
    counts = Counter(_match_words(one.named) for one in found) or Counter({_BY_NAME: 0})
    over = [f"{left:,} left over"] * bool(left)
    if len(counts) == 1:
        (words,) = counts
        whole = "all " if words == _BY_NAME and not left else ""
        return "; ".join([f"{whole}matched {words}", *over])
    first, *more = (f"{many:,} {{}}{words}" for words, many in counts.most_common())
    return "; ".join([first.format("matched "), *(one.format("") for one in more), *over])


_BY_NAME = "by name"


def _match_words(one: Difference) -> str:
    if one.old.kernel == one.new.kernel:
        return _BY_NAME
    same_file = Path(one.old.file).name == Path(one.new.file).name
    how = "by file" if same_file else "as the only one left on each side"
    return f"{how} (names differ)"


def counts_line(found: Sequence[Difference], left: int = 0) -> str:
    """How many kernels are on both sides, by what they are matched and how many are `left` over,
    and how many grew, shrank or lost blocks."""
    kernels = by_kernel(found)
    grown = sum(one.bytes > 0 for one in kernels)
    fewer = sum(one.bytes < 0 for one in kernels)
    lost = sum(one.lost is not None for one in kernels)
    rest = len(kernels) - grown - fewer
    same = f", {rest} as many" if rest and len(kernels) > 1 else ""
    return (
        f"{counted(len(kernels), 'kernel')} compared, {_matched_by(kernels, left)}"
        f"{_architectures(found)}: "
        f"{grown} took more bytes, {fewer} fewer{same}; {_fewer_blocks(kernels, str(lost))}"
    )


def _architectures(found: Sequence[Difference]) -> str:
    """That kernels are compared across architectures, where some are."""
    sides = _sides(found)
    apart = sorted(one for one in sides if one[0] != one[1])
    if len(sides) == 1 and apart:
        return f", the old for {apart[0][0]} and the new for {apart[0][1]}"
    return ", some of different architectures" * bool(apart)


def _sides(found: Sequence[Difference]) -> set[tuple[str, str]]:
    """The architectures of old and new kernels."""
    known = [(one.old.residents, one.new.residents) for one in found]
    return {(old.arch, new.arch) for old, new in known if old is not None and new is not None}


def across(found: Sequence[Difference]) -> str:
    """The architecture of an old kernel that the new one is not for; empty where there is none."""
    return next((old for old, new in sorted(_sides(found)) if old != new), "")


@dataclass(frozen=True)
class CauseEffect:
    """A cause and what it does to the new kernel: its bytes, and the resident blocks per SM that
    it adds (fewer than none where it takes some away), None where they are not known."""

    cause: DifferenceCause
    blocks: int | None

    @property
    def bytes(self) -> int:
        return self.cause.bytes


def effects_of(found: Difference) -> list[CauseEffect]:
    """The causes of one kernel's difference, those first that did most to make it what it is: by
    resident blocks, then by bytes; those that did the opposite come last."""
    effects = [CauseEffect(one, _blocks_by(one, found.new)) for one in found.causes]
    way = -1 if found.bytes < 0 else 1
    return sorted(effects, key=lambda one: (way * (one.blocks or 0), -way * one.bytes))


def _blocks_by(cause: DifferenceCause, layout: NamedLayout) -> int | None:
    """The resident blocks that a layout has more with a cause than without it alone."""
    known = layout.residents
    if known is None or layout.symbolic or cause.alone is None:
        return None
    then = blocks_with_fewer(known, cause.alone)
    return None if then is None else known.blocks - then


def in_order(found: Sequence[Difference]) -> list[Difference]:
    """The kernels, those first of which most ships worse: blocks that are lost, then bytes; of a
    kernel the scopes in that order."""

    def order(one: Difference | KernelDifference) -> tuple[int, int]:
        blocks = one.lost if isinstance(one, KernelDifference) else one.blocks
        return (0 if blocks is None else blocks[1] - blocks[0]), -one.bytes

    kernels = sorted(by_kernel(found), key=order)
    return [one for kernel in kernels for one in sorted(kernel.scopes, key=order)]


def in_all_line(kernel: KernelDifference, title: str) -> Text | None:
    """What a kernel takes in all its scopes, where it has several."""
    if len(kernel.scopes) < 2:
        return None
    before, after = (
        sum(side.arena for side in sides)
        for sides in zip(*((one.old, one.new) for one in kernel.scopes), strict=True)
    )
    more = f"{abs(kernel.bytes):,} {'more' if kernel.bytes > 0 else 'fewer'}"
    changed = f"{before:,} -> {after:,} bytes, {more}" if kernel.bytes else f"{after:,} bytes"
    beside = " besides sizes that are not known" * any(
        side.symbolic for one in kernel.scopes for side in (one.old, one.new)
    )
    same = "" if kernel.bytes else ", as many as before"
    return Text(f"{title} in all scopes: {changed}{same}{beside}", style="bold")


def doubt_lines(found: Sequence[Difference]) -> Iterator[Text]:
    """That a pair seems to be of two different kernels, where it is the only one."""
    if len(found) == 1 and found[0].are_strangers:
        yield Text(STRANGERS, style="yellow")


def difference_lines(
    found: Difference, title: str | None = None, *, doubted: bool = False
) -> Iterator[Text]:
    """One kernel: what it took and takes, and the causes, those with the largest effect first.

    `title` is by default its name and scope. `doubted`: `doubt_lines` have been said.
    """
    yield Text(heading(found, title), style="bold" if found.bytes else "")
    if found.are_strangers:
        if not doubted:
            yield Text(f"  {STRANGERS}", style="yellow")
        return
    effects = effects_of(found)
    telling = [one for one in effects if one.bytes]
    width = max((len(f"{one.bytes:+,}") for one in telling), default=0)
    for one in telling:
        blocks = _blocks_without(one, found.new) if one.blocks else ""
        yield Text(f"  {one.bytes:>+{width},} bytes: {one.cause.text}{blocks}")
    silent = [one for one in effects if not one.bytes]
    for one in silent[:3]:
        yield Text(f"  0 bytes, as the peak stays as high: {one.cause.text}", style="dim")
    if silent[3:]:
        more = counted(len(silent) - 3, "more change")
        yield Text(f"  and {more} of 0 bytes (--format json)")
    if len(found.restoring) > 1 and found.blocks is not None:
        names = ", ".join(name for one in found.restoring for name in one.buffers)
        yield Text(f"  {found.blocks[0]} blocks again without these changes together: {names}")
    for old, new in found.renamed:
        yield Text(
            f"  {new} is matched with {old} of the old kernel: the same bytes, accessed alike"
        )


def _blocks_without(effect: CauseEffect, layout: NamedLayout) -> str:
    """How many blocks the new kernel has where a change alone is undone, as the end of a
    sentence."""
    assert layout.residents is not None
    assert effect.blocks is not None
    return (
        f"; without this change alone, {counted(layout.residents.blocks - effect.blocks, 'block')}"
    )


def _taken(layout: NamedLayout, before: int) -> str:
    """All that a block takes, and how many bytes would allow as many blocks as `before`; of
    registers what they allow, if they do not allow as many."""
    known = layout.residents
    if known is None or layout.symbolic:
        return ""
    most = architecture(known.arch).largest_for(before)
    if known.block_bytes <= most:
        return ""
    taken = f"; {taken_words(known, layout.arena)}; {most:,} would allow {before}"
    if layout.registers is None or known.threads is None:
        return taken
    by_registers = most_by_registers(known.threads, layout.registers.count)
    words = f"registers ({layout.registers.words}) allow {by_registers}"
    return taken if by_registers >= before else f"{taken}; {words} in any case"


def heading(found: Difference, title: str | None = None) -> str:
    """The kernel, and what its arena and its blocks were and are."""
    old, new = found.old, found.new
    grown = found.bytes
    more = f"{abs(grown):,} {'more' if grown > 0 else 'fewer'}" if grown else "as many as before"
    if grown and old.arena:
        more += f" ({100 * grown / old.arena:+.1f} % of the old)"
    renamed = f", matched with {old.kernel}" if old.kernel != new.kernel else ""
    title = title or f"{new.kernel} ({new.scope})"
    if found.may_be_growth:
        more = "which may be more"
    if old.is_absent or new.is_absent:
        return f"{title}{renamed}, {_one_sided(old, new)}"
    before, after = old.symbolic or f"{old.arena:,}", new.symbolic or f"{new.arena:,}"
    took = f"{after} bytes, {more}" if before == after else f"{before} -> {after} bytes, {more}"
    sizes = f"{title}{renamed}: {took}"
    blocks = found.blocks
    if blocks is None or old.residents is None or new.residents is None:
        return sizes
    on, (was, now) = new.residents.arch, map(_blocks_words, blocks)
    if on != old.residents.arch:
        before, after = f"{was} (old, {old.residents.arch})", f"{now} (new, {on})"
        return f"{sizes}; blocks per SM: {before} -> {after}, of different architectures"
    if blocks[0] == blocks[1]:
        if not blocks[0]:
            return f"{sizes}; no block launches on {on}, as before"
        return f"{sizes}; {blocks[0]} block{'s' if blocks[0] != 1 else ''} per SM of {on} as before"
    lost = blocks[1] < blocks[0] and new.residents.limits
    limits = f", limited by {' and '.join(new.residents.limits)}" if lost else ""
    taken = _taken(new, blocks[0]) if blocks[1] < blocks[0] else ""
    return f"{sizes}; {was} -> {now} blocks per SM of {on}{limits}{taken}"


def _one_sided(old: NamedLayout, new: NamedLayout) -> str:
    """A scope that the kernel has on one side only."""
    side, what = (new, "new") if old.is_absent else (old, "gone")
    return f"{what}: {side.symbolic or f'{side.arena:,}'} bytes"


def _blocks_words(blocks: int) -> str:
    return f"{blocks}" if blocks else "0 (too large to launch)"


def only_line(layout: NamedLayout, side: str) -> Text:
    """A kernel that only one side has."""
    what = "vanished" if side == "old" else "is new"
    return Text(f"{layout.kernel} ({layout.scope}) {what}: {layout.arena:,} bytes")


def difference_entries(found: Sequence[Difference]) -> Iterator[Data]:
    """The kernels and scopes of `smemreuse.diff/1`, in their order; each with what its kernel's
    scopes take together, which decides the exit code."""
    kernels = {id(one): kernel for kernel in by_kernel(found) for one in kernel.scopes}
    for one in found:
        whole = picked(kernels[id(one)], "bytes growth=is_growth")
        yield {**_difference_entry(one), "all_scopes": whole}


def _difference_entry(found: Difference) -> Data:
    return {
        **picked(found.new, "name=kernel scope"),
        "old": side_data(found.old),
        "new": side_data(found.new),
        **picked(found, "bytes blocks_per_sm=blocks growth=is_growth"),
        "renamed": [{"old": old, "new": new} for old, new in found.renamed],
        **picked(found, "causes restoring"),
    }


def side_data(layout: NamedLayout) -> Data:
    """One of the two plans that are compared."""
    place = picked(layout, "file name=kernel scope arena_bytes=arena")
    return {**place, "residents": _residents(layout)}


def _residents(layout: NamedLayout) -> Data | None:
    """Blocks by shared memory, threads and barriers alone; None where they are not known."""
    found = layout.residents
    return None if found is None else picked(found, "arch assumed blocks block_bytes")
