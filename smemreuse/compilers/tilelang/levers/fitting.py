"""Makes a function's kernels fit, by lowering it with levers pulled.

A function that fits as it is stays so. Of any other the cheapest levers are pulled that make it fit
(`search`): each combination is proved to be reads-from equivalent, and lint finds no more in it
than in the function itself.

The advisor's model says what it should cost, and does not choose: it was held against kernels with
stages alone, and of 30 pairs on an H200 its choice was the slower one in 16, by up to 2.3 times
(docs/results/fitting-h200.json).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from smemreuse.advisor.model import estimate
from smemreuse.compilers.tilelang.advice import tensor_bytes
from smemreuse.compilers.tilelang.estimate import LoweringPlace, LoweringRequest
from smemreuse.compilers.tilelang.levers.comparison import FormComparison, Settings, pulled
from smemreuse.compilers.tilelang.levers.search import LeverSearch
from smemreuse.compilers.tilelang.levers.trials import LeverTrial, LeverTrials
from smemreuse.compilers.tilelang.parsing import parsed_once
from smemreuse.compilers.tilelang.sizing import sized_kernels
from smemreuse.errors import PlanError
from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.pipeline.options import checked_options
from smemreuse.results.fitting import Fitting, FittingStep, RefusedLever
from smemreuse.results.provenance import ObjectiveName
from smemreuse.targets.cards import card_for

MOST_NAMED = 4
"""Buffers that are named where nothing helps."""


@dataclass(frozen=True)
class Fitted:
    """What is lowered instead of a function, the objective that its plans are made for, and what
    came of it."""

    func: Any
    objective: ObjectiveName
    fitting: Fitting


@dataclass(frozen=True)
class FunctionFitting:
    """A function to be fitted into `limit` bytes for each block, on the GPU of `place`."""

    name: str
    func: Any
    place: LoweringPlace
    limit: int
    pass_configs: Mapping[str, Any]

    def result(self) -> Fitted:
        """The function to be lowered instead, and what came of it; the function itself where it
        fits or nothing makes it fit. Raises what TileLang raises for one that it cannot lower."""
        with parsed_once():
            return self._as_it_is() or self._changed()

    def _as_it_is(self) -> Fitted | None:
        """The function itself, if it fits: planned for speed, or else for few bytes."""
        expected = 0 < self._comparison.estimated(()) <= self.limit
        if not expected and self._first.bytes > self.limit:
            return None
        usual = self._tried((), "speed")
        if usual.bytes <= self.limit:
            return Fitted(self.func, "speed", Fitting(self.name, self.limit, usual.bytes))
        if self._first.bytes <= self.limit:
            return Fitted(self.func, "bytes", Fitting(self.name, self.limit, self._first.bytes))
        return None

    def _changed(self) -> Fitted:
        """The function with levers, if these make it fit."""
        found = Fitting(self.name, self.limit, self._first.bytes)
        trials = LeverTrials(self._tried, self.limit, self._first)
        search = LeverSearch(self._comparison, trials)
        best = search.cheapest()
        found = replace(found, tried=trials.count, refused=search.refused)
        if best is None:
            why = self._why(trials, search.refused)
            return Fitted(self.func, "bytes", replace(found, why=why))
        before, after = self._time(self._first), self._time(best)
        slowdown = after / before if after and before else None
        steps = tuple(self._steps(best, trials))
        return Fitted(best.func, "bytes", replace(found, steps=steps, slowdown=slowdown))

    @cached_property
    def _comparison(self) -> FormComparison:
        return FormComparison(self.name, self.func)

    @cached_property
    def _first(self) -> LeverTrial:
        return self._tried(())

    def _tried(self, settings: Settings, objective: ObjectiveName = "bytes") -> LeverTrial:
        func = pulled(self.func, settings)
        options = checked_options("dataflow", "best", objective)
        place = replace(self.place, arch=replace(self.place.arch, per_block=self.limit))
        request = LoweringRequest(func, place, options, pass_configs=self.pass_configs)
        return LeverTrial(settings, func, sized_kernels(func, request))

    def _steps(self, best: LeverTrial, trials: LeverTrials) -> Iterator[FittingStep]:
        """Each lever, and the bytes with it and those before it."""
        for count, one in enumerate(best.settings, 1):
            settings = best.settings[:count]
            after = trials.made(settings)
            size = self._comparison.estimated(settings) if after is None else after.bytes
            yield FittingStep(one.lever, size)

    # What they are worth ------------------------------------------------------------------------

    def _time(self, trial: LeverTrial) -> float | None:
        """Seconds of all kernels by the advisor's model; None where it gives none, as for what
        does not launch."""
        if trial.bytes > self.place.arch.per_block:
            return None
        tensors = tensor_bytes(self.func)
        try:
            card = card_for(self.place.arch.name, None)
            return sum(
                estimate(one.kernel, card, one.bytes, tensors).seconds for one in trial.kernels
            )
        except PlanError:
            return None

    def _why(self, trials: LeverTrials, refused: Sequence[RefusedLever]) -> str:
        if trials.hazardous:
            return "lint finds more hazards in all that fits than in the function itself"
        largest = max(trials.first.kernels, key=lambda one: one.bytes)
        buffers = sorted(
            (one for one in largest.kernel.allocations(DYNAMIC_SCOPE) if one.size),
            key=lambda one: -(one.size or 0),
        )
        peak = ", ".join(f"{one.name} ({one.size:,})" for one in buffers[:MOST_NAMED])
        count = trials.unlowered
        more = f"; TileLang cannot lower {count} of the changes" if count else ""
        if refused:
            one = refused[0]
            more += f"; not proved to change no result: {one.lever.sentence} ({one.why})"
        levers = "fewer stages, later loads, direct stores and reloads"
        return f"{levers} are not enough; its largest buffers are {peak}{more}"
