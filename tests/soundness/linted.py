"""What `lint` says of a kernel itself, held against what the model sees it do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from smemreuse.ir.kernel import Kernel, Store
from smemreuse.linter.collected import LANES_TOGETHER, NO_NEGATIVE_LENGTH, RACED
from smemreuse.results.hazards import Given, Hazard, HazardKind, LintReport, hazard_sentence
from tests.soundness.model.modes import IllDefined, Mode, as_it_stands, held_at_each, starved
from tests.soundness.model.run import Model

TRIED = 6
"""Modes of either kind that every kernel is run in, unless more are asked for."""

SEARCHED = 300
"""Modes beside those that stop at each place, before a hazard counts as shown by none."""


class Missed(AssertionError):
    """A kernel that was called clean is ill-defined."""


class NotShown(AssertionError):
    """A hazard was called certain, and no execution shows it."""


def goes_wrong(model: Model, modes: Iterable[Mode]) -> str:
    """Why the unmerged kernel is ill-defined in one of the modes; empty if it is in none."""
    try:
        model.differing(modes)
    except IllDefined as reason:
        return str(reason)
    return ""


def many_modes(model: Model, seed: int, tried: int) -> Iterator[Mode]:
    """Modes in which accesses through the two proxies need fences: `tried` of any kind, those that
    stop at one place, and those in which one warp is late."""
    return chain(
        as_it_stands(tried, seed, fences=True),
        starved(model.warps, seed, fences=True),
        held_at_each(model.places, seed, fences=True),
    )


def respecting(report: LintReport, modes: Iterable[Mode]) -> Iterator[Mode]:
    """The modes, as far as they respect what `lint` tells that it assumes."""
    for mode in modes:
        if LANES_TOGETHER in report.assumptions:
            mode = replace(mode, parts=False, converges=True)
        # what is read in a race has to decide nothing: values are compared, and no order asked for
        yield replace(mode, races=mode.races and RACED not in report.assumptions)


def judge_report(
    report: LintReport, model: Model, seed: int, wrong: str, what: str, text: str
) -> None:
    """Holds a report against what was seen to go wrong with the kernel; `wrong` is empty if it was
    right. Raises `Missed` or `NotShown` with what the kernel is and its text."""
    try:
        check_clean(report, model, seed, wrong, TRIED)
        check_certain(report, model, seed, wrong)
    except (Missed, NotShown) as found:
        told = "\n".join(map(hazard_sentence, report.hazards))
        raise type(found)(f"{what}: {found}\n{text}\n{told}") from None


def check_clean(report: LintReport, model: Model, seed: int, wrong: str, tried: int) -> None:
    """Raises `Missed` for a clean kernel that goes wrong, as was seen (`wrong`) or as a late warp
    shows."""
    if not report.clean or NO_NEGATIVE_LENGTH in report.assumptions:
        return  # what is assumed of the data need not be so of those that are drawn
    if wrong and not {LANES_TOGETHER, RACED}.isdisjoint(report.assumptions):
        wrong = goes_wrong(model, respecting(report, many_modes(model, seed, tried)))
    if not wrong:
        late = starved(model.warps, seed, fences=True)
        wrong = goes_wrong(model, respecting(report, late))
    if not wrong and model.overtaken:
        wrong = "a wait that passes in one phase or another"
    if not wrong and model.crossed:
        wrong = "a barrier that some warps complete, or others"
    if wrong and wrong not in UNDECIDED:
        raise Missed(f"called clean: {wrong}")


UNDECIDED = ("too long", "a loop that the test does not need")
"""The model has given up."""


def check_certain(report: LintReport, model: Model, seed: int, wrong: str) -> None:
    """Raises `NotShown` where `lint` is certain and nothing goes wrong, often as it is tried. What
    is certain for some inputs is to show with these. What is certain of long loops alone need not
    show with the data that the model was given."""
    certain = [one for one in report.hazards if one.certain and not one.if_long]
    always = [one for one in certain if not one.if_given]
    if always and not wrong:
        for block in {_block(one) for one in always}:
            kinds = {one.kind for one in always if _block(one) == block}
            _require_shown(kinds, model.of_block(block), seed)
    for kinds, launch in launches(model.kernel, certain):
        _require_shown(kinds, launch, seed)


def launches(kernel: Kernel, hazards: Sequence[Hazard]) -> Iterator[tuple[set[HazardKind], Model]]:
    """The launches with the inputs for which hazards are certain, each with the kinds of these.

    To store what is there already is no race to the model.
    """
    shown = [one for one in hazards if one.if_given and not _may_store_again(one)]
    for given in dict.fromkeys(one.if_given for one in shown):
        alike = [one for one in shown if one.if_given == given]
        block = max(map(_block, alike))
        arguments = {one.name: one.first for one in given if not one.is_array}
        yield {one.kind for one in alike}, Model(kernel, [], _inputs(given), block, arguments)


def _block(hazard: Hazard) -> int:
    """The index of the block that it is in; 0 where any block has it."""
    return max((index for _, index in hazard.blocks), default=0)


def _may_store_again(hazard: Hazard) -> bool:
    """Whether a race is with a store that may have stored the same before, in another round."""
    if hazard.kind is not HazardKind.RACE or hazard.other is None:
        return False
    if hazard.other.statement == hazard.site.statement:
        return True
    stores = [one for one in (hazard.site, hazard.other) if isinstance(one.stmt, Store)]
    return any(
        at > 0 and re.search(rf"\b{name}\b", one.statement) is None
        for one in stores
        for name, at in one.loops
    )


def _inputs(given: Sequence[Given]) -> np.ndarray:
    """What the one array of a random kernel holds, if that matters."""
    arrays = [one for one in given if one.is_array]
    assert len(arrays) < 2, given
    held = arrays[0] if arrays else Given("D", 1)
    return held.first + held.step * np.arange(4096)


def _require_shown(kinds: set[HazardKind], model: Model, seed: int) -> None:
    """Raises `NotShown` where nothing goes wrong in any of the modes."""
    if _seen(model) & kinds:
        return
    modes = many_modes(model, seed, SEARCHED)
    if HazardKind.BARRIER_DIVERGENCE in kinds:
        # Those who do not come may have ended, for whom no hardware waits.
        by_the_letter = [replace(one, literal=True) for one in as_it_stands(4, seed)]
        modes = chain(by_the_letter, modes)
    found = goes_wrong(model, modes)
    if not found and not _seen(model) & kinds:
        raise NotShown(f"certain, and not shown: {', '.join(sorted(map(str, kinds)))}")


def _seen(model: Model) -> set[HazardKind]:
    """Of what the kernel is not ill-defined by itself."""
    seen = (
        (model.overtaken, HazardKind.MISSED_PHASE),
        (model.crossed, HazardKind.BARRIER_DIVERGENCE),
    )
    return {kind for was, kind in seen if was}
