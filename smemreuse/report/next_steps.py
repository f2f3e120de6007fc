"""What to do next after each verb but `compare` and `diff`, of the records that it has made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from smemreuse.report.audits import Failure
from smemreuse.report.fit import Fit
from smemreuse.report.hazards import Linted
from smemreuse.report.headroom import ShippedHeadroom, registers_words
from smemreuse.report.layouts import Layouts
from smemreuse.report.next_compared import CONCERNS
from smemreuse.report.next_step import (
    KERNELS_OWN,
    MERGED,
    NO_BUFFERS,
    NextStep,
    Options,
    after_page,
    by_hand,
    command,
    new_baseline,
    nothing,
    path,
    quoted,
)
from smemreuse.results.audit import Checked
from smemreuse.results.comparison import NOT_WORTH, Concern
from smemreuse.results.gate import Gate
from smemreuse.results.hazards import Hazard
from smemreuse.results.plan import Plan

KERNELS_OPEN = "what lint does not prove of the kernel itself"
BUILD = (
    "to build, compile the TileLang function inside `with smemreuse.tilelang.merge():`, which runs "
    "ThreadSync and then proves the layout with the barriers that are there"
)
FIXED_BUILD = (
    "to fix all in a build, compile the TileLang function inside `with "
    "smemreuse.tilelang.merge(mend=True):`, which applies smemreuse's layout, too"
)
NOTHING_SHARED = "no two buffers share bytes in this layout"
SMALLEST = "this is the smallest arena; no sharing that is allowed saves a byte"
_NOT_SHARED = {
    "speed": f"{NOT_WORTH}; --objective bytes plans the smallest",
}
"""Why a layout shares no bytes though a smaller one may, by its objective."""


def after_plan(
    made: Sequence[tuple[str, Plan]],
    options: Options,
    *,
    too_large: tuple[str, str] | None = None,
    unproved: tuple[str, Options] | None = None,
    as_default: str = "",
) -> NextStep:
    """`made` are the plans by file; `options` those with which they were made. `too_large` are the
    file of a kernel of which no block launches, and the architecture, `unproved` the file of one of
    which a smaller plan is not proved, and the options of `explain`. `as_default` says
    why all that gains nothing over the default merge, where it does not."""
    if not made:
        return NO_BUFFERS
    if too_large is not None:
        file, arch = too_large
        return command("what would make it fit", "fit", path(file), "--arch", arch)
    file, plan = made[0]
    if not any(one.sharing_pairs() for _, one in made):
        if unproved is not None:
            file, asked = unproved
            return command(CONCERNS[Concern.HOPED], "explain", path(file), *asked)
        return nothing(
            SMALLEST if plan.optimal else _NOT_SHARED.get(plan.objective, NOTHING_SHARED)
        )
    if plan.policy == "dataflow" and as_default:
        return nothing(as_default)
    if plan.policy == "dataflow":
        return command("write the merged TIR", "apply", path(file), *options, *MERGED)
    return _checked_plan("whether it is sound", file, options)


def _checked_plan(why: str, file: str, options: Options = ()) -> NextStep:
    plan = command(why, "plan", path(file), *options, "--format", "json")
    check = command(why, "check", path(file), "--plan", "plan.json")
    return NextStep(why, (*plan.words, ">", "plan.json", "&&", *check.words))


def after_analyze(file: str, has_buffers: bool, policy: str) -> NextStep:
    """After the live ranges of a dump's buffers."""
    if not has_buffers:
        return NO_BUFFERS
    options = () if policy == "dataflow" else ("--policy", policy)
    return command("the layout that these live ranges give", "plan", path(file), *options)


