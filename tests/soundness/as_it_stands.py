"""What the differential test asks of a kernel that has all its barriers, and of its plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from random import Random

import numpy as np

from smemreuse.audit import BarrierStage
from smemreuse.checker import check_plan
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import lint
from smemreuse.linter.collected import RACED
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import SOUND, Verdict
from tests.random_kernels.choices import Pick
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.incomplete import discarding
from tests.random_kernels.text import kernel_of
from tests.soundness.compare import Unsound, arbitrary_plans
from tests.soundness.kernels import SCOPE
from tests.soundness.linted import (
    TRIED,
    Missed,
    check_clean,
    goes_wrong,
    judge_report,
    many_modes,
)
from tests.soundness.model.modes import IllDefined, Mode, as_it_stands, held_at_each
from tests.soundness.model.run import Model

MAX_JUDGED = 3
"""Plans that differ whose verdicts are asked for."""

CONFIRMED = 150
"""Modes in which a kernel has to be well defined before the checker is blamed."""

ASYNC_PROXY = ("tma_load", "tma_store", "wgmma_ss")

POLICIES = ("dataflow", "outer", "inner")


def inputs_from(seed: int) -> np.ndarray:
    """Of which about half are positive."""
    return np.random.default_rng(seed).integers(-(1 << 15), 1 << 15, 4096)


def examine(
    family: str,
    pick: Pick,
    seed: int,
    stats: Counter[str],
    *,
    arbitrary: int = 6,
    tried: int = TRIED,
) -> None:
    """Grows a kernel of a family, runs it under the policies' and other plans, and counts.

    Raises `Unsound` where the checker calls a plan sound that makes a difference, `Missed` where
    `lint` calls a kernel clean that goes wrong, `NotShown` where it is certain of a hazard that no
    execution has. Of a kernel without a defined result nothing else is asked.
    """
    text = FAMILIES[family](pick)
    kernel = kernel_of(text)
    plans = _plans(kernel, pick, arbitrary)
    model = Model(kernel, [one.offsets for one in plans], inputs_from(seed))
    differs, wrong = _differing(model, some_modes(model, seed, tried))
    fenced, unfenced = np.zeros(model.plans, dtype=bool), ""
    if not wrong and any(word in text for word in ASYNC_PROXY):
        fenced, unfenced = _differing(model, as_it_stands(3, seed, fences=True))
    report, seen = lint(kernel, BarrierStage.PRESENT), wrong or unfenced
    runs = "ill-defined" if seen else "well defined"
    stats[f"{family}: lint says {report.status}, {runs}"] += 1
    judge_report(report, model, seed, seen, family, text)
    if wrong:
        stats[f"{family}: discarded, {wrong}"] += 1
        return
    stats[f"{family}: well defined"] += 1
    stats["plans"] += len(plans)
    stats["plans that differ"] += int((differs | fenced).sum())
    for number in np.flatnonzero(differs | fenced)[:MAX_JUDGED].tolist():
        plan = plans[number]
        found = _verdict(kernel, plan)
        stats[f"{family}: a plan that differs is {found.verdict}"] += 1
        if found.verdict != SOUND or not _is_well_defined(model, seed):
            continue
        way = "" if differs[number] else " for want of a fence"
        name = POLICIES[number] if number < len(POLICIES) else "arbitrary"
        offsets = {one.name: at for one, at in plan.offsets.items()}
        raise Unsound(f"{family}: a sound plan differs{way}\n{text}\n{name}: {offsets}")
    same = next((n for n in range(len(plans)) if not differs[n] and not fenced[n]), None)
    if same is not None:
        stats[f"{family}: a plan that does not is {_verdict(kernel, plans[same]).verdict}"] += 1


def examine_discarding(
    family: str, pick: Pick, seed: int, stats: Counter[str], *, tried: int = TRIED
) -> None:
    """Grows a kernel of a family, of which little that is read matters, and holds against the model
    that `lint` calls it clean: other hazards need not show there. Raises `Missed`."""
    text = discarding(FAMILIES[family](pick), pick)
    kernel = kernel_of(text)
    report = lint(kernel, BarrierStage.PRESENT)
    model = Model(kernel, [], inputs_from(seed))
    harmless = " with races that decide nothing" if RACED in report.assumptions else ""
    stats[f"{family}: lint says {report.status}{harmless}"] += 1
    wrong = goes_wrong(model, many_modes(model, seed, tried)) if report.clean else ""
    try:
        check_clean(report, model, seed, wrong, tried)
    except Missed as found:
        raise Missed(f"{family} that discards: {found}\n{text}") from None


def _plans(kernel: Kernel, pick: Pick, arbitrary: int) -> list[Plan]:
    named = [plan_kernel(kernel, SCOPE, policy=policy) for policy in POLICIES]
    return [*named, *arbitrary_plans(kernel, named[0], pick, arbitrary)]


def _verdict(kernel: Kernel, plan: Plan) -> Verdict:
    return check_plan(kernel, SCOPE, plan.offsets, plan.arena_bytes, {}, assume_barriers=False)


def some_modes(model: Model, seed: int, tried: int) -> Iterator[Mode]:
    """Modes in which the two proxies need no fences."""
    held = list(held_at_each(model.places, seed, fences=False))
    some: Sequence[Mode] = Random(seed).sample(held, min(tried, len(held)))
    return chain(as_it_stands(tried, seed, fences=False), some)


def _differing(model: Model, modes: Iterable[Mode]) -> tuple[np.ndarray, str]:
    """Which plans differ, and why the unmerged kernel is ill-defined, if it is: then none does."""
    try:
        return model.differing(modes), ""
    except IllDefined as reason:
        return np.zeros(model.plans, dtype=bool), str(reason)


def _is_well_defined(model: Model, seed: int) -> bool:
    """Tried harder than for every kernel."""
    held = held_at_each(model.places, seed + 1, fences=False)
    some = as_it_stands(CONFIRMED, seed + 1, fences=False)
    return not goes_wrong(model, chain(some, held))
