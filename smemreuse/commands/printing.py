"""Tables and text on standard output."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType

from smemreuse.commands.stdout import written_to_stdout
from smemreuse.report.tables import console


def emit_tables(tables: Iterable[RenderableType]) -> None:
    out = console()
    for table in tables:
        with written_to_stdout():
            out.print(table)
