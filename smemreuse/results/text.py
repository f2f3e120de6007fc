"""Text for people, where Python shows the value of an expression."""

from __future__ import annotations


class Text(str):
    """Text that is shown as it stands."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Page(str):
    """A page of HTML, which nobody wants to read as it stands."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Page({len(self):,} characters)"
