"""Statements that results name: by text, line and iteration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from smemreuse.ir.expr import Expr
from smemreuse.ir.kernel import Stmt
from smemreuse.ir.labels import brief, label
from smemreuse.ir.source import SourceLine, place_words, source_of
from smemreuse.results.serialized import LOCAL


@dataclass(frozen=True, slots=True)
class Site:
    """A statement of the dump: its text and line, and in which iteration of the loops around it.

    `source` is the line of the user's Python that it comes from, where that is sure, `stmt` the
    statement itself, where a mend has to find it, and `brief` its text with long indices elided,
    for people who have the dump.
    """

    statement: str
    line: int | None = None
    loops: tuple[tuple[str, int], ...] = ()
    stmt: Stmt | None = field(default=None, compare=False, repr=False, metadata=LOCAL)
    source: SourceLine | None = None
    brief: str = field(default="", compare=False, repr=False)

    @classmethod
    def of(
        cls, stmt: Stmt, loops: tuple[tuple[str, int], ...] = (), about: Expr | None = None
    ) -> Site:
        """Where a statement is; the brief text has the operand `about` in full."""
        return cls(label(stmt), stmt.line, loops, stmt, source_of(stmt), brief(stmt, about=about))

    def without_statement(self) -> Site:
        """The same by its text alone, which needs no kernel."""
        return replace(self, stmt=None)

    def shortened(self, text: str) -> str:
        """A text that names the statement, by its brief text if its line is known."""
        if not (self.line and self.brief):
            return text
        for end in "),":
            at = f"` (line {self.line}{end}"
            text = text.replace(f"`{self.statement}{at}", f"`{self.brief}{at}")
        return text

    @property
    def place(self) -> str:
        """Its lines, in parentheses behind a space; empty if none is known."""
        return place_words(self.line, self.source)

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in self.loops)
        return f"`{self.statement}`{self.place}" + (f" at {at}" if at else "")


def place_of(site: Site) -> str:
    """The line of the dump and that of the user's Python, before a sentence, as far as known."""
    words = place_words(site.line, site.source).strip(" ()")
    return f"{words}: " if words else ""
