"""What it takes that kernels fit into a number of bytes for each block, for people and as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from smemreuse.report import columns
from smemreuse.report.data import Data
from smemreuse.report.headroom import MOST_LIVE
from smemreuse.report.tables import no_buffers
from smemreuse.report.titles import counted
from smemreuse.results.headroom import ChangeKind, SmallerTile
from smemreuse.results.serialized import picked
from smemreuse.results.words import DEFAULT_MERGE


@dataclass(frozen=True)
class FitStep:
    """A change, and the bytes of a block with it and those before it."""

    kind: str
    buffers: tuple[str, ...]
    condition: str
    bytes: int


@dataclass(frozen=True)
class FitTiles:
    """Smaller tiles, the changes made before, and the bytes of a block with all of that."""

    steps: tuple[FitStep, ...]
    tiles: tuple[SmallerTile, ...]
    bytes: int


@dataclass(frozen=True)
class Fit:
    """One kernel's buffers of one scope: the bytes that each block takes, and what would have to
    change. Where nothing is known to be enough, `peak` are the buffers that are live together at
    `at`, `least` the changes with which it gets as small as is known, `apart` the buffers of which
    no two may share even then, and `smaller` tiles with which it would fit. `default_bytes` are
    those that a block takes as the compiler merges by default, None where that makes no layout;
    `compiler` is its name for people.
    """

    file: str
    name: str
    scope: str
    limit: int
    bytes: int | None
    steps: tuple[FitStep, ...]
    peak: tuple[tuple[str, int], ...]
    at: str
    why: str
    least: tuple[FitStep, ...] = ()
    apart: tuple[tuple[str, int], ...] = ()
    default_bytes: int | None = None
    compiler: str = ""
    smaller: FitTiles | None = None

    @property
    def has_buffers(self) -> bool:
        """Whether it takes any shared memory, as far as is known."""
        return self.bytes != 0

    @property
    def default_fits(self) -> bool:
        """Whether it fits without smemreuse."""
        return self.default_bytes is not None and self.default_bytes <= self.limit

    @property
    def fits(self) -> bool:
        """Whether it fits as it is."""
        return self.bytes is not None and self.bytes <= self.limit

    @property
    def after(self) -> int | None:
        """The bytes of a block with all changes."""
        return self.steps[-1].bytes if self.steps else self.bytes

    @property
    def least_bytes(self) -> int | None:
        """The fewest bytes that are known to be reached."""
        return self.least[-1].bytes if self.least else self.after


TILELANG = "TileLang"
"""The compiler whose functions `merge(objective="fit")` changes."""

MERGED = "smemreuse's smallest layout"
"""What the bytes of a kernel are, as far as nothing else is said."""

NOT_CHECKED = (
    f"{MERGED} is planned here, not checked; `smemreuse apply --objective bytes` writes only what "
    "is proved"
)

FITS_ITSELF = (
    "or let smemreuse try: compile the TileLang function inside `with "
    'smemreuse.tilelang.merge(objective="fit", limit={limit}):`, which takes fewer stages, loads '
    "tiles again instead of keeping them, or splits matrix products along K, where the results "
    "are proved to stay the same"
)

TILES_ESTIMATED = (
    "estimate: live ranges and all other buffers stay as they are. A dump has no shapes of tiles, "
    "as its shared buffers are flat: which side gets smaller is yours to choose"
)

MOST_FITTING = 3
"""Kernels that fit by themselves and get a line each; the others are counted."""


def fit_lines(found: Sequence[Fit]) -> Iterator[Text]:
    """The counts; what to change in kernels that would fit then, what comes closest in the others,
    and those that fit: by the default merge only where nothing else is to be told."""
    bare = [one for one in found if not one.has_buffers]
    found = [one for one in found if one.has_buffers]
    for one in bare[:MOST_FITTING]:
        yield no_buffers(one.file, one.name)
    if bare[MOST_FITTING:]:
        yield Text(f"and {len(bare) - MOST_FITTING:,} more have no shared buffers", style="dim")
    if not found:
        return
    fitting = [one for one in found if one.fits]
    usual = [one for one in fitting if one.default_fits]
    merged = [one for one in fitting if not one.default_fits]
    large = [one for one in found if not one.fits]
    changed = [one for one in large if one.steps]
    tiled = [one for one in large if not one.steps and one.smaller]
    rest = [one for one in large if not one.steps and not one.smaller]
    counts = {
        f"fit{'s' * (len(usual) == 1)} by {_default_of(usual)}": usual,
        f"fit{'s' * (len(merged) == 1)} only in {MERGED}": merged,
        f"would fit with changes of {'its' if len(changed) == 1 else 'their'} source": changed,
        **_by_what_else(tiled),
        f"do{'es' * (len(rest) == 1)} not fit with any change that smemreuse knows": rest,
    }
    parts = ", ".join(f"{len(some):,} {how}" for how, some in counts.items() if some)
    limit = f"at most {found[0].limit:,} bytes a block"
    yield Text(f"{counted(len(found), 'kernel')}, {limit}: {parts}", style="bold")
    for one in (*changed, *tiled):
        yield from _changed_lines(one)
    for one in rest:
        yield from _hopeless_lines(one)
    if tiled:
        yield Text(TILES_ESTIMATED, style="dim")
    if any(one.compiler == TILELANG and one.bytes is not None for one in large):
        yield Text(FITS_ITSELF.format(limit=found[0].limit), style="dim")
    yield from _fitting_lines(usual if not large else [], merged)


def _by_what_else(tiled: Sequence[Fit]) -> dict[str, list[Fit]]:
    """Kernels that would fit with smaller tiles, by what else has to change in them."""
    found: dict[str, list[Fit]] = {"": [], " and fewer stages": [], " and other changes": []}
    for one in tiled:
        kinds = {step.kind for step in one.smaller.steps} if one.smaller else set()
        others = kinds - {str(ChangeKind.STAGES)}
        key = " and other changes" if others else " and fewer stages" if kinds else ""
        found[key].append(one)
    return {f"would fit with smaller tiles{more}": some for more, some in found.items()}


def _fitting_lines(usual: Sequence[Fit], merged: Sequence[Fit]) -> Iterator[Text]:
    """Kernels that fit: those with the least room left first."""
    least = sorted(usual, key=lambda one: -(one.default_bytes or 0))[:MOST_FITTING]
    told = [*merged, *least]
    for one in told:
        yield Text(_fitting_words(one))
    if usual[MOST_FITTING:]:
        yield Text(f"and {len(usual) - MOST_FITTING:,} more with more bytes left", style="dim")
    if any(one.bytes != one.default_bytes for one in told):
        yield Text(NOT_CHECKED, style="dim")


def _default_of(found: Sequence[Fit]) -> str:
    """The default merge of the one compiler of these kernels, or of several."""
    names = {one.compiler for one in found}
    name = names.pop() if len(names) == 1 else ""
    return f"{name or 'the compiler'}'s {DEFAULT_MERGE}"


def _named(one: Fit) -> str:
    return f"{one.file}: {one.name} ({one.scope})"


def _changed_lines(one: Fit) -> Iterator[Text]:
    """A kernel that does not fit as it is, and the changes with which it does."""
    if one.bytes is None:
        return
    smaller = None if one.steps else one.smaller
    steps = one.steps if smaller is None else smaller.steps
    number = len(steps) + (smaller is not None)
    together = "" if number < 2 else f" with {'both' if number == 2 else f'all {number}'} of these"
    size = f"{one.bytes:,} bytes even in {MERGED}, {one.bytes - one.limit:,} too many"
    head = f"{_named(one)} takes {size}; it would fit{together}"
    yield Text(head, style="bold")
    yield from _step_lines(steps, one.limit, number)
    if smaller is None:
        return
    before = steps[-1].bytes if steps else one.bytes
    after = f"{_too_many(smaller.bytes, one.limit)} (estimate{_less_saved(smaller, before)})"
    yield Text(
        f"  {_numbered(number, number)}if tiles were smaller, {_tile_words(smaller.tiles)}: {after}"
    )


def _tile_words(tiles: Sequence[SmallerTile]) -> str:
    """By how much each tile is smaller, those together of which it is alike."""
    alike: dict[tuple[int, int], list[str]] = {}
    for one in tiles:
        alike.setdefault((one.after, one.bytes), []).append(one.name)
    return "; ".join(
        f"{', '.join(names)} {_SHARES[size // after]} as large, {after:,} bytes instead "
        f"of {size:,}{' each' * (len(names) > 1)}"
        for (after, size), names in alike.items()
    )


_SHARES = {2: "half", 4: "a quarter"}
"""The words for a tile whose bytes are divided by a number."""


def _less_saved(smaller: FitTiles, before: int) -> str:
    """Why a block gets smaller by less than its tiles do, as the end of a sentence; `before` are
    its bytes with all else changed."""
    tiles = sum(tile.bytes - tile.after for tile in smaller.tiles)
    block = before - smaller.bytes
    if tiles <= block:
        return ""
    return (
        f"; tiles get {tiles:,} bytes smaller and the block {block:,}, as buffers that share bytes "
        "count once"
    )


def _step_lines(steps: Sequence[FitStep], limit: int, of: int) -> Iterator[Text]:
    """A line for each of the changes, the first of `of`."""
    for number, step in enumerate(steps, 1):
        after = _too_many(step.bytes, limit)
        yield Text(f"  {_numbered(number, of)}{by_line(step.condition)}: {after}")


def _numbered(number: int, of: int) -> str:
    """The number of one of several; none of a single one."""
    return "" if of == 1 else f"{number}. {'and ' if number > 1 else ''}"


def _too_many(size: int, limit: int) -> str:
    """The bytes of a block, held against those that it may have."""
    return f"{size:,} bytes, {f'{size - limit:,} too many' if size > limit else 'which fits'}"


def _fitting_words(one: Fit) -> str:
    """A kernel that fits, and whether it does so without smemreuse, too."""
    if one.bytes is None:
        return _named(one)
    default = f"{columns.number(one.default_bytes)} bytes by {_default_of([one])}"
    if one.default_fits and one.default_bytes is not None:
        told = f"{default}, {one.limit - one.default_bytes:,} left"
        same = one.default_bytes == one.bytes
        ours = f"{MERGED} also takes {one.bytes:,}" if same else f"{one.bytes:,} in {MERGED}"
    else:
        told = f"{one.bytes:,} bytes in {MERGED}, {one.limit - one.bytes:,} left"
        ours = "" if one.default_bytes is None else f"{default}, which does not fit"
    return f"{_named(one)} fits: {told}{'; ' * bool(ours)}{ours}"


def _hopeless_lines(one: Fit) -> Iterator[Text]:
    """A kernel that no known change makes fit: the changes that come closest, and what is left."""
    least = one.least_bytes
    if one.bytes is None or least is None:
        yield Text(f"what {_named(one)} takes is not known: {one.why}")
        return
    these = "this comes" if len(one.least) == 1 else "these come"
    closest = f"; no known changes are enough, {these} closest" if one.least else ""
    yield Text(f"{_named(one)} takes {_too_many(one.bytes, one.limit)}{closest}")
    yield from _step_lines(one.least, one.limit, len(one.least))
    held = one.apart if one.least else one.peak
    if not held:
        return
    lead = "after that " if one.least else ""
    rest = least - sum(size for _, size in held)
    other = f"; {rest:,} bytes are of others, or padding" if rest > 0 else ""
    if len(held) == 1:
        yield Text(f"  {lead}{held[0][0]} alone takes {held[0][1]:,} bytes{other}")
    elif one.least:
        yield Text(f"  {lead}no two of these may share bytes: {_listed(held)}{other}")
    else:
        yield Text(f"  {_listed(held)} are needed together at {by_line(one.at)}{other}")


def by_line(text: str) -> str:
    """A sentence in which a line stands for each statement that has one."""
    return _STATEMENT.sub(lambda found: f"{'loop at ' if found[1] else ''}{found[2]}", text)


_STATEMENT = re.compile(r"(loop )?`[^`]+` \((line \d[^)]*)\)")
"""A statement and its line, as `explainer.pairs.where` has them."""


def _listed(buffers: Sequence[tuple[str, int]]) -> str:
    """Buffers and their bytes."""
    listed = ", ".join(f"{name} ({size:,})" for name, size in buffers[:MOST_LIVE])
    rest = len(buffers) - MOST_LIVE
    return f"{listed} and {rest} more" if rest > 0 else listed


def fit_data(one: Fit) -> Data:
    """One of the `kernels` of `smemreuse.fit/1`."""
    return {
        **picked(one, "file name scope bytes fits after default_bytes"),
        "steps": [picked(step, "kind buffers condition bytes") for step in one.steps],
        "peak": [{"name": name, "bytes": size} for name, size in one.peak],
        "at": one.at or None,
        "why": one.why or None,
        "least": [picked(step, "kind buffers condition bytes") for step in one.least],
        "apart": [{"name": name, "bytes": size} for name, size in one.apart],
        "smaller": None if one.smaller is None else _tiles_data(one.smaller),
    }


def _tiles_data(found: FitTiles) -> Data:
    steps = [picked(step, "kind buffers condition bytes") for step in found.steps]
    return {"steps": steps, **picked(found, "tiles bytes")}
