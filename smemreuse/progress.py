"""A progress bar on standard error, for what takes time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def track(items: Sequence[T], description: str) -> Iterable[T]:
    """The items, with a bar that goes when they are done; silent where nobody watches."""
    if not sys.stderr.isatty():
        return items
    from rich import progress  # and the console, which only who is watched needs
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        return items
    return progress.track(items, description, console=console, transient=True)
