"""Makes a function's kernels fit, by lowering it with levers pulled.

A function that fits as it is stays so. Of any other the cheapest levers are pulled that make it fit
(`search`): each combination is proved to be reads-from equivalent, and lint finds no more in it
than in the function itself.

The advisor's model says what it should cost, and does not choose: it was held against kernels with
stages alone, and of 30 pairs on an H200 its choice was the slower one in 16, by up to 2.3 times
(docs/results/fitting-h200.json).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from smemreuse.compilers.tilelang.levers.comparison import Settings
from smemreuse.compilers.tilelang.levers.function import ChosenLevers, LeveredFunction
from smemreuse.compilers.tilelang.levers.search import FunctionLevers, LeverSearch
from smemreuse.compilers.tilelang.levers.trials import LeverTrial, LeverTrials
from smemreuse.compilers.tilelang.parsing import parsed_once
from smemreuse.compilers.tilelang.sizing import certain_to_fit
from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.results.fitting import Fitting, RefusedLever
from smemreuse.results.provenance import ObjectiveName

MOST_NAMED = 4
"""Buffers that are named where nothing helps."""


@dataclass(frozen=True)
class FunctionFitting:
    """A function to be fitted into `limit` bytes for each block."""

    function: LeveredFunction
    limit: int

    def result(self) -> ChosenLevers:
        """The function to be lowered instead, and what came of it; the function itself where it
        fits or nothing makes it fit. Raises what TileLang raises for one that it cannot lower."""
        with parsed_once():
            return self._as_it_is() or self._changed()

    def unchanged(self, why: str, found: Fitting | None = None) -> ChosenLevers:
        """The function itself, and why; `found` is what is known of it."""
        found = found or Fitting(self.function.name, limit=self.limit)
        return ChosenLevers(self.function.func, "bytes", replace(found, why=why))

    def _as_it_is(self) -> ChosenLevers | None:
        """The function itself, if it fits: planned for speed, or else for few bytes."""
        name, func = self.function.name, self.function.func
        expected = 0 < self.function.comparison.estimated(()) <= self.limit
        if not expected and self._first.bytes > self.limit:
            return None
        usual = self._tried((), "speed")
        if usual.bytes <= self.limit:
            return ChosenLevers(func, "speed", Fitting(name, usual.bytes, limit=self.limit))
        if self._first.bytes <= self.limit:
            return ChosenLevers(func, "bytes", Fitting(name, self._first.bytes, limit=self.limit))
        return None

    def _changed(self) -> ChosenLevers:
        """The function with levers, if these make it fit."""
        function = self.function
        found = Fitting(function.name, self._first.bytes, limit=self.limit)
        trials = LeverTrials(self._tried, self._first)
        search = LeverSearch(FunctionLevers(function.func), function.comparison, trials, self.limit)
        best = search.cheapest()
        found = replace(found, tried=trials.count, refused=search.refused)
        if best is None:
            return self.unchanged(self._why(trials, search.refused), found)
        before, after = map(function.seconds, (self._first.kernels, best.kernels))
        slowdown = after / before if after and before else None
        steps = tuple(function.steps(best, trials))
        return ChosenLevers(best.func, "bytes", replace(found, steps=steps, slowdown=slowdown))

    @cached_property
    def _first(self) -> LeverTrial:
        return self._tried(())

    def _tried(self, settings: Settings, objective: ObjectiveName = "bytes") -> LeverTrial:
        arch = replace(self.function.place.arch, per_block=self.limit)
        return self.function.lowered(settings, objective, certain_to_fit(arch))

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
