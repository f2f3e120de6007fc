"""Finds the cheapest levers that make a function's kernels fit, by lowering it with them.

A function that fits as it is stays so. Else combinations of levers are lowered, the cheapest first,
as far as it takes to know what their blocks need. The first that fits is taken in which lint finds
no more than in the function itself. A combination is not lowered unless it is proved to be
reads-from equivalent to the function. Where the strongest of these are not enough, tiles are loaded
again with them, as few as suffice; of the others those go that it fits without.

The advisor's model says what it should cost, and does not choose: it was held against kernels with
stages alone, and of 30 pairs on an H200 its choice was the slower one in 16, by up to 2.3 times
(docs/results/fitting-h200.json).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from smemreuse.advisor.model import estimate
from smemreuse.compilers.tilelang.advice import tensor_bytes
from smemreuse.compilers.tilelang.estimate import LoweringPlace, LoweringRequest
from smemreuse.compilers.tilelang.levers.programs import ProgramReader
from smemreuse.compilers.tilelang.levers.reload_settings import reload_settings
from smemreuse.compilers.tilelang.levers.rewrites import LeverSetting, direct_stores, fewer_stages
from smemreuse.compilers.tilelang.sizing import SizedKernel, sized_kernels
from smemreuse.equivalence import TileProgram, Unfollowed, equivalence
from smemreuse.errors import PlanError
from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.linter import lint
from smemreuse.pipeline.options import checked_options
from smemreuse.results.fitting import Fitting, FittingStep, RefusedLever
from smemreuse.results.provenance import ObjectiveName
from smemreuse.targets.cards import card_for

MOST_TRIED = 16
"""Combinations of levers that are lowered for one function."""

MOST_COMPARED = 64
"""Combinations that are compared with the function itself."""

MOST_LISTED, MOST_NAMED = 1 << 12, 4

Settings = tuple[LeverSetting, ...]


@dataclass(frozen=True)
class Fitted:
    """What is lowered instead of a function, the objective that its plans are made for, and what
    came of it."""

    func: Any
    objective: ObjectiveName
    fitting: Fitting


@dataclass(frozen=True)
class _Trial:
    """A combination of levers, and what the kernels are with it."""

    settings: Settings
    func: Any
    kernels: Sequence[SizedKernel]

    @property
    def bytes(self) -> int:
        return max((one.bytes for one in self.kernels), default=0)

    @cached_property
    def hazards(self) -> Counter[tuple[str, bool]]:
        """What lint finds of the kernels, and what it cannot follow."""
        reports = [lint(one.kernel) for one in self.kernels]
        found = Counter((str(one.kind), one.certain) for each in reports for one in each.hazards)
        found.update(("unknown", False) for each in reports if each.unknown)
        return found


class _Trials:
    """What came of the combinations that were lowered, each once."""

    def __init__(self, lower: Callable[[Settings], _Trial], limit: int, first: _Trial) -> None:
        self._lower, self._limit, self.first = lower, limit, first
        self._known: dict[Settings, _Trial | None] = {}
        self.hazardous = 0

    @property
    def count(self) -> int:
        return len(self._known)

    @property
    def unlowered(self) -> int:
        """Combinations that TileLang cannot lower."""
        return sum(one is None for one in self._known.values())

    def made(self, settings: Settings) -> _Trial | None:
        if settings not in self._known:
            try:
                self._known[settings] = self._lower(settings)
            except Exception:  # TileLang raises of all kinds: it cannot lower this combination
                self._known[settings] = None
        return self._known[settings]

    def small(self, settings: Settings) -> _Trial | None:
        """What came of it, if that takes few enough bytes."""
        found = self.made(settings)
        return found if found is not None and found.bytes <= self._limit else None

    def fits(self, settings: Settings) -> bool:
        """Whether it takes few enough bytes, and lint finds no more than in the function itself."""
        found = self.small(settings)
        if found is None:
            return False
        more = bool(found.hazards - self.first.hazards)
        self.hazardous += more
        return not more


class _Comparison:
    """A function, and which settings make another form of it that is equivalent."""

    def __init__(self, name: str, func: Any) -> None:
        self.name, self.func, self.compared = name, func, 0
        self._reader = ProgramReader()
        self._known: dict[Settings, str] = {}

    def why_not(self, settings: Settings) -> str:
        """Why a combination is not equivalent; empty where it is."""
        if settings not in self._known:
            self.compared += 1
            self._known[settings] = self._compared(settings)
        return self._known[settings]

    def _compared(self, settings: Settings) -> str:
        try:
            original = self._original
            changed = self._reader.program(self.name, pulled(self.func, settings))
        except Unfollowed as error:
            return str(error)
        return equivalence(original, changed).why

    @cached_property
    def _original(self) -> TileProgram:
        return self._reader.program(self.name, self.func)


def pulled(func: Any, settings: Settings) -> Any:
    """A function with some levers pulled."""
    for one in settings:
        func = one.rewrite(func)
    return func


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
        first = self._tried(())
        found = Fitting(self.name, self.limit, first.bytes)
        if found.fits:
            usual = replace(found, before=self._tried((), "speed").bytes)
            return Fitted(self.func, *(("speed", usual) if usual.fits else ("bytes", found)))
        best, tried, why = self._cheapest(first)
        found = replace(found, tried=tried, refused=self._refused)
        if best is None:
            return Fitted(self.func, "bytes", replace(found, why=why))
        before, after = self._time(first), self._time(best)
        slowdown = after / before if after and before else None
        steps = tuple(self._steps(best))
        return Fitted(best.func, "bytes", replace(found, steps=steps, slowdown=slowdown))

    # Combinations -------------------------------------------------------------------------------

    @cached_property
    def _comparison(self) -> _Comparison:
        return _Comparison(self.name, self.func)

    @cached_property
    def _refused(self) -> tuple[RefusedLever, ...]:
        """The settings that are not proved to change no result, each by itself."""
        every = [one for each in self._choices for one in each]
        whys = ((one, self._comparison.why_not((one,))) for one in every)
        return tuple(RefusedLever(one.lever, why) for one, why in whys if why)

    @cached_property
    def _choices(self) -> list[list[LeverSetting]]:
        """Settings of which at most one can be chosen."""
        return fewer_stages(self.func) + [[one] for one in direct_stores(self.func)]

    def _not_refused(self) -> list[list[LeverSetting]]:
        """Those of the choices whose lever alone is proved."""
        refused = {one.lever for one in self._refused}
        return [[one for one in each if one.lever not in refused] for each in self._choices]

    def _combinations(self) -> list[Settings]:
        """At most one setting of each loop, and each store, the cheapest combinations first; none
        with a setting that is refused."""
        choices = [[None, *each] for each in self._not_refused()]
        products = itertools.islice(itertools.product(*choices), MOST_LISTED)
        found = [tuple(one for one in chosen if one is not None) for chosen in products]
        found.sort(key=lambda each: (sum(one.cost for one in each), len(each)))
        return [each for each in found if each]

    def _proved(self) -> Iterator[Settings]:
        """The combinations that are equivalent to the function, as many as are lowered."""
        count = 0
        for settings in self._combinations():
            if count == MOST_TRIED or self._comparison.compared > MOST_COMPARED:
                return
            if not self._comparison.why_not(settings):
                count += 1
                yield settings

    def _cheapest(self, first: _Trial) -> tuple[_Trial | None, int, str]:
        """The cheapest combination that fits, and in which lint finds no more than in the function
        itself; how many were tried, and why there is none."""
        trials = _Trials(self._tried, self.limit, first)
        strongest = self._strongest()
        enough = not self._reloads or not strongest or trials.small(strongest) is not None
        for settings in self._proved() if enough else ():
            if trials.fits(settings):
                return trials.made(settings), trials.count, ""
        found = self._reloaded(trials, strongest)
        return found, trials.count, "" if found is not None else self._why(trials)

    def _strongest(self) -> Settings:
        """All levers but reloads, each as far as it goes, if that is equivalent."""
        found = tuple(each[-1] for each in self._not_refused() if each)
        return () if self._comparison.why_not(found) else found

    @cached_property
    def _reloads(self) -> list[LeverSetting]:
        return reload_settings(self.func)

    def _reloaded(self, trials: _Trials, others: Settings) -> _Trial | None:
        """The function with as few tiles loaded again as suffice beside other levers, and of those
        only what it does not fit without."""
        for one in self._reloads:
            settings = (*others, one)
            if self._comparison.why_not(settings) or not trials.fits(settings):
                continue
            for each in sorted(others, key=lambda other: -other.cost):
                fewer = tuple(other for other in settings if other is not each)
                if not self._comparison.why_not(fewer) and trials.fits(fewer):
                    settings = fewer
            return trials.made(settings)
        return None

    def _tried(self, settings: Settings, objective: ObjectiveName = "bytes") -> _Trial:
        func = pulled(self.func, settings)
        options = checked_options("dataflow", "best", objective)
        place = replace(self.place, arch=replace(self.place.arch, per_block=self.limit))
        request = LoweringRequest(func, place, options, pass_configs=self.pass_configs)
        return _Trial(settings, func, sized_kernels(func, request))

    def _steps(self, best: _Trial) -> Iterator[FittingStep]:
        """Each lever, and the bytes with it and those before it."""
        for count, one in enumerate(best.settings, 1):
            settings = best.settings[:count]
            after = best.bytes if settings == best.settings else self._tried(settings).bytes
            yield FittingStep(one.lever, after)

    # What they are worth ------------------------------------------------------------------------

    def _time(self, trial: _Trial) -> float | None:
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

    def _why(self, trials: _Trials) -> str:
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
        if self._refused:
            one = self._refused[0]
            more += f"; not proved to change no result: {one.lever.sentence} ({one.why})"
        levers = "fewer stages, later loads, direct stores and reloads"
        return f"{levers} are not enough; its largest buffers are {peak}{more}"
