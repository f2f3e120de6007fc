"""What it takes that kernels fit into a number of bytes for each block, for people and as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from smemreuse.report import columns
from smemreuse.report.data import Data
from smemreuse.report.headroom import MOST_LIVE
from smemreuse.report.titles import counted
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
class Fit:
    """One kernel's buffers of one scope: the bytes that each block takes, and what would have to
    change. Where nothing is known to be enough, `peak` are the buffers that are live together at
    `at`, `least` the changes with which it gets as small as is known, and `apart` the buffers of
    which no two may share even then. `default_bytes` are those that a block takes as the compiler
    merges by default, None where that makes no layout; `compiler` is its name for people.
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


MERGED = "smemreuse's smallest layout"
"""What the bytes of a kernel are, as far as nothing else is said."""

NOT_CHECKED = (
    f"{MERGED} is planned here, not checked; `smemreuse apply --objective bytes` writes only what "
    "is proved"
)

FITS_ITSELF = (
    "a TileLang function need not be changed by hand: compiled inside `with "
    'smemreuse.tilelang.merge(objective="fit", limit={limit}):` it gets fewer stages where '
    "smemreuse proves that its results stay the same"
)


def fit_lines(found: Sequence[Fit]) -> Iterator[Text]:
    """The counts; what to change in kernels that would fit then, those that do fit, and a line or
    two for each one that cannot."""
    if not found:
        return
    fitting = [one for one in found if one.fits]
    usual = [one for one in fitting if one.default_fits]
    merged = [one for one in fitting if not one.default_fits]
    changed = [one for one in found if one.steps and not one.fits]
    rest = [one for one in found if not one.fits and not one.steps]
    counts = {
        f"fit{'s' * (len(usual) == 1)} by {_default_of(usual)}": usual,
        f"fit{'s' * (len(merged) == 1)} only in {MERGED}": merged,
        f"would fit with changes of {'its' if len(changed) == 1 else 'their'} source": changed,
        f"do{'es' * (len(rest) == 1)} not fit with any change that smemreuse knows": rest,
    }
    parts = ", ".join(f"{len(some):,} {how}" for how, some in counts.items() if some)
    limit = f"at most {found[0].limit:,} bytes a block"
    yield Text(f"{counted(len(found), 'kernel')}, {limit}: {parts}", style="bold")
    for one in changed:
        yield from _changed_lines(one)
    if changed:
        yield Text(FITS_ITSELF.format(limit=found[0].limit), style="dim")
    for one in fitting:
        yield Text(_fitting_words(one))
    for one in rest:
        yield from _hopeless_lines(one)
    if any(one.bytes != one.default_bytes for one in fitting):
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
    over = f"{one.bytes - one.limit:,} too many"
    yield Text(f"{_named(one)} takes {one.bytes:,} bytes, {over}; it fits", style="bold")
    for number, step in enumerate(one.steps, 1):
        also = "and " if number > 1 else ""
        yield Text(f"  {number}. {also}{by_line(step.condition)}: {step.bytes:,} bytes")


def _fitting_words(one: Fit) -> str:
    """A kernel that fits, and whether it does so without smemreuse, too."""
    if one.bytes is None:
        return _named(one)
    default = f"{columns.number(one.default_bytes)} bytes by {_default_of([one])}"
    if one.default_fits and one.default_bytes is not None:
        told = f"{default}, {one.limit - one.default_bytes:,} left"
        same = one.default_bytes == one.bytes
        ours = f"{MERGED} takes as many" if same else f"{one.bytes:,} in {MERGED}"
    else:
        told = f"{one.bytes:,} bytes in {MERGED}, {one.limit - one.bytes:,} left"
        ours = "" if one.default_bytes is None else f"{default}, which does not fit"
    return f"{_named(one)} fits: {told}{'; ' * bool(ours)}{ours}"


def _hopeless_lines(one: Fit) -> Iterator[Text]:
    """A kernel that no known change makes fit: how small it gets at best, and what of."""
    least = one.least_bytes
    if one.bytes is None or least is None:
        yield Text(f"what {_named(one)} takes is not known: {one.why}")
        return
    at_best = "" if least == one.bytes else f", {least:,} at best"
    yield Text(
        f"{_named(one)} does not fit: {one.bytes:,} bytes{at_best}, {least - one.limit:,} too many"
    )
    held = one.apart if one.least else one.peak
    if not held:
        return
    rest = least - sum(size for _, size in held)
    other = f"; {rest:,} bytes are of others, or padding" if rest > 0 else ""
    if len(held) == 1:
        yield Text(f"  {held[0][0]} alone takes {held[0][1]:,} bytes{other}")
    elif one.least:
        yield Text(f"  {_listed(held)} may not share bytes{other}")
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
    }
