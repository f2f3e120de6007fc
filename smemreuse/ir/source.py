"""A line of the Python that made a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file; the path is relative to the folder of the run, if the file is below it."""

    file: str
    line: int

    @classmethod
    def of(cls, file: str, line: int) -> SourceLine:
        """The same line, whatever the file is called by."""
        path = Path(file)
        if path.is_absolute() and path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        return cls(str(path), line)

    def __str__(self) -> str:
        """`kernel.py:88`: people know which folder they are in."""
        return f"{Path(self.file).name}:{self.line}"
