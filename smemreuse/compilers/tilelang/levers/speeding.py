"""Pulls levers in a function where one more block on an SM, or more L1, should pay.

The search is that of `fitting`; its limits are the sizes of a block with which an SM stands better.
The model of `advise` says what that gains. It is believed only of fewer stages, and from a gain on
of which its errors, as measured, leave a loss of 1 % at most. Each combination is proved to be
reads-from equivalent, and lint finds no more in it than in the function itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from smemreuse.compilers.tilelang.levers.comparison import Settings
from smemreuse.compilers.tilelang.levers.function import ChosenLevers, LeveredFunction
from smemreuse.compilers.tilelang.levers.search import FunctionLevers, LeverSearch
from smemreuse.compilers.tilelang.levers.trials import LeverTrial, LeverTrials
from smemreuse.compilers.tilelang.parsing import parsed_once
from smemreuse.compilers.tilelang.sizing import SizedKernel
from smemreuse.pipeline.objectives import SmStanding, better_sizes
from smemreuse.results.fitting import GAINS_BELIEVED, LEAST_GAIN, Speedup
from smemreuse.results.residents import Residents
from smemreuse.targets.architectures import WARP, Architecture, threads_of
from smemreuse.targets.residents import residents_with


@dataclass(frozen=True)
class FunctionSpeedup:
    """A function whose levers are pulled for speed."""

    function: LeveredFunction
    _known_gains: dict[Settings, float] = field(default_factory=dict)

    def result(self) -> ChosenLevers:
        """The function to be lowered instead, and what came of it; the function itself where no
        lever pays. Raises what TileLang raises for one that it cannot lower."""
        with parsed_once():
            if not self._levers.choices:
                return self.unchanged("no loop has stages to spare")
            return self._weighed()

    def unchanged(self, why: str, found: Speedup | None = None) -> ChosenLevers:
        """The function itself, and why; `found` is what is known of it."""
        found = found or Speedup(self.function.name)
        return ChosenLevers(self.function.func, "speed", replace(found, why=why))

    def _weighed(self) -> ChosenLevers:
        """The function with the levers that gain most, if these gain enough."""
        function, blocks = self.function, self._residents.blocks
        found = Speedup(function.name, self._first.bytes, blocks=(blocks, blocks))
        why = self._nothing_to_gain()
        if why:
            return self.unchanged(why, found)
        trials = LeverTrials(self._tried, self._first, self._pays)
        searches = [
            LeverSearch(self._levers, function.comparison, trials, limit) for limit in self._paying
        ]
        best = self._best(searches)
        found = replace(found, tried=trials.count, refused=searches[0].refused)
        if best is None:
            return self.unchanged(self._why(trials, found), found)
        held, steps = self._residents_of(best).blocks, tuple(function.steps(best, trials))
        done = replace(found, blocks=(blocks, held), steps=steps, gain=self._gain_of(best))
        return ChosenLevers(best.func, "speed", done)

    def _best(self, searches: Sequence[LeverSearch]) -> LeverTrial | None:
        """What gains most; a limit is tried as long as fewer bytes alone gain more there."""
        best: LeverTrial | None = None
        for search in searches:
            if best is not None and self._gain_of(best) >= self._gains[search.limit]:
                break
            found = search.cheapest()
            if found is not None and (best is None or self._gain_of(found) > self._gain_of(best)):
                best = found
        return best

    def _pays(self, trial: LeverTrial) -> bool:
        """Whether an SM stands better, and the model says a gain that is believed."""
        usual, now = (
            SmStanding.by(one, self._arch) for one in (self._residents, self._residents_of(trial))
        )
        return now > usual and self._gain_of(trial) >= LEAST_GAIN

    def _why(self, trials: LeverTrials, found: Speedup) -> str:
        """Why nothing pays of what was tried."""
        if trials.hazardous:
            return "lint finds more hazards with fewer stages than in the function itself"
        if self._known_gains:
            gain = max(self._known_gains.values())
            said = f"{gain:.2f} times as fast with fewer stages, estimated"
            return f"{said}; less than {LEAST_GAIN} is not believed"
        why = f"fewer stages do not get a block to {max(self._paying):,} bytes"
        refused = "; ".join(f"{one.lever.sentence} ({one.why})" for one in found.refused[:1])
        return f"{why}; not proved to change no result: {refused}" if refused else why

    # What there is to gain ----------------------------------------------------------------------

    @cached_property
    def _levers(self) -> FunctionLevers:
        return FunctionLevers(self.function.func, GAINS_BELIEVED)

    @property
    def _arch(self) -> Architecture:
        return self.function.place.arch

    @cached_property
    def _first(self) -> LeverTrial:
        return self._tried(())

    @cached_property
    def _seconds(self) -> float | None:
        return self.function.seconds(self._first.kernels)

    @cached_property
    def _residents(self) -> Residents:
        return self._residents_of(self._first)

    def _residents_of(self, trial: LeverTrial) -> Residents:
        """The blocks of its largest kernel on an SM."""
        return _residents(max(trial.kernels, key=lambda one: one.bytes), self._arch)

    def _nothing_to_gain(self) -> str:
        """Why no levers are tried; empty where fewer bytes should gain something."""
        if not self._residents.blocks:
            return self._residents.words
        if self._seconds is None:
            return "the model gives no time for it"
        most = max(self._gains.values(), default=1.0)
        if most >= LEAST_GAIN:
            return ""
        said = f"{most:.2f} times as fast at most, estimated" if self._gains else "no faster"
        return f"{self._residents.words}; with fewer bytes it would be {said}"

    @cached_property
    def _gains(self) -> dict[int, float]:
        """What the function would gain if its blocks took no more bytes, and all else were as it
        is, by the sizes with which an SM stands better."""
        found = {}
        for size in better_sizes(self._residents, self._arch):
            taken = [(one, min(one.bytes, size)) for one in self._first.kernels]
            found[size] = self._gain(self.function.seconds_with(taken))
        return found

    def _gain(self, seconds: float | None) -> float:
        """How many times as fast it would be; 0 where that is not known."""
        return self._seconds / seconds if self._seconds and seconds else 0.0

    def _gain_of(self, trial: LeverTrial) -> float:
        if trial.settings not in self._known_gains:
            gain = self._gain(self.function.seconds(trial.kernels))
            self._known_gains[trial.settings] = gain
        return self._known_gains[trial.settings]

    @property
    def _paying(self) -> list[int]:
        """The sizes of a block for which levers may be worth their cost, those first that gain
        most."""
        found = [size for size, gain in self._gains.items() if gain >= LEAST_GAIN]
        return sorted(found, key=lambda size: -self._gains[size])

    # What is lowered ----------------------------------------------------------------------------

    def _tried(self, settings: Settings) -> LeverTrial:
        return self.function.lowered(settings, "speed", self._is_certain)

    def _is_certain(self, one: SizedKernel) -> bool:
        """Whether an SM stands the same whatever is shared: else it takes the barriers to know
        which plans hold."""
        ours, unshared = (
            SmStanding.by(_residents(one, self._arch, size), self._arch)
            for size in (one.bytes, one.unshared.total or 0)
        )
        return ours == unshared


def _residents(one: SizedKernel, arch: Architecture, size: int | None = None) -> Residents:
    """The blocks of a kernel on an SM, each of so many bytes; by default of what it takes."""
    threads = threads_of(one.kernel) or WARP
    size = one.bytes if size is None else size
    return residents_with(one.kernel, size, arch, threads=threads, compiled=None)
