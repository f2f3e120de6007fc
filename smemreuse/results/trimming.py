"""What was taken out of a kernel because its absence is harmless."""

from __future__ import annotations

from dataclasses import dataclass, replace

from smemreuse.ir.labels import label
from smemreuse.ir.source import place_words, source_of
from smemreuse.results.mending import Removal


@dataclass(frozen=True, eq=False)
class Trimming:
    """What came of trimming one kernel: what was taken out, how many statements were tried, and
    why nothing was, where that is known before."""

    kernel: str
    removals: tuple[Removal, ...] = ()
    tried: int = 0
    why: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was taken out, each with its place; or why nothing was."""
        if self.why:
            return (f"{self.kernel}: trimming removes nothing: {self.why}",)
        if not self.removals:
            return (f"{self.kernel}: each of its {self.tried} barriers and fences is needed",)
        return tuple(
            f"{self.kernel}: removed `{label(one.anchor)}`"
            f"{place_words(one.anchor.line, source_of(one.anchor))}"
            for one in self.removals
        )

    def taken_back(self, why: str) -> Trimming:
        """The same, with nothing taken out, and why."""
        return replace(self, removals=(), why=why)