def after_explain(
    file: str,
    found: Sequence[tuple[Layouts, ShippedHeadroom]],
    options: Options,
    *,
    refuted: bool = False,
    hazardous: bool = False,
    as_default: str = "",
) -> NextStep:
    """After whole kernels; `options` are those of the call that `apply` has, too. `refuted` tells
    that `lint` refutes what the proof of a layout assumes, `hazardous` that it finds any certain
    hazard, `as_default` why the layouts gain nothing over the default merge, where they do not."""
    if not found:
        return NO_BUFFERS
    if refuted:
        return command(KERNELS_OWN, "lint", path(file))
    for _, headroom in found:
        residents = headroom.shipped.residents
        if residents is not None and not residents.blocks:
            return command("what would make it fit", "fit", path(file), "--arch", residents.arch)
    for _, headroom in found:
        one_more, residents = headroom.smallest.next_block, headroom.shipped.residents
        if one_more and one_more.changes and residents and residents.most_bytes:
            why, most = "the changes that gain a block, one by one", residents.most_bytes
            return command(why, "fit", path(file), "--limit", most)
    for layouts, _ in found:
        if layouts.is_smaller and not as_default:
            why = f"write it with the layout of {layouts.shipped[0].arena_bytes:,} bytes"
            return command(why, "apply", path(file), *options, *MERGED)
    for _, headroom in found:
        residents, changes = headroom.shipped.residents, headroom.changes
        if headroom.objective == "bytes" and changes and residents is not None:
            saved = headroom.shipped.arena_bytes - changes[0].arena_bytes
            least = residents.block_bytes - saved
            why = f"what it takes to have {least:,} bytes a block"
            return command(why, "fit", path(file), "--limit", least)
    if hazardous:
        return command(KERNELS_OWN, "lint", path(file))
    if as_default and any(layouts.is_smaller for layouts, _ in found):
        return nothing(as_default)
    by_registers = next(filter(None, (registers_words(headroom) for _, headroom in found)), "")
    return nothing(
        f"no known layout or change of shared memory gains a resident block{by_registers}"
    )


def after_pairs(file: str, *, may_share: bool) -> NextStep:
    """After one pair of buffers, or all pairs of one buffer."""
    if may_share:
        return command("where each buffer lies", "plan", path(file), "--objective", "bytes")
    return command("what would lower the bytes", "explain", path(file))


def after_fit(found: Sequence[Fit]) -> NextStep:
    large = [one for one in found if not one.fits]
    for one in large:
        if one.steps or one.smaller:
            why = "which statements keep its buffers live"
            return command(why, "explain", path(one.file), "--objective", "bytes")
    if large:
        why = "which buffers are live at the peak, and how long"
        return command(why, "explain", path(large[0].file), "--objective", "bytes")
    for one in found:
        if not one.default_fits:
            why = "write it with the layout that fits"
            return command(why, "apply", path(one.file), "--objective", "bytes", *MERGED)
    if not any(one.has_buffers for one in found):
        return NO_BUFFERS
    return nothing("every kernel fits as compiled, without smemreuse")


def after_check(
    failed: Mapping[Failure, Sequence[Checked]],
    files: Sequence[str],
    missing: bool,
    plan_file: str | None,
    options: Options,
    *,
    later: bool = False,
    hazardous: Sequence[Checked] = (),
) -> NextStep:
    """`failed` are the kernels by why they fail, `missing` whether the baseline has more. `later`:
    a proof assumes that TileLang's ThreadSync comes after the merge. Of `hazardous` kernels `lint`
    knows a hazard, or has not followed all."""
    for failure in (Failure.UNSOUND, Failure.UNPROVED):
        for row in failed.get(failure, ()):
            if plan_file is not None:
                return command("the layout that is proved", "plan", path(row.file))
            if failure is Failure.UNSOUND:
                why = "merge the dump from before the merge anew, proved"
                return command(why, "apply", "BEFORE.tir", *MERGED)
            why = "if it may stay unproved"
            return command(why, "check", path(row.file), "--allow-unproved", *options)
    if hazardous and not failed:
        worst = min(hazardous, key=lambda one: not one.has_certain)
        why = KERNELS_OWN if worst.has_certain else KERNELS_OPEN
        return command(why, "lint", path(worst.file), *options)
    for row in failed.get(Failure.WORSE, ()):
        return command("its verdict by itself", "check", path(row.file), *options)
    for row in failed.get(Failure.BARE, ()):
        if row.has_buffers:
            bare = len(dict.fromkeys(one.file for one in failed[Failure.BARE]))
            first = f", for the first of {bare:,} files" if bare > 1 else ""
            why = f"compute smemreuse's layout and check that, not the compiler's{first}"
            return _checked_plan(why, row.file)
    if missing:
        return new_baseline("check", files, options)
    if failed:
        return NO_BUFFERS
    return by_hand(BUILD) if later else nothing("every layout passes")


