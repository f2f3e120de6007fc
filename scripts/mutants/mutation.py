"""One change of the source that breaks a rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutation:
    """A text in a module, and what to put in its place."""

    name: str
    module: str
    old: str
    new: str

    def apply(self, package: Path) -> None:
        path = package / self.module
        source = path.read_text()
        if source.count(self.old) != 1:
            raise Stale(f"{self.name}: {source.count(self.old)} places in {self.module}")
        path.write_text(source.replace(self.old, self.new))


class Stale(Exception):
    """The source has changed so that a mutation does not apply."""
