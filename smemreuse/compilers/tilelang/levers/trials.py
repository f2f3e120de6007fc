"""What the kernels of a function are with levers pulled, by lowering it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from smemreuse.compilers.tilelang.levers.comparison import Settings
from smemreuse.compilers.tilelang.sizing import SizedKernel
from smemreuse.linter import lint


@dataclass(frozen=True)
class LeverTrial:
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


class LeverTrials:
    """What came of the combinations that were lowered, each once."""

    def __init__(
        self,
        lower: Callable[[Settings], LeverTrial],
        first: LeverTrial,
        pays: Callable[[LeverTrial], bool] = lambda _: True,
    ) -> None:
        self._lower, self.first, self._pays = lower, first, pays
        self._known: dict[Settings, LeverTrial | None] = {}
        self.hazardous = 0

    @property
    def count(self) -> int:
        return len(self._known)

    @property
    def unlowered(self) -> int:
        """Combinations that TileLang cannot lower."""
        return sum(one is None for one in self._known.values())

    def made(self, settings: Settings) -> LeverTrial | None:
        """What came of it; None where TileLang cannot lower it."""
        if settings not in self._known:
            try:
                self._known[settings] = self._lower(settings)
            except Exception:  # TileLang raises of all kinds: it cannot lower this combination
                self._known[settings] = None
        return self._known[settings]

    def is_small(self, settings: Settings, limit: int) -> bool:
        """Whether it takes no more than `limit` bytes."""
        found = self.made(settings)
        return found is not None and found.bytes <= limit

    def fits(self, settings: Settings, limit: int) -> bool:
        """Whether it takes no more than `limit` bytes, pays, and lint finds no more than in the
        function itself."""
        found = self.made(settings)
        if found is None or found.bytes > limit or not self._pays(found):
            return False
        more = bool(found.hazards) and bool(found.hazards - self.first.hazards)
        self.hazardous += more
        return not more
