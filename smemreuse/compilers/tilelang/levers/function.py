"""A function whose levers are looked for: what it is lowered for, and what the model says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from smemreuse.advisor.model import estimate
from smemreuse.compilers.tilelang.advice import tensor_bytes
from smemreuse.compilers.tilelang.estimate import LoweringPlace, LoweringRequest
from smemreuse.compilers.tilelang.levers.comparison import FormComparison, Settings, pulled
from smemreuse.compilers.tilelang.levers.trials import LeverTrial, LeverTrials
from smemreuse.compilers.tilelang.sizing import Certainty, SizedKernel, sized_kernels
from smemreuse.errors import PlanError
from smemreuse.pipeline.options import checked_options
from smemreuse.results.fitting import Fitting, LeverStep, Speedup
from smemreuse.results.provenance import ObjectiveName
from smemreuse.targets.cards import Card, card_for


@dataclass(frozen=True)
class ChosenLevers:
    """What is lowered instead of a function, the objective that its plans are made for, and what
    came of it."""

    func: Any
    objective: ObjectiveName
    outcome: Fitting | Speedup


@dataclass(frozen=True)
class LeveredFunction:
    """A function, the GPU that it is lowered for, and the configuration of the passes."""

    name: str
    func: Any
    place: LoweringPlace
    pass_configs: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def comparison(self) -> FormComparison:
        return FormComparison(self.name, self.func)

    def lowered(
        self, settings: Settings, objective: ObjectiveName, is_certain: Certainty
    ) -> LeverTrial:
        """Its kernels with levers pulled, lowered until it is certain what they take. Raises what
        TileLang raises for one that it cannot lower."""
        func = pulled(self.func, settings)
        options = checked_options("dataflow", "best", objective)
        request = LoweringRequest(func, self.place, options, pass_configs=self.pass_configs)
        return LeverTrial(settings, func, sized_kernels(func, request, is_certain))

    def steps(self, best: LeverTrial, trials: LeverTrials) -> Iterator[LeverStep]:
        """Each lever, and the bytes with it and those before it."""
        for count, one in enumerate(best.settings, 1):
            settings = best.settings[:count]
            after = trials.made(settings)
            size = self.comparison.estimated(settings) if after is None else after.bytes
            yield LeverStep(one.lever, size)

    def seconds(self, kernels: Sequence[SizedKernel]) -> float | None:
        """The time of kernels by the model of `advise`; None where it gives none, as for what does
        not launch."""
        return self.seconds_with([(one, one.bytes) for one in kernels])

    def seconds_with(self, kernels: Sequence[tuple[SizedKernel, int]]) -> float | None:
        """As above, if the blocks of each kernel took so many bytes."""
        if any(size > self.place.arch.per_block for _, size in kernels):
            return None
        try:
            return sum(
                estimate(one.kernel, self._card, size, self._tensors).seconds
                for one, size in kernels
            )
        except PlanError:
            return None

    @cached_property
    def _card(self) -> Card:
        return card_for(self.place.arch.name)

    @cached_property
    def _tensors(self) -> dict[str, int]:
        return tensor_bytes(self.func)
