"""Attribution policies: on which open entry of the scope stack a touch is recorded.

Level 0 is the outermost open entry. An allocation made while `n` entries are open has level `n`,
the level of the first entry opened after it.
"""

from __future__ import annotations

from collections.abc import Callable

Policy = Callable[[int, int], int]
"""`(level of the allocation, number of open entries) -> level of the entry that is touched`."""


def outer(alloc_level: int, open_entries: int) -> int:
    """TVM's rule: the entry at the level where the buffer is allocated.

    With every allocation at the kernel's top that is the outermost loop. An access made at the
    allocation's own level goes to the innermost open entry, as TileLang's pass has it.
    """
    return min(alloc_level, open_entries - 1)


def inner(alloc_level: int, open_entries: int) -> int:
    """The rule of apache/tvm issue 17375: the innermost open entry. Unsound around loops."""
    return open_entries - 1


POLICIES: dict[str, Policy] = {"outer": outer, "inner": inner}
