"""What to do next after `compare` and `diff`: of many kernels the one that concerns most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smemreuse.report.columns import registers_stop
from smemreuse.report.difference import across, effects_of
from smemreuse.report.next_step import (
    MERGED,
    NO_BUFFERS,
    NextStep,
    Options,
    by_hand,
    command,
    new_baseline,
    nothing,
    path,
)
from smemreuse.report.residents import NO_FASTER
from smemreuse.report.titles import counted, holding
from smemreuse.results.comparison import Comparison, Concern
from smemreuse.results.difference import CauseKind, Difference, by_kernel

CONCERNS = {
    Concern.UNSOUND: "which buffers must not share",
    Concern.UNPROVED: "what is not proved",
    Concern.HOPED: "what keeps a smaller layout from being proved",
    Concern.GAP: "why it takes more than its lower bound",
}
"""What `explain` tells of a kernel with a concern."""


def after_compare(rows: Sequence[Comparison], options: Mapping[str, Options]) -> NextStep:
    """`options` are those of the verbs that may come next: `explain` and `apply`."""
    held = [row for row in rows if row.buffers]
    if not held:
        return NO_BUFFERS
    concerns = [one for one in Concern if one is not Concern.STOCK_UNSOUND]
    for concern in concerns:
        concerned = [row for row in held if row.concern is concern]
        if concerned:
            worst = max(concerned, key=lambda row: row.weight)
            file = path(worst.file)
            if concern is Concern.TOO_LARGE:
                return command("what would make it fit", "fit", file, "--arch", worst.arch)
            return command(CONCERNS[concern], "explain", file, *options["explain"])
    unsafe = [row for row in held if row.concern is Concern.STOCK_UNSOUND]
    smaller = [row for row in held if row.saved_bytes > 0]
    if not unsafe and not smaller:
        fewer = "no chosen layout takes fewer bytes than the default merge"
        return nothing(f"{fewer}{_why_no_fewer(held)}")
    most = max(unsafe or smaller, key=lambda row: (_gains(row), row.saved_bytes))
    if not unsafe and not _gains(most):
        return nothing(NO_FASTER)
    written = "apply", path(most.file), *options["apply"], *MERGED
    if unsafe:
        proved = f"write it with the layout of {most.applied.arena_text} bytes, which is proved"
        return command(proved, *written)
    gaining = sum(map(_gains, smaller))
    gain = _gain(most) + (f"; {gaining - 1:,} more gain something" if gaining > 1 else "")
    if most.compiler != _TILELANG:
        return command(f"write it, {gain}", *written)
    asked = "" if most.applied.objective == "speed" else f'objective="{most.applied.objective}"'
    build = f"compile the TileLang function inside `with smemreuse.tilelang.merge({asked}):`"
    return by_hand(f"to build it, {gain}, {build}", command("write a dump of it", *written))


_TILELANG = "TileLang"
"""The compiler whose builds take a layout over."""


def _gain(row: Comparison) -> str:
    """What the chosen layout gains over the default merge."""
    was = row.stock.resident if row.default_bytes is None else row.default_blocks
    if row.gains_block:
        if not was:
            return "which launches, as the default merge does not"
        return f"{counted(row.applied.resident or 0, 'block')} per SM instead of {was}"
    if row.applied.objective == "speed" and row.gained_l1 and row.gained_l1 > 0:
        return f"which leaves {row.gained_l1 // 1024:,} KB more to L1"
    return f"{row.saved_bytes:,} bytes fewer than by default"


def _gains(row: Comparison) -> bool:
    """Whether the chosen layout gains what it is planned for, as far as that is known."""
    more = row.gained_l1
    return row.applied.objective != "speed" or row.gains_block or more is None or more > 0


def _why_no_fewer(rows: Sequence[Comparison]) -> str:
    """Why nothing is gained, as far as it is so for all kernels."""
    applied = [row.applied for row in rows]
    clauses = {
        "no layout by the same live ranges is smaller": all(one.optimal for one in applied),
        "registers limit the blocks": all(
            registers_stop(one.resident, one.blocks) for one in applied
        ),
    }
    told = ", and ".join(holding(clauses))
    return f" ({told})" if told else ""


def after_regression(baseline: str, files: Sequence[str], options: Options) -> NextStep:
    """After `compare` against a baseline than which something is worse, or missing."""
    if len(files) == 1:
        return command("why, by cause", "diff", path(baseline), path(files[0]), *options)
    return new_baseline("compare", files, options)


def after_diff(
    found: Sequence[Difference],
    untold: bool,
    sides: tuple[str, str] | None,
    planned: Sequence[str] = (),
    made_at: str | None = None,
) -> NextStep:
    """`found` are the kernels, those first of which most ships worse; `untold` tells that kernels
    have no partner, `sides` are the two dumps, None for results; `planned` are the options that
    they were planned with, `made_at` is the new result where that names dumps not found here."""
    larger = (one for kernel in by_kernel(found) if kernel.is_growth for one in kernel.scopes)
    grown = next((one for one in larger if one.is_growth and not one.are_strangers), None)
    if grown is not None:
        asked = _pair_to_explain(grown)
        takes = f"what makes it {grown.new.arena:,} bytes"
        why = f"what keeps {' and '.join(asked)} apart" if asked else takes
        why += f"; where {made_at} was made" if made_at else ""
        return command(why, "explain", path(grown.new.file), *asked, *planned)
    strangers = any(one.are_strangers for one in found)
    if (untold or strangers) and sides is not None:
        return command("what each side has", "compare", *map(path, sides))
    if untold or strangers:
        which = "kernel" if untold else "buffer name"
        return nothing(f"the two sides have no {which} in common")
    if arch := across(found):
        return _for_one_gpu(found, sides, arch, planned)
    return nothing("no kernel takes more bytes or lost a block")


def _for_one_gpu(
    found: Sequence[Difference], sides: tuple[str, str] | None, arch: str, planned: Options
) -> NextStep:
    """Both sides for one GPU, where the new one is for another than the old."""
    why = f"both sides for {arch}, so that blocks can be compared"
    files = {(one.old.file, one.new.file) for one in found}
    dumps = sides or (files.pop() if len(files) == 1 else ("OLD_DUMPS", "NEW_DUMPS"))
    return command(why, "diff", *map(path, dumps), *planned, "--arch", arch)


def _pair_to_explain(grown: Difference) -> tuple[str, ...]:
    """The two buffers of the cause with the largest effect, where `explain` tells of two."""
    first = next((one.cause for one in effects_of(grown) if one.bytes > 0), None)
    if first is None or first.kind not in _PAIRS or len(first.buffers) != 2:
        return ()
    return first.buffers if all(name in grown.new.sizes for name in first.buffers) else ()


_PAIRS = (CauseKind.RANGE, CauseKind.CONFLICT)
"""Causes of which `explain` says why, given the buffers."""