def after_lint(found: Sequence[Linted], gate: Gate, fixed: str | None, dump: str = "-") -> NextStep:
    """`fixed` is the file with the fixes of a `dump`, where they were asked for."""
    if not found:
        return nothing("there is no device kernel")
    hazards = [
        (one.file, hazard, identity.short) for one in found for hazard, identity in one.open_hazards
    ]
    has_edits = any(one.mending is not None and one.mending.edits for one in found)
    if not hazards and has_edits and fixed is not None and "-" not in (fixed, dump):
        why = f"{_without_hazards(found, fixed)}; what was inserted, and is not in its source"
        return NextStep(why, ("diff", *quoted(path(dump), path(fixed))))
    if not hazards:
        return nothing(_without_hazards(found, fixed))
    hazards.sort(key=lambda one: (not gate.stops(one[1]), not one[1].certain))
    file, hazard, finding = hazards[0]
    if fixed is None and hazard.is_fixable:
        files = {file for file, one, _ in hazards if one.is_fixable}
        first = f", of the first of {len(files):,} files" if len(files) > 1 else ""
        why = f"make all fixes in a copy of the dump{first}"
        copy = command(why, "lint", path(file), "--fix", "-o", "fixed.tir")
        of_tilelang = any(one.is_tilelang for one in found if one.file == file)
        return by_hand(FIXED_BUILD, copy) if of_tilelang else copy
    shown = path(fixed or file)
    return command("draw what goes wrong", "lint", shown, "--show", finding)


def _without_hazards(found: Sequence[Linted], fixed: str | None) -> str:
    """What is said where no hazard is left: known or accepted ones may be."""
    if fixed is not None and not any(one.unknown or one.report.hazards for one in found):
        return f"{fixed} has no hazard"
    known = any(one.silenced for one in found)
    accepted = any(one.accepted for one in found)
    beyond = [
        name for name, is_one in (("in the baseline", known), ("accepted", accepted)) if is_one
    ]
    hazard = f"no hazard that is not {' or '.join(beyond)}" if beyond else "no hazard"
    unknown = any(one.report.unknown for one in found)
    assumed = any(one.line for each in found for one in each.report.assumed_at)
    words = f"{hazard} was found" + (" in what could be followed" if unknown else "")
    return words + ", if what is assumed at the lines above holds" * assumed


def after_shown(file: str, hazards: Sequence[Hazard]) -> NextStep:
    """After the timeline of one finding."""
    insertable = [one for one in hazards if one.mend.is_insertable]
    if insertable:
        sure = any(one.certain for one in insertable)
        why = "make all fixes" if sure else "make all fixes, unless inputs rule the hazard out"
        return command(why, "lint", path(file), "--fix", "-o", "fixed.tir")
    if any(one.certain for one in hazards):
        return command("a report on it", "reproduce", path(file), "-o", "findings")
    return command("all hazards and their fixes", "lint", path(file))


@dataclass(frozen=True)
class Ran:
    """What `run` did: `program` is a script, or `-m` and a module, and its arguments; `options`
    stand before it. `page` and `dump` are what was written, if anything was."""

    program: tuple[str, ...]
    options: tuple[str, ...] = ()
    page: str | None = None
    dump: str | None = None


def after_run(ran: Ran, *, is_empty: bool, lacked_gpu: bool, has_certain: bool) -> NextStep:
    """`has_certain` tells that `lint` finds certain hazards in the kernels of a script."""
    if lacked_gpu:
        why = "lower the kernels without a GPU"
        return command(why, "run", "--lower-only", *ran.options, *ran.program)
    if is_empty:
        return nothing("no kernel was compiled")
    if ran.dump is not None:
        return command("what each kernel takes", "compare", path(ran.dump))
    if has_certain and ran.program[0] != "-m":
        return command("make the hazards show", "reproduce", "-o", "findings", *ran.program)
    if ran.page is not None:
        return after_page(ran.page)
    words = ("--report", "page.html", *ran.options, *ran.program)
    return command("a page with the maps", "run", *words)


def after_reproduce(file: str, scripts: Sequence[str | None], *, ran: bool) -> NextStep:
    """`scripts` are the files written, one for each finding, None for those of a dump; `ran` tells
    whether they were launched."""
    if not scripts:
        return nothing("there is no certain finding")
    written = [one for one in scripts if one is not None]
    if written:
        why = "show one again" if ran else "show one, on a GPU"
        return NextStep(why, quoted("python3", written[0]))
    return command("make all fixes", "lint", path(file), "--fix", "-o", "fixed.tir")


def after_ranking(program: Sequence[str]) -> NextStep:
    """After the configurations of a script were ranked."""
    return command("what its kernels take as they are tuned", "run", *program)


def after_advise(words: Iterable[object], output: str | None, *, fits: bool) -> NextStep:
    """`words` are the arguments of a worksheet, which wrote its page to `output`, if to any."""
    if not fits:
        return nothing("no candidate fits; a smaller tile or another --arch may")
    if output is not None:
        return after_page(output)
    return command("a page with the roofline", "advise", *words, "-o", "roofline.html")
