"""What the differential test asks of one kernel and its plans."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import SOUND, UNSOUND, Verdict
from tests.pipeline.rules import plan_of_the_rules
from tests.random_kernels.choices import Pick
from tests.random_kernels.defined import grow_kernel
from tests.soundness.kernels import SCOPE, format_kernel
from tests.soundness.model.modes import BASE_MODES, FREE_MODES, IllDefined, Mode
from tests.soundness.model.run import Model, side_by_side

MAX_JUDGED = 4
"""Arbitrary plans whose verdicts are asked for; a plan that differs always comes first."""


class Unsound(AssertionError):
    """A plan that was called sound gives another result."""


def inputs_from(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 16, 4096)


def compare(pick: Pick, seed: int, stats: Counter[str], arbitrary: int = 8) -> None:
    """Grows a kernel, runs it under the policies' plans and `arbitrary` others, and counts.

    Raises `Unsound` where the analysis or the checker was wrong. A kernel without a defined result
    is only counted.
    """
    try:
        found = Comparison(grow_kernel(pick), inputs_from(seed), pick, arbitrary)
    except IllDefined as reason:
        stats[f"discarded: {reason}"] += 1
    else:
        found.check(stats)


def differing(
    kernel: Kernel, plans: Sequence[Mapping[Buffer, int]], inputs: np.ndarray, modes: Sequence[Mode]
) -> np.ndarray:
    """Which plans give another result than the unmerged kernel in some mode.

    Raises `IllDefined` if the unmerged kernel is not the same in all modes.
    """
    return Model(kernel, plans, inputs).differing(modes)


def arbitrary_plans(kernel: Kernel, base: Plan, pick: Pick, count: int) -> list[Plan]:
    """Plans at random: two buffers that share, or every buffer anywhere."""
    buffers = list(kernel.allocations(SCOPE))
    apart = side_by_side(kernel, SCOPE)
    found = []
    for _ in range(count):
        offsets = dict(apart)
        if pick(0, 3):
            first = pick(0, len(buffers) - 1)
            second = (first + pick(1, len(buffers) - 1)) % len(buffers)
            shift = 16 * pick(0, max((buffers[first].size or 16) // 16 - 1, 0))
            offsets[buffers[second]] = offsets[buffers[first]] + (shift if pick(0, 1) else 0)
        else:
            end = max(one.size or 0 for one in buffers) + 16 * pick(0, 16)
            for one in buffers:
                offsets[one] = 16 * pick(0, (end - (one.size or 0)) // 16)
        arena = max(offsets[one] + (one.size or 0) for one in buffers)
        found.append(replace(base, offsets=offsets, arena_bytes=arena))
    return found


class Comparison:
    """Plans of one kernel, how they ran and what the checker says."""

    def __init__(self, kernel: Kernel, inputs: np.ndarray, pick: Pick, arbitrary: int = 8):
        self.kernel = kernel
        self.named: dict[str, Plan] = {
            policy: plan_kernel(kernel, SCOPE, policy=policy)
            for policy in ("dataflow", "outer", "inner")
        }
        self.named["rules"] = plan_of_the_rules(kernel, SCOPE)
        self.arbitrary = arbitrary_plans(kernel, self.named["dataflow"], pick, arbitrary)
        plans = [*self.named.values(), *self.arbitrary]
        offsets = [plan.offsets for plan in plans]
        self.differs = differing(kernel, offsets, inputs, BASE_MODES)
        self.free_differs = np.zeros(len(plans), dtype=bool)
        with contextlib.suppress(IllDefined):  # if it counts on lockstep within an arm
            self.free_differs = differing(kernel, offsets, inputs, FREE_MODES)
        self._plans = plans
        self._verdicts: dict[int, Verdict] = {}

    def verdict(self, number: int) -> Verdict:
        if number not in self._verdicts:
            self._verdicts[number] = judge(self.kernel, self._plans[number])
        return self._verdicts[number]

    def check(self, stats: Counter[str]) -> None:
        """Raises `Unsound` where the analysis or the checker was wrong."""
        dataflow, outer, inner, rules = self.named.values()
        stats["well defined"] += 1
        unproved = dataflow.provenance.is_kept
        if unproved:  # what the compiler shares by default stays, said so
            stats["outer's sharing kept unproved"] += 1
            stats["outer's sharing kept, runs wrong"] += int(self.differs[0])
        elif self.differs[0]:
            self._fail(0, "the dataflow plan")
        if self.differs[3]:
            self._fail(3, "the plan of the rules")
        for number in (1, 2, 3):
            self._not_called_sound(number, stats)
        stats["dataflow below the rules"] += dataflow.arena_bytes < rules.arena_bytes
        stats["inner differs"] += int(self.differs[2])
        stats["outer differs"] += int(self.differs[1])
        total = sum(-(-(one.size or 0) // 16) * 16 for one in dataflow.offsets)
        stats["dataflow shares"] += dataflow.arena_bytes < total
        stats["inner shares"] += inner.arena_bytes < total
        stats["outer shares"] += outer.arena_bytes < total
        stats["dataflow below outer"] += dataflow.arena_bytes < outer.arena_bytes
        stats["dataflow as tight as inner"] += dataflow.arena_bytes <= inner.arena_bytes
        if dataflow.arena_bytes > inner.arena_bytes and not self.differs[2]:
            stats["dataflow above an inner that ran right"] += 1
        if dataflow.arena_bytes > outer.arena_bytes and self.verdict(1).verdict == SOUND:
            self._fail(0, "dataflow above an outer that is proved")
        if dataflow.arena_bytes < total:
            stats[f"dataflow judged {self.verdict(0).verdict}"] += 1
            self._not_called_sound(0, stats)
            if self.verdict(0).verdict == UNSOUND:
                self._fail(0, "the dataflow plan is judged unsound")
        numbers = sorted(range(len(self.named), len(self._plans)), key=lambda n: not self._wrong(n))
        for number in numbers[:MAX_JUDGED]:
            stats["arbitrary plans"] += 1
            found = self.verdict(number).verdict
            shown = "differs" if self._wrong(number) else "same"
            stats[f"arbitrary {found}, {shown}"] += 1
            self._not_called_sound(number, stats)

    def _wrong(self, number: int) -> bool:
        return bool(self.differs[number] or self.free_differs[number])

    def _not_called_sound(self, number: int, stats: Counter[str]) -> None:
        if self._wrong(number) and self.verdict(number).verdict == SOUND:
            names = [*self.named, *["arbitrary"] * len(self.arbitrary)]
            self._fail(number, f"a plan ({names[number]}) that is judged sound")

    def _fail(self, number: int, what: str) -> None:
        raise Unsound(f"{what}\n{self.describe(number)}")

    def describe(self, number: int) -> str:
        plan = self._plans[number]
        offsets = {one.name: at for one, at in plan.offsets.items()}
        run = "differs" if self.differs[number] else "same"
        free = "differs" if self.free_differs[number] else "same"
        verdict = self.verdict(number)
        return (
            f"{format_kernel(self.kernel)}\noffsets {offsets}, arena {plan.arena_bytes}, "
            f"{plan.provenance}\nmerged: {run}; threads of an arm on their own: {free}; "
            f"judged {verdict.verdict} {[one.witness for one in verdict.violations]} "
            f"{verdict.uncovered}"
        )
