"""A progress bar on standard error, for what takes time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sized
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
    """The items, with a progress bar that vanishes at the end; none where stderr is no terminal.

    `total` is how many there are, where they do not know it themselves.
    """
    if not sys.stderr.isatty():
        return items
    from rich import progress  # and the console, which only who is watched needs
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        return items
    known = len(items) if total is None and isinstance(items, Sized) else total
    return progress.track(items, description, known, console=console, transient=True)
