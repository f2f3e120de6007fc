"""Finds the cheapest levers with which a function takes no more bytes than a limit, lowering as few
combinations as it can.

What a combination takes is known nearly without lowering it: tiles that are live at one time have
to lie side by side. One that surely takes too much by that is not lowered at all. Of the others
those come first that are expected to fit, the cheapest of these first; those that are not, behind
them. A combination is not lowered unless it is proved to be reads-from equivalent.

Where the strongest levers are not enough, tiles are loaded again beside them, as few as suffice; of
the others those go that the function fits without.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import Any

from smemreuse.compilers.tilelang.levers.comparison import FormComparison, Settings
from smemreuse.compilers.tilelang.levers.reload_settings import reload_settings
from smemreuse.compilers.tilelang.levers.rewrites import LeverSetting, direct_stores, fewer_stages
from smemreuse.compilers.tilelang.levers.trials import LeverTrial, LeverTrials
from smemreuse.results.fitting import LeverKind, RefusedLever

MOST_TRIED = 16
"""Combinations without reloads that are lowered for one function."""

MOST_COMPARED = 64
"""Combinations that are compared with the function itself."""

MOST_ESTIMATED = 256
"""Combinations of which it is estimated what they take."""

MOST_LISTED = 1 << 12

_RELOADS = {LeverKind.RELOAD, LeverKind.SLICES}


class FunctionLevers:
    """The levers of a function that are of some kinds, each made once: by them it is known what was
    compared and lowered."""

    def __init__(self, func: Any, kinds: Collection[LeverKind] = frozenset(LeverKind)) -> None:
        self._func, self._kinds = func, kinds

    @cached_property
    def choices(self) -> list[list[LeverSetting]]:
        """All but reloads: settings of which at most one can be chosen, the mildest first."""
        every = fewer_stages(self._func) + [[one] for one in direct_stores(self._func)]
        found = (self._of_kinds(each) for each in every)
        return [each for each in found if each]

    @cached_property
    def reloads(self) -> list[LeverSetting]:
        """Settings of which one can be chosen, those that cost little first."""
        return self._of_kinds(reload_settings(self._func)) if _RELOADS & set(self._kinds) else []

    def _of_kinds(self, settings: Iterable[LeverSetting]) -> list[LeverSetting]:
        return [one for one in settings if one.lever.kind in self._kinds]


class LeverSearch:
    """The levers of a function, and which of them are pulled so that it takes no more than `limit`
    bytes for each block."""

    def __init__(
        self,
        levers: FunctionLevers,
        comparison: FormComparison,
        trials: LeverTrials,
        limit: int,
    ) -> None:
        self._levers, self._comparison = levers, comparison
        self._trials, self.limit = trials, limit

    def cheapest(self) -> LeverTrial | None:
        """The cheapest combination that fits, and in which lint finds no more than in the function
        itself; None where there is none."""
        strongest = self._strongest()
        if self._may_fit(strongest):
            for settings in self._proved():
                if self._trials.fits(settings, self.limit):
                    return self._trials.made(settings)
                if (
                    self._levers.reloads
                    and strongest
                    and not self._trials.is_small(strongest, self.limit)
                ):
                    break
        return self._reloaded(strongest)

    @cached_property
    def refused(self) -> tuple[RefusedLever, ...]:
        """The settings that are not proved to change no result, each by itself."""
        every = [one for each in self._levers.choices for one in each]
        whys = ((one, self._comparison.why_not((one,))) for one in every)
        return tuple(RefusedLever(one.lever, why) for one, why in whys if why)

    # What is known without lowering -------------------------------------------------------------

    def _may_fit(self, settings: Settings) -> bool:
        return self._comparison.least(settings) <= self.limit

    def _is_expected_to_fit(self, settings: Settings) -> bool:
        return self._comparison.estimated(settings) <= self.limit

    # Levers other than reloads ------------------------------------------------------------------

    def _not_refused(self) -> list[list[LeverSetting]]:
        """Those of the choices whose lever alone is proved."""
        refused = {one.lever for one in self.refused}
        return [[one for one in each if one.lever not in refused] for each in self._levers.choices]

    def _strongest(self) -> Settings:
        """All levers but reloads, each as far as it goes, if that is equivalent."""
        found = tuple(each[-1] for each in self._not_refused() if each)
        return () if self._comparison.why_not(found) else found

    def _combinations(self) -> list[Settings]:
        """At most one setting of each loop, and each store, the cheapest combinations first; none
        with a setting that is refused."""
        choices = [[None, *each] for each in self._not_refused()]
        products = itertools.islice(itertools.product(*choices), MOST_LISTED)
        found = [tuple(one for one in chosen if one is not None) for chosen in products]
        found.sort(key=lambda each: (sum(one.cost for one in each), len(each)))
        return [each for each in found if each]

    def _promising(self) -> Iterator[Settings]:
        """The combinations that may fit, those first that are expected to."""
        late = []
        for settings in self._combinations()[:MOST_ESTIMATED]:
            if self._is_expected_to_fit(settings):
                yield settings
            elif self._may_fit(settings):
                late.append(settings)
        yield from late

    def _proved(self) -> Iterator[Settings]:
        """Those that are equivalent to the function, as many as are lowered."""
        count = 0
        for settings in self._promising():
            if count == MOST_TRIED or self._comparison.compared > MOST_COMPARED:
                return
            if not self._comparison.why_not(settings):
                count += 1
                yield settings

    # Reloads ------------------------------------------------------------------------------------

    def _reloaded(self, others: Settings) -> LeverTrial | None:
        """The function with as few tiles loaded again as suffice beside other levers, and of those
        only what it does not fit without."""
        for one in self._levers.reloads:
            settings = (*others, one)
            found = self._fewest(settings) if self._may_fit(settings) else None
            if found is not None:
                return found
        return None

    def _fewest(self, settings: Settings) -> LeverTrial | None:
        """A combination without those levers, but the last one, that it fits without."""
        expected = _without_some(settings, self._is_expected_to_fit)
        if not self._fits(expected):
            if not self._fits(settings):
                return None
            expected = settings
        return self._trials.made(_without_some(expected, self._fits))

    def _fits(self, settings: Settings) -> bool:
        return (
            self._may_fit(settings)
            and not self._comparison.why_not(settings)
            and self._trials.fits(settings, self.limit)
        )


def _without_some(settings: Settings, enough: Callable[[Settings], bool]) -> Settings:
    """A combination that is enough, without those levers, but the last one, without which it still
    is; the most expensive ones are left out first."""
    for each in sorted(settings[:-1], key=lambda other: -other.cost):
        fewer = tuple(other for other in settings if other is not each)
        if enough(fewer):
            settings = fewer
    return settings
