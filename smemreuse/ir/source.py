"""A line of the Python that made a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class Located:
    """What keeps the line that it comes from; `name_source` writes it."""

    __slots__ = ("_source",)
    _source: SourceLine


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


def name_source(stmt: Located, source: SourceLine) -> None:
    """Writes into a statement where it comes from."""
    object.__setattr__(stmt, "_source", source)


def source_of(stmt: Located) -> SourceLine | None:
    """The line that a statement comes from, if it is known."""
    return getattr(stmt, "_source", None)


def at_line(line: int | None) -> str:
    """The line of a dump behind the text of a statement, where it is known."""
    return place_words(line, None)


def place_words(line: int | None, source: SourceLine | None) -> str:
    """Where a statement stands, behind its text: the line of its dump, that of the Python that it
    comes from, as far as they are known."""
    parts = [f"line {line}" if line else "", f"from {source}" if source is not None else ""]
    known = ", ".join(part for part in parts if part)
    return f" ({known})" if known else ""
